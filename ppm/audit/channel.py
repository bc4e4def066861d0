"""The exact epsilon of a channel that is small enough to be written down."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

from ppm.dp.exact import exp_below, log_above

Table = Sequence[Sequence[int | Fraction]]
"""P(y|x), a row for each x: fractions, or whole numbers with one sum for all rows."""
Pairs = Iterable[tuple[int, int]]
"""Neighbours as ordered pairs of row numbers: the first is bounded by the second."""


@dataclass(frozen=True, slots=True)
class Loss:
    """The most that a channel tells, and where it does."""

    ratio: Fraction | None
    """The largest P(y|x) / P(y|x'); None if some y is possible under x and not under x'."""
    pair: tuple[int, int]
    """The x and x' where it is attained."""
    output: int
    """The y where it is attained."""

    @property
    def epsilon(self) -> float:
        """The logarithm of the ratio, rounded up to a float; infinite if there is none."""
        if self.ratio is None:
            return math.inf
        exact = Fraction(log_above(self.ratio))
        near = float(exact)
        return near if Fraction(near) >= exact else math.nextafter(near, math.inf)

    @property
    def is_infinite(self) -> bool:
        """Whether one world gives an output that its neighbour cannot."""
        return self.ratio is None

    def exceeds(self, claim: float) -> bool:
        """Whether more is told than a claimed epsilon, decided without rounding."""
        return self.ratio is None or Fraction(log_above(self.ratio)) > Fraction(claim)


def exact_loss(table: Table, *, pairs: Pairs | None = None) -> Loss:
    """The exact largest log-ratio of a channel, over all pairs of inputs or over those given.

    >>> loss = exact_loss([[3, 1], [1, 3]])
    >>> loss.ratio, round(loss.epsilon, 4)
    (Fraction(3, 1), 1.0986)
    >>> exact_loss([[4, 0], [1, 3]]).epsilon
    inf
    >>> exact_loss([[4, 0], [1, 3]], pairs=[(0, 1)]).ratio  # one-sided, as decoys are
    Fraction(4, 1)
    """
    _check(table)
    worst = Loss(Fraction(1), (0, 0), 0)
    for x, z in permutations(range(len(table)), 2) if pairs is None else pairs:
        for y, (likely, other) in enumerate(zip(table[x], table[z], strict=True)):
            if likely == 0:
                continue
            if other == 0:
                return Loss(None, (x, z), y)
            assert worst.ratio is not None
            if likely * worst.ratio.denominator > worst.ratio.numerator * other:
                worst = Loss(Fraction(likely) / Fraction(other), (x, z), y)
    return worst


def exact_delta(table: Table, epsilon: float, *, pairs: Pairs | None = None) -> float:
    """The smallest delta for which a channel is (epsilon, delta)-private, rounded up.

    >>> exact_delta([[3, 1], [1, 3]], 0.0)
    0.5
    >>> exact_delta([[4, 0], [1, 3]], 2.0)
    0.75
    """
    _check(table)
    total = Fraction(sum(table[0]))
    # e^epsilon is rounded down, so that delta is never too small.
    factor = exp_below(Fraction(epsilon))
    largest = Fraction(0)
    for x, z in permutations(range(len(table)), 2) if pairs is None else pairs:
        excess = (
            max(Fraction(0), likely - factor * other)
            for likely, other in zip(table[x], table[z], strict=True)
        )
        largest = max(largest, sum(excess, Fraction(0)) / total)
    near = float(largest)
    return near if Fraction(near) >= largest else math.nextafter(near, math.inf)


def _check(table: Table) -> None:
    if len(table) < 2:
        raise ValueError(f"the table has {len(table)} rows; two inputs at least are compared")
    if len({len(row) for row in table}) > 1:
        raise ValueError("the rows of the table have different lengths")
    if any(type(one) is not int and not isinstance(one, Fraction) for row in table for one in row):
        raise TypeError("the table holds numbers that are not whole or fractions, and so not exact")
    if any(one < 0 for row in table for one in row):
        raise ValueError("the table holds a probability below 0")
    sums = {sum(row) for row in table}
    if len(sums) > 1 or not sums.pop():
        raise ValueError("the rows of the table do not have one sum above 0")
