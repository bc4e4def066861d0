import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppm.dp.decoy import truth_kept
from ppm.dp.mechanisms.joint import JointResponse
from ppm.dp.prior import Prior
from ppm.dp.response import flip_probability
from ppm.dp.utility import (
    Channel,
    Joint,
    Quality,
    Response,
    Tabled,
    Unreleased,
    answer_quality,
    query_quality,
)

HALF = Prior.independent(dict.fromkeys("abcd", 0.5))


def test_a_query_on_public_types_stays_exact_without_any_prior() -> None:
    private = Response.spending({"a": 1.0})
    quality = query_quality("b", [private], prior=None, alpha=0.5)
    assert quality == Quality(recall=1.0, precision=1.0, q=1.0, false_match=0.0)


def test_without_a_prior_only_recall_is_known() -> None:
    quality = query_quality("a", [Response.spending({"a": 1.0})], prior=None, alpha=0.5)
    assert quality.recall == pytest.approx(0.731, abs=5e-4)
    assert quality.false_match == pytest.approx(0.269, abs=5e-4)
    assert quality.precision is None
    assert quality.q is None


def test_a_public_type_in_the_query_rules_out_matches_in_empty_slots() -> None:
    quality = query_quality("ab", [Response.spending({"a": 1.0})], prior=None, alpha=0.5)
    assert quality.false_match == 0.0


@pytest.mark.parametrize("asked", ["a", "ab"])
def test_a_query_for_a_type_that_is_not_released_finds_nothing(asked: str) -> None:
    channels: list[Channel] = [Unreleased(frozenset("a")), Response.spending({"b": 1.0})]
    quality = query_quality(asked, channels, prior=HALF, alpha=0.5)
    assert quality == Quality(recall=0.0, precision=0.0, q=0.0, false_match=0.0)


def test_a_type_that_is_not_asked_for_costs_a_query_nothing() -> None:
    asked_only: list[Channel] = [Response.spending({"b": 1.0})]
    with_others: list[Channel] = [
        *asked_only,
        Unreleased(frozenset("a")),
        Joint(frozenset("cd"), 1.0),
    ]
    assert query_quality("b", with_others, prior=HALF, alpha=0.5) == query_quality(
        "b", asked_only, prior=HALF, alpha=0.5
    )


@pytest.mark.parametrize("asked", ["a", "ab", "abc", "bcd"])
def test_a_table_of_the_joint_response_is_as_good_as_the_joint_response(asked: str) -> None:
    prior = Prior.table([("", 0.4), ("ab", 0.2), ("abcd", 0.3), ("cd", 0.1)])
    joint = Joint(frozenset("abc"), 1.5)
    table = Tabled.of("abc", JointResponse(1.5, 3))
    for known in (prior, None):
        one, other = (
            query_quality(asked, [channel], prior=known, alpha=0.4) for channel in (joint, table)
        )
        assert one.recall == pytest.approx(other.recall)
        assert one.false_match == pytest.approx(other.false_match)
        assert one.q == (None if known is None else pytest.approx(other.q))


def test_what_else_happens_changes_how_often_a_table_shows_a_type() -> None:
    """This table shows a whenever b occurs too, and half the time if it does not."""
    half = 1 << 63
    rows = ((half, half, 0, 0), (half, half, 0, 0), (0, half, half, 0), (0, 2 * half, 0, 0))
    table = Tabled(("a", "b"), tuple(tuple(n / 2**64 for n in row) for row in rows))
    often = Prior.table([("a", 0.25), ("ab", 0.75)])
    found = query_quality("a", [table], prior=often, alpha=0.0)
    assert found.recall == pytest.approx(0.25 * 0.5 + 0.75)
    assert query_quality("a", [table], prior=None, alpha=0.0).recall == 0.5


def test_a_table_is_one_of_all_vectors() -> None:
    with pytest.raises(ValueError, match="not one of vectors of 2 types"):
        Tabled.of("ab", JointResponse(1.0, 3))


def test_a_type_goes_through_one_channel_only() -> None:
    channels: list[Channel] = [Response.spending({"a": 1.0}), Joint(frozenset("ab"), 1.0)]
    with pytest.raises(ValueError, match="two channels release a;"):
        query_quality("ab", channels, prior=None, alpha=0.5)


def test_a_query_asks_for_something() -> None:
    with pytest.raises(ValueError, match="at least one type"):
        query_quality("", [], prior=None, alpha=0.5)
    with pytest.raises(ValueError, match="at least one type"):
        answer_quality("", 1.0, prior=None, alpha=0.5)


@pytest.mark.parametrize("alpha", [-0.1, 1.1])
def test_a_preference_lies_between_recall_and_precision(alpha: float) -> None:
    with pytest.raises(ValueError, match="alpha is"):
        answer_quality({"a"}, 1.0, prior=None, alpha=alpha)


@pytest.mark.parametrize("slots", [1, 2, 5])
def test_decoys_lose_matches_but_never_invent_one(slots: int) -> None:
    quality = query_quality({"a"}, [], prior=None, alpha=0.5, kept=truth_kept(1.0, slots))
    assert quality.recall == pytest.approx(0.632121**slots, rel=1e-5)
    assert quality.precision == 1.0
    assert quality.false_match == 0.0
    assert quality.q == pytest.approx((1 + quality.recall) / 2)


def test_decoys_in_front_of_a_response_scale_what_is_shown() -> None:
    response = [Response.spending({"a": 1.0})]
    plain = query_quality("a", response, prior=HALF, alpha=0.5)
    behind = query_quality("a", response, prior=HALF, alpha=0.5, kept=0.5)
    assert behind.recall == plain.recall / 2
    assert behind.false_match == plain.false_match / 2
    assert behind.precision == plain.precision


def test_an_answer_is_a_binary_response() -> None:
    quality = answer_quality("abc", 1.0, prior=HALF, alpha=0.5)
    p = flip_probability(1.0)
    assert quality.recall == pytest.approx(0.731, abs=5e-4)
    assert quality.false_match == p
    assert quality.precision == pytest.approx((1 - p) / 8 / ((1 - p) / 8 + p * 7 / 8))


def recall_of_two_queries(shares: list[float]) -> float:
    """The summed quality of two queries that want recall only, on disjoint pairs of four types."""
    response = [Response.spending(dict(zip("abcd", shares, strict=True)))]
    queries = [query_quality(asked, response, prior=HALF, alpha=0.0) for asked in ("ab", "cd")]
    return sum(quality.q for quality in queries if quality.q is not None)


def test_two_disjoint_queries_gain_by_serving_one_well() -> None:
    assert recall_of_two_queries([0.5] * 4) == pytest.approx(0.775, abs=5e-4)
    assert recall_of_two_queries([1.0, 1.0, 0.0, 0.0]) == pytest.approx(0.784, abs=5e-4)


@pytest.mark.parametrize("step", [0.01, 0.1, 0.5])
@pytest.mark.parametrize(("giver", "taker"), list(itertools.permutations(range(4), 2)))
def test_no_single_step_from_uniform_helps_two_disjoint_queries(
    giver: int, taker: int, step: float
) -> None:
    moved = [0.5] * 4
    moved[giver] -= step
    moved[taker] += step
    assert recall_of_two_queries(moved) < recall_of_two_queries([0.5] * 4)


shares = st.fixed_dictionaries(dict.fromkeys("abc", st.floats(0, 10)))
rates = st.fixed_dictionaries(dict.fromkeys("abcd", st.floats(0, 1)))
queries = st.sets(st.sampled_from("abcd"), min_size=1)


@given(shares, rates, queries, st.floats(0, 1))
def test_every_quality_is_a_probability(
    shares: dict[str, float], rates: dict[str, float], query: set[str], alpha: float
) -> None:
    channels = [Response.spending(shares)]
    quality = query_quality(query, channels, prior=Prior.independent(rates), alpha=alpha)
    assert quality.precision is not None
    assert quality.q is not None
    assert 0 <= quality.recall <= 1
    assert 0 <= quality.precision <= 1
    assert 0 <= quality.false_match <= 1
    low, high = sorted([quality.recall, quality.precision])
    assert low - 1e-12 <= quality.q <= high + 1e-12


@given(st.floats(0, 10), st.floats(0, 10), queries)
def test_more_budget_never_hurts(one: float, other: float, query: set[str]) -> None:
    low, high = sorted([one, other])

    def quality(epsilon: float) -> Quality:
        channels: list[Channel] = [
            Response.spending({"a": epsilon, "b": epsilon}),
            Joint(frozenset("cd"), epsilon),
        ]
        return query_quality(query, channels, prior=HALF, alpha=0.5)

    poor, rich = quality(low), quality(high)
    assert poor.precision is not None
    assert rich.precision is not None
    assert poor.recall <= rich.recall + 1e-12
    assert poor.precision <= rich.precision + 1e-12
