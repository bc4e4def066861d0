"""Chains of noise on positions: a chain of discrete Laplace noise on each axis."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ppm.dp.certificate import Certificate
from ppm.dp.mechanism import Values
from ppm.dp.mechanisms.geo import axis_step
from ppm.dp.nested.chain import Draw, falling
from ppm.dp.nested.laplace import LaplaceChain


@dataclass(frozen=True, slots=True)
class GeoChain:
    """Positions for several communities, each with an epsilon a metre.

    >>> chain = GeoChain((0.01, 0.005), grid=50.0, columns=100, rows=80)
    >>> chain.certificate(1).holds
    True
    """

    per_metre: tuple[float, ...]
    grid: float
    columns: int
    rows: int
    axes: tuple[LaplaceChain, LaplaceChain] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        steps = tuple(axis_step(epsilon, self.grid) for epsilon in falling(self.per_metre))
        axes = LaplaceChain(steps, self.columns), LaplaceChain(steps, self.rows)
        object.__setattr__(self, "axes", axes)

    def release(self, values: Values, draw: Draw) -> tuple[Values, ...]:
        """What each community is told: cells as two columns of numbers.

        `draw` is asked for two words a cell, given both coordinates of the true cell.
        """
        limits = [self.columns - 1, self.rows - 1]
        if values.ndim != 2 or values.shape[1] != 2:
            raise ValueError("cells have two columns, one for each axis")
        if (values < 0).any() or (values > limits).any():
            raise ValueError("a cell lies outside the box")
        released: list[Values] = []
        state = values
        for number in range(len(self.per_metre)):
            words = draw(number, values)
            moved = [
                chain.stages[number].advance(np.ascontiguousarray(state[:, i]), words[:, i : i + 1])
                for i, chain in enumerate(self.axes)
            ]
            state = np.stack(moved, axis=1)
            released.append(np.clip(state, 0, limits))
        return tuple(released)

    def certificate(self, number: int) -> Certificate:
        """For one step on one axis, the axis that tells more."""
        one, other = (axis.certificate(number) for axis in self.axes)
        return one if one.bound >= other.bound else other
