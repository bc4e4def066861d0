"""What is said of found matches: by subject or over all, with noise or without, slot by slot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from ppm.cep.columnar.engine import Matches
from ppm.dp.mechanism import Values
from ppm.dp.source import Source
from ppm.errors import InternalError
from ppm.protect.open_slots import SLOT, SUBJECT
from ppm.protect.program import Program
from ppm.protect.questions import Asked, Questions
from ppm.protect.state import State
from ppm.protect.step import Advanced
from ppm.protect.stretch import Stretch, stretches

ASKED, ANSWER = "__ppm_asked", "__ppm_answer"
"""Which query is answered; below 0, a loss. What a shard tells of a count is a part of it."""
_SLOTS_AT_ONCE = 1 << 18
"""How many parts of a count are told together."""


@dataclass(frozen=True, slots=True)
class Found:
    """How many matches of one query became certain, by subject and slot."""

    number: int
    """The place of the query."""
    subjects: pa.Array = field(repr=False)
    subject: Values = field(repr=False)
    """Places among the subjects."""
    slot: Values = field(repr=False)
    count: Values = field(repr=False)

    @classmethod
    def of(cls, program: Program, number: int, matches: Matches, opened: int) -> Found:
        """Matches as the engine tells them, in order of slot and subject."""
        slot = (matches.at - program.start) // program.slot
        if np.any(slot < opened):
            raise InternalError("a match became certain in a slot that was answered already")
        size = max(1, len(matches.subjects))
        keys, count = np.unique((slot - opened) * size + matches.subject, return_counts=True)
        return cls(number, matches.subjects, keys % size, opened + keys // size, count)

    def among(self, state: State) -> Found:
        """Those of known subjects, by their places in a state."""
        place = state.places_of(self.subjects)[self.subject]
        kept = np.flatnonzero(place >= 0)
        kept = kept[state.since[place[kept]] <= self.slot[kept]]
        return Found(self.number, state.subjects, place[kept], self.slot[kept], self.count[kept])

    def spread(self, stretch: Stretch) -> Values:
        """How many there are in each subject-slot of a stretch; subjects are places in a state."""
        inside = stretch.has(self.slot)
        counts = np.zeros(len(stretch), np.int64)
        counts[stretch.places(self.subject[inside], self.slot[inside])] = self.count[inside]
        return counts


def answer_schema(subject: pa.DataType) -> pa.Schema:
    """The columns that the step gives out: whose, which slot, which query, and its answer."""
    return pa.schema(
        [
            pa.field(SUBJECT, subject),
            pa.field(SLOT, pa.int64()),
            pa.field(ASKED, pa.int32()),
            pa.field(ANSWER, pa.int64()),
        ]
    )


def answer_rows(subjects: pa.Array, slots: Values, number: int, answers: Values) -> pa.Table:
    """Answers to one query."""
    numbers = pa.array(np.full(len(slots), number), pa.int32())
    columns = [subjects, pa.array(slots), numbers, pa.array(answers)]
    return pa.Table.from_arrays(columns, schema=answer_schema(subjects.type))


def answers_to(
    questions: Questions, source: Source, done: Advanced, found: list[Found], subject: pa.DataType
) -> Iterator[pa.Table]:
    """The answers for all closed slots, some slots at a time."""
    by_query: dict[int, list[Found]] = {}
    for one in found:
        by_query.setdefault(one.number, []).append(one)
    for number, asked in enumerate(questions.asked):
        if asked.ask == "matches":
            for one in by_query.get(number, []):
                subjects = one.subjects.take(pa.array(one.subject)).cast(subject)
                yield answer_rows(subjects, one.slot, number, one.count)
    known = {
        number: [one.among(done.before) for one in by_query.get(number, [])]
        for number, asked in enumerate(questions.asked)
        if asked.ask != "matches"
    }
    for number in questions.counts:
        for slots, parts in _parts(questions.asked[number], done, known[number]):
            yield answer_rows(pa.nulls(len(slots), subject), slots, number, parts)
    if questions.draws:
        for stretch in stretches(done.before, done.closing):
            for number, asked in enumerate(questions.asked):
                if asked.ask == "existence":
                    yield _existence(asked, number, source, stretch, known[number])


def _existence(
    asked: Asked, number: int, source: Source, stretch: Stretch, found: list[Found]
) -> pa.Table:
    """Whether each subject-slot of a stretch has a match, for all of them."""
    answers = np.zeros(len(stretch), np.int64)
    for one in found:
        answers |= one.spread(stretch) > 0
    if asked.noise is not None:
        assert asked.purpose is not None
        words = stretch.words(source.stream(asked.purpose), answers)
        answers = asked.noise.release(answers, words).astype(np.int64)
    paid = _paid(asked, stretch.slots)
    subjects = stretch.subjects.take(pa.array(stretch.whose[paid]))
    return answer_rows(subjects, stretch.slots[paid], number, answers[paid])


def _parts(asked: Asked, done: Advanced, found: list[Found]) -> Iterator[tuple[Values, Values]]:
    """A shard's part of a count, for every closed slot, whether it knows anybody or not."""
    for first in range(done.before.opened, done.closing, _SLOTS_AT_ONCE):
        slots = np.arange(first, min(first + _SLOTS_AT_ONCE, done.closing))
        sums = np.zeros(len(slots), np.int64)
        for one in found:
            inside = (one.slot >= first) & (one.slot <= slots[-1])
            capped = np.minimum(one.count[inside], asked.cap)
            np.add.at(sums, one.slot[inside] - first, capped)
        paid = _paid(asked, slots)
        yield slots[paid], sums[paid]


def _paid(asked: Asked, slots: Values) -> Values:
    """The places of the slots that are answered at all."""
    if asked.stop is None:
        return np.arange(len(slots))
    return np.flatnonzero(asked.stop.is_open(slots))
