"""Chains of discrete Laplace noise, clamped only after the chain.

Noise of a1 = e^-eps1 becomes noise of a2 > a1 if one adds 0 with probability
((1-a2)/(1-a1))^2 * a1/a2, and noise of a2 otherwise. It holds on the whole line, so the state that
is handed on is not clamped. A state can lie outside the box by as much as all tables reach, and
every stage has a uniform floor over all of these places: the certificates below are of states, and
whatever is made from a state, such as its clamped value and all later stages, costs no more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from ppm.dp.certificate import Certificate, largest
from ppm.dp.exact import WORD, exp_above, least_reading
from ppm.dp.mechanism import Scores, Values, Words, check_values, column
from ppm.dp.mechanisms.laplace import MOST_CELLS
from ppm.dp.nested.chain import Draw, falling
from ppm.dp.noise import Moves, convolved, laplace_moves, moved_ratios, spread
from ppm.dp.table import Table

_TRIALS = ((30, 14), (26, 18), (22, 22), (18, 26), (14, 30), (10, 34))
"""How much of epsilon is set aside for rounding, and the floor, both as powers of two."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a chain: forget the state for a uniform place, or move it."""

    floor: int
    """How many words give each place, whatever the state is."""
    reach: int
    """How far outside the box its places lie."""
    places: int
    moves: Moves
    table: Table

    def advance(self, state: Values, words: Words) -> Values:
        """The next state."""
        chosen = self.table.choose(column(words, state))
        moved = state + (chosen - (self.places + len(self.moves) - 1))
        np.copyto(moved, chosen - self.reach, where=chosen < self.places)
        return moved


@dataclass(frozen=True, slots=True)
class LaplaceChain:
    """Clamped discrete Laplace noise for each of several communities; epsilons are for a step.

    >>> chain = LaplaceChain((0.5, 0.25), cells=101)
    >>> [round(float(chain.certificate(i).bound), 6) for i in (0, 1)]
    [0.5, 0.25]
    """

    epsilons: tuple[float, ...]
    cells: int
    stages: tuple[Stage, ...] = field(init=False, repr=False, compare=False)
    laws: tuple[Moves, ...] = field(init=False, repr=False, compare=False)
    """How each release moves the truth, all stages before it included: counts out of 2^64, 2^128
    and so on, without the uniform parts."""
    _certificates: tuple[Certificate, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 2 <= self.cells <= MOST_CELLS:
            raise ValueError(f"there are {self.cells} cells; there must be 2 to {MOST_CELLS}")
        least = falling(self.epsilons)[-1]
        if least == 0:
            raise ValueError("epsilon is 0; such noise has no end, so release nothing instead")
        for slack, floor in _TRIALS:
            if least * 2.0**floor < 64:
                continue  # moves by single words would show above such a floor
            stages = [*_stages(self.epsilons, self.cells, slack=slack, floor=1 << floor)]
            laws = [stages[0].moves]
            for stage in stages[1:]:
                laws.append(convolved(laws[-1], stage.moves))
            certificates = [
                Certificate(claim, *largest(moved_ratios(law, floor=stage.floor << 64 * number)))
                for number, (claim, law, stage) in enumerate(
                    zip(self.epsilons, laws, stages, strict=True)
                )
            ]
            if all(certificate.holds for certificate in certificates):
                break
        else:
            raise ValueError(f"epsilon is {least} a step, too little for 64-bit words")
        object.__setattr__(self, "stages", tuple(stages))
        object.__setattr__(self, "laws", tuple(laws))
        object.__setattr__(self, "_certificates", tuple(certificates))

    def release(self, values: Values, draw: Draw) -> tuple[Values, ...]:
        """What each community is told, in the order of the epsilons."""
        state = check_values(values, self.cells)
        released: list[Values] = []
        for number, stage in enumerate(self.stages):
            state = stage.advance(state, draw(number, values))
            released.append(np.clip(state, 0, self.cells - 1))
        return tuple(released)

    def certificate(self, number: int) -> Certificate:
        """What one community learns of one step, alone or together with all that come after it.

        The uniform parts of earlier stages would only lower it, and are left out.
        """
        return self._certificates[number]

    def estimate(self, number: int, released: Values) -> Scores:
        """Unbiased for the true cell from one release, up to the uniform part."""
        check_values(released, self.cells)
        a = float(exp_above(-least_reading(self.epsilons[number])))
        score = released.astype(np.float64)
        score[released == 0] -= a / (1 - a)
        score[released == self.cells - 1] += a / (1 - a)
        return score


def _stages(epsilons: tuple[float, ...], cells: int, *, slack: int, floor: int) -> Iterator[Stage]:
    steps = [least_reading(epsilon) * (1 - Fraction(1, 1 << slack)) for epsilon in epsilons]
    reach = 0
    for number, step in enumerate(steps):
        kept = kept_by_stage(steps[number - 1], step) if number else Fraction(0)
        # A first look for how far it reaches, because the floor takes its words from the moves.
        reach += len(laplace_moves(step, WORD, kept=kept)) - 1
        places = cells + 2 * reach
        moves = laplace_moves(step, WORD - floor * places, kept=kept)
        table = Table([floor] * places + spread(moves))
        yield Stage(floor, reach, places, moves, table)


def kept_by_stage(before: Fraction, after: Fraction) -> Fraction:
    """The probability that a stage adds nothing: ((1-a2)/(1-a1))^2 * a1/a2.

    >>> round(float(kept_by_stage(Fraction(2), Fraction(1))), 4)
    0.1966
    """
    a1, a2 = exp_above(-before), exp_above(-after)
    return ((1 - a2) / (1 - a1)) ** 2 * a1 / a2
