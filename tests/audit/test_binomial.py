"""The limits of Clopper and Pearson, held to the exact binomial law."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from ppm.audit.binomial import least_probability, most_probability


def at_least(hits: int, runs: int, p: float) -> Fraction:
    """P[Bin(runs, p) >= hits], without rounding."""
    q = Fraction(p)
    return sum(
        (math.comb(runs, k) * q**k * (1 - q) ** (runs - k) for k in range(hits, runs + 1)),
        Fraction(0),
    )


@pytest.mark.parametrize("alpha", [0.05, 5e-7, 1e-12])
@pytest.mark.parametrize(
    ("hits", "runs"), [(1, 1), (1, 2), (1, 40), (2, 40), (20, 40), (39, 40), (40, 40), (77, 150)]
)
def test_the_lower_limit_is_the_largest_probability_that_is_refuted(
    hits: int, runs: int, alpha: float
) -> None:
    limit = least_probability(hits, runs, alpha=alpha)
    assert at_least(hits, runs, limit) <= Fraction(alpha) * (1 + Fraction(1, 10**9))
    assert at_least(hits, runs, limit * (1 + 1e-6)) > Fraction(alpha)


@pytest.mark.parametrize(("hits", "runs"), [(0, 1), (0, 40), (1, 40), (20, 40), (39, 40)])
def test_the_upper_limit_is_the_smallest_probability_that_is_refuted(hits: int, runs: int) -> None:
    limit = most_probability(hits, runs, alpha=5e-7)
    assert 1 - at_least(hits + 1, runs, limit) == pytest.approx(5e-7, rel=1e-6)


def test_nothing_is_learnt_from_no_hit_below_and_from_all_hits_above() -> None:
    assert least_probability(0, 10, alpha=0.05) == 0
    assert most_probability(10, 10, alpha=0.05) == 1


@pytest.mark.parametrize("hits", [1, 1_000, 500_000, 999_999])
def test_a_million_runs_are_no_hindrance(hits: int) -> None:
    low = least_probability(hits, 1_000_000, alpha=5e-7)
    high = most_probability(hits, 1_000_000, alpha=5e-7)
    assert 0 < low < hits / 1_000_000 < high < 1


@pytest.mark.parametrize(
    ("hits", "runs", "alpha"), [(2, 1, 0.05), (-1, 1, 0.05), (0, 0, 0.05), (1, 2, 0.0), (1, 2, 1.0)]
)
def test_what_is_no_count_or_no_alpha_is_refused(hits: int, runs: int, alpha: float) -> None:
    with pytest.raises(ValueError, match=r"is not a count|alpha is"):
        least_probability(hits, runs, alpha=alpha)
