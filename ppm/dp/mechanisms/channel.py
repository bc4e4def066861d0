"""Any channel P(y|x) that is given as a table, as an optimiser gives it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Self

import numpy as np
import numpy.typing as npt

from ppm.dp.certificate import Certificate, certify
from ppm.dp.exact import WORD
from ppm.dp.mechanism import Finite, Scores, Values, Words, check_values, column
from ppm.dp.table import Table

_MIXES = (44, 40, 36, 32, 28, 24, 20, 16, 12, 8)
"""Powers of 1/2 that are tried, in order, as the part of the average row in every row."""


@dataclass(frozen=True, slots=True)
class Channel(Finite):
    """For each true value one row of counts out of 2^64; no row is trusted before it is certified.

    >>> half, quarter = 2**63, 2**62
    >>> rows = ((half, quarter, quarter), (quarter, half, quarter))
    >>> round(Channel(0.7, rows).certificate().bound, 4)
    Decimal('0.6931')
    """

    epsilon: float
    rows: tuple[tuple[int, ...], ...]
    _tables: tuple[Table, ...] = field(init=False, repr=False, compare=False)
    _scores: npt.NDArray[np.float64] = field(init=False, repr=False, compare=False)
    _certificate: Certificate = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len({len(row) for row in self.rows}) != 1:
            raise ValueError("a channel has at least one row, and all its rows have one length")
        object.__setattr__(self, "_tables", tuple(map(Table, self.rows)))
        certificate = certify(self.epsilon, self.rows).checked("a channel")
        object.__setattr__(self, "_certificate", certificate)
        # The right inverse of least norm: rows @ scores is the identity, if there is an inverse.
        law = np.array([[count / WORD for count in row] for row in self.rows])
        object.__setattr__(self, "_scores", np.linalg.pinv(law))

    @classmethod
    def rounded(cls, epsilon: float, law: npt.ArrayLike) -> Self:
        """The channel next to a table of floats, which keeps epsilon only up to rounding.

        Every row gets a small part of the average row, the smallest that makes the whole-number
        table keep its epsilon.
        """
        wished = np.asarray(law, np.float64)
        if wished.ndim != 2 or not np.isfinite(wished).all() or (wished < -1e-9).any():
            raise ValueError("a law is a table of probabilities, one row for each true value")
        rows = [_normal([Fraction(max(0.0, float(p))) for p in row]) for row in wished]
        average = [sum(column, Fraction(0)) / len(rows) for column in zip(*rows, strict=True)]
        for power in _MIXES:
            mix = Fraction(1, 1 << power)
            counts = tuple(
                _whole([(1 - mix) * p + mix * q for p, q in zip(row, average, strict=True)])
                for row in rows
            )
            if certify(epsilon, counts).holds:
                break
        return cls(epsilon, counts)

    @property
    def inputs(self) -> int:
        return len(self.rows)

    @property
    def outputs(self) -> int:
        return len(self.rows[0])

    def counts(self, value: int) -> list[int]:
        return [*self.rows[value]]

    def certificate(self) -> Certificate:
        return self._certificate

    def release(self, values: Values, words: Words) -> Values:
        values = check_values(values, self.inputs)
        flat = column(words, values)
        released = np.empty(len(values), np.int64)
        for value, table in enumerate(self._tables):
            rows = np.flatnonzero(values == value)
            released[rows] = table.choose(flat[rows])
        return released

    def estimate(self, released: Values) -> Scores:
        check_values(released, self.outputs)
        if np.linalg.matrix_rank(self._scores) < self.inputs:
            raise ValueError("rows of the channel depend on each other; nothing can be estimated")
        return self._scores[released]


def _normal(row: Sequence[Fraction]) -> list[Fraction]:
    total = sum(row, Fraction(0))
    if not total:
        raise ValueError("a row of the law has no probability at all")
    return [p / total for p in row]


def _whole(row: Sequence[Fraction]) -> tuple[int, ...]:
    """Counts that add to 2^64; what rounding leaves goes to the likeliest outcome."""
    counts = [int(WORD * p) for p in row]
    counts[counts.index(max(counts))] += WORD - sum(counts)
    return tuple(counts)
