"""A pattern as arrays: every place that a run can wait at, and what leads from one to another.

Nothing in here is a constant of a kernel, so one compiled kernel serves all patterns.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ppm.cep.columnar.conditions import Cell, Constant, Ints, Programs, Writer
from ppm.cep.machine import Absence, Machine, Step, conditions_of, machine_of
from ppm.spec.expression.kinds import ColumnType
from ppm.spec.expression.nodes import Node
from ppm.spec.pattern import Pattern
from ppm.spec.zone import Zone

Masks = npt.NDArray[np.uint64]

FOREVER = 2**62
"""Later than any event and any deadline; twice of it still fits."""

NEVER_IGNORES, IGNORES_OTHERS, IGNORES_ANY = range(3)
WAITS, COMPLETE, PENDING, UNDECIDED = range(4)
"""Before the end of the pattern; at it with nothing open; until it is sure that something stayed
away (R11); until the next event (R9)."""
NO_SKIP, FIRST, SKIP_TO_NEXT, SKIP_PAST_LAST, SKIP_TO_FIRST, SKIP_TO_LAST = range(6)

_IGNORES = {
    "next": NEVER_IGNORES,
    "followed_by": IGNORES_OTHERS,
    "followed_by_any": IGNORES_ANY,
    "consecutive": NEVER_IGNORES,
    "relaxed": IGNORES_OTHERS,
    "combinations": IGNORES_ANY,
}
_SKIPS = {
    "no_skip": NO_SKIP,
    "skip_to_next": SKIP_TO_NEXT,
    "skip_past_last": SKIP_PAST_LAST,
    "skip_to_first": SKIP_TO_FIRST,
    "skip_to_last": SKIP_TO_LAST,
}


class Tables(NamedTuple):
    """What kernels know of a pattern. A stage is its position in the pattern, and its bit."""

    # Of each place
    stage: Ints
    """The stage that is waited for; -1 is the end of the pattern."""
    ignores: Ints
    """Which events a run may go on without (R3)."""
    not_next: Masks
    """What the very next event must not be (R9), as bits."""
    never: Masks
    """What no event may be while a run waits here (R10, R11), as bits."""
    ending: Ints
    """Whether the place is the end of the pattern, and what is still open there."""
    gap: Ints
    """How long after its last event a run may wait here (R13)."""
    cleared: Ints
    """The place after one more event: `not_next` is decided."""
    forks_from: Ints
    forks: Ints
    """The places that a run goes to when it takes an event: those of place p are
    `forks[forks_from[p] : forks_from[p + 1]]` (R4)."""
    starts: Ints
    """Places that a fresh start may wait at."""
    # Of each stage
    program_from: Ints
    program_to: Ints
    """Where its condition on earlier events stands; empty if there is none."""
    least_gap: Ints
    lasting: Ints
    """For how long it must stay away; the whole window if FOREVER."""
    # Of the whole
    within: int
    skip: int
    skip_stage: int
    is_eager: bool
    """Whether time must be stepped through moment by moment: it can complete or free a match, or a
    time-out is told."""
    tells_time_outs: bool
    """Whether partial matches whose time ran out are told, too."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A pattern made ready for columns: it can be sent to a worker."""

    pattern: Pattern
    stages: tuple[str, ...]
    """The names of the stages, by position."""
    types: Mapping[str, ColumnType]
    zones: Mapping[str, Zone]
    timezone: str
    tables: Tables
    programs: Programs
    cells: tuple[Cell, ...]
    constants: tuple[Constant, ...]
    predicates: tuple[tuple[Node, ...], ...]
    """What a row must meet for each stage, apart from conditions on earlier events. A row that
    meets none of them is irrelevant: it counts for nothing but strictness."""
    needs_every_event: bool
    """Whether an event that no stage wants can still matter (R3, R9)."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that a batch must have."""
        return tuple(sorted(self.pattern.columns))


def compile_pattern(
    pattern: Pattern,
    *,
    types: Mapping[str, ColumnType],
    zones: Mapping[str, Zone],
    timezone: str,
    timed_out: bool = False,
) -> Compiled:
    """A pattern as tables; a `SpecError` or `BindingError` if it asks what cannot be done.

    With `timed_out`, partial matches whose time ran out are found, too.

    >>> from ppm.spec.build import pattern
    >>> door = (
    ...     pattern("door").event("opens", "is_open").event("shuts", "NOT is_open")
    ...     .begin("opens").followed_by("shuts").within("5 s").build()
    ... )
    >>> compiled = compile_pattern(
    ...     door, types={"is_open": ColumnType.BOOLEAN}, zones={}, timezone="UTC"
    ... )
    >>> compiled.stages, compiled.tables.within
    (('opens', 'shuts'), 5000000)
    """
    machine = machine_of(pattern, zones=zones, timezone=timezone, types=types)
    names = tuple(str(stage.label) for stage in pattern.stages)
    writer = Writer({name: place for place, name in enumerate(names)}, types, zones)
    ranges, predicates = [], []
    for stage in pattern.stages:
        of_row, on_earlier = conditions_of(pattern, stage)
        ranges.append(writer.write(list(on_earlier)))
        predicates.append(of_row)
    places = _Places(machine, names)
    return Compiled(
        pattern=pattern,
        stages=names,
        types=dict(types),
        zones=dict(zones),
        timezone=timezone,
        tables=_tables(machine, places, ranges, timed_out=timed_out),
        programs=writer.programs(),
        cells=tuple(writer.cells),
        constants=tuple(writer.constants),
        predicates=tuple(predicates),
        needs_every_event=_needs_every_event(machine),
    )


class _Place(NamedTuple):
    step: int
    taken: int = 0
    not_next: int = 0
    never: int = 0


class _Places:
    """All places that runs can come to, found by following every fork."""

    def __init__(self, machine: Machine, names: tuple[str, ...]) -> None:
        self.machine = machine
        self.bit = {name: place for place, name in enumerate(names)}
        self.starts = [_Place(place.step) for place in self._arrive(0)]
        self.number: dict[_Place, int] = {}
        waiting = deque(self.starts)
        while waiting:
            place = waiting.popleft()
            if place not in self.number:
                self.number[place] = len(self.number)
                waiting.extend([*self.forks(place), self.cleared(place)])

    def cleared(self, place: _Place) -> _Place:
        return place._replace(not_next=0)

    def forks(self, place: _Place) -> Iterator[_Place]:
        """R4, R9 and R10 as in `ppm.cep.run`."""
        if place.step == len(self.machine.steps):
            return
        step, count = self.machine.steps[place.step], place.taken + 1
        if step.most is None or count < step.most:
            following = self.machine.absences_before(place.step + 1)
            # Without an upper limit, having enough is all that is remembered.
            known = min(count, step.fewest) if step.most is None else count
            not_next = self._bits(following, is_next=True) if count >= step.fewest else 0
            yield _Place(place.step, known, not_next, self._bits(following, is_next=False))
        if count >= step.fewest:
            yield from self._arrive(place.step + 1)

    def _arrive(self, step: int, not_next: int = 0, never: int = 0) -> Iterator[_Place]:
        here = self.machine.absences_before(step)
        not_next |= self._bits(here, is_next=True)
        never |= self._bits(here, is_next=False)
        yield _Place(step, 0, not_next, never)
        if step < len(self.machine.steps) and self.machine.steps[step].optional:
            yield from self._arrive(step + 1, not_next, never)

    def _bits(self, absences: Iterable[Absence], *, is_next: bool) -> int:
        return sum(1 << self.bit[one.name] for one in absences if one.is_next is is_next)


def _tables(
    machine: Machine, places: _Places, ranges: list[tuple[int, int]], *, timed_out: bool
) -> Tables:
    steps, found = machine.steps, list(places.number)
    forks = [[places.number[fork] for fork in places.forks(place)] for place in found]
    by_stage: dict[int, Step] = {places.bit[step.name]: step for step in steps}
    absences = [one for at in range(len(steps) + 1) for one in machine.absences_before(at)]
    lasting = {places.bit[one.name]: one.lasting for one in absences}
    skip = machine.skip
    is_held = skip is not None and skip.strategy != "no_skip"
    # Not only the absences at the end: others come along past optional stages (R10).
    endings = [_ending(place, len(steps)) for place in found]
    aim = skip.stage if skip is not None else None
    return Tables(
        stage=_ints(places.bit[steps[p.step].name] if p.step < len(steps) else -1 for p in found),
        ignores=_ints(_ignores(steps[p.step], p) if p.step < len(steps) else 0 for p in found),
        not_next=np.array([place.not_next for place in found], np.uint64),
        never=np.array([place.never for place in found], np.uint64),
        ending=_ints(endings),
        gap=_ints(
            _or_forever(steps[p.step].longest_gap if p.step < len(steps) else None) for p in found
        ),
        cleared=_ints(places.number[places.cleared(place)] for place in found),
        forks_from=np.cumsum([0, *map(len, forks)], dtype=np.int64),
        forks=_ints(fork for each in forks for fork in each),
        starts=_ints(places.number[place] for place in places.starts),
        program_from=_ints(start for start, _ in ranges),
        program_to=_ints(end for _, end in ranges),
        least_gap=_ints(
            by_stage[at].least_gap if at in by_stage else 0 for at in range(len(ranges))
        ),
        lasting=_ints(_or_forever(lasting.get(at)) for at in range(len(ranges))),
        within=_or_forever(machine.within),
        skip=FIRST if skip is None else _SKIPS[skip.strategy],
        skip_stage=-1 if aim is None else places.bit[aim],
        is_eager=is_held or PENDING in endings or timed_out,
        tells_time_outs=timed_out,
    )


def _ignores(step: Step, place: _Place) -> int:
    return _IGNORES[step.contiguity if place.taken == 0 else step.loop]


def _ending(place: _Place, end: int) -> int:
    if place.step < end:
        return WAITS
    if place.not_next:
        return UNDECIDED
    return PENDING if place.never else COMPLETE


def _needs_every_event(machine: Machine) -> bool:
    absences = [one for at in range(len(machine.steps) + 1) for one in machine.absences_before(at)]
    return any(one.is_next for one in absences) or any(
        step.contiguity == "next" or (step.loop == "consecutive" and step.most != 1)
        for step in machine.steps
    )


def _or_forever(micros: int | None) -> int:
    return FOREVER if micros is None else min(micros, FOREVER)


def _ints(values: Iterable[int]) -> Ints:
    return np.fromiter(values, np.int64)
