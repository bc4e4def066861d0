"""Counts over all subjects: the parts of all shards added up, with one noise for each slot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ppm.cep.seal import Owner, Seal
from ppm.cep.step import Step, Turn
from ppm.dp.mechanism import Values
from ppm.dp.source import Source, source_of
from ppm.protect.answering import owner_of
from ppm.protect.found import ANSWER, ASKED, answer_rows
from ppm.protect.open_slots import SLOT, SUBJECT
from ppm.protect.program import Program
from ppm.protect.questions import Questions

VERSION = 1
SEAL = Seal("tally", VERSION)
_REPORTED = "reported"


@dataclass(frozen=True)
class Tally(Step):
    """Adds up the parts of one query, and tells a slot's sum once every shard has reported it.

    Which batch that is depends on event time alone. What is remembered are the slots that some
    shards have reported and others have not.
    """

    program: Program
    questions: Questions

    @property
    def source(self) -> Source:
        """Where words come from: the secret is read in the process that draws."""
        return source_of(self.program.noise)

    @property
    def owner(self) -> Owner:
        """What a state belongs to."""
        return owner_of(self.program, self.questions, self.source)

    def split(self, answers: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        """Answers by where they belong: under the place of a query, parts of its count; below 0,
        what is told as it is."""
        number = answers[ASKED].to_numpy()
        others = np.ones(len(number), np.bool_)
        for query in self.questions.counts:
            is_part = number == query
            others &= ~is_part
            if is_part.any():
                yield query, answers.filter(pa.array(is_part))
        if others.any():
            yield -1, answers.filter(pa.array(others))

    def __call__(self, state: bytes | None, rows: pa.Table, watermark: int) -> Turn:  # noqa: ARG002
        subject = rows.schema.field(SUBJECT).type
        parts = rows.select([ASKED, SLOT, ANSWER])
        parts = parts.append_column(_REPORTED, pa.array(np.ones(parts.num_rows, np.int64)))
        if state is not None:
            parts = pa.concat_tables([SEAL.open(state, self.owner), parts])
        sums = _added(parts)
        is_whole = pc.greater_equal(sums[_REPORTED], self.program.shards)
        waiting = sums.filter(pc.invert(is_whole))
        after = SEAL.close(waiting, self.owner) if waiting.num_rows else None
        return Turn(after, self._told(sums.filter(is_whole), subject))

    def finish(self, state: bytes | None, rows: pa.Table, end: int) -> Iterator[pa.Table]:
        """The counts of a batch: all parts are there, and a shard that nothing came to has none."""
        del state, end
        parts = rows.select([ASKED, SLOT, ANSWER])
        parts = parts.append_column(_REPORTED, pa.array(np.ones(parts.num_rows, np.int64)))
        return self._told(_added(parts), rows.schema.field(SUBJECT).type)

    def _told(self, sums: pa.Table, subject: pa.DataType) -> Iterator[pa.Table]:
        """Sums with their noise, in order of slots."""
        for number in pc.unique(sums[ASKED]).to_pylist():
            mine = sums.filter(pc.equal(sums[ASKED], number))
            slots, answers = mine[SLOT].to_numpy(), self._noisy(number, mine)
            yield answer_rows(pa.nulls(len(slots), subject), slots, number, answers)

    def _noisy(self, number: int, sums: pa.Table) -> Values:
        asked = self.questions.asked[number]
        truth: Values = sums[ANSWER].to_numpy()
        if asked.noise is None:
            return truth
        assert asked.purpose is not None
        truth = np.minimum(truth, asked.noise.inputs - 1)
        # A count is of no subject: its words are those of a tag that stands for nobody.
        nobody, stream = np.zeros((1, 2), np.uint64), self.source.stream(asked.purpose)
        none = np.zeros(len(truth), np.intp)
        words = stream.words(nobody, sums[SLOT].to_numpy(), truth, rows=none)
        return asked.noise.release(truth, words)


def _added(parts: pa.Table) -> pa.Table:
    """The parts of each slot as one."""
    keys = [ASKED, SLOT]
    sums = parts.group_by(keys).aggregate([(ANSWER, "sum"), (_REPORTED, "sum")])
    sums = sums.select([*keys, f"{ANSWER}_sum", f"{_REPORTED}_sum"])
    ordered = sums.rename_columns([*keys, ANSWER, _REPORTED]).sort_by(
        [(SLOT, "ascending"), (ASKED, "ascending")]
    )
    return ordered.combine_chunks()
