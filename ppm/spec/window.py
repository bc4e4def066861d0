"""The stretch of a stream inside which a pattern is looked for."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self, TypeVar

from pydantic import Field, model_validator

from ppm.spec.base import Refusal, Spec
from ppm.spec.columns import ColumnName
from ppm.spec.expression.declared import Predicate
from ppm.spec.values import Duration

Count = Annotated[int, Field(ge=1, le=1_000_000)]


class TimeWindow(Spec):
    """Tumbling stretches of event time, or sliding ones if `slide` is given."""

    noun: ClassVar[str] = "time window"

    kind: Literal["time"]
    size: Duration
    """How long a stretch is."""
    slide: Duration | None = None
    """How far apart stretches start; `size` if nothing is said."""

    @model_validator(mode="after")
    def _leaves_no_gap(self) -> Self:
        _refuse_a_gap(self.size, self.slide)
        return self


class CountWindow(Spec):
    """So many rows of one subject, tumbling, or sliding if `slide` is given."""

    noun: ClassVar[str] = "count window"

    kind: Literal["count"]
    size: Count
    """How many rows a stretch has."""
    slide: Count | None = None
    """How many rows apart stretches start; `size` if nothing is said."""

    @model_validator(mode="after")
    def _leaves_no_gap(self) -> Self:
        _refuse_a_gap(self.size, self.slide)
        return self


class SessionWindow(Spec):
    """Rows of one subject that follow each other within `gap`."""

    noun: ClassVar[str] = "session window"

    kind: Literal["session"]
    gap: Duration
    """A longer silence ends the stretch."""


class DeltaWindow(Spec):
    """A new stretch starts when a column has moved by more than `by` since the stretch began."""

    noun: ClassVar[str] = "delta window"

    kind: Literal["delta"]
    column: ColumnName
    """The column that is watched."""
    by: Annotated[float, Field(gt=0)]
    """How far it may move within a stretch."""


class PunctuationWindow(Spec):
    """A row that satisfies `closes` ends the stretch, and is its last row."""

    noun: ClassVar[str] = "punctuation window"

    kind: Literal["punctuation"]
    closes: Predicate
    """Which row ends the stretch."""


Window = Annotated[
    TimeWindow | CountWindow | SessionWindow | DeltaWindow | PunctuationWindow,
    Field(discriminator="kind"),
]


Length = TypeVar("Length", int, Duration)


def _refuse_a_gap(size: Length, slide: Length | None) -> None:
    if slide is not None and slide > size:
        raise Refusal.at(("slide",), f"is {slide}; it must not exceed size, or rows fall between")
