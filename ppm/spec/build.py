"""Patterns written in Python; they are equal to those written in YAML, and refused alike.

>>> clinic_visit = (
...     pattern("clinic-visit", doc="A visit to the clinic and then the pharmacy")
...     .event("leave_home", "NOT in_zone(lat, lon, 'home')")
...     .event("clinic", "in_zone(lat, lon, 'clinic')", stand_in={"lat": 59.93, "lon": 10.73})
...     .event("pharmacy", "in_zone(lat, lon, 'pharmacy')")
...     .begin("leave_home")
...     .followed_by("clinic", times="1..")
...     .followed_by("pharmacy", gap=gap(max="2 h"), optional=True)
...     .within("4 h")
...     .build()
... )
>>> clinic_visit.text
'leave_home -> clinic{1,} -> pharmacy? within 4 h'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, TypedDict, Unpack

from pydantic import ValidationError

from ppm.errors import Fault, SpecError, counted, listed
from ppm.spec.document import path_text
from ppm.spec.expression.declared import Condition, Predicate
from ppm.spec.faults import faults_of
from ppm.spec.pattern import Pattern
from ppm.spec.stage import Contiguity, Gap, Loop, Preset, Skip
from ppm.spec.values import Duration, Times

WindowKind = Literal["time", "count", "session", "delta", "punctuation"]


class StageOptions(TypedDict, total=False):
    """What may be said of a stage besides what it is; the keys are those of YAML."""

    name: str
    where: str | bool | Condition
    times: int | str | Times
    optional: bool
    loop: Loop
    greedy: bool
    until: str | bool | Condition
    gap: Mapping[str, str | Duration] | Gap
    lasting: str | Duration


@dataclass(frozen=True, slots=True)
class Part:
    """A stage without its place in a pattern."""

    declared: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Row:
    """Stages that follow one another. Every method gives a new row and leaves this one alone."""

    stages: tuple[Mapping[str, Any], ...] = ()

    def next(self, body: Body, **options: Unpack[StageOptions]) -> Self:
        """The very next event."""
        return self._and("next", body, options)

    def followed_by(self, body: Body, **options: Unpack[StageOptions]) -> Self:
        """The next such event; others may come between."""
        return self._and("followed_by", body, options)

    def followed_by_any(self, body: Body, **options: Unpack[StageOptions]) -> Self:
        """Any such event later on, not only the next one."""
        return self._and("followed_by_any", body, options)

    def not_next(self, body: Body, **options: Unpack[StageOptions]) -> Self:
        """The very next event is something else."""
        return self._and("not_next", body, options)

    def not_followed_by(self, body: Body, **options: Unpack[StageOptions]) -> Self:
        """No such event before the next stage; or, with `lasting`, for so long."""
        return self._and("not_followed_by", body, options)

    def _and(self, contiguity: Contiguity, body: Body, options: StageOptions) -> Self:
        declared = dict(**_stage(body, options), contiguity=contiguity)
        return replace(self, stages=(*self.stages, declared))


@dataclass(frozen=True, slots=True)
class Steps(_Row):
    """A group in the making."""


@dataclass(frozen=True, slots=True)
class PatternBuilder(_Row):
    """A pattern in the making. Every method gives a new builder and leaves this one alone.

    What can be said once is replaced when it is said again, so that one builder can be the start
    of many.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    events: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    misplaced: tuple[Fault, ...] = ()

    def event(
        self,
        name: str,
        where: str | bool | Predicate,
        *,
        stand_in: Mapping[str, bool | int | float | str] | None = None,
    ) -> Self:
        """Declare an event type: which rows are of it, and what is released in their place."""
        declared: dict[str, Any] = {"where": where}
        if stand_in is not None:
            declared["stand_in"] = dict(stand_in) if isinstance(stand_in, Mapping) else stand_in
        twice = any(name == known for known, _ in self.events)
        faults = (Fault(f"events.{name} is declared twice; keep one of them"),) if twice else ()
        return replace(
            self,
            events=(*self.events, (name, declared)),
            misplaced=(*self.misplaced, *faults),
        )

    def begin(self, body: Body, **options: Unpack[StageOptions]) -> Self:
        """The first stage."""
        if not self.stages:
            return self.followed_by(body, **options)
        place = path_text(("stages", len(self.stages)))
        fault = Fault(
            f"{place} begins the pattern, but {counted(len(self.stages), 'stage')} came before; "
            "use followed_by or next"
        )
        return replace(self.followed_by(body, **options), misplaced=(*self.misplaced, fault))

    def within(self, duration: str | Duration) -> Self:
        """The whole match takes less than this."""
        return self._set("within", duration)

    def window(
        self, kind: WindowKind, **settings: str | int | float | Duration | Predicate
    ) -> Self:
        """The stretch of the stream inside which a match must lie: `window("count", size=4)`."""
        return self._set("window", dict(settings, kind=kind))

    def skip(self, strategy: str | Skip) -> Self:
        """Which matches are dropped once one was found."""
        return self._set("skip", strategy)

    def preset(self, preset: Preset) -> Self:
        """In place of skip: all, first, longest or non-overlapping matches."""
        return self._set("preset", preset)

    def max_matches(self, most: int) -> Self:
        """List at most so many matches of one subject and window; the count stays exact."""
        return self._set("max_matches", most)

    def build(self) -> Pattern:
        """The pattern, or a `SpecError` with everything that is wrong with it."""
        declared = {**self.settings, "events": dict(self.events), "stages": list(self.stages)}
        try:
            built = Pattern.model_validate(declared)
        except ValidationError as error:
            raise SpecError([*self.misplaced, *faults_of(error, Pattern, None)]) from None
        if self.misplaced:
            raise SpecError(self.misplaced)
        return built

    def _set(self, key: str, value: object) -> Self:
        return replace(self, settings={**self.settings, key: value})


Body = str | Part | Steps
"""What a stage takes: an event type by its name, a choice, or a row of stages as one."""


def pattern(name: str, *, doc: str = "") -> PatternBuilder:
    """Start a pattern."""
    return PatternBuilder(settings={"name": name, "doc": doc})


def steps(body: Body, **options: Unpack[StageOptions]) -> Steps:
    """Start a group: stages in order that repeat, or are left out, as one.

    >>> group = steps("a").next("b")
    >>> builder = pattern("p").event("a", "x > 1").event("b", "x < 0")
    >>> builder.begin(group, times="1..").build().text
    '(a >> b){1,}'
    """
    return Steps().followed_by(body, **options)


def any_of(*bodies: Body) -> Part:
    """One of these (alternation)."""
    return Part({"any_of": [_stage(body, {}) for body in bodies]})


def all_of(*bodies: Body) -> Part:
    """All of these, in any order (conjunction)."""
    return Part({"all_of": [_stage(body, {}) for body in bodies]})


def stage(body: Body, **options: Unpack[StageOptions]) -> Part:
    """A stage with options, for use inside a choice: `any_of(stage("a", times=2), "b")`."""
    return Part(_stage(body, options))


def gap(
    *, min: str | Duration | None = None, max: str | Duration | None = None
) -> Mapping[str, str | Duration]:
    """How long after the previous event of the match: at least `min`, less than `max`."""
    limits = {"min": min, "max": max}
    return {key: limit for key, limit in limits.items() if limit is not None}


def _stage(body: Body, options: StageOptions) -> dict[str, Any]:
    if isinstance(body, Part):
        declared = dict(body.declared)
    else:
        declared = {"group": list(body.stages)} if isinstance(body, Steps) else {"event": body}
    twice = sorted(declared.keys() & options.keys())
    if twice:
        raise SpecError([Fault(f"a stage is given {listed(twice)} twice; keep one of them")])
    return {**declared, **options}
