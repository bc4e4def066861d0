"""Clamped discrete Laplace noise (Ghosh, Roughgarden, Sundararajan 2009) on the cells of a grid."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Self

import numpy as np

from ppm.dp.certificate import Certificate, largest
from ppm.dp.epsilon import check_epsilon
from ppm.dp.exact import WORD, exp_above, float_below, least_reading
from ppm.dp.mechanism import Finite, Scores, Values, Words, check_values, column
from ppm.dp.noise import Moves, clamped_ratios, laplace_moves, spread, tails_of
from ppm.dp.table import Table

MOST_CELLS = 1 << 22
_SMALL = 1 << 14

# How much of epsilon is set aside for rounding (1 out of 2^slack), and how many words every cell
# gets whatever the truth is; tried in this order, until the table keeps its epsilon.
_TRIALS = (
    (40, 0),
    (30, 0),
    (20, 0),
    (30, 1 << 14),
    (24, 1 << 20),
    (18, 1 << 26),
    (12, 1 << 32),
    (8, 1 << 38),
)


@dataclass(frozen=True, slots=True)
class DiscreteLaplace(Finite):
    """Cell x moves to x+n with probability (1-a)/(1+a) a^|n|, a = e^-epsilon, and is then clamped.

    Epsilon is what one step costs. A table of 64-bit words ends some 44/epsilon steps away, where
    the next step would prove something. So if the box is larger than that, every cell gets a few
    words whatever the truth is: the uniform floor.

    >>> noise = DiscreteLaplace(0.5, cells=11)
    >>> [round(count / 2**64, 3) for count in noise.counts(9)][6:]
    [0.055, 0.09, 0.149, 0.245, 0.378]
    >>> noise.floor, DiscreteLaplace(0.5, cells=1001).floor
    (0, 16384)
    """

    epsilon: float
    cells: int
    floor: int = field(init=False, repr=False)
    """How many of the 2^64 words release each cell, whatever the truth is."""
    slack: int = field(init=False, repr=False)
    """The noise is built for epsilon*(1 - 1/2^slack)."""
    _moves: Moves = field(init=False, repr=False, compare=False)
    _table: Table = field(init=False, repr=False, compare=False)
    _certificate: Certificate = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 2 <= self.cells <= MOST_CELLS:
            raise ValueError(f"there are {self.cells} cells; there must be 2 to {MOST_CELLS}")
        if check_epsilon(self.epsilon) == 0:
            raise ValueError("epsilon is 0; such noise has no end, so release nothing instead")
        for slack, floor in _TRIALS:
            if not self._fits(slack, floor):
                continue
            words = WORD - floor * self.cells
            moves = laplace_moves(self._step(slack), words, reach=self.cells - 1)
            found = largest(clamped_ratios(moves, self.cells, floor=floor))
            certificate = Certificate(self.epsilon, *found)
            if certificate.holds:
                break
        else:
            raise ValueError(f"epsilon is {self.epsilon} a step, too little for 64-bit words")
        table = Table([floor] * (self.cells if floor else 0) + spread(moves))
        parts = ("floor", floor), ("slack", slack), ("_moves", moves), ("_table", table)
        for name, part in (*parts, ("_certificate", certificate)):
            object.__setattr__(self, name, part)

    @classmethod
    def spanning(cls, epsilon: float, cells: int) -> Self:
        """The noise for which a change from one edge of the box to the other costs epsilon."""
        return cls(float_below(least_reading(epsilon) / max(1, cells - 1)), cells)

    @classmethod
    def capped(cls, epsilon: float, cap: int, *, cells: int) -> Self:
        """The noise for a count to which one subject adds at most `cap`, at epsilon a subject."""
        if cap < 1:
            raise ValueError(f"cap is {cap}; it must be at least 1")
        return cls(float_below(least_reading(epsilon) / cap), cells)

    @property
    def step(self) -> Fraction:
        """The epsilon that the table was built for: that of a step, less what rounding costs."""
        return self._step(self.slack)

    @property
    def inputs(self) -> int:
        return self.cells

    @property
    def outputs(self) -> int:
        return self.cells

    def counts(self, value: int) -> list[int]:
        tails = tails_of(self._moves)
        below, above = (min(d, len(tails) - 1) for d in (value, self.cells - 1 - value))
        counts = [self.floor] * self.cells
        for y in range(max(1, value - len(tails)), min(self.cells - 1, value + len(tails))):
            d = abs(y - value)
            counts[y] += self._moves[d] if d < len(self._moves) else 0
        counts[0] += tails[below]
        counts[-1] += tails[above]
        return counts

    def certificate(self) -> Certificate:
        return self._certificate

    def release(self, values: Values, words: Words) -> Values:
        values = check_values(values, self.cells)
        chosen = self._table.choose(column(words, values))
        centre = len(self._moves) - 1
        forgotten = self.cells if self.floor else 0
        moved = values + (chosen - (forgotten + centre))
        if forgotten:
            np.copyto(moved, chosen, where=chosen < forgotten)
        np.clip(moved, 0, self.cells - 1, out=moved)
        return moved

    def estimate(self, released: Values) -> Scores:
        """Unbiased for the true cell, up to rounding.

        Whoever was clamped overshot the edge by a/(1-a) steps on average, wherever it came from;
        and the uniform part, around the middle of the box, is taken out.
        """
        check_values(released, self.cells)
        a = float(exp_above(-self.step))
        score = released.astype(np.float64)
        score[released == 0] -= a / (1 - a)
        score[released == self.cells - 1] += a / (1 - a)
        forgotten = self.floor * self.cells / WORD
        return (score - forgotten * (self.cells - 1) / 2) / (1 - forgotten)

    def _step(self, slack: int) -> Fraction:
        return least_reading(self.epsilon) * (1 - Fraction(1, 1 << slack))

    def _fits(self, slack: int, floor: int) -> bool:
        """Whether a trial is worth its time: its smallest counts must bear rounding."""
        # All other moves are rounded up, by half a word on average, and the centre pays for them:
        # it must not fall below its neighbours by more than about epsilon. Small boxes may be lucky
        # in their rounding, and are tried quickly.
        moves = min(self.cells, 44 / self.epsilon)
        centre = WORD / 2 * self.epsilon + floor
        if self.cells > _SMALL and moves > 4 * self.epsilon * centre:
            return False
        if floor:
            return floor * self.cells < WORD >> 4
        # The rarest cell has about 2^64 * epsilon/2 * e^(-epsilon*cells) words; rounding one of
        # them must cost less than the epsilon that was set aside.
        rarest = 63 + float(np.log2(min(1.0, self.epsilon))) - 1.4427 * self.epsilon * self.cells
        return rarest + float(np.log2(self.epsilon)) > slack
