"""Exponentials and logarithms that are never on the wrong side of the truth."""

import math
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from ppm.dp.epsilon import as_written

WORD = 1 << 64
"""How many values a random word has; every probability is a count out of it."""

DIGITS = 60
"""Decimal digits that bounds are computed to: three times those of a word."""

# `Decimal.exp` and `Decimal.ln` round correctly to the nearest number, so one step further down or
# up is a bound.
_DOWN = Context(prec=DIGITS, rounding=ROUND_FLOOR, Emax=MAX_EMAX, Emin=MIN_EMIN)
_UP = Context(prec=DIGITS, rounding=ROUND_CEILING, Emax=MAX_EMAX, Emin=MIN_EMIN)


def least_reading(epsilon: float) -> Fraction:
    """The smaller of what a person wrote and what the float holds: a bound must hold for both.

    >>> least_reading(0.1) == Fraction(1, 10) < Fraction(0.1)
    True
    """
    return min(as_written(epsilon), Fraction(epsilon))


def exp_below(x: Fraction) -> Fraction:
    """A number just below e^x, or e^x itself where x is 0.

    >>> exp_below(Fraction(1)) < exp_above(Fraction(1))
    True
    >>> float(exp_below(Fraction(1)))
    2.718281828459045
    """
    if x == 0:
        return Fraction(1)
    return Fraction(_DOWN.next_minus(_DOWN.exp(_quotient(x, _DOWN))))


def exp_above(x: Fraction) -> Fraction:
    """A number just above e^x, or e^x itself where x is 0."""
    if x == 0:
        return Fraction(1)
    return Fraction(_UP.next_plus(_UP.exp(_quotient(x, _UP))))


def log_above(x: Fraction) -> Decimal:
    """A number just above the natural logarithm, or 0 where x is 1.

    >>> round(log_above(Fraction(2)), 20)
    Decimal('0.69314718055994530942')
    """
    if x == 1:
        return Decimal(0)
    return _UP.next_plus(_UP.ln(_quotient(x, _UP)))


def root_above(x: int) -> Fraction:
    """A number just above the square root."""
    return Fraction(_UP.next_plus(_UP.sqrt(Decimal(x))))


def ceiling(x: Fraction) -> int:
    """The smallest whole number that is not below x."""
    return -(-x.numerator // x.denominator)


def float_below(x: Fraction) -> float:
    """The largest float that is not above x, so that a price is never rounded up.

    >>> Fraction(float_below(Fraction(1, 10))) < Fraction(1, 10) < Fraction(0.1)
    True
    """
    near = float(x)
    return near if Fraction(near) <= x else math.nextafter(near, -math.inf)


def _quotient(x: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(x.numerator), Decimal(x.denominator))
