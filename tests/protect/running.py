"""A protected stream without Spark: rows, shards and watermarks as the operator would give them."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from ppm.cep.step import BITS_IN_A_COLUMN
from ppm.dp.secret import SecretRef
from ppm.dp.source import Seed
from ppm.protect.compile import program_of
from ppm.protect.open_slots import SLOT, SUBJECT, TIME, bit_names
from ppm.protect.plan import Plan
from ppm.protect.program import Program
from ppm.protect.step import LOSSES, TOLD, Protection
from tests.protect.town import Edit, another_community, check_town

SECOND = 1_000_000
LATENESS = 120 * SECOND
SEEN: Edit = ("policies/town.yaml", "subjects: [ada, bo]", "subjects: seen")
NEIGHBOURS = another_community(
    "neighbours",
    "protect: {visit: {mechanism: response, epsilon: 0.5}, "
    "errand: {mechanism: response, epsilon: 2}}",
)
"""A second community, better informed of errands and worse of visits."""
JOINT: tuple[Edit, ...] = tuple(
    ("policies/town.yaml", f"{name}: {{mechanism: response", f"{name}: {{mechanism: joint-response")
    for name in ("visit", "errand")
)
Event = tuple[str | None, float | None, str]
"""Who, how many seconds after the policy's start, and where."""
Told = tuple[str, int, str, str]
"""Whose, in which slot, the type, and to whom."""


def town_plan(root: Path, *edits: Edit) -> Plan:
    """The town's policy with some edits, linked."""
    return check_town(root, *edits).plan("town")


def town_program(
    root: Path,
    *edits: Edit,
    communities: Sequence[str] | None = None,
    noise: SecretRef | Seed = Seed(7),  # noqa: B008
    shards: int = 1,
) -> Program:
    """The town's policy with some edits, ready to run."""
    plan = town_plan(root, *edits)
    return program_of(
        plan,
        [*plan.terms] if communities is None else communities,
        noise=noise,
        columns="person string, ts timestamp, place string",
        shards=shards,
        knows_subjects=plan.policy.stream.subjects != "seen",
        names_communities=True,
    )


def rows_of(program: Program, events: Iterable[Event]) -> pa.Table:
    """Events as Spark gives them to the operator: whose, when, and a bit for each private type."""
    events = [*events]
    times = [None if at is None else program.start + round(at * SECOND) for _, at, _ in events]
    bits = [1 << program.types.index(p) if p in program.types else 0 for _, _, p in events]
    assert len(program.types) <= BITS_IN_A_COLUMN
    return pa.table(
        {
            SUBJECT: pa.array([who for who, _, _ in events], pa.string()),
            TIME: pa.array(times, pa.timestamp("us", "UTC")),
            bit_names(1)[0]: pa.array(bits, pa.int64()),
        }
    )


@dataclass
class Town:
    """A stream in shards. Subjects are spread by a hash, and each batch may come in pieces."""

    step: Protection
    shards: int = 1
    subjects: Sequence[str] = ("ada", "bo")
    states: list[bytes | None] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    lost: dict[str, int] = field(default_factory=lambda: dict.fromkeys(LOSSES, 0))

    def __post_init__(self) -> None:
        for shard in range(self.shards):
            own = [who for who in self.subjects if self._shard(who) == shard]
            seeds = pa.table({SUBJECT: pa.array(own, pa.string())})
            knows = self.step.program.knows_subjects
            self.states.append(self.step.begin(seeds) if knows else None)

    def batch(self, pieces: Iterable[Sequence[Event]], watermark: int) -> None:
        """One micro-batch, gathered piece by piece, with the watermark that was reached before."""
        gathered = [self._gathered(piece) for piece in pieces]
        for shard, state in enumerate(self.states):
            rows = self._of_shard(gathered, shard)
            turn = self.step(state, rows, watermark)
            self.states[shard] = turn.state
            self._note(turn.released)

    def finish(self, pieces: Iterable[Sequence[Event]], end: int) -> None:
        """The rest of the stream at once, up to an end."""
        gathered = [self._gathered(piece) for piece in pieces]
        for shard, state in enumerate(self.states):
            self._note(self.step.finish(state, self._of_shard(gathered, shard), end))

    def _gathered(self, events: Sequence[Event]) -> pa.Table:
        return self.step.gather(rows_of(self.step.program, events))[0]

    @property
    def no_rows(self) -> pa.Table:
        """What a step is given when only time has passed."""
        return self.step.packed_schema(rows_of(self.step.program, []).schema).empty_table()

    def _of_shard(self, gathered: list[pa.Table], shard: int) -> pa.Table:
        whole = pa.concat_tables([self.no_rows, *gathered])
        mask = [self._shard(who) == shard for who in whole[SUBJECT].to_pylist()]
        return whole.filter(pa.array(mask, pa.bool_()))

    def _shard(self, who: str | None) -> int:
        return zlib.crc32((who or "").encode()) % self.shards

    def _note(self, released: Iterable[pa.Table]) -> None:
        program = self.step.program
        rows = [row for piece in released for row in piece.to_pylist()]
        for who, slot, told in ((row[SUBJECT], row[SLOT], row[TOLD]) for row in rows):
            if told < 0:
                self.lost[LOSSES[-1 - told]] += slot
            else:
                type_, community = divmod(told, len(program.communities))
                self.told.append((who, slot, program.types[type_], program.communities[community]))


def watermark_after(program: Program, events: Iterable[Event]) -> int:
    """The watermark that Spark has after some events, as the operator hands it to a step."""
    times = [program.start + round(at * SECOND) for _, at, _ in events if at is not None]
    if not times:
        return -(1 << 62)
    return max(times) // 1000 * 1000 - LATENESS - 1
