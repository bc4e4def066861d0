"""What counts as an epsilon, and how it is read without rounding."""

import math
from fractions import Fraction


def check_epsilon(epsilon: float) -> float:
    """Give an epsilon back if it is finite and not negative: there is no off switch.

    >>> check_epsilon(0.5)
    0.5
    >>> check_epsilon(float("inf"))
    Traceback (most recent call last):
    ValueError: epsilon is inf; it must be finite and at least 0
    """
    if not (math.isfinite(epsilon) and epsilon >= 0):
        raise ValueError(f"epsilon is {epsilon}; it must be finite and at least 0")
    return epsilon


def as_written(epsilon: float) -> Fraction:
    """Read an epsilon as the decimal that a person wrote, not as its nearest binary number.

    >>> as_written(0.1)
    Fraction(1, 10)
    """
    return Fraction(repr(float(check_epsilon(epsilon))))
