"""Tighter sums over long horizons, for whoever accepts a small delta.

A change of many slots costs the sum of their epsilons; that is exact, and pure. With probability
delta it may cost more, and otherwise much less. No mechanism of epsilon tells more than one binary
response of epsilon (Kairouz, Oh, Viswanath 2015), so k slots tell no more than k such responses,
whose loss is (k-2l)*epsilon if l of them flip:

    delta(e) = sum over l of Binomial(l; k, 1/(1+e^epsilon)) * max(0, 1 - e^(e-(k-2l)*epsilon)).

It is not for decoys: a touched slot is withheld for certain, so that losses add up without luck.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from ppm.dp.composition import total_cost
from ppm.dp.epsilon import check_epsilon

Spent = Iterable[tuple[float, int]]
"""Epsilons, each with how many slots pay it."""

_CELLS = 1 << 14
"""How finely losses are told apart where different epsilons come together."""
_SAFETY = 1 + 1e-6
"""More than float arithmetic on 10^6 slots can lose."""

Floats = npt.NDArray[np.float64]


def composed_delta(spent: Spent, epsilon: float) -> float:
    """The delta at which all slots together keep an epsilon, rounded up.

    >>> round(composed_delta([(0.1, 96)], 9.6), 6), round(composed_delta([(0.1, 96)], 4.0), 6)
    (0.0, 2.2e-05)
    """
    check_epsilon(epsilon)
    loss, chance = _losses(spent)
    above = loss > epsilon
    delta = math.fsum(chance[above] * -np.expm1(epsilon - loss[above]))
    return min(1.0, _SAFETY * delta)


def composed_epsilon(spent: Spent, delta: float) -> float:
    """The epsilon that all slots together keep up to delta; never above the plain sum.

    >>> round(composed_epsilon([(0.1, 96)], 1e-6), 2)
    4.67
    """
    if not 0 < delta < 1:
        raise ValueError(f"delta is {delta}; it must lie between 0 and 1")
    spent = [*spent]
    loss, chance = _losses(spent)
    low, high = 0.0, float(total_cost(spent))
    for _ in range(60):
        middle = (low + high) / 2
        above = loss > middle
        found = _SAFETY * math.fsum(chance[above] * -np.expm1(middle - loss[above]))
        low, high = (low, middle) if found <= delta else (middle, high)
    return high


def _losses(spent: Spent) -> tuple[Floats, Floats]:
    """Every privacy loss that can occur, and its probability, under the worst mechanisms."""
    parts = [(check_epsilon(epsilon), slots) for epsilon, slots in spent if slots and epsilon]
    if any(slots < 0 for _, slots in parts):
        raise ValueError("a number of slots is negative")
    if not parts:
        return np.zeros(1), np.ones(1)
    laws = [_binomial(epsilon, slots) for epsilon, slots in parts]
    if len(laws) == 1:
        return laws[0]
    # Losses of each part move up to the next multiple of a step, and then add up as numbers.
    step = sum(epsilon * slots for epsilon, slots in parts) / _CELLS
    offset = 0
    whole: Floats = np.ones(1)
    for loss, chance in laws:
        cells = np.ceil(loss / step).astype(np.int64)
        offset += int(cells.min())
        whole = np.convolve(whole, np.bincount(cells - cells.min(), weights=chance))
    return (offset + np.arange(len(whole), dtype=np.float64)) * step, whole


def _binomial(epsilon: float, slots: int) -> tuple[Floats, Floats]:
    flipped = np.arange(slots + 1, dtype=np.float64)
    logs = np.array([math.lgamma(n + 1) for n in range(slots + 1)])
    kept = -math.log1p(math.exp(-epsilon))  # the logarithm of the chance that one is not flipped
    chance: Floats = np.exp(logs[-1] - logs - logs[::-1] + slots * kept - epsilon * flipped)
    return (slots - 2 * flipped) * epsilon, chance
