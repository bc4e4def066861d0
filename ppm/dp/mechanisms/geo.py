"""Noise on positions: discrete Laplace on both axes of a grid of metres."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Self

import numpy as np

from ppm.dp.certificate import Certificate
from ppm.dp.epsilon import check_epsilon
from ppm.dp.exact import float_below, least_reading, root_above
from ppm.dp.mechanism import Scores, Values, Words
from ppm.dp.mechanisms.laplace import DiscreteLaplace


@dataclass(frozen=True, slots=True)
class GeoNoise:
    """A cell (column, row) of a box moves on each axis, at epsilon/sqrt(2) a metre.

    Two cells that lie d metres apart then cost epsilon*d at most, because |dx|+|dy| <= sqrt(2)*d.
    Cells are given as two columns of numbers, and need two words: one for each axis.

    >>> noise = GeoNoise(0.00693, grid=25.0, columns=400, rows=400)
    >>> round(noise.epsilon, 4), noise.certificate().holds
    (0.1225, True)
    """

    per_metre: float
    """What a metre costs; within r metres it is r times as much."""
    grid: float
    """The size of a cell, in metres."""
    columns: int
    rows: int
    axes: tuple[DiscreteLaplace, DiscreteLaplace] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        step = axis_step(self.per_metre, self.grid)
        axes = DiscreteLaplace(step, self.columns), DiscreteLaplace(step, self.rows)
        object.__setattr__(self, "axes", axes)

    @classmethod
    def within(cls, level: float, radius: float, *, grid: float, columns: int, rows: int) -> Self:
        """The noise under which two raw places within `radius` metres cost `level` at most.

        Places move to the grid first, and may be a cell's diagonal further apart there.
        """
        return cls(geo_per_metre(level, radius, grid=grid), grid, columns, rows)

    @property
    def epsilon(self) -> float:
        """What one step on one axis costs."""
        return self.axes[0].epsilon

    @property
    def words(self) -> int:
        return 2

    def release(self, values: Values, words: Words) -> Values:
        if values.shape != words.shape or values.shape[1:] != (2,):
            raise ValueError("cells and words have two columns, one for each axis")
        moved = [
            axis.release(np.ascontiguousarray(values[:, i]), words[:, i : i + 1])
            for i, axis in enumerate(self.axes)
        ]
        return np.stack(moved, axis=1)

    def certificate(self) -> Certificate:
        """For one step on one axis, the axis that tells more."""
        one, other = (axis.certificate() for axis in self.axes)
        return one if one.bound >= other.bound else other

    def bias(self, value: int) -> float:
        """How many cells the mean lies from the true cell, whose number is column*rows + row."""
        return math.hypot(
            *(axis.bias(at) for axis, at in zip(self.axes, self._cell(value), strict=True))
        )

    def variance(self, value: int) -> float:
        """The sum of the variances of both axes."""
        return math.fsum(
            axis.variance(at) for axis, at in zip(self.axes, self._cell(value), strict=True)
        )

    def interval(self, value: int, level: float) -> tuple[int, int]:
        """How many cells away the released cell lies, at most, with at least this probability."""
        # Each axis leaves out half, so that both together leave out no more than 1 - level.
        far = [0, 0]
        for i, (axis, at) in enumerate(zip(self.axes, self._cell(value), strict=True)):
            low, high = axis.interval(at, (1 + level) / 2)
            far[i] = max(at - low, high - at)
        return 0, math.ceil(math.hypot(*far))

    def estimate(self, released: Values) -> Scores:
        """Unbiased for both coordinates of the true cell, up to rounding."""
        scores = [
            axis.estimate(np.ascontiguousarray(released[:, i])) for i, axis in enumerate(self.axes)
        ]
        return np.stack(scores, axis=1)

    def _cell(self, value: int) -> tuple[int, int]:
        return divmod(value, self.rows)


def axis_step(per_metre: float, grid: float) -> float:
    """What a step of one axis may cost, rounded down: epsilon*grid/sqrt(2)."""
    if not (math.isfinite(grid) and grid > 0):
        raise ValueError(f"grid is {grid}; it must be finite and above 0")
    exact = least_reading(check_epsilon(per_metre)) * least_reading(grid) / root_above(2)
    return float_below(exact)


def geo_per_metre(level: float, radius: float, *, grid: float) -> float:
    """The epsilon a metre for raw places within `radius`, rounded down: level/(radius+sqrt(2) g).

    >>> round(geo_per_metre(1.386, 200.0, grid=25.0), 6)
    0.005889
    """
    reach = Fraction(radius) + root_above(2) * Fraction(grid)
    return float_below(least_reading(level) / reach)


def as_one_number(cells: Values) -> Values:
    """Both coordinates of a true cell in one number, as the draw of its noise needs them.

    >>> as_one_number(np.array([[1, 2]]))
    array([4294967298])
    """
    # Masked, so that no two cells share a number, wherever they lie.
    return (cells[:, 0] << 32) | (cells[:, 1] & 0xFFFF_FFFF)
