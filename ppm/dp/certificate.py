"""How much a mechanism tells at most, computed from its integer probabilities without rounding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from ppm.dp.exact import least_reading, log_above

Place = tuple[int, int, int]
"""Two true values and a released one: where P(released | first) / P(released | second) is taken."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """The exact largest ratio of a mechanism's probabilities, against the epsilon it claims.

    >>> Certificate(1.0, Fraction(2)).holds, Certificate(0.5, Fraction(2)).holds
    (True, False)
    """

    claim: float
    """The epsilon that was asked for."""
    ratio: Fraction | None
    """The largest P(y|x) / P(y|x') over all neighbours; None if some P(y|x') is 0."""
    worst: Place | None = None
    """The first x, x' and y where it is attained; None where nothing was compared."""
    one_sided: bool = False
    """Whether x is compared with x' in one direction only, as for decoys."""

    @property
    def bound(self) -> Decimal:
        """The logarithm of the ratio, rounded up."""
        return Decimal("Infinity") if self.ratio is None else log_above(self.ratio)

    @property
    def holds(self) -> bool:
        """Whether the claim is true, as it was written and as a float holds it."""
        if self.ratio is None:
            return False
        reading = least_reading(self.claim)
        return Fraction(self.bound) <= reading

    def checked(self, what: str) -> Certificate:
        """This certificate if it holds; what does not keep its epsilon is never built."""
        if not self.holds:
            raise ValueError(
                f"{what} does not keep epsilon {self.claim}: its largest log-ratio is "
                f"{float(self.bound):.6g}; choose another epsilon or fewer values"
            )
        return self


def certify(
    claim: float,
    rows: Sequence[Sequence[int]],
    *,
    neighbours: Iterable[tuple[int, int]] | None = None,
    one_sided: bool = False,
) -> Certificate:
    """The certificate of a channel, given as one row of counts for each true value.

    Without `neighbours`, ordered pairs of row numbers, every two rows are compared.

    >>> certify(1.0, [[3, 1], [1, 3]])
    Certificate(claim=1.0, ratio=Fraction(3, 1), worst=(0, 1, 0), one_sided=False)
    >>> certify(1.0, [[4, 0], [1, 3]]).bound
    Decimal('Infinity')
    """
    compared = _extremes(rows) if neighbours is None else _compared(rows, neighbours)
    found = largest(compared)
    return Certificate(claim, *found, one_sided=one_sided)


def largest(
    compared: Iterable[tuple[int, int, Place]],
) -> tuple[Fraction | None, Place | None]:
    """The largest of many quotients of whole numbers; None as ratio if a divisor alone is 0.

    >>> largest([(1, 2, (0, 1, 0)), (3, 2, (0, 1, 1))])
    (Fraction(3, 2), (0, 1, 1))
    """
    top, bottom = 1, 1
    worst: Place | None = None
    for count, other, place in compared:
        if count == 0:
            continue
        if other == 0:
            return None, place
        if count * bottom > top * other:
            top, bottom, worst = count, other, place
    return Fraction(top, bottom), worst


def _extremes(rows: Sequence[Sequence[int]]) -> Iterator[tuple[int, int, Place]]:
    """For each output the likeliest and the least likely row: no two rows differ more."""
    for y, counts in enumerate(zip(*rows, strict=True)):
        x, z = counts.index(max(counts)), counts.index(min(counts))
        yield counts[x], counts[z], (x, z, y)


def _compared(
    rows: Sequence[Sequence[int]], pairs: Iterable[tuple[int, int]]
) -> Iterator[tuple[int, int, Place]]:
    for x, z in pairs:
        for y, (count, other) in enumerate(zip(rows[x], rows[z], strict=True)):
            yield count, other, (x, z, y)
