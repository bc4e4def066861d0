"""Places on the map that predicates can name."""

from __future__ import annotations

from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from ppm.spec.base import Refusal, Spec
from ppm.spec.values import Distance

Latitude = Annotated[float, Field(ge=-85, le=85)]
Longitude = Annotated[float, Field(ge=-180, le=180)]
Point = Annotated[tuple[Latitude, Longitude], Field(strict=False)]
"""Latitude, then longitude, in degrees (WGS84)."""

MOST_CORNERS = 100


class Zone(Spec):
    """A circle (centre and radius) or a polygon (its corners, in order, not closed)."""

    noun: ClassVar[str] = "zone"

    center: Point | None = None
    """Latitude and longitude of a circle's centre."""
    radius: Distance | None = None
    """A circle's radius."""
    corners: Annotated[tuple[Point, ...], Field(strict=False, max_length=MOST_CORNERS)] | None = (
        None
    )
    """A polygon's corners, each latitude and longitude, in order; the last joins the first."""

    @model_validator(mode="after")
    def _is_one_shape(self) -> Self:
        circle = self.center is not None and self.radius is not None
        polygon = self.corners is not None
        if circle == polygon or (self.center is None) != (self.radius is None):
            raise Refusal.at((), "needs center and radius (a circle), or corners (a polygon)")
        if self.corners is not None:
            if len(set(self.corners)) < 3:
                raise Refusal.at(("corners",), "has fewer than 3 different corners")
            longitudes = [longitude for _, longitude in self.corners]
            if max(longitudes) - min(longitudes) > 180:
                raise Refusal.at(("corners",), "crosses the 180th meridian; declare two zones")
        return self

    @property
    def middle(self) -> tuple[float, float]:
        """The centre of a circle, or the mean of a polygon's corners."""
        if self.center is not None:
            return self.center
        corners = self.corners or ()
        return (
            sum(latitude for latitude, _ in corners) / len(corners),
            sum(longitude for _, longitude in corners) / len(corners),
        )
