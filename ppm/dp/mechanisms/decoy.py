"""The decoy decision: touched slots are always withheld, clean ones at random."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ppm.dp.certificate import Certificate, certify
from ppm.dp.epsilon import check_epsilon
from ppm.dp.exact import WORD, ceiling, exp_above, least_reading
from ppm.dp.mechanism import Finite, Scores, Values, Words, check_values, column, threshold


@dataclass(frozen=True, slots=True)
class DecoyDecision(Finite):
    """From "a match touches the slot" (1) or not (0) to "withheld" (1) or "released" (0).

    A clean slot is withheld with probability e^-epsilon, rounded up. The guarantee has one side:
    what is released proves that no match touched it.

    >>> decision = DecoyDecision(1.0)
    >>> [round(count / 2**64, 3) for count in decision.counts(0)]
    [0.632, 0.368]
    >>> decision.certificate().one_sided
    True
    """

    epsilon: float
    decoys: int = field(init=False, repr=False)
    """How many of the 2^64 words withhold a clean slot."""
    _certificate: Certificate = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        chance = exp_above(-least_reading(check_epsilon(self.epsilon)))
        object.__setattr__(self, "decoys", min(WORD, ceiling(WORD * chance)))
        rows = [self.counts(0), self.counts(1)]
        certificate = certify(self.epsilon, rows, neighbours=[(1, 0)], one_sided=True)
        object.__setattr__(self, "_certificate", certificate.checked("a decoy decision"))

    @property
    def inputs(self) -> int:
        return 2

    @property
    def outputs(self) -> int:
        return 2

    def counts(self, value: int) -> list[int]:
        return [0, WORD] if value else [WORD - self.decoys, self.decoys]

    def certificate(self) -> Certificate:
        return self._certificate

    def release(self, values: Values, words: Words) -> Values:
        return check_values(values, 2) | (column(words, values) <= threshold(self.decoys))

    def estimate(self, released: Values) -> Scores:
        """Unbiased for "the slot was touched", so that touched slots can be counted."""
        if self.decoys == WORD:
            raise ValueError("epsilon is 0; every slot is withheld, and nothing can be estimated")
        p = self.decoys / WORD
        return (check_values(released, 2).astype(np.float64) - p) / (1 - p)
