"""What one released vector says about "all asked bits were ones", on average exactly right.

A score z is a number for each released vector y, with sum_y P(y|x) z(y) = 1 for every true vector x
in which all asked bits are ones, and 0 for every other x. As the truth is 0 or 1, so is its square,
and z*(z-1) is on average the variance of z, whatever the truth is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ppm.dp.estimate.law import Law, TableLaw, bits_of
from ppm.dp.mechanism import Scores, Values, check_values
from ppm.dp.nested.response import SwapLaw

_Row = Sequence[Fraction]
_LARGEST = 1 << 32
"""A score beyond this says that the law hides what is asked, but for its rounding."""


@dataclass(frozen=True, slots=True)
class Score:
    """An unbiased score, as exact numbers.

    >>> bit = score_of(SwapLaw(2, Fraction(1, 4)), asked=1)
    >>> bit.values
    (Fraction(-1, 2), Fraction(3, 2))
    """

    asked: int
    """The vector that has a one for each asked bit."""
    outcomes: int
    """How many vectors may be released."""
    is_by_vector: bool
    """Whether the score depends on more than that all asked bits are shown."""
    values: tuple[Fraction, ...]
    """The score of each released vector; or two, for vectors that do not show all asked bits, and
    for those that do."""
    squares: tuple[Fraction, Fraction]
    """The smallest mean of z^2, for true vectors that lack an asked bit, and for the others."""

    @property
    def is_exact(self) -> bool:
        """Whether the release is the truth itself."""
        return self.squares == (Fraction(0), Fraction(1))

    def at(self, vector: int) -> Fraction:
        """The score of one released vector."""
        if self.is_by_vector:
            return self.values[vector]
        return self.values[vector & self.asked == self.asked]

    def of(self, vectors: Values) -> Scores:
        """The scores of released vectors."""
        vectors = check_values(vectors, self.outcomes)
        is_shown = (vectors & self.asked == self.asked).astype(np.int64)
        place = vectors if self.is_by_vector else is_shown
        return np.array([float(one) for one in self.values])[place]


def score_of(law: Law, asked: int) -> Score:
    """The score for some bits of a law's vectors; a ValueError if the law hides them wholly."""
    bits = bits_of(law)
    if not 0 < asked < 1 << bits:
        raise ValueError(f"bits {asked:b} are asked of vectors of {bits}; ask for one at least")
    return _of_table(law, asked) if isinstance(law, TableLaw) else _of_response(law, asked)


def _of_response(law: SwapLaw, asked: int) -> Score:
    """z = (1{all shown} - s)/(kept - s), where s is how often they are shown for another truth."""
    bits = bits_of(law)
    law = law.of_fewer(bits - asked.bit_count())
    gap = law.kept - law.swapped
    if gap <= 0:
        raise ValueError("epsilon is 0: what is released does not depend on the truth")
    hidden, shown = -law.swapped / gap, (1 - law.swapped) / gap
    lacking, whole = (p * shown**2 + (1 - p) * hidden**2 for p in (law.swapped, law.kept))
    return Score(asked, 1 << bits, False, (hidden, shown), (lacking, whole))


def _of_table(law: TableLaw, asked: int) -> Score:
    """The scores of least norm: rows^T w, where (rows rows^T) w is what is asked."""
    wanted = [Fraction(int(vector & asked == asked)) for vector in range(law.values)]
    gram = [[Fraction(_product(one, other)) for other in law.rows] for one in law.rows]
    weights = solved(gram, wanted)
    if weights is None:
        raise ValueError("the channel takes vectors for each other that the question tells apart")
    scores = tuple(
        law.total * sum((w * count for w, count in zip(weights, column, strict=True)), Fraction(0))
        for column in zip(*law.rows, strict=True)
    )
    if max(map(abs, scores)) > _LARGEST:
        raise ValueError("the channel hides what is asked, but for rounding")
    squares = [
        sum((count * z**2 for count, z in zip(row, scores, strict=True)), Fraction(0)) / law.total
        for row in law.rows
    ]
    least = [min(s for s, t in zip(squares, wanted, strict=True) if t == truth) for truth in (0, 1)]
    return Score(asked, len(scores), True, scores, (least[0], least[1]))


def _product(one: Sequence[int], other: Sequence[int]) -> int:
    return sum(a * b for a, b in zip(one, other, strict=True))


def solved(
    matrix: Sequence[Sequence[Fraction]], right: Sequence[Fraction]
) -> list[Fraction] | None:
    """Some solution of linear equations, exactly; None if there is none.

    >>> one, two = Fraction(1), Fraction(2)
    >>> solved([[one, one], [two, two]], [one, two]), solved([[one, one], [one, one]], [one, two])
    ([Fraction(1, 1), Fraction(0, 1)], None)
    """
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    size, leading = len(rows[0]) - 1, list[int]()
    for column in range(size):
        top = len(leading)
        pivot = next((at for at in range(top, len(rows)) if rows[at][column]), None)
        if pivot is None:
            continue
        rows[top], rows[pivot] = rows[pivot], rows[top]
        rows[top] = [value / rows[top][column] for value in rows[top]]
        for at, row in enumerate(rows):
            if at != top and row[column]:
                rows[at] = [a - row[column] * b for a, b in zip(row, rows[top], strict=True)]
        leading.append(column)
    if any(row[-1] for row in rows[len(leading) :]):
        return None
    solution = [Fraction(0)] * size
    for row, column in zip(rows, leading, strict=False):
        solution[column] = row[-1]
    return solution
