"""k-ary randomised response (Kairouz et al. 2014) over a public list of values."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ppm.dp.certificate import Certificate, largest
from ppm.dp.epsilon import check_epsilon
from ppm.dp.exact import WORD, ceiling, exp_below, least_reading
from ppm.dp.mechanism import Finite, Scores, Values, Words, check_values, column


@dataclass(frozen=True, slots=True)
class Swap(Finite):
    """The bare table: each value but the true one has so many words, the truth has the rest.

    >>> Swap(3, swaps=2**62).counts(1) == [2**62, 2**63, 2**62]
    True
    """

    values: int
    swaps: int
    """How many of the 2^64 words release each of the other values."""

    def __post_init__(self) -> None:
        if self.values < 2:
            raise ValueError(f"there are {self.values} values; 2 are the fewest to choose from")
        if not 0 <= (self.values - 1) * self.swaps <= WORD:
            raise ValueError(f"{self.values} values do not fit into a table of 2^64 words")

    @property
    def inputs(self) -> int:
        return self.values

    @property
    def outputs(self) -> int:
        return self.values

    @property
    def kept(self) -> int:
        """How many words release the truth."""
        return WORD - (self.values - 1) * self.swaps

    def counts(self, value: int) -> list[int]:
        return [self.kept if y == value else self.swaps for y in range(self.values)]

    def release(self, values: Values, words: Words) -> Values:
        values = check_values(values, self.values)
        flat = column(words, values)
        if self.swaps == 0:
            return values.copy()
        if self.values == 2:
            return values ^ (flat < np.uint64(self.swaps))
        # Equal ranges of words, one for each of the others in order; what is left is the truth.
        other = flat // np.uint64(self.swaps)
        swapped = other < np.uint64(self.values - 1)
        other = other.view(np.int64)
        return np.where(swapped, other + (other >= values), values)


@dataclass(frozen=True, slots=True)
class KaryResponse(Finite):
    """The truth with probability e^epsilon/(e^epsilon+k-1), every other value equally often.

    >>> colour = KaryResponse(1.0, 5)
    >>> [round(count / 2**64, 3) for count in colour.counts(0)]
    [0.405, 0.149, 0.149, 0.149, 0.149]
    """

    epsilon: float
    values: int
    table: Swap = field(init=False, repr=False, compare=False)
    _certificate: Certificate = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        odds = exp_below(least_reading(check_epsilon(self.epsilon)))
        table = Swap(self.values, ceiling(WORD / (odds + self.values - 1)))
        object.__setattr__(self, "table", table)
        certificate = certified(self.epsilon, table.kept, table.swaps)
        what = f"a response on {self.values} values"
        object.__setattr__(self, "_certificate", certificate.checked(what))

    @property
    def inputs(self) -> int:
        return self.values

    @property
    def outputs(self) -> int:
        return self.values

    def counts(self, value: int) -> list[int]:
        return self.table.counts(value)

    def certificate(self) -> Certificate:
        return self._certificate

    def release(self, values: Values, words: Words) -> Values:
        return self.table.release(values, words)

    def estimate(self, released: Values) -> Scores:
        shown = check_values(released, self.values)[:, None] == np.arange(self.values)
        return self.score(shown, share=1)

    def score(self, shown: npt.NDArray[np.bool_], *, share: int) -> Scores:
        """Unbiased for "the truth is one of these `share` values", given where one was shown."""
        gap = (self.table.kept - self.table.swaps) / WORD
        if gap == 0:
            raise ValueError("epsilon is 0; nothing can be estimated from a uniform draw")
        return (shown.astype(np.float64) - share * self.table.swaps / WORD) / gap


def certified(claim: float, kept: int, swapped: int) -> Certificate:
    """The certificate of a response: only two counts occur, so there is one ratio each way."""
    return Certificate(claim, *largest([(kept, swapped, (0, 1, 0)), (swapped, kept, (1, 0, 0))]))
