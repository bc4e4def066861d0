"""The hard stop: a schedule, and no look at data."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppm.dp.composition import DAY, slots_cost
from ppm.dp.filter import Filter

QUARTER = 900_000_000


def test_a_budget_of_a_day() -> None:
    day = Filter.of(epsilon=0.1, budget=0.7, over=DAY, slot=QUARTER)
    assert (day.paid, day.period) == (7, 97)
    slots = np.arange(-97, 194)
    assert day.is_open(slots).reshape(3, 97).sum(axis=1).tolist() == [7, 7, 7]
    assert day.is_open(slots).reshape(3, 97)[:, :7].all()


def test_a_budget_that_pays_for_all_never_stops() -> None:
    assert (
        Filter.of(epsilon=1.0, budget=1000.0, over=DAY, slot=QUARTER).is_open(np.arange(500)).all()
    )


def test_a_budget_below_one_slot_never_starts() -> None:
    assert (
        not Filter.of(epsilon=1.0, budget=0.9, over=DAY, slot=QUARTER).is_open(np.arange(500)).any()
    )


@given(st.integers(1, 30), st.integers(0, 40), st.integers(0, 100), st.integers(-50, 50))
def test_no_stretch_has_more_open_slots_than_are_paid(
    period: int, paid: int, length: int, start: int
) -> None:
    one = Filter(min(paid, period), period)
    opened = int(one.is_open(np.arange(start, start + length)).sum())
    assert opened <= one.open_within(length)
    if length == period:  # whole slots
        assert opened == one.paid


@given(st.integers(1, 50), st.integers(1, 500))
def test_what_is_open_costs_no_more_than_the_budget(tenths: int, budget_tenths: int) -> None:
    epsilon, budget = tenths / 10, budget_tenths / 10
    one = Filter.of(epsilon=epsilon, budget=budget, over=DAY, slot=QUARTER)
    assert slots_cost(epsilon, one.paid) <= budget


@pytest.mark.parametrize("slot", [1, 2, 3, 5])
@pytest.mark.parametrize("over", [1, 2, 3, 6, 10])
def test_no_time_of_the_horizon_touches_more_open_slots_than_the_budget_pays_for(
    slot: int, over: int
) -> None:
    """Moments count, not slots: a time may start and end inside a slot."""
    for budget, start in itertools.product(range(6), range(2 * (over + 2 * slot))):
        one = Filter.of(epsilon=1.0, budget=float(budget), over=over, slot=slot)
        # In half units, so that slots of one unit have an inside too.
        touched = np.unique(np.arange(start, start + 2 * over) // (2 * slot))
        assert one.is_open(touched).sum() <= budget


def test_a_slot_that_costs_nothing_is_always_open() -> None:
    free = Filter.of(epsilon=0.0, budget=1.0, over=4, slot=1)
    assert free.is_open(np.arange(20)).all()


@pytest.mark.parametrize(("paid", "period"), [(0, 0), (-1, 3), (4, 3)])
def test_schedules_that_make_no_sense_are_refused(paid: int, period: int) -> None:
    with pytest.raises(ValueError, match="at least one slot"):
        Filter(paid, period)
