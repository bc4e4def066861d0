"""A lower bound on epsilon from a single run with many canaries (Steinke et al. 2023)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Guesses = npt.NDArray[np.int8]
"""For each canary 1 for "planted", -1 for "not planted", 0 for an abstention."""


@dataclass(frozen=True, slots=True)
class CanaryBound:
    """What the guesses of one run refute, up to a chance of beta."""

    epsilon: float
    canaries: int
    guesses: int
    right: int
    beta: float
    delta: float

    def __str__(self) -> str:
        return (
            f"epsilon >= {self.epsilon:.4g} (beta {self.beta:g}, delta {self.delta:g}): "
            f"{self.right} of {self.guesses} guesses about {self.canaries} canaries were right"
        )


def canary_bound(
    canaries: int, guesses: int, *, right: int, delta: float = 0.0, beta: float = 0.05
) -> CanaryBound:
    """The largest epsilon that so many right guesses refute, wrong with chance beta.

    Each canary was planted or not by a fair coin, and the guesser saw outputs only.

    >>> round(canary_bound(1000, 100, right=75, delta=1e-4).epsilon, 3)
    0.673
    >>> round(canary_bound(1000, 100, right=75).epsilon, 3)
    0.702
    """
    if not 0 <= right <= guesses <= canaries:
        raise ValueError(f"{right} of {guesses} guesses about {canaries} canaries are impossible")
    if not 0 < beta < 1:
        raise ValueError(f"beta is {beta}; it must lie between 0 and 1")
    if not 0 <= delta < 1:
        raise ValueError(f"delta is {delta}; it must be at least 0 and below 1")

    def is_refuted(epsilon: float) -> bool:
        return p_value(canaries, guesses, right=right, epsilon=epsilon, delta=delta) <= beta

    low, high = 0.0, 1.0
    while is_refuted(high):
        low, high = high, 2 * high
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if is_refuted(middle) else (low, middle)
    return CanaryBound(low, canaries, guesses, right, beta, delta)


def p_value(
    canaries: int, guesses: int, *, right: int, epsilon: float, delta: float = 0.0
) -> float:
    """How likely an (epsilon, delta)-private run makes it at most that so many guesses are right.

    P[B >= v] + 2 m delta max_i (1/i) P[v > B >= v-i], with B binomial over the guesses, each right
    with probability 1/(1+e^-epsilon).

    >>> round(p_value(1000, 100, right=75, epsilon=0.702), 3)
    0.05
    """
    law = _binomial(guesses, 1 / (1 + math.exp(-epsilon)))
    tail = float(law[right:].sum())
    if delta == 0 or right == 0:
        return min(1.0, tail)
    below = np.cumsum(law[:right][::-1]) / np.arange(1, right + 1)
    return min(1.0, tail + 2 * canaries * delta * float(below.max()))


def guess(scores: npt.ArrayLike, number: int, *, only_in: bool = False) -> Guesses:
    """Guess where the evidence is strongest, and abstain elsewhere.

    A score says how much an output looks like a planted canary. The highest are taken for planted
    and the lowest for not planted, half of the guesses each. One-sided promises (decoys) bound the
    guess "planted" only, so there the others are left out. How many guesses are made is fixed
    before anything is seen: the best of several numbers would be a bound of no confidence.

    >>> guess([0.1, 0.9, 0.5, 0.6], 2)
    array([-1,  1,  0,  0], dtype=int8)
    >>> guess([0.1, 0.9, 0.5, 0.6], 2, only_in=True)
    array([0, 1, 0, 1], dtype=int8)
    """
    evidence = np.asarray(scores, np.float64)
    if not 0 <= number <= evidence.size:
        raise ValueError(f"{number} guesses about {evidence.size} canaries are impossible")
    order = np.argsort(-evidence, kind="stable")
    planted = number if only_in else (number + 1) // 2
    guesses = np.zeros(evidence.size, np.int8)
    guesses[order[evidence.size - (number - planted) :]] = -1
    guesses[order[:planted]] = 1
    return guesses


def score_guesses(
    planted: npt.ArrayLike, guesses: Guesses, *, delta: float = 0.0, beta: float = 0.05
) -> CanaryBound:
    """The bound that guesses reach, once it is told which canaries were planted.

    >>> score_guesses([True, False, True, True], np.array([1, -1, 0, 1], np.int8)).right
    3
    """
    truth = np.asarray(planted, np.bool_)
    if truth.shape != guesses.shape:
        raise ValueError(f"there are {guesses.size} guesses for {truth.size} canaries")
    right = np.count_nonzero(guesses == np.where(truth, 1, -1))
    made = np.count_nonzero(guesses)
    return canary_bound(truth.size, int(made), right=int(right), delta=delta, beta=beta)


def _binomial(runs: int, p: float) -> npt.NDArray[np.float64]:
    """P[Bin(runs, p) = 0, 1, ...], with p below 1."""
    hits = np.arange(runs + 1)
    factorial = np.concatenate([[0.0], np.cumsum(np.log(hits[1:]))])
    ways = factorial[-1] - factorial - factorial[::-1]
    if p >= 1:
        return np.asarray(hits == runs, np.float64)
    return np.asarray(np.exp(ways + hits * math.log(p) + hits[::-1] * math.log1p(-p)))
