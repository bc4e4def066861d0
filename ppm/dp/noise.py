"""Discrete Laplace noise as whole-number tables, and the exact sums of such tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import MAX_EMAX, MAX_PREC, Context, Decimal
from fractions import Fraction
from itertools import accumulate

from ppm.dp.certificate import Place
from ppm.dp.exact import ceiling, exp_above

_SCALE = 1 << 192

MOST_REACH = 1 << 18
"""How far the tables of a chain may reach: adding them up takes some seconds."""

Moves = tuple[int, ...]
"""How many words move a number by 0, 1, 2 and so on steps up; as many move it down."""


def laplace_moves(
    step: Fraction, words: int, *, reach: int | None = None, kept: Fraction = Fraction(0)
) -> Moves:
    """The noise P(n) = (1-a)/(1+a) a^|n|, a = e^-step, as counts out of so many words.

    It ends where words run out. With `reach`, moves of that many steps and more are one: beyond the
    edges of a box they end at the same place. With `kept`, a part of the words
    moves nothing, besides those of the noise itself: a later stage of a chain. Counts are rounded
    up where they are few, and the centre gets the rest.

    >>> laplace_moves(Fraction(1), 1000)
    (452, 171, 63, 24, 9, 4, 2, 1)
    """
    a = ceiling(_SCALE * exp_above(-step))
    if a >= _SCALE or (reach is None and 48 / step > MOST_REACH):
        raise ValueError(
            "epsilon is too little for one step: the noise has no end; take long steps"
        )
    share = ceiling(words * (1 - kept) * _SCALE) * (_SCALE - a) // (_SCALE + a)
    moves: list[int] = []
    while reach is None or len(moves) < reach:
        share = share * a // _SCALE
        if 4 * share < _SCALE:
            break
        is_last = len(moves) + 1 == reach
        moves.append(-(-(share * _SCALE // (_SCALE - a) if is_last else share) // _SCALE))
    centre = words - 2 * sum(moves)
    if centre < 0:
        raise ValueError("2^64 words are too few for noise that reaches so far")
    return (centre, *moves)


def spread(moves: Moves) -> list[int]:
    """The counts of all moves, from the lowest to the highest.

    >>> spread((2, 1))
    [1, 2, 1]
    """
    return [*moves[:0:-1], *moves]


def convolved(one: Moves, other: Moves) -> Moves:
    """The exact counts of the sum of two moves.

    Kronecker substitution: each table becomes a long number with one slot of digits for each count,
    and the decimal module multiplies such numbers in n log n.

    >>> convolved((2, 1), (2, 1))
    (6, 4, 1)
    """
    tables = [spread(one), spread(other)]
    slot = sum(len(str(sum(table))) for table in tables)
    numbers = [Decimal("".join(f"{count:0{slot}d}" for count in table)) for table in tables]
    product = Context(prec=MAX_PREC, Emax=MAX_EMAX).multiply(*numbers)
    size = sum(map(len, tables)) - 1
    digits = f"{product:f}".zfill(size * slot)
    return tuple(int(digits[i * slot : (i + 1) * slot]) for i in range(size // 2, size))


def moved_ratios(moves: Sequence[int], *, floor: int) -> Iterator[tuple[int, int, Place]]:
    """All ratios for two neighbouring truths where every place has at least `floor` words besides.

    A place that lies d steps from one truth lies d+1 steps from the other.
    """
    for d, (near, far) in enumerate(zip(moves, [*moves[1:], 0], strict=True)):
        yield floor + near, floor + far, (1, 0, d + 1)
        yield floor + far, floor + near, (0, 1, d + 1)


def clamped_ratios(moves: Moves, cells: int, *, floor: int) -> Iterator[tuple[int, int, Place]]:
    """The same where moves are clamped to a box of cells: its two edges get whole tails."""
    reached = [*moves[: cells - 1], *[0] * (cells - 1 - len(moves))][: len(moves) + 1]
    for d in range(len(reached) - 1):
        yield floor + reached[d], floor + reached[d + 1], (1, 0, d + 1)
        yield floor + reached[d + 1], floor + reached[d], (0, 1, d + 1)
    tails = tails_of(moves)
    for x in range(min(len(tails), cells) - 1):
        yield floor + tails[x], floor + tails[x + 1], (x, x + 1, 0)
        yield floor + tails[x + 1], floor + tails[x], (x + 1, x, 0)


def tails_of(moves: Moves) -> list[int]:
    """How many words move a number by at least 0, 1, 2 and so on steps in one direction.

    >>> tails_of((2, 1))
    [3, 1, 0]
    """
    return [*[*accumulate(reversed(moves))][::-1], 0]
