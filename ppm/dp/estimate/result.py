"""An estimate, and how far it may be off."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist


@dataclass(frozen=True, slots=True)
class Estimate:
    """A count of what truly happened, made from what was released.

    >>> four = Estimate(4.0, 1.0, 100)
    >>> [round(end, 2) for end in four.interval()]
    [2.04, 5.96]
    """

    count: float
    """Unbiased: over all noise that could have been drawn, its mean is the truth."""
    standard_error: float
    """How much the noise moves it, the truth being what it is; estimated without bias, squared."""
    of: int
    """How many draws it was made from."""

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Where the truth lies with about this probability, if there are some dozens of draws."""
        off = deviations(level) * self.standard_error
        return self.count - off, self.count + off


def summed(scores: float, variances: float, least: float, of: int) -> Estimate:
    """The estimate of a sum, whose variance is never taken for less than it can be at all.

    Variances that are estimated without bias can add up to too little, even to less than nothing.
    """
    return Estimate(scores, math.sqrt(max(variances, least, 0.0)), of)


def deviations(level: float) -> float:
    """How many standard errors an interval reaches to either side.

    >>> round(deviations(0.95), 3)
    1.96
    """
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; it must lie between 0 and 1")
    return NormalDist().inv_cdf((1 + level) / 2)
