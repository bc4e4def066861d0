"""How likely an event is at least and at most, given how often it came: exact binomial bounds."""

from __future__ import annotations

import math

_TINY = 1e-300
_CLOSE = 1e-12


def least_probability(hits: int, runs: int, *, alpha: float) -> float:
    """The largest p that `hits` or more of `runs` refute as too small, wrong with chance alpha.

    The lower limit of Clopper and Pearson 1934: P[Bin(runs, p) >= hits] = alpha, which is a
    quantile of the beta distribution.

    >>> round(least_probability(75, 100, alpha=0.025), 4)
    0.6534
    >>> least_probability(0, 100, alpha=0.025)
    0.0
    """
    _check(hits, runs, alpha)
    if hits == 0:
        return 0.0
    if hits == runs:
        return math.exp(math.log(alpha) / runs)
    target = math.log(alpha)
    # The logarithm of the tail is concave in p, so that Newton's steps come from below and never
    # pass the limit: a step too few leaves a bound that is too small, not one that is wrong.
    p = max(_wilson(hits, runs, alpha), _TINY)
    for _ in range(100):
        tail, slope = _log_tail(hits, runs, p)
        step = (target - tail) / slope
        p = min(p + step, hits / runs) if p + step > 0 else p / 16
        if 0 <= step < _CLOSE * p:
            break
    return p * (1 - _CLOSE)


def most_probability(hits: int, runs: int, *, alpha: float) -> float:
    """The smallest p that `hits` or fewer of `runs` refute as too large, wrong with chance alpha.

    >>> round(most_probability(75, 100, alpha=0.025), 4)
    0.8312
    >>> round(most_probability(0, 100, alpha=0.05), 4)
    0.0295
    """
    return 1 - least_probability(runs - hits, runs, alpha=alpha)


def _check(hits: int, runs: int, alpha: float) -> None:
    if not (runs >= 1 and 0 <= hits <= runs):
        raise ValueError(f"{hits} of {runs} is not a count of hits out of at least one run")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is {alpha}; it must lie between 0 and 1")


def _wilson(hits: int, runs: int, alpha: float) -> float:
    """A first guess at the limit: the score interval, with a rough normal quantile."""
    z = math.sqrt(-2 * math.log(alpha))
    share, half = hits / runs, z * z / (2 * runs)
    spread = z * math.sqrt(share * (1 - share) / runs + (half / z) ** 2)
    return (share + half - spread) / (1 + 2 * half)


def _log_tail(hits: int, runs: int, p: float) -> tuple[float, float]:
    """The logarithm of P[Bin(runs, p) >= hits], and its slope in p; for p up to hits/runs."""
    a, b = hits, runs - hits + 1
    log_density = (
        math.lgamma(a + b)
        - math.lgamma(a)
        - math.lgamma(b)
        + (a - 1) * math.log(p)
        + (b - 1) * math.log1p(-p)
    )
    tail = log_density + math.log(p) + math.log1p(-p) - math.log(a)
    tail += math.log(_continued_fraction(a, b, p))
    return tail, math.exp(log_density - tail)


def _continued_fraction(a: int, b: int, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 100_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _away_from_zero(1 + term * d)
            c = _away_from_zero(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
