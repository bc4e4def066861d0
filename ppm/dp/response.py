"""Independent randomised response (Warner 1965): every existence bit flips on its own."""

import math
from collections.abc import Iterable

from ppm.dp.epsilon import check_epsilon


def flip_probability(epsilon: float) -> float:
    """The probability 1/(1+e^epsilon) that a bit comes out as its opposite.

    >>> round(flip_probability(1 / 3), 4)
    0.4174
    >>> flip_probability(0.0)
    0.5
    """
    odds = math.exp(-check_epsilon(epsilon))  # e^-epsilon cannot overflow, e^epsilon can
    return odds / (1 + odds)


def kept_probability(epsilons: Iterable[float]) -> float:
    """The probability that true bits, one per epsilon, are all released as true.

    >>> round(kept_probability([1 / 3] * 3), 3)
    0.198
    """
    return math.prod(1 - flip_probability(epsilon) for epsilon in epsilons)


def false_match_probability(epsilons: Iterable[float]) -> float:
    """The probability that a slot with none of the types, one per epsilon, shows all of them.

    >>> round(false_match_probability([1 / 3] * 3), 3)
    0.073
    """
    return math.prod(flip_probability(epsilon) for epsilon in epsilons)


def fabricated_rows(epsilons: Iterable[float]) -> float:
    """The expected number of stand-in rows in an empty slot of one subject.

    >>> round(fabricated_rows([1 / 3] * 3), 2)
    1.25
    """
    return math.fsum(flip_probability(epsilon) for epsilon in epsilons)
