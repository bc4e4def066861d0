"""Decoy windows: clean slots are withheld at random, so that a withheld slot proves nothing."""

import math

from ppm.dp.epsilon import check_epsilon


def withhold_probability(epsilon: float) -> float:
    """The probability e^-epsilon that a slot which no match touches is withheld all the same.

    >>> round(withhold_probability(1.0), 3)
    0.368
    """
    return math.exp(-check_epsilon(epsilon))


def truth_kept(epsilon: float, slots: int = 1) -> float:
    """The probability that a number of clean slots are all released in truth.

    >>> round(truth_kept(2.0), 2), round(truth_kept(2.0, slots=2), 2)
    (0.86, 0.75)
    """
    if slots < 0:
        raise ValueError(f"slots is {slots}; it must be at least 0")
    return float((-math.expm1(-check_epsilon(epsilon))) ** slots)


def slots_of_match(within: int, slot: int) -> int:
    """The most slots that one match touches, for whole microseconds (or any other whole unit).

    A span of at most `within` crosses at most ceil(within/slot) slot borders.

    >>> slots_of_match(within=120, slot=15)
    9
    """
    return _borders(within, slot) + 1


def slots_of_event(within: int, slot: int) -> int:
    """The most slots that all the matches which share one event touch together.

    They reach at most `within` back from the event and `within` on from it.

    >>> slots_of_event(within=120, slot=15)
    17
    """
    return 2 * _borders(within, slot) + 1


def _borders(within: int, slot: int) -> int:
    if slot < 1:
        raise ValueError(f"slot is {slot}; it must be at least 1")
    if within < 0:
        raise ValueError(f"within is {within}; it must be at least 0")
    return -(-within // slot)
