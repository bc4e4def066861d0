import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppm.dp.response import (
    fabricated_rows,
    false_match_probability,
    flip_probability,
    kept_probability,
)

THREE_TYPES = [
    pytest.param(0.5, 0.4584, 0.159, 0.096, id="eps 0.5"),
    pytest.param(1.0, 0.4174, 0.198, 0.073, id="eps 1"),
    pytest.param(2.0, 0.3392, 0.288, 0.039, id="eps 2"),
    pytest.param(4.0, 0.2086, 0.496, 0.009, id="eps 4"),
]


@pytest.mark.parametrize(("epsilon", "flip", "kept", "false_match"), THREE_TYPES)
def test_three_types_with_equal_shares(
    epsilon: float, flip: float, kept: float, false_match: float
) -> None:
    shares = [epsilon / 3] * 3
    assert flip_probability(shares[0]) == pytest.approx(flip, abs=5e-5)
    assert kept_probability(shares) == pytest.approx(kept, abs=5e-4)
    assert false_match_probability(shares) == pytest.approx(false_match, abs=5e-4)


def test_an_empty_slot_gives_one_and_a_quarter_rows_at_eps_1() -> None:
    assert fabricated_rows([1 / 3] * 3) == pytest.approx(1.25, abs=5e-3)


def test_a_bit_without_budget_is_a_fair_coin() -> None:
    assert flip_probability(0.0) == 0.5


def test_a_huge_epsilon_does_not_overflow() -> None:
    assert flip_probability(10_000.0) == 0.0


def test_no_types_are_always_kept() -> None:
    assert kept_probability([]) == 1.0
    assert fabricated_rows([]) == 0.0


@given(st.floats(0, 50), st.floats(0, 50))
def test_more_budget_never_flips_more(one: float, other: float) -> None:
    low, high = sorted([one, other])
    assert flip_probability(high) <= flip_probability(low) <= 0.5
