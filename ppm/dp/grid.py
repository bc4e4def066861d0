"""The one place where measured numbers become cells of a public grid, and cells become numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from ppm.dp.mechanism import Values
from ppm.spec.columns import WIDEST_AREA

Numbers = npt.NDArray[np.float64]

EQUATOR = 6_378_137.0
"""The radius of the equator in metres, in the ellipsoid of WGS 84."""
FLATTENING = 1 / 298.257223563
_SQUARE = FLATTENING * (2 - FLATTENING)  # of the eccentricity
WIDEST = float(WIDEST_AREA)
"""Up to how many degrees of longitude apart places are not further apart on a plane."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Multiples of a power of two between public bounds: dividing by it rounds nothing.

    >>> grid = Grid.between(0.0, 100.0, missing=50.0, cells=200)
    >>> grid.step, grid.cells
    (0.5, 201)
    >>> grid.to_cells(np.array([-3.0, 7.3, math.nan]))
    array([  0,  15, 100])
    """

    lower: float
    upper: float
    missing: float
    """The public value that null and NaN become."""
    step: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.upper - self.lower) and self.lower < self.upper):
            raise ValueError(f"bounds are {self.lower} and {self.upper}; they must be a range")
        if not self.lower <= self.missing <= self.upper:
            raise ValueError(f"missing is {self.missing}; it must lie between the bounds")
        if not (math.isfinite(self.step) and math.frexp(self.step)[0] == 0.5):
            raise ValueError(f"step is {self.step}; it must be a power of two")

    @classmethod
    def between(cls, lower: float, upper: float, *, missing: float, cells: int = 1024) -> Self:
        """The coarsest grid that has at least so many steps between the bounds."""
        return cls(lower, upper, missing, 2.0 ** math.floor(math.log2((upper - lower) / cells)))

    @property
    def first(self) -> int:
        """The multiple of the step that cell 0 stands for."""
        return math.floor(self.lower / self.step)

    @property
    def cells(self) -> int:
        """How many cells reach from one bound to the other."""
        return math.ceil(self.upper / self.step) - self.first + 1

    @property
    def width(self) -> float:
        """How far the first cell and the last one lie apart; the bounds lie between them."""
        return (self.cells - 1) * self.step

    def to_cells(self, numbers: Numbers) -> Values:
        """The nearest cell, after clamping to the bounds; NaN takes the public place."""
        known = np.where(np.isnan(numbers), self.missing, numbers)
        multiples = np.rint(np.clip(known, self.lower, self.upper) / self.step)
        return multiples.astype(np.int64) - self.first

    def to_numbers(self, cells: Values) -> Numbers:
        """The numbers that cells stand for, between the bounds."""
        return np.clip((cells + self.first) * self.step, self.lower, self.upper)


@dataclass(frozen=True, slots=True)
class Plane:
    """A public box on the map, as cells of so many metres from its south-west corner.

    Metres are those of the ellipsoid of WGS 84, taken where a degree is shortest: north-south at
    the edge next to the equator, east-west at the edge next to a pole, or a little beyond it, where
    the shortest way between two places of that edge passes. So places up to 20 degrees of longitude
    apart are never further apart on the plane than on the ground, and cost no more.

    >>> oslo = Plane(59.8, 10.6, 60.0, 10.9, grid=25.0)
    >>> oslo.columns, oslo.rows
    (671, 892)
    """

    south: float
    west: float
    north: float
    east: float
    grid: float

    @property
    def columns(self) -> int:
        """How many cells lie side by side."""
        return math.floor((self.east - self.west) * self._east_metres / self.grid + 0.5) + 1

    @property
    def rows(self) -> int:
        """How many cells lie on top of each other."""
        return math.floor((self.north - self.south) * self._north_metres / self.grid + 0.5) + 1

    def to_cells(self, latitude: Numbers, longitude: Numbers) -> Values:
        """The nearest cell (column, row) of the box; NaN is not a place, and is refused."""
        if np.isnan(latitude).any() or np.isnan(longitude).any():
            raise ValueError("a position is missing; put a public place in first")
        x = (np.clip(longitude, self.west, self.east) - self.west) * self._east_metres
        y = (np.clip(latitude, self.south, self.north) - self.south) * self._north_metres
        cells = np.rint(np.stack([x, y], axis=1) / self.grid).astype(np.int64)
        return np.clip(cells, 0, [self.columns - 1, self.rows - 1])

    def to_degrees(self, cells: Values) -> tuple[Numbers, Numbers]:
        """Latitude and longitude of the middle of each cell."""
        metres = cells.astype(np.float64) * self.grid
        longitude = metres[:, 0] / self._east_metres + self.west
        return metres[:, 1] / self._north_metres + self.south, longitude

    @property
    def _north_metres(self) -> float:
        """Metres of a degree along a meridian, where the box is nearest to the equator."""
        nearest = 0.0 if self.south <= 0 <= self.north else min(abs(self.south), abs(self.north))
        sine = math.sin(math.radians(nearest))
        metres = EQUATOR * (1 - _SQUARE) / math.sqrt(1 - _SQUARE * sine**2) ** 3
        return metres * math.pi / 180

    @property
    def _east_metres(self) -> float:
        """Metres of a degree along a parallel, where ways within the box are nearest to a pole."""
        edge = math.radians(max(abs(self.south), abs(self.north)))
        # A great circle between two places of one latitude is nearest to the pole half-way; on the
        # ellipsoid its longitudes are longer by less than the flattening.
        half = math.radians(min(self.east - self.west, WIDEST)) / 2 * (1 + FLATTENING)
        nearest = math.atan(math.tan(edge) / math.cos(half))
        across = EQUATOR / math.sqrt(1 - _SQUARE * math.sin(nearest) ** 2)
        return across * math.cos(nearest) * math.pi / 180
