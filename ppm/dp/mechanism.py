"""What every mechanism is: a map from true values and random words to released values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ppm.dp.certificate import Certificate
from ppm.dp.epsilon import as_written
from ppm.dp.exact import WORD

Values = npt.NDArray[np.int64]
"""True or released values as whole numbers: bits, indexes of a list, or steps of a grid."""
Words = npt.NDArray[np.uint64]
"""Random words, one row for each value: shape (values, words of a value)."""
Scores = npt.NDArray[np.float64]
"""Unbiased estimates, made from what was released."""


class Mechanism(Protocol):
    """A mapping from true values to released ones, driven by random words alone."""

    @property
    def epsilon(self) -> float:
        """What is claimed: for any two values, or for two neighbouring steps of a grid."""
        ...

    @property
    def words(self) -> int:
        """How many 64-bit words one value needs."""
        ...

    def release(self, values: Values, words: Words) -> Values:
        """What is told instead of these values; the same words tell the same again."""
        ...

    def certificate(self) -> Certificate:
        """The exact largest log-ratio of the integer probabilities, never above the claim."""
        ...

    def bias(self, value: int) -> float:
        """How far the released number lies from the true one on average.

        Where numbers are indexes of a list, this, the variance and the interval are of indexes;
        `estimate` is what such releases are read with.
        """
        ...

    def variance(self, value: int) -> float:
        """The variance of the released number."""
        ...

    def interval(self, value: int, level: float) -> tuple[int, int]:
        """Where the released number lies with at least this probability; both ends belong to it."""
        ...

    def estimate(self, released: Values) -> Scores:
        """One unbiased score for each released value, to be summed or averaged.

        For numbers and bits it estimates the true number; for indexes of a list it has one column
        for each value of the list, which estimates whether that was the true one.
        """
        ...


class FiniteMechanism(Mechanism, Protocol):
    """A mechanism whose whole law can be written down as counts out of 2^64."""

    @property
    def inputs(self) -> int:
        """How many true values there are: 0, 1, and so on."""
        ...

    @property
    def outputs(self) -> int:
        """How many values may be released."""
        ...

    def counts(self, value: int) -> list[int]:
        """How many of the 2^64 words release each output, for this true value."""
        ...


class Finite(ABC):
    """The part that follows from the counts alone, for mechanisms that need one word a value."""

    __slots__ = ()

    @property
    @abstractmethod
    def inputs(self) -> int: ...

    @property
    @abstractmethod
    def outputs(self) -> int: ...

    @abstractmethod
    def counts(self, value: int) -> list[int]: ...

    @property
    def words(self) -> int:
        return 1

    def bias(self, value: int) -> float:
        return float(mean_of(self.counts(value)) - value)

    def variance(self, value: int) -> float:
        return float(variance_of(self.counts(value)))

    def interval(self, value: int, level: float) -> tuple[int, int]:
        return interval_of(self.counts(value), level)


def mean_of(counts: Sequence[int]) -> Fraction:
    """The mean of a law on 0, 1, and so on.

    >>> mean_of([1, 2, 1])
    Fraction(1, 1)
    """
    return Fraction(sum(y * count for y, count in enumerate(counts)), sum(counts))


def variance_of(counts: Sequence[int]) -> Fraction:
    """The variance of a law on 0, 1, and so on.

    >>> variance_of([1, 2, 1])
    Fraction(1, 2)
    """
    square = Fraction(sum(y * y * count for y, count in enumerate(counts)), sum(counts))
    return square - mean_of(counts) ** 2


def interval_of(counts: Sequence[int], level: float) -> tuple[int, int]:
    """The interval that leaves at most half of 1 - level on either side.

    >>> interval_of([1, 8, 1], 0.8), interval_of([1, 8, 1], 0.9)
    ((1, 1), (0, 2))
    """
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; it must lie between 0 and 1")
    spare = sum(counts) * (1 - as_written(level)) / 2
    return _reach(counts, spare), len(counts) - 1 - _reach(counts[::-1], spare)


def _reach(counts: Sequence[int], spare: Fraction) -> int:
    """The last place that has at most `spare` before it."""
    before = 0
    for place, count in enumerate(counts):
        before += count
        if before > spare:
            return place
    return len(counts) - 1


def column(words: Words, values: Values) -> npt.NDArray[np.uint64]:
    """The words of a mechanism that needs one word a value, as a flat array."""
    if words.shape != (len(values), 1):
        raise ValueError(f"words have shape {words.shape}; one word for each value is needed")
    return words[:, 0]


def check_values(values: Values, below: int) -> Values:
    """Whole numbers of any signed width as int64, if all lie in 0..below-1; none is named."""
    if not np.issubdtype(values.dtype, np.signedinteger):
        raise TypeError(f"values are {values.dtype}; they must be signed whole numbers")
    whole = values.astype(np.int64, copy=False)
    # As unsigned numbers the negative ones are the largest.
    if whole.size and int(whole.view(np.uint64).max()) >= below:
        raise ValueError(f"a value lies outside 0..{below - 1}")
    return whole


def threshold(count: int) -> np.uint64:
    """The last word of the first `count` words, at least 1 of them.

    Words are compared with `<=`, because all 2^64 of them are one more than a word can hold.
    """
    if not 1 <= count <= WORD:
        raise ValueError(f"count is {count}; it must lie in 1..2^64")
    return np.uint64(count - 1)
