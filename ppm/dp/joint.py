"""k-ary randomised response (Kairouz et al. 2014) on a vector of m existence bits."""

import math

from ppm.dp.epsilon import check_epsilon


def value_kept(epsilon: float, values: int) -> float:
    """The probability e^epsilon/(e^epsilon+k-1) that one of k values is released as it is.

    >>> round(value_kept(1.0, values=8), 3)
    0.28
    """
    _check_count("values", values)
    return 1 / (1 + (values - 1) * math.exp(-check_epsilon(epsilon)))


def value_swapped(epsilon: float, values: int) -> float:
    """The probability 1/(e^epsilon+k-1) of each value that is not the true one.

    >>> round(value_kept(1.0, values=8) + 7 * value_swapped(1.0, values=8), 12)
    1.0
    """
    return math.exp(-check_epsilon(epsilon)) * value_kept(epsilon, values)


def vector_kept(epsilon: float, m: int) -> float:
    """The probability that the true vector of m bits is released.

    >>> round(vector_kept(2.0, m=3), 3)
    0.514
    """
    return value_kept(epsilon, 1 << _check_count("m", m))


def vector_swapped(epsilon: float, m: int) -> float:
    """The probability of each of the 2^m - 1 vectors that are not the true one.

    >>> round(vector_swapped(2.0, m=3), 4)
    0.0695
    """
    return value_swapped(epsilon, 1 << _check_count("m", m))


def all_shown(epsilon: float, m: int, *, asked: int, all_present: bool) -> float:
    """The probability that `asked` of the m bits are all released as ones.

    Of the 2^m vectors, 2^(m-asked) show all asked bits. The true vector is one of them exactly if
    all asked bits are present; nothing else about the slot matters.

    >>> round(all_shown(1.0, 3, asked=2, all_present=True), 3)
    0.383
    >>> round(all_shown(1.0, 3, asked=2, all_present=False), 3)
    0.206
    """
    _check_part(asked, m)
    showing = 1 << (m - asked)
    if not all_present:
        return showing * vector_swapped(epsilon, m)
    return vector_kept(epsilon, m) + (showing - 1) * vector_swapped(epsilon, m)


def largest_nested_epsilon(epsilon: float, m: int, *, types: int) -> float:
    """The largest epsilon of a response on `types` of m bits that the response on m bits can give.

    It is ln(1+(e^epsilon-1)/2^(m-types)): what the larger response already says about those bits.
    (In floats, to be shown; `JointChain.with_next` decides exactly.)

    >>> round(largest_nested_epsilon(2.0, 3, types=2), 3)
    1.434
    """
    _check_part(types, m)
    halvings = m - types
    # The same logarithm with e^epsilon taken out, so that a large epsilon does not overflow.
    rest = math.log1p(((1 << halvings) - 1) * math.exp(-check_epsilon(epsilon)))
    return max(0.0, epsilon - halvings * math.log(2) + rest)


def _check_count(name: str, count: int) -> int:
    if count < 1:
        raise ValueError(f"{name} is {count}; it must be at least 1")
    return count


def _check_part(part: int, m: int) -> None:
    if not 1 <= part <= m:
        raise ValueError(f"{part} of {m} types were asked for; at least 1 and at most {m} can be")
