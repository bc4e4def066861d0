"""Binary randomised response (Warner 1965) on existence bits."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ppm.dp.certificate import Certificate, certify
from ppm.dp.epsilon import check_epsilon
from ppm.dp.exact import WORD, ceiling, exp_below, least_reading
from ppm.dp.mechanism import Finite, Scores, Values, Words, check_values, column, threshold


@dataclass(frozen=True, slots=True)
class BinaryResponse(Finite):
    """A bit that comes out as its opposite with probability 1/(1+e^epsilon), rounded up.

    >>> bit = BinaryResponse(1.0)
    >>> [round(count / 2**64, 4) for count in bit.counts(1)]
    [0.2689, 0.7311]
    >>> bit.certificate().holds
    True
    """

    epsilon: float
    flips: int = field(init=False, repr=False)
    """How many of the 2^64 words flip the bit."""
    _certificate: Certificate = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        odds = exp_below(least_reading(check_epsilon(self.epsilon)))
        object.__setattr__(self, "flips", ceiling(WORD / (1 + odds)))
        certificate = certify(self.epsilon, [self.counts(0), self.counts(1)])
        object.__setattr__(self, "_certificate", certificate.checked("a binary response"))

    @property
    def inputs(self) -> int:
        return 2

    @property
    def outputs(self) -> int:
        return 2

    def counts(self, value: int) -> list[int]:
        kept = WORD - self.flips
        return [self.flips, kept] if value else [kept, self.flips]

    def certificate(self) -> Certificate:
        return self._certificate

    def release(self, values: Values, words: Words) -> Values:
        flipped = column(words, values) <= threshold(self.flips)
        return check_values(values, 2) ^ flipped

    def estimate(self, released: Values) -> Scores:
        if 2 * self.flips == WORD:
            raise ValueError("epsilon is 0; nothing can be estimated from fair coins")
        p = self.flips / WORD
        return (check_values(released, 2).astype(np.float64) - p) / (1 - 2 * p)
