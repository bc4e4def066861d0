"""Tighter sums over long horizons, against enumeration and against known bounds."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppm.dp.accounting import composed_delta, composed_epsilon
from ppm.dp.response import flip_probability


def delta_by_enumeration(epsilons: list[float], epsilon: float) -> float:
    """Over all outputs of binary responses on changed bits: the mass above e^epsilon times."""
    total = 0.0
    for flips in itertools.product((0, 1), repeat=len(epsilons)):
        ps = [flip_probability(one) for one in epsilons]
        here = math.prod(p if f else 1 - p for p, f in zip(ps, flips, strict=True))
        there = math.prod(1 - p if f else p for p, f in zip(ps, flips, strict=True))
        total += max(0.0, here - math.exp(epsilon) * there)
    return total


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 2.5])
@pytest.mark.parametrize("slots", [1, 2, 5, 9])
def test_equal_slots_equal_enumeration(slots: int, epsilon: float) -> None:
    exact = delta_by_enumeration([0.7] * slots, epsilon)
    assert composed_delta([(0.7, slots)], epsilon) == pytest.approx(exact, rel=1e-5, abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.5])
def test_different_slots_are_never_below_enumeration(epsilon: float) -> None:
    exact = delta_by_enumeration([0.7] * 4 + [0.3] * 3 + [1.1], epsilon)
    found = composed_delta([(0.7, 4), (0.3, 3), (1.1, 1)], epsilon)
    assert exact <= found <= exact + 1e-3


@given(st.floats(0.01, 3), st.integers(1, 400), st.floats(1e-12, 0.1))
def test_never_above_the_plain_sum_nor_the_known_bounds(
    epsilon: float, slots: int, delta: float
) -> None:
    found = composed_epsilon([(epsilon, slots)], delta)
    assert 0 <= found <= epsilon * slots * (1 + 1e-12)
    # Advanced composition, Dwork, Rothblum, Vadhan 2010, in the form of Kairouz et al.
    advanced = slots * epsilon * math.tanh(epsilon / 2)
    advanced += epsilon * math.sqrt(2 * slots * math.log(1 / delta))
    assert found <= advanced * (1 + 1e-5) + 1e-5
    assert composed_delta([(epsilon, slots)], found) <= delta * (1 + 1e-6)


def test_a_year_of_quarters_costs_much_less_with_a_small_delta() -> None:
    slots = 365 * 96
    assert composed_epsilon([(0.01, slots)], 1e-9) < 0.05 * 0.01 * slots


def test_nothing_spent_costs_nothing() -> None:
    assert composed_epsilon([], 1e-6) == 0.0
    assert composed_epsilon([(0.0, 5), (1.0, 0)], 1e-6) == 0.0
    assert composed_delta([], 0.0) == 0.0


def test_one_slot_at_its_own_epsilon_needs_no_delta() -> None:
    assert composed_delta([(1.0, 1)], 1.0) == 0.0
    assert composed_delta([(1.0, 1)], 0.0) == pytest.approx(1 - 2 * flip_probability(1.0))


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1])
def test_a_delta_that_is_none_is_refused(delta: float) -> None:
    with pytest.raises(ValueError, match="delta is"):
        composed_epsilon([(1.0, 1)], delta)


@pytest.mark.parametrize("slots", [2, 7, 96, 960])
@pytest.mark.parametrize("epsilon", [0.1, 0.7])
def test_floats_are_rounded_up(slots: int, epsilon: float) -> None:
    """Against the same sum in 60 digits, where float arithmetic loses some of the last bits."""
    with localcontext() as context:
        context.prec = 60
        odds = Decimal(epsilon).exp()
        for part in (0.0, 0.1, 0.5):
            total = part * slots * epsilon
            exact = Decimal(0)
            for flips in range(slots + 1):
                chance = math.comb(slots, flips) * odds ** (slots - flips) / (1 + odds) ** slots
                loss = (slots - 2 * flips) * Decimal(epsilon)
                exact += chance * max(Decimal(0), 1 - (Decimal(total) - loss).exp())
            found = Decimal(composed_delta([(epsilon, slots)], total))
            assert (
                min(Decimal(1), exact * (1 + Decimal("5e-7")))
                <= found
                < exact * (1 + Decimal("2e-6"))
            )


def test_what_is_spent_may_be_an_iterator() -> None:
    spent = [(0.1, 96), (0.2, 10)]
    assert composed_epsilon(iter(spent), 1e-6) == composed_epsilon(spent, 1e-6) > 4
    assert composed_delta(iter(spent), 4.0) == composed_delta(spent, 4.0)


def test_a_negative_number_of_slots_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        composed_delta([(1.0, -1)], 0.5)
