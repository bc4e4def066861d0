"""The shares that budgets allow, and the nearest of them to any others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from ppm.dp.allocation.budgets import Budgets

Vector = npt.NDArray[np.float64]

_SWEEPS = 50
"""More than overlapping patterns need until nothing moves any more."""
_STILL = 1e-6
"""Far below a step of the shares that are used in the end."""


class Polytope:
    """All shares of at least 0 that add to no more than its epsilon within every pattern.

    >>> visit = Polytope(("home", "clinic"), {"visit": (["home", "clinic"], 1.0)})
    >>> visit.nearest(np.array([2.0, 1.5])).tolist()
    [0.75, 0.25]
    """

    def __init__(self, names: Sequence[str], patterns: Budgets) -> None:
        places = {name: place for place, name in enumerate(names)}
        self.patterns = [
            ([places[one] for one in dict.fromkeys(types)], float(epsilon))
            for types, epsilon in patterns.values()
        ]
        used = [place for places, _ in self.patterns for place in places]
        self._overlaps = len(used) > len(set(used))

    def nearest(self, shares: Vector) -> Vector:
        """The shares next to these that no budget forbids.

        Each pattern takes the same from all of its types, as far as they have it. How much is found
        pattern by pattern (Hildreth 1957): at once where they share no type, else in turns until
        nothing moves.
        """
        left = shares.tolist()
        taken = [0.0] * len(self.patterns)
        for _ in range(_SWEEPS):
            moved = 0.0
            for number, (places, epsilon) in enumerate(self.patterns):
                level = _level([left[place] + taken[number] for place in places], epsilon)
                change = level - taken[number]
                if change:
                    for place in places:
                        left[place] -= change
                    taken[number] = level
                    moved = max(moved, abs(change))
            if not self._overlaps or moved < _STILL:
                break
        return self._shrunk([max(0.0, one) for one in left])

    def _shrunk(self, shares: list[float]) -> Vector:
        """The shares with those of every exceeded pattern scaled down, which no other minds."""
        for places, epsilon in self.patterns:
            total = sum(shares[place] for place in places)
            if total > epsilon:
                for place in places:
                    shares[place] *= epsilon / total
        return np.array(shares)


def _level(shares: Iterable[float], most: float) -> float:
    """How much to take from each of the shares, so that what they still have adds to `most`."""
    total, level = 0.0, 0.0
    for count, share in enumerate(sorted(shares, reverse=True), start=1):
        if share <= level:
            break
        total += share
        level = max(0.0, (total - most) / count)
    return level
