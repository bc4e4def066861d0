"""Shares that follow what consumers ask, against the uniform ones and the specified numbers."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from ppm.dp.allocation.adaptive import adaptive
from ppm.dp.allocation.budgets import is_within, on_steps
from ppm.dp.allocation.need import Need, needed, qualities, worth
from ppm.dp.allocation.objective import Objective
from ppm.dp.allocation.optimal import optimal
from ppm.dp.allocation.polytope import Polytope
from ppm.dp.allocation.uniform import uniform
from ppm.dp.prior import Prior
from ppm.dp.utility import Response

HALF = Prior.independent(dict.fromkeys("abcdefgh", 0.5))
AB, CD = (Need(name, frozenset(name), alpha=0) for name in ("ab", "cd"))
FOUR = {"all": ("abcd", 2.0)}
Patterns = dict[str, tuple[list[str], float]]

types = st.sampled_from("abcdef")
patterns = st.dictionaries(
    st.sampled_from("PQR"),
    st.tuples(st.lists(types, min_size=1, max_size=5), st.floats(0, 8)),
    min_size=1,
)
needs = st.lists(
    st.builds(
        Need,
        name=st.uuids().map(str),
        types=st.frozensets(types, min_size=1, max_size=4),
        weight=st.floats(0.1, 10),
        alpha=st.floats(0, 1),
    ),
    min_size=1,
    max_size=4,
)


@st.composite
def tables(draw: st.DrawFn) -> Prior:
    """A prior in which anything may go together."""
    rows = draw(st.lists(st.tuples(st.frozensets(types), st.integers(1, 9)), min_size=1))
    total = sum(count for _, count in rows)
    return Prior.table([(row, count / total) for row, count in rows], types="abcdef")


rates = st.just(0.0) | st.floats(1e-9, 1)  # so that products of four keep all their digits
coins = st.fixed_dictionaries(dict.fromkeys("abcdef", rates)).map(Prior.independent)
priors = st.one_of(coins, tables())


def value(wanted: list[Need], shares: dict[str, float], prior: Prior) -> float:
    return worth(wanted, [Response.spending(shares)] if shares else [], prior)


def test_two_disjoint_queries_gain_by_serving_one_well() -> None:
    shares = {
        "uniform": uniform(FOUR),
        "adaptive": adaptive(FOUR, [AB, CD], HALF),
        "optimal": optimal(FOUR, [AB, CD], HALF),
    }
    assert shares["adaptive"] == shares["uniform"]  # no single step helps
    assert shares["optimal"] == {"a": 1.0, "b": 1.0, "c": 0.0, "d": 0.0}
    found = {name: value([AB, CD], one, HALF) for name, one in shares.items()}
    assert found["uniform"] == pytest.approx(0.775, abs=5e-4)
    assert found["optimal"] == pytest.approx(0.784, abs=5e-4)


@pytest.mark.parametrize(("weights", "served"), [((1, 2), "cd"), ((2, 1), "ab")])
def test_weights_decide_between_conflicting_queries(
    weights: tuple[float, float], served: str
) -> None:
    wanted = [
        Need(name, frozenset(name), weight, 0)
        for name, weight in zip(("ab", "cd"), weights, strict=True)
    ]
    assert optimal(FOUR, wanted, HALF) == {name: 1.0 * (name in served) for name in "abcd"}


def test_types_that_nobody_needs_are_not_released_and_their_budget_goes_to_the_others() -> None:
    wanted = [Need("q", frozenset("ab"))]
    for allocate in (adaptive, optimal):
        assert allocate(FOUR, wanted, HALF) == {"a": 1.0, "b": 1.0}
        assert allocate(FOUR, [Need("public", frozenset("xyz"))], HALF) == {}


def test_a_query_for_a_rare_and_a_common_type_needs_the_rare_one_more() -> None:
    prior = Prior.independent({"a": 0.01, "b": 0.9})
    wanted = [Need("both", frozenset("ab"), alpha=1)]
    for allocate in (adaptive, optimal):
        shares = allocate({"P": ("ab", 2.0)}, wanted, prior)
        assert shares["a"] > 1.9
        assert value(wanted, shares, prior) > 1.3 * value(wanted, {"a": 1.0, "b": 1.0}, prior)


def test_without_a_prior_recall_alone_can_guide() -> None:
    assert optimal(FOUR, [AB], None) == {"a": 1.0, "b": 1.0}
    with pytest.raises(ValueError, match="wants precision, which only a prior can tell"):
        optimal(FOUR, [Need("q", frozenset("ab"))], None)


def test_a_prior_must_know_what_is_asked_for() -> None:
    with pytest.raises(ValueError, match="the prior has no z; it knows a"):
        optimal({"P": ("z", 1.0)}, [Need("q", frozenset("z"))], HALF)


def test_a_query_says_what_it_wants() -> None:
    with pytest.raises(ValueError, match="asks for no type"):
        Need("q", frozenset())
    with pytest.raises(ValueError, match="weight of q is 0"):
        Need("q", frozenset("a"), weight=0)
    with pytest.raises(ValueError, match="alpha of q is 2"):
        Need("q", frozenset("a"), alpha=2)


@settings(max_examples=60, deadline=None)
@given(patterns, needs, priors)
@example({"P": (["a"], 0.0)}, [Need("q", frozenset("a"))], HALF)
@example({"P": (["a", "b"], 0.3), "Q": (["b", "c"], 0.1)}, [Need("q", frozenset("abc"))], HALF)
def test_guided_shares_are_feasible_and_never_worse(
    budgets: Patterns, wanted: list[Need], prior: Prior
) -> None:
    every = {"uniform": uniform(budgets)}
    every["adaptive"] = adaptive(budgets, wanted, prior)
    every["optimal"] = optimal(budgets, wanted, prior)
    for shares in every.values():
        assert is_within(budgets, shares)
        for own, epsilon in budgets.values():
            assert sum(Fraction(shares.get(name, 0.0)) for name in set(own)) <= Fraction(epsilon)
        assert min(shares.values(), default=0.0) >= 0
    private = {name for own, _ in budgets.values() for name in own}
    for name in ("adaptive", "optimal"):
        assert every[name].keys() == private & needed(wanted)
    # Only what all three release can be compared: a type without a share would be seen as it is.
    asked = [need for need in wanted if need.types & private]
    found = {name: value(asked, shares, prior) for name, shares in every.items()}
    assert found["adaptive"] >= found["uniform"] - 1e-8
    assert found["optimal"] >= found["adaptive"] - 1e-8


@given(patterns, needs, priors, st.integers(0, 2**32))
def test_the_objective_is_the_closed_form_and_its_slope(
    budgets: Patterns, wanted: list[Need], prior: Prior, seed: int
) -> None:
    names = tuple(uniform(budgets))
    wanted = [need for need in wanted if not need.types.isdisjoint(names)]
    assume(wanted)
    objective = Objective(names, wanted, prior)
    shares = np.random.default_rng(seed).uniform(0.01, 3, len(names))
    written = dict(zip(names, shares.tolist(), strict=True))
    expected = worth(wanted, [Response.spending(written)], prior)
    assert objective.value(shares) == pytest.approx(expected, abs=1e-9)
    found, slope = objective.slope(shares)
    assert found == pytest.approx(expected, abs=1e-9)
    step = 1e-6 * np.eye(len(names))
    numeric = [(objective.value(shares + d) - objective.value(shares - d)) / 2e-6 for d in step]
    assert slope == pytest.approx(np.array(numeric), abs=1e-6)


@given(patterns, st.integers(0, 2**32))
def test_the_nearest_shares_are_allowed_and_no_other_allowed_ones_are_nearer(
    budgets: Patterns, seed: int
) -> None:
    names = tuple(uniform(budgets))
    polytope = Polytope(names, budgets)
    rng = np.random.default_rng(seed)
    wished = rng.normal(1, 3, len(names))
    found = polytope.nearest(wished)
    assert (found >= 0).all()
    for places, epsilon in polytope.patterns:
        assert found[places].sum() <= epsilon + 1e-9
    for _ in range(20):
        other = polytope.nearest(found + rng.normal(0, 1, len(names)))
        # The way to any allowed point leads away from what was wished for.
        assert (wished - found) @ (other - found) <= 1e-4 * (1 + np.abs(wished).sum())


@given(patterns, st.lists(st.floats(0, 10), min_size=6, max_size=6))
@example(
    {"P": (["b"], 1.6e-152), "Q": (["a", "c"], 5.758054520989256e-100)}, [3.5625, 0, 1, 0, 0, 0]
)
def test_shares_on_steps_add_to_no_more_than_any_budget(
    budgets: Patterns, wished: list[float]
) -> None:
    shares = on_steps(budgets, dict(zip("abcdef", wished, strict=True)))
    assert is_within(budgets, shares)


def test_last_bits_do_not_move_a_share() -> None:
    budgets = {"P": ("ab", 1.0)}
    exact = on_steps(budgets, {"a": 0.25, "b": 0.75})
    assert exact == {"a": 0.25, "b": 0.75}
    assert on_steps(budgets, {"a": 0.25 - 1e-9, "b": 0.75 + 1e-9}) == exact


def test_fifty_queries_on_twenty_five_types_are_allocated_in_seconds() -> None:
    rng = np.random.default_rng(1)
    names = [f"t{number}" for number in range(25)]
    prior = Prior.independent({name: rng.uniform(0, 0.5) for name in names})
    budgets = {f"p{n}": ([*rng.choice(names, 5, replace=False)], 1.0) for n in range(12)}
    wanted = [
        Need(f"q{n}", frozenset(rng.choice(names, 3, replace=False)), alpha=rng.uniform())
        for n in range(50)
    ]
    started = time.perf_counter()
    shares = optimal(budgets, wanted, prior)
    assert time.perf_counter() - started < 30
    assert is_within(budgets, shares)
    found = qualities(wanted, [Response.spending(shares)], prior)
    assert all(0 <= (one.q or 0) <= 1 for one in found.values())
