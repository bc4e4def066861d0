"""A pattern as the reference interpreter walks it: its stages in a row, each with its absences.

Nothing in here changes while events are processed; what changes is in `ppm.cep.run`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ppm.cep.rowwise import Row, answer
from ppm.cep.support import refuse_unsupported
from ppm.spec.expression.kinds import ColumnType
from ppm.spec.expression.lower import lower
from ppm.spec.expression.nodes import Node, conjuncts, stage_values_of
from ppm.spec.pattern import Pattern
from ppm.spec.stage import Contiguity, Loop, Skip, Stage
from ppm.spec.values import Duration
from ppm.spec.zone import Zone


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events satisfy a stage: those of its type that also meet its condition."""

    conditions: tuple[Node, ...]
    of_row: tuple[Node, ...]
    """Those parts of the conditions that read nothing but the row."""
    timezone: str
    types: Mapping[str, ColumnType] | None

    def is_met(self, row: Row, taken: Mapping[str, list[Row]]) -> bool:
        """Whether a row satisfies the stage, given what the run has taken (R6)."""
        # Unknown is not yes.
        return all(
            answer(node, row, timezone=self.timezone, taken=taken, types=self.types) is True
            for node in self.conditions
        )

    def may_want(self, row: Row) -> bool:
        """Whether a row satisfies the stage as far as the row alone can tell."""
        return all(
            answer(node, row, timezone=self.timezone, types=self.types) is True
            for node in self.of_row
        )


@dataclass(frozen=True, slots=True)
class Absence:
    """An event that must not come: next (R9), or before the following stage or an end (R10)."""

    name: str
    wanted: Wanted
    is_next: bool
    """Whether it is about the very next event only."""
    lasting: int | None
    """For how many microseconds it must stay away; the whole window if nothing is said."""


@dataclass(frozen=True, slots=True)
class Step:
    """A stage that takes events, with the absences that stand right before it."""

    name: str
    wanted: Wanted
    absences: tuple[Absence, ...]
    contiguity: Contiguity
    """How its first event follows the stage before."""
    loop: Loop
    """How its further events follow each other."""
    fewest: int
    most: int | None
    optional: bool
    least_gap: int
    longest_gap: int | None
    """Microseconds since the previous event of the match, for each of its events."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A pattern made ready for the rows of one stream."""

    # Later: a group is a Step whose body is a Machine, until is one more Wanted of a Step, and
    # greedy is an Absence put before the next step; only `ppm.cep.run` asks what follows a step.
    pattern: str
    steps: tuple[Step, ...]
    ending: tuple[Absence, ...]
    """The absences that the pattern ends with."""
    within: int | None
    """The whole match takes less, in microseconds."""
    skip: Skip | None
    """None is the preset `first`, which none of Flink's strategies is."""

    def absences_before(self, position: int) -> tuple[Absence, ...]:
        """What must not come on the way to a step, or after the last one."""
        return self.steps[position].absences if position < len(self.steps) else self.ending

    def is_relevant(self, row: Row) -> bool:
        """Whether a row alone lets some stage want it, be it one that takes events or an absence.

        Other rows can neither be taken nor break an absence, whatever a run has taken.
        """
        return any(wanted.may_want(row) for wanted in self._wanted())

    def _wanted(self) -> Iterator[Wanted]:
        yield from (step.wanted for step in self.steps)
        for position in range(len(self.steps) + 1):
            yield from (absence.wanted for absence in self.absences_before(position))


def machine_of(
    pattern: Pattern,
    *,
    zones: Mapping[str, Zone],
    timezone: str,
    types: Mapping[str, ColumnType] | None = None,
) -> Machine:
    """The machine for a pattern; a `SpecError` if it says what cannot be done yet."""
    refuse_unsupported(pattern)

    def wanted(stage: Stage) -> Wanted:
        conditions = [pattern.events[str(stage.event)].where.tree]
        conditions += [stage.where.tree] if stage.where is not None else []
        of_row, _ = conditions_of(pattern, stage)
        return Wanted(
            tuple(lower(node, zones) for node in conditions),
            tuple(lower(node, zones) for node in of_row),
            timezone,
            types,
        )

    steps: list[Step] = []
    absences: list[Absence] = []
    for stage in pattern.stages:
        if stage.is_absence:
            absences.append(_absence(stage, wanted(stage)))
        else:
            steps.append(_step(stage, wanted(stage), tuple(absences)))
            absences = []
    return Machine(
        pattern.name, tuple(steps), tuple(absences), _micros(pattern.within), _skip(pattern)
    )


def conditions_of(pattern: Pattern, stage: Stage) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """What a stage asks of an event: what the row alone answers, and what reads earlier events."""
    parts = [pattern.events[str(stage.event)].where.tree]
    parts += conjuncts(stage.where.tree) if stage.where is not None else []
    of_row = tuple(part for part in parts if not stage_values_of(part))
    return of_row, tuple(part for part in parts if stage_values_of(part))


def _absence(stage: Stage, wanted: Wanted) -> Absence:
    is_next = stage.contiguity == "not_next"
    return Absence(str(stage.label), wanted, is_next, _micros(stage.lasting))


def _step(stage: Stage, wanted: Wanted, absences: tuple[Absence, ...]) -> Step:
    return Step(
        name=str(stage.label),
        wanted=wanted,
        absences=absences,
        contiguity=stage.contiguity,
        loop=stage.loop or "relaxed",
        fewest=stage.times.fewest,
        most=stage.times.most,
        optional=stage.optional,
        least_gap=(_micros(stage.gap.min) if stage.gap else None) or 0,
        longest_gap=_micros(stage.gap.max) if stage.gap else None,
    )


def _skip(pattern: Pattern) -> Skip | None:
    match pattern.preset:
        case "first":
            return None
        case "non-overlapping":
            return Skip("skip_past_last")
    return pattern.skip or Skip("no_skip")


def _micros(duration: Duration | None) -> int | None:
    return None if duration is None else duration.microseconds
