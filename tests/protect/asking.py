"""A town whose consumer has answers, without Spark: rows as the operator would get them."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from ppm.cep.columnar.watch import CONTENT
from ppm.protect.answering import Answering
from ppm.protect.compile import private_types
from ppm.protect.compile_answers import asked_by, questions_of
from ppm.protect.found import ANSWER, ASKED
from ppm.protect.open_slots import SLOT, SUBJECT, TIME
from ppm.protect.plan import Plan
from ppm.protect.questions import IS_TOLD, Questions
from ppm.protect.step import LOSSES
from ppm.protect.tally import Tally
from ppm.spec.expression.kinds import ColumnType
from tests.protect.running import Event, rows_of, town_plan, town_program
from tests.protect.town import CONSUMER, POLICY, VISIT, Edit

Answer = tuple[str | None, int, str, int]
"""Whose, in which slot, to which query, and what."""

VISIT_ANSWERED: Edit = (
    POLICY,
    "visit: {mechanism: response, epsilon: 1}",
    "visit: {mechanism: answers, epsilon: 4}",
)
ERRAND_ANSWERED: Edit = (
    POLICY,
    "errand: {mechanism: response, epsilon: 1}",
    "errand: {mechanism: answers, epsilon: 4}",
)
QUICK: Edit = (VISIT, "within: 2 h", "within: 15 min")
"""So that a match spans two slots at most."""


def asks(*queries: str) -> Edit:
    """Other queries of the consumer, each as the lines of one."""
    text = "".join("  - " + "\n    ".join(one.splitlines()) + "\n" for one in queries)
    return (CONSUMER, "  - name: visits\n    pattern: visit\n", text)


VISITED = "name: visited\npattern: visit\nask: existence"
VISITS = "name: visits\npattern: visit\nask: count\ncap: 2"
ERRANDS = "name: errands\npattern: errand"
STROLLED = (
    "name: strolled\n"
    "pattern: {name: stroll, events: {park: place = 'park', home: place = 'home'}, "
    "sequence: park -> home, within: 20 min}\n"
    "ask: existence"
)
STROLLS = (
    "name: strolls\n"
    "pattern: {name: strolls, events: {park: place = 'park', home: place = 'home'}, "
    "sequence: park -> home, within: 20 min}\n"
    "ask: count\ncap: 3"
)
EVERY_KIND: tuple[Edit, ...] = (
    VISIT_ANSWERED,
    QUICK,
    asks(VISITED, VISITS, ERRANDS, STROLLED, STROLLS),
)
"""Noisy and exact answers on the truth, and one on what the community is told."""
COLUMNS = {
    "person": ColumnType.STRING,
    "ts": ColumnType.TIMESTAMP,
    "place": ColumnType.STRING,
    "age": ColumnType.INTEGER,
}


def town_questions(plan: Plan, consumer: str = "app") -> Questions:
    """All queries of the consumer, ready to run."""
    places = [(event.stand_in or {}).get("place") for event in private_types(plan).values()]
    stand_ins = pa.table({"place": pa.array(places, pa.string())})
    return questions_of(
        plan, asked_by(plan, consumer), columns=[*COLUMNS.items()], stand_ins=stand_ins
    )


def town_answering(root: Path, *edits: Edit, shards: int = 1) -> Answering:
    """The step that answers the town's consumer."""
    plan = town_plan(root, *edits)
    program = town_program(root, *edits, communities=["friends"], shards=shards)
    return Answering(program, town_questions(plan))


def travelling(step: Answering, plan: Plan, events: Iterable[Event]) -> pa.Table:
    """Events as Spark gives them to the operator that answers."""
    events = [*events]
    program = step.program
    rows = rows_of(program, events)
    raw = pa.table({"person": rows[SUBJECT], "ts": rows[TIME], "place": [one[2] for one in events]})
    raw = raw.cast(pa.schema([*list(raw.schema)[:2], pa.field("place", pa.string())]))
    hashes = [zlib.crc32(place.encode()) for _, _, place in events]
    private = plan.types(plan.terms["friends"])
    told = [place not in private for _, _, place in events]
    rows = rows.append_column(IS_TOLD, pa.array(told, pa.bool_()))
    for side in step.questions.sides:
        with_bits = side.watched.with_bits(raw)
        for name, travels in side.travelling.items():
            if travels in rows.column_names:
                continue
            column = pa.array(hashes, pa.int64()) if name == CONTENT else with_bits[name]
            rows = rows.append_column(travels, column)
    return rows


@dataclass
class Asking:
    """A stream of questions in shards, and what becomes of their parts."""

    step: Answering
    plan: Plan
    subjects: Sequence[str] = ("ada", "bo")
    states: list[bytes | None] = field(default_factory=list)
    tallied: dict[int, bytes | None] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=list)
    lost: dict[str, int] = field(default_factory=lambda: dict.fromkeys(LOSSES, 0))

    def __post_init__(self) -> None:
        for shard in range(self.shards):
            own = [who for who in self.subjects if self._shard(who) == shard]
            seeds = pa.table({SUBJECT: pa.array(own, pa.string())})
            knows = self.step.program.knows_subjects
            self.states.append(self.step.begin(seeds) if knows else None)

    @property
    def shards(self) -> int:
        return self.step.program.shards

    @property
    def tally(self) -> Tally:
        return Tally(self.step.program, self.step.questions)

    def batch(self, pieces: Iterable[Sequence[Event]], watermark: int) -> None:
        """One micro-batch, gathered piece by piece, with the watermark that was reached before."""
        rows, released = self._rows(pieces), []
        for shard, state in enumerate(self.states):
            turn = self.step(state, self._of_shard(rows, shard), watermark)
            self.states[shard] = turn.state
            released += [*turn.released]
        for key, parts in self._split(released).items():
            if key < 0:
                self._note([parts])
            else:
                turn = self.tally(self.tallied.get(key), parts, watermark)
                self.tallied[key] = turn.state
                self._note(turn.released)

    def finish(self, pieces: Iterable[Sequence[Event]], end: int) -> None:
        """The rest of the stream at once, up to an end."""
        rows, released = self._rows(pieces), []
        for shard, state in enumerate(self.states):
            released += [*self.step.finish(state, self._of_shard(rows, shard), end)]
        for key, parts in self._split(released).items():
            self._note([parts] if key < 0 else self.tally.finish(None, parts, end))

    def _split(self, released: list[pa.Table]) -> dict[int, pa.Table]:
        found: dict[int, list[pa.Table]] = {}
        for piece in released:
            for key, parts in self.tally.split(piece):
                found.setdefault(key, []).append(parts)
        # Spark goes through keys in their order, whichever came first.
        return {key: pa.concat_tables(parts) for key, parts in sorted(found.items())}

    def _rows(self, pieces: Iterable[Sequence[Event]]) -> pa.Table:
        none = travelling(self.step, self.plan, [])
        rows = (travelling(self.step, self.plan, piece) for piece in pieces)
        return pa.concat_tables([none, *(self.step.gather(one)[0] for one in rows)])

    def _of_shard(self, rows: pa.Table, shard: int) -> pa.Table:
        mask = [self._shard(who) == shard for who in rows[SUBJECT].to_pylist()]
        return rows.filter(pa.array(mask, pa.bool_()))

    def _shard(self, who: str | None) -> int:
        return zlib.crc32((who or "").encode()) % self.shards

    def _note(self, released: Iterable[pa.Table]) -> None:
        for row in (row for piece in released for row in piece.to_pylist()):
            if row[ASKED] < 0:
                self.lost[LOSSES[-1 - row[ASKED]]] += row[ANSWER]
            else:
                name = self.step.questions.asked[row[ASKED]].name
                self.answers.append((row[SUBJECT], row[SLOT], name, row[ANSWER]))


def told(answers: Iterable[Answer], query: str) -> dict[tuple[str | None, int], int]:
    """What was answered to one query, by subject and slot; nothing is answered twice."""
    found: dict[tuple[str | None, int], int] = {}
    for who, slot, name, answer in answers:
        if name == query:
            assert (who, slot) not in found
            found[who, slot] = answer
    return found
