"""A small policy, and the stream that it protects run in this process, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from ppm.audit.observation import Observer, Received
from ppm.audit.planting import Planting
from ppm.audit.rows import Kinds, Row
from ppm.audit.stream import measure
from ppm.audit.stream_bounds import Measured
from ppm.dp.source import Seed
from ppm.protect.check import check_project
from ppm.protect.compile import private_types, program_of
from ppm.protect.open_slots import SLOT, SUBJECT, TIME, bit_names
from ppm.protect.plan import Plan
from ppm.protect.program import Program
from ppm.protect.step import TOLD, Protection

Alter = Callable[[Program], Program]
Blamed = set[tuple[tuple[str, ...], str]]

CANARIES = 2_000
HOUSE = Path(__file__).parents[2] / "policies/quiet-house.yaml"

FILES = {
    "patterns/visit.yaml": """\
name: visit
events:
  clinic: {where: place = 'clinic', stand_in: {place: clinic}}
  pharmacy: {where: place = 'pharmacy', stand_in: {place: pharmacy}}
sequence: clinic -> pharmacy
within: 20 min
""",
    "patterns/call.yaml": """\
name: call
events:
  call: {where: place = 'phone', stand_in: {place: phone}}
sequence: call
""",
    "policies/village.yaml": """\
name: village
version: 1
stream:
  subject: person
  time: ts
  slot: 15 min
  from: 2026-03-01T00:00:00+01:00
  lateness: 2 min
  columns:
    {person: string, ts: timestamp, place: string, device: integer, weight: double, note: string,
     paid: boolean, posted: timestamp, clock: local_timestamp}
communities:
  doctors:
    protect:
      visit: {mechanism: response, epsilon: 2}
      call: {mechanism: response, epsilon: 1}
  friends:
    protect:
      visit: {mechanism: response, epsilon: 1}
      call: {mechanism: response, epsilon: 0.9}
  press:
    protect:
      visit: {mechanism: joint-response, epsilon: 1}
      call: {mechanism: answers, epsilon: 1}
    columns:
      - {rule: drop, column: device}
      - {rule: snap, column: weight, grid: 10}
""",
}


def village(root: Path, *edits: tuple[str, str], subjects: str = "seen") -> Plan:
    """The policy with some texts changed, linked."""
    policy = FILES["policies/village.yaml"]
    for old, new in (("lateness: 2 min", f"lateness: 2 min\n  subjects: {subjects}"), *edits):
        assert policy.count(old) == 1
        policy = policy.replace(old, new)
    for file, text in (FILES | {"policies/village.yaml": policy}).items():
        (root / file).parent.mkdir(exist_ok=True, parents=True)
        (root / file).write_text(text, "utf-8")
    return check_project(root).plan("village")


def audited(
    plan: Plan,
    planting: Planting,
    received: Iterable[Received],
    communities: Sequence[str] | None = None,
    *,
    alpha: float = 1e-6,
) -> list[Measured]:
    """What an audit makes of what was received."""
    observer = Observer(plan, planting, received)
    return [*measure(plan, communities or [*plan.terms], planting, observer, alpha=alpha)]


def blamed(measured: Iterable[Measured]) -> Blamed:
    """Whose claims were exceeded, and for which pattern."""
    return {(one.communities, one.pattern) for one in measured if not one.holds}


def in_process(
    plan: Plan,
    communities: Sequence[str],
    planting: Planting,
    noise: Seed,
    alter: Alter = lambda program: program,
) -> list[Received]:
    """What the job gives, by the same step with the same batches and watermarks."""
    program = program_of(
        plan,
        communities,
        noise=noise,
        columns="",
        shards=1,
        knows_subjects=planting.subjects is not None,
        names_communities=True,
    )
    return [*_run(plan, Protection(alter(program)), planting)]


def _run(plan: Plan, step: Protection, planting: Planting) -> Iterator[Received]:
    kinds, grid = Kinds(plan, planting.columns), planting.grid
    seeds = None if planting.subjects is None else pa.table({SUBJECT: [*planting.subjects]})
    state, watermark = step.begin(seeds), -(1 << 62)
    for batch, rows in enumerate([*planting.files, ()]):
        types = [kinds.of(row) for row in rows]
        for row, own in zip(rows, types, strict=True):
            for name in step.program.communities:
                if own.isdisjoint(plan.types(plan.terms[name])):
                    yield name, batch, row
        turn = step(state, step.gather(_table(step.program, planting, rows, types))[0], watermark)
        for piece in turn.released:
            for name, stand_in in _stand_ins(plan, step.program, planting, piece):
                yield name, batch, stand_in
        if rows:
            newest = max(grid.moment(*grid.place_of(row)[1:]) for row in rows)
            watermark = newest // 1000 * 1000 - plan.policy.stream.lateness.microseconds - 1
        state = turn.state


def _table(
    program: Program, planting: Planting, rows: Sequence[Row], types: Sequence[frozenset[str]]
) -> pa.Table:
    """Rows as the operator gets them: whose, when, and a bit for each private type."""
    bits = [sum(1 << program.types.index(name) for name in own) for own in types]
    times = [row[planting.grid.time] for row in rows]
    return pa.table(
        {
            SUBJECT: pa.array([row[planting.grid.subject] for row in rows], pa.string()),
            TIME: pa.array(times, pa.timestamp("us", "UTC")),
            bit_names(1)[0]: pa.array(bits, pa.int64()),
        }
    )


def _stand_ins(
    plan: Plan, program: Program, planting: Planting, released: pa.Table
) -> Iterator[tuple[str, Row]]:
    stream, types = plan.policy.stream, private_types(plan)
    columns = (released[name].to_pylist() for name in (SUBJECT, SLOT, TOLD))
    for subject, slot, told in zip(*columns, strict=True):
        assert told >= 0, "a private row got lost"
        type_, community = divmod(told, len(program.communities))
        own = {
            stream.subject: subject,
            stream.time: planting.grid.moment(slot, 0),
            **(types[program.types[type_]].stand_in or {}),
        }
        yield program.communities[community], tuple(own.get(name) for name in planting.columns)
