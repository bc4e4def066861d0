"""What noisy counts say about the true ones.

Where a count y was clamped, the noise had overshot the edge by a/(1-a) steps on average, with
a = e^-step. Put back, that gives the mean of the unclamped count where y is told, so it varies by
2a/(1-a)^2, the variance of the noise, less a/(1-a)^2, that of an overshoot, for each clamped one.
The uniform part of the law, words that give every cell alike, is taken out of both.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ppm.dp.estimate.result import Estimate, summed
from ppm.dp.exact import WORD, exp_above
from ppm.dp.mechanism import Scores, Values, check_values
from ppm.dp.mechanisms.laplace import DiscreteLaplace


@dataclass(frozen=True, slots=True)
class CountLaw:
    """Discrete Laplace noise, clamped: what is published of it.

    >>> law = CountLaw.of(DiscreteLaplace(1.0, cells=101))
    >>> [round(float(one), 2) for one in law.scores(np.array([0, 7, 100]))]
    [-0.58, 7.0, 100.58]
    """

    cells: int
    """Counts lie between 0 and one less than this."""
    step: Fraction
    """A count moves by n with a probability that falls like e^(-step*|n|)."""
    floor: int
    """How many of the 2^64 words give each cell, whatever the truth is."""

    def __post_init__(self) -> None:
        if self.cells < 2 or self.step <= 0 or not 0 <= self.floor * self.cells < WORD:
            raise ValueError("a law of counts has 2 cells or more, a step above 0, and some truth")

    @classmethod
    def of(cls, noise: DiscreteLaplace) -> CountLaw:
        """The law of a mechanism."""
        return cls(noise.cells, noise.step, noise.floor)

    def scores(self, released: Values) -> Scores:
        """Unbiased for each true count, up to the rounding of the noise."""
        return np.asarray(self.score(self._unclamped(released)))

    def variances(self, released: Values) -> Scores:
        """On average the variance of each score, whatever the true count is."""
        is_clamped = (released == 0) | (released == self.cells - 1)
        clamped = is_clamped.astype(np.float64)
        return np.asarray(self.variance(self._unclamped(released), clamped))

    def score(self, unclamped: Any) -> Any:
        """The score of counts whose overshoot was put back; of arrays, or of Spark's columns."""
        return (unclamped - self._lost * self._middle) / (1 - self._lost)

    def variance(self, unclamped: Any, is_clamped: Any) -> Any:
        """The variance of such scores; `is_clamped` is 1.0 at the edges, else 0.0."""
        lost, off = self._lost, unclamped - self._middle
        kept = (2.0 - is_clamped) * self._wide + lost * self._uniform
        return (off * off * lost + kept * (1 - lost)) / (1 - lost) ** 2

    def estimate(self, released: Values) -> Estimate:
        """The sum of the true counts."""
        released = check_values(released, self.cells)
        variance = float(self.variances(released).sum())
        return summed(float(self.scores(released).sum()), variance, 0.0, len(released))

    @property
    def overshoot(self) -> float:
        """How far noise goes beyond the edge that it was clamped to, on average."""
        return self._a / (1 - self._a)

    def _unclamped(self, released: Values) -> Scores:
        low, high = released == 0, released == self.cells - 1
        return np.asarray(released + self.overshoot * high - self.overshoot * low)

    @property
    def _wide(self) -> float:
        """Half the variance of the noise; as much as an overshoot has."""
        return self._a / (1 - self._a) ** 2

    @property
    def _a(self) -> float:
        return float(exp_above(-self.step))

    @property
    def _lost(self) -> float:
        """How much of the law is uniform."""
        return self.floor * self.cells / WORD

    @property
    def _middle(self) -> float:
        return (self.cells - 1) / 2

    @property
    def _uniform(self) -> float:
        """The variance of the uniform part, less what the noise would add to it."""
        n, far = self.cells, self._middle + self.overshoot
        square = (n * n - 1) / 12 + (2 / n) * (far**2 - self._middle**2)
        return square - self._wide * (2 - 2 / n)
