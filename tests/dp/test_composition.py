import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppm.dp.composition import (
    DAY,
    change_cost,
    colluding_chains,
    colluding_independent,
    colluding_nested,
    colluding_response,
    decoy_cost,
    groups_by_shared_types,
    horizon_cost,
    instance_cost,
    slots_cost,
    slots_in,
    slots_paid,
    total_cost,
    union_cost,
)
from ppm.dp.decoy import slots_of_match

MINUTE = 60_000_000
FOUR_COMMUNITIES = [2.0, 1.0, 0.5, 0.25]


def test_a_match_of_two_hours_in_quarters_costs_nine_slots() -> None:
    assert slots_cost(1.0, slots_of_match(120 * MINUTE, 15 * MINUTE)) == 9.0


@pytest.mark.parametrize(
    ("slot", "slots"),
    [
        pytest.param(15 * MINUTE, 96, id="quarters"),
        pytest.param(DAY, 1, id="the whole day"),
        pytest.param(7 * MINUTE, 206, id="seven minutes do not divide a day"),
        pytest.param(2 * DAY, 1, id="a slot longer than the day"),
    ],
)
def test_slots_in_a_day(slot: int, slots: int) -> None:
    assert slots_in(DAY, slot) == slots


@pytest.mark.parametrize(
    ("budget", "epsilon", "slots"),
    [
        pytest.param(1.0, 0.1, 10, id="ten tenths"),
        pytest.param(0.3, 0.1, 3, id="three tenths, which floats make 2.99"),
        pytest.param(0.7, 0.1, 7, id="seven tenths"),
        pytest.param(1.0, 0.3, 3, id="a rest is left"),
        pytest.param(0.05, 0.1, 0, id="not even one"),
        pytest.param(96.0, 1.0, 96, id="a day of quarters"),
    ],
)
def test_how_many_slots_a_budget_pays_for(budget: float, epsilon: float, slots: int) -> None:
    assert slots_paid(budget, epsilon) == slots


@given(st.integers(1, 10_000), st.integers(1, 500))
def test_a_budget_pays_for_just_what_its_slots_cost(hundredths: int, slots: int) -> None:
    epsilon = hundredths / 100
    assert slots_paid(slots_cost(epsilon, slots), epsilon) == slots


def test_slots_that_cost_nothing_are_not_counted() -> None:
    with pytest.raises(ValueError, match="epsilon is 0"):
        slots_paid(1.0, 0.0)


@pytest.mark.parametrize(
    ("types", "cost"),
    [
        pytest.param("a", 0.5, id="one type"),
        pytest.param("ab", 0.75, id="two types"),
        pytest.param("aa", 0.5, id="the same type twice in one slot"),
        pytest.param("ax", 0.5, id="a public type is free"),
        pytest.param("", 0.0, id="no change"),
    ],
)
def test_a_response_charges_the_types_that_change(types: str, cost: float) -> None:
    assert change_cost({"a": 0.5, "b": 0.25, "c": 0.25}, types) == cost


@pytest.mark.parametrize(
    ("patterns", "groups"),
    [
        pytest.param({"P": "ab", "Q": "cd"}, ["P", "Q"], id="nothing in common"),
        pytest.param({"P": "ab", "Q": "bc"}, ["PQ"], id="one shared type"),
        pytest.param({"P": "ab", "Q": "cd", "R": "bc"}, ["PQR"], id="joined by a later pattern"),
        pytest.param({"P": "a", "Q": "b", "R": "a"}, ["PR", "Q"], id="in order of the first name"),
        pytest.param({}, [], id="no patterns"),
    ],
)
def test_patterns_are_grouped_by_shared_types(patterns: dict[str, str], groups: list[str]) -> None:
    assert groups_by_shared_types(patterns) == tuple(frozenset(names) for names in groups)


@given(st.dictionaries(st.sampled_from("PQRSTU"), st.sets(st.sampled_from("abcdefgh"), min_size=1)))
def test_groups_share_no_type_and_hold_every_pattern_once(patterns: dict[str, set[str]]) -> None:
    groups = groups_by_shared_types(patterns)
    assert sorted(itertools.chain(*groups)) == sorted(patterns)
    reached = [frozenset().union(*(patterns[name] for name in group)) for group in groups]
    assert all(one.isdisjoint(other) for one, other in itertools.combinations(reached, 2))
    for one, other in itertools.combinations(patterns, 2):
        if patterns[one] & patterns[other]:
            assert any({one, other} <= group for group in groups)


@given(st.dictionaries(st.sampled_from("PQRSTU"), st.sets(st.sampled_from("abcdefgh"), min_size=1)))
def test_no_group_falls_apart(patterns: dict[str, set[str]]) -> None:
    for group in groups_by_shared_types(patterns):
        start = min(group)
        names, reached = {start}, set(patterns[start])
        for _ in group:
            names |= {name for name in group if patterns[name] & reached}
            reached = reached.union(*(patterns[name] for name in names))
        assert names == group


def test_decoy_patterns_share_one_draw() -> None:
    assert decoy_cost([3.0, 1.0, 2.0]) == 1.0
    assert decoy_cost([]) == 0.0


def test_four_communities_pay_the_sum_if_independent_and_the_maximum_if_nested() -> None:
    assert colluding_independent(FOUR_COMMUNITIES) == 3.75
    assert colluding_nested(FOUR_COMMUNITIES) == 2.0
    equal_shares = [dict.fromkeys("abcd", epsilon / 4) for epsilon in FOUR_COMMUNITIES]
    assert colluding_response(equal_shares) == 2.0


def test_communities_in_another_order_for_each_type_pay_more_than_the_maximum() -> None:
    assert colluding_response([{"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 1.0}]) == 2.0


@given(st.lists(st.dictionaries(st.sampled_from("abcd"), st.floats(0, 10)), min_size=1, max_size=5))
def test_nested_chains_cost_at_least_the_largest_and_at_most_the_sum(
    communities: list[dict[str, float]],
) -> None:
    alone = [change_cost(shares, shares.keys()) for shares in communities]
    together = colluding_response(communities)
    assert colluding_nested(alone) - 1e-9 <= together <= colluding_independent(alone) + 1e-9


@pytest.mark.parametrize(
    ("slot", "duration"), [pytest.param(0, 1, id="no slot"), pytest.param(1, -1, id="no time")]
)
def test_impossible_times_are_refused(slot: int, duration: int) -> None:
    with pytest.raises(ValueError, match="at least"):
        slots_cost(1.0, slots_in(duration, slot))


def test_a_response_pays_for_every_changed_bit_of_every_slot() -> None:
    shares = {"a": 0.5, "b": 0.25, "c": 0.25}
    assert instance_cost(shares, ["a", "b", "c"]) == 1.0
    assert instance_cost(shares, ["abc", "abc", ""]) == 2.0
    assert instance_cost(shares, []) == 0.0


def test_overlapping_patterns_pay_for_the_union_of_their_types() -> None:
    shares = {"a": 0.5, "b": 0.25, "c": 0.25}
    assert union_cost(shares, ["ab", "bc"]) == 1.0 == change_cost(shares, "abc")
    assert union_cost(shares, []) == 0.0


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 100))))
def test_sums_are_exact(parts: list[tuple[int, int]]) -> None:
    cost = total_cost([(hundredths / 100, times) for hundredths, times in parts])
    assert cost * 100 == sum(hundredths * times for hundredths, times in parts)


def test_a_horizon_costs_all_its_slots() -> None:
    assert horizon_cost(1.0, DAY, slot=15 * MINUTE) == 96.0
    assert horizon_cost(0.1, DAY + 1, slot=DAY) == 0.2


def test_chains_pay_the_largest_each_and_add_up() -> None:
    assert colluding_chains([FOUR_COMMUNITIES]) == 2.0
    assert colluding_chains([[one] for one in FOUR_COMMUNITIES]) == 3.75
    assert colluding_chains([]) == 0.0
