"""One step of a pattern: which event, how it follows the one before, and how often."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from ppm.spec.base import Many, Refusal, Spec
from ppm.spec.expression.declared import Condition
from ppm.spec.values import IDENTIFIER_PATTERN, ONCE, Duration, Identifier, Times, Written

Contiguity = Literal["next", "followed_by", "followed_by_any", "not_next", "not_followed_by"]
Loop = Literal["relaxed", "consecutive", "combinations"]


class Gap(Spec):
    """How long after the previous event of the match a stage's event comes."""

    noun: ClassVar[str] = "gap"

    min: Duration | None = None
    """At least this much later."""
    max: Duration | None = None
    """Less than this much later."""

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if self.min is None and self.max is None:
            raise Refusal.at((), "needs min, max or both")
        if self.min is not None and self.max is not None and self.min >= self.max:
            raise Refusal.at(("min",), f"is {self.min}; it must be less than max, {self.max}")
        return self


class Stage(Spec):
    """A step of a pattern: one event type, a group of stages, or a choice between stages."""

    noun: ClassVar[str] = "stage"

    event: Identifier | None = None
    """An event type of the pattern."""
    group: Many[Stage] | None = None
    """Stages in order, which repeat or are left out as one."""
    any_of: Many[Stage] | None = None
    """One of these stages (alternation)."""
    all_of: Many[Stage] | None = None
    """All of these stages, in any order (conjunction)."""
    name: Identifier | None = None
    """How conditions and measures name the stage; the event type's name if not given."""
    contiguity: Contiguity = "followed_by"
    """How it follows the stage before: next (no event between), followed_by (irrelevant events
    between), followed_by_any (any events between), not_next and not_followed_by (must not come)."""
    where: Condition | None = None
    """A further condition, which may ask what earlier stages of the match took."""
    times: Times = ONCE
    """How often: 3, 2..4, or 1.. for once or more."""
    optional: bool = False
    """Whether the match goes on without it."""
    loop: Loop | None = None
    """How repeated events follow each other: relaxed, consecutive or combinations."""
    greedy: bool = False
    """Whether only the longest repetition goes on to the next stage."""
    until: Condition | None = None
    """An event that satisfies this ends an unbounded repetition, and is not part of it."""
    gap: Gap | None = None
    """How long after the previous event of the match."""
    lasting: Duration | None = None
    """For not_followed_by: how long the event must stay away ("not X for t")."""

    @model_validator(mode="after")
    def _is_one_body(self) -> Self:
        given = [self.event, self.group, self.any_of, self.all_of]
        if sum(body is not None for body in given) != 1:
            raise Refusal.at((), "needs exactly one of event, group, any_of, all_of")
        return self

    @property
    def label(self) -> str | None:
        """What conditions call the stage."""
        return self.name or self.event

    @property
    def members(self) -> tuple[Stage, ...]:
        """The stages inside, if it is not a single event type."""
        return self.group or self.any_of or self.all_of or ()

    @property
    def is_absence(self) -> bool:
        """Whether the stage says that something must not come."""
        return self.contiguity in ("not_next", "not_followed_by")

    @property
    def is_loop(self) -> bool:
        """Whether the stage can take more than one event (or round of its group)."""
        return self.times.most is None or self.times.most > 1

    def walk(self) -> Iterator[Stage]:
        """The stage and all stages inside it."""
        yield self
        for member in self.members:
            yield from member.walk()


def stages_with_places(
    stages: tuple[Stage, ...], place: tuple[str | int, ...] = ("stages",)
) -> Iterator[tuple[Stage, tuple[str | int, ...]]]:
    """Every stage, those inside groups included, with its place in the pattern."""
    for position, stage in enumerate(stages):
        here = (*place, position)
        yield stage, here
        for key in ("group", "any_of", "all_of"):
            members: tuple[Stage, ...] | None = getattr(stage, key)
            if members is not None:
                yield from stages_with_places(members, (*here, key))


@dataclass(frozen=True, slots=True)
class Skip(Written):
    """Which other matches are dropped once one was found.

    >>> Skip.parse("skip_to_last(b)")
    Skip(strategy='skip_to_last', stage='b')
    """

    strategy: str
    stage: str | None = None

    plain: ClassVar[tuple[str, ...]] = ("no_skip", "skip_to_next", "skip_past_last")
    aimed: ClassVar[tuple[str, ...]] = ("skip_to_first", "skip_to_last")
    json_schema: ClassVar[dict[str, Any]] = {
        "type": "string",
        "pattern": rf"^({'|'.join(plain)}|({'|'.join(aimed)})\({IDENTIFIER_PATTERN}\))$",
        "description": "no_skip, skip_to_next, skip_past_last, skip_to_first(stage) or "
        "skip_to_last(stage).",
    }

    @classmethod
    def parse(cls, written: object) -> Skip:
        if isinstance(written, str):
            if written in cls.plain:
                return cls(written)
            found = re.fullmatch(rf"({'|'.join(cls.aimed)})\(({IDENTIFIER_PATTERN})\)", written)
            if found:
                return cls(found[1], found[2])
        raise ValueError(
            "allowed are no_skip, skip_to_next, skip_past_last, skip_to_first(stage), "
            "skip_to_last(stage)"
        )

    def __str__(self) -> str:
        return self.strategy if self.stage is None else f"{self.strategy}({self.stage})"


Preset = Literal["all", "first", "longest", "non-overlapping"]
MOST_STAGES = 64
MOST_NESTING = 8
MostMatches = Annotated[int, Field(ge=1, le=1_000_000_000)]
