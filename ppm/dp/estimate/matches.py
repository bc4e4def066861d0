"""How often all asked types occurred, from the noisy bits of many subjects and slots.

Units are drawn apart, so the product of their scores is an unbiased score of "all of them", however
the truth hangs together. The truth is 0 or 1, so z*(z-1) is on average the variance that the noise
gives to z. Each subject and slot has noise of its own, so variances add up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ppm.dp.estimate.result import Estimate, summed
from ppm.dp.estimate.score import Score
from ppm.dp.mechanism import Scores, Values


@dataclass(frozen=True, slots=True)
class Matches:
    """The estimator of an AND over units that are drawn apart.

    >>> from ppm.dp.estimate.law import EXACT
    >>> from ppm.dp.estimate.score import score_of
    >>> from ppm.dp.nested.response import SwapLaw
    >>> noisy, exact = score_of(SwapLaw(2, Fraction(1, 4)), 1), score_of(EXACT, 1)
    >>> shown = np.array([1, 1, 0, 0]), np.array([1, 1, 1, 0])
    >>> Matches((noisy, exact)).estimate(shown).count
    2.5
    """

    scores: tuple[Score, ...]

    def __post_init__(self) -> None:
        if not self.scores:
            raise ValueError("nothing is asked")

    def of(self, vectors: Sequence[Values]) -> Scores:
        """One unbiased score for each subject and slot, from what each unit released."""
        parts = [score.of(one) for score, one in zip(self.scores, vectors, strict=True)]
        return np.asarray(math.prod(parts[1:], start=parts[0]))

    def at(self, vectors: Sequence[int]) -> Fraction:
        """The score of one subject and slot, exactly."""
        parts = (score.at(one) for score, one in zip(self.scores, vectors, strict=True))
        return math.prod(parts, start=Fraction(1))

    def least(self, vectors: Sequence[Values]) -> Scores:
        """What the variance of each score is at least, seen what was told without noise."""
        exact = [
            score.of(one) for score, one in zip(self.scores, vectors, strict=True) if score.is_exact
        ]
        base = np.full(len(vectors[0]), float(self.least_noise))
        return np.asarray(math.prod(exact, start=base))

    @property
    def least_noise(self) -> Fraction:
        """The smallest variance that the noise can give, over all truths of the noisy units."""
        squares = [score.squares for score in self.scores if not score.is_exact]
        if not squares:
            return Fraction(0)
        lower = [min(one) for one in squares]
        lacking = [
            squares[at][0] * math.prod(lower[:at] + lower[at + 1 :], start=Fraction(1))
            for at in range(len(squares))
        ]
        return min(*lacking, math.prod((one for _, one in squares), start=Fraction(1)) - 1)

    def estimate(self, vectors: Sequence[Values], times: Values | None = None) -> Estimate:
        """In how many subject-slots all asked types occurred.

        Vectors that stand for several subject-slots each come with their `times`.
        """
        each = np.ones(len(vectors[0]), np.int64) if times is None else times
        z, least = self.of(vectors), self.least(vectors)
        return summed(
            float(each @ z), float(each @ (z * (z - 1))), float(each @ least), int(each.sum())
        )
