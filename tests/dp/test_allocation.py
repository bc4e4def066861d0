import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppm.dp.allocation.budgets import unspent
from ppm.dp.allocation.uniform import uniform

types = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=6)
patterns = st.dictionaries(st.sampled_from("PQRST"), st.tuples(types, st.floats(0, 20)))


@pytest.mark.parametrize(
    ("patterns", "shares"),
    [
        pytest.param({"P": ("abcd", 2.0)}, dict.fromkeys("abcd", 0.5), id="one pattern"),
        pytest.param({"P": ("aab", 2.0)}, {"a": 1.0, "b": 1.0}, id="a type that occurs twice"),
        pytest.param(
            {"P": ("ab", 2.0), "Q": ("c", 1.0)},
            {"a": 1.0, "b": 1.0, "c": 1.0},
            id="patterns with nothing in common",
        ),
        pytest.param(
            {"P": ("ab", 2.0), "Q": ("bcde", 1.0)},
            {"a": 1.0, "b": 0.25, "c": 0.25, "d": 0.25, "e": 0.25},
            id="a shared type gets its smallest share",
        ),
        pytest.param({"P": ("ab", 0.0)}, {"a": 0.0, "b": 0.0}, id="no budget"),
        pytest.param({}, {}, id="no patterns"),
    ],
)
def test_uniform_shares(patterns: dict[str, tuple[str, float]], shares: dict[str, float]) -> None:
    assert uniform(patterns) == shares


def test_what_a_shared_type_leaves_unspent() -> None:
    patterns = {"P": ("ab", 2.0), "Q": ("bcde", 1.0)}
    assert unspent(patterns, uniform(patterns)) == {"P": 0.75, "Q": 0.0}


def test_a_type_without_a_share_spends_nothing() -> None:
    assert unspent({"P": ("ab", 2.0)}, {"a": 0.5}) == {"P": 1.5}


def test_shares_that_exceed_a_budget_show_as_negative() -> None:
    assert unspent({"P": ("ab", 2.0)}, {"a": 2.0, "b": 0.5}) == {"P": -0.5}


def test_a_pattern_without_types_is_refused() -> None:
    with pytest.raises(ValueError, match="pattern P has no types"):
        uniform({"P": ("", 1.0)})


@given(patterns)
def test_uniform_exceeds_no_budget_not_even_by_rounding(
    patterns: dict[str, tuple[list[str], float]],
) -> None:
    shares = uniform(patterns)
    for names, epsilon in patterns.values():
        assert sum(Fraction(shares[name]) for name in set(names)) <= Fraction(epsilon)
    assert all(left >= 0 for left in unspent(patterns, shares).values())


@given(types, st.floats(0.001, 20))
def test_a_pattern_alone_spends_all_it_has(names: list[str], epsilon: float) -> None:
    shares = uniform({"P": (names, epsilon)})
    assert math.fsum(shares.values()) == pytest.approx(epsilon)


@given(patterns)
def test_the_order_of_patterns_does_not_matter(
    patterns: dict[str, tuple[list[str], float]],
) -> None:
    assert uniform(dict(reversed(patterns.items()))) == uniform(patterns)
