"""Rules for single columns: what a community sees of a value that belongs to no pattern."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from ppm.errors import listed
from ppm.spec.base import Refusal, Spec
from ppm.spec.expression.declared import Predicate
from ppm.spec.values import Distance, Duration
from ppm.spec.zone import Latitude, Longitude, Point

ColumnName = Annotated[str, Field(min_length=1, max_length=255)]
Epsilon = Annotated[float, Field(gt=0, le=1_000)]
"""A privacy budget. Infinite is refused: there is no off switch."""


class _Rule(Spec):
    guarantee: Literal["none"] | None = None
    """Must be said where a design has no guarantee; check and explain repeat it."""


class NoisyRule(_Rule):
    """A rule that adds noise, and so costs budget."""

    where: Predicate | None = None
    """Only these rows; may not read the column that it protects."""

    @model_validator(mode="after")
    def _does_not_choose_rows_by_what_it_hides(self) -> Self:
        protected = columns_of_rule(self) if isinstance(self, Laplace | Category | Geo) else ()
        own = sorted(self.where.columns.intersection(protected)) if self.where else []
        if own and self.guarantee != "none":
            raise Refusal.at(
                ("where",),
                f"reads {listed(own)}, which the rule protects: it hides where inside, not "
                "whether; choose rows by other columns, or say guarantee: none",
            )
        return self


class Drop(_Rule):
    """The column is null for this community."""

    noun: ClassVar[str] = "drop rule"

    rule: Literal["drop"]
    column: ColumnName
    """The column that it changes."""


class Snap(_Rule):
    """Numbers move to the nearest point of a public grid."""

    noun: ClassVar[str] = "snap rule"

    rule: Literal["snap"]
    column: ColumnName
    """The column that it changes."""
    grid: Annotated[float, Field(gt=0)]
    """The distance between two points of the grid."""


class Laplace(NoisyRule):
    """Discrete Laplace noise, on a number that is clamped to public bounds."""

    noun: ClassVar[str] = "laplace rule"

    rule: Literal["laplace"]
    column: ColumnName
    """The column that it changes."""
    epsilon: Epsilon
    """What each row costs."""
    lower: float
    """Public bound: smaller values count as this one."""
    upper: float
    """Public bound: larger values count as this one."""
    missing: float
    """What null and NaN become; a public value between the bounds."""

    @model_validator(mode="after")
    def _has_bounds(self) -> Self:
        if self.lower >= self.upper:
            raise Refusal.at(
                ("lower",), f"is {self.lower}; it must be less than upper, {self.upper}"
            )
        if not self.lower <= self.missing <= self.upper:
            raise Refusal.at(
                ("missing",),
                f"is {self.missing}; it must lie between {self.lower} and {self.upper}",
            )
        return self


class Category(NoisyRule):
    """k-ary randomised response over a public list of values."""

    noun: ClassVar[str] = "category rule"

    rule: Literal["category"]
    column: ColumnName
    """The column that it changes."""
    epsilon: Epsilon
    """What each row costs."""
    values: Annotated[tuple[str, ...], Field(strict=False, min_length=1, max_length=1_000)]
    """The values that are told apart."""
    other: str
    """What null and every value outside the list become."""

    @model_validator(mode="after")
    def _has_distinct_values(self) -> Self:
        if len(set(self.values)) < len(self.values):
            raise Refusal.at(("values",), "names a value twice")
        if len({*self.values, self.other}) < 2:
            raise Refusal.at(("values",), "holds nothing but other; there is nothing to hide")
        return self

    @property
    def size(self) -> int:
        """How many different values can come out."""
        return len({*self.values, self.other})


class Area(Spec):
    """The public box that released positions stay in."""

    noun: ClassVar[str] = "area"

    south: Latitude
    """Its southern edge, in degrees."""
    west: Longitude
    """Its western edge, in degrees."""
    north: Latitude
    """Its northern edge, in degrees."""
    east: Longitude
    """Its eastern edge, in degrees."""

    @model_validator(mode="after")
    def _is_a_box(self) -> Self:
        if self.south >= self.north:
            raise Refusal.at(
                ("south",), f"is {self.south}; it must be less than north, {self.north}"
            )
        if self.west >= self.east:
            raise Refusal.at(("west",), f"is {self.west}; it must be less than east, {self.east}")
        return self


WIDEST_AREA = 20
"""In degrees of longitude: so far apart a flat map keeps the promise of positions."""


class Geo(NoisyRule):
    """Geo-indistinguishability: noise on both axes, so that places within `radius` look alike."""

    noun: ClassVar[str] = "geo rule"

    rule: Literal["geo"]
    latitude: ColumnName
    """The column with the latitude, in degrees."""
    longitude: ColumnName
    """The column with the longitude, in degrees."""
    level: Epsilon
    """How much may be learnt about two places that are `radius` apart; ln 4 is about 1.386."""
    radius: Distance
    """How far apart two places may be that look alike."""
    grid: Distance
    """Positions are released on a grid of this size."""
    area: Area
    """Where released positions can be; others move to its edge."""
    epoch: Duration
    """Within an epoch, the same place gets the same noise, so that it cannot be averaged away."""
    missing: Point
    """Where rows without a position are put: a public place inside the area."""

    @model_validator(mode="after")
    def _puts_rows_into_the_area(self) -> Self:
        if self.latitude == self.longitude:
            raise Refusal.at(("longitude",), f"is {self.longitude}, like latitude")
        if self.grid > self.radius:
            raise Refusal.at(("grid",), f"is {self.grid}; it must not exceed radius, {self.radius}")
        width = self.area.east - self.area.west
        if width > WIDEST_AREA:
            raise Refusal.at(
                ("area",),
                f"is {width:g} degrees wide; it must be at most {WIDEST_AREA}, or metres on the "
                "map are not those on the ground",
            )
        latitude, longitude = self.missing
        if not (
            self.area.south <= latitude <= self.area.north
            and self.area.west <= longitude <= self.area.east
        ):
            raise Refusal.at(("missing",), "lies outside area; rows are released inside it")
        return self


ColumnRule = Annotated[Drop | Snap | Laplace | Category | Geo, Field(discriminator="rule")]


def columns_of_rule(rule: Drop | Snap | Laplace | Category | Geo) -> tuple[str, ...]:
    """The columns that a rule protects."""
    return (rule.latitude, rule.longitude) if isinstance(rule, Geo) else (rule.column,)
