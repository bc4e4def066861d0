"""The noise of one answer, by what is asked; apart from the engine, which takes long to import."""

from __future__ import annotations

from functools import lru_cache

from ppm.dp.mechanisms.binary import BinaryResponse
from ppm.dp.mechanisms.laplace import MOST_CELLS, DiscreteLaplace

UNKNOWN_SUBJECTS = 1_000_000
"""How many subjects noisy counts reach to, where the stream does not declare its subjects."""


@lru_cache(maxsize=64)
def noise_of(ask: str, epsilon: float, cap: int, cells: int) -> BinaryResponse | DiscreteLaplace:
    """The noise of one answer."""
    if ask == "existence":
        return BinaryResponse(epsilon)
    return DiscreteLaplace.capped(epsilon, cap, cells=cells)


def cells_of_count(cap: int, subjects: int | None) -> int:
    """How many numbers a count may come out as; None for subjects that are not declared."""
    most = cap * (UNKNOWN_SUBJECTS if subjects is None else subjects)
    return min(most + 1, MOST_CELLS)
