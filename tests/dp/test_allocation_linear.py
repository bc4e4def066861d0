"""The channel of a joint group that is made for its queries."""

from __future__ import annotations

import time
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppm.dp.allocation.joint import better_channel
from ppm.dp.allocation.linear import linear_channel
from ppm.dp.allocation.need import Need, qualities, worth
from ppm.dp.prior import Prior
from ppm.dp.utility import Joint, Tabled

ALL = Need("all", frozenset("abc"))
RARE = Prior.independent(dict.fromkeys("abcdep", 0.05))
types = st.sampled_from("abcp")
needs = st.lists(
    st.builds(
        Need,
        name=st.uuids().map(str),
        types=st.frozensets(types, min_size=1),
        weight=st.floats(0.1, 10),
        alpha=st.floats(0.05, 0.95),
    ),
    min_size=1,
    max_size=4,
)
rows = st.lists(st.integers(1, 20), min_size=16, max_size=16)


def prior_of(counts: list[int]) -> Prior:
    """A prior on a, b, c and p with these counts for their vectors."""
    vectors = [
        {n for n, bit in zip("abcp", bits, strict=True) if bit}
        for bits in product((0, 1), repeat=4)
    ]
    return Prior.table([(v, n / sum(counts)) for v, n in zip(vectors, counts, strict=True)])


def loss(wanted: list[Need], table: Tabled | Joint, prior: Prior) -> float:
    """What the programme is to make small, from its definition, query by query."""
    total = 0.0
    for need in wanted:
        asked = need.types & table.types
        match = prior.probability(need.types)
        for present, mass in prior.distribution(need.types | table.types).items():
            seen = (
                table.shows(asked, present & table.types)
                if need.types - table.types <= present
                else 0
            )
            if need.types <= present:
                total += need.weight * (1 - need.alpha) * mass / match * (1 - seen)
            else:
                total += need.weight * need.alpha * mass / (1 - match) * seen
    return total


def test_one_query_for_three_types_keeps_a_match_as_often_as_one_bit_would() -> None:
    plain = Joint(frozenset("abc"), 1.0)
    made = Tabled.of("abc", linear_channel("abc", 1.0, [ALL], RARE))
    kept = [one.shows(frozenset("abc"), frozenset("abc")) for one in (plain, made)]
    assert kept == pytest.approx([0.280, 0.731], abs=5e-4)


def test_a_rare_match_does_not_make_silence_best() -> None:
    never = Prior.independent(dict.fromkeys("abc", 0.001))
    made = Tabled.of("abc", linear_channel("abc", 1.0, [ALL], never))
    assert made.shows(frozenset("abc"), frozenset("abc")) == pytest.approx(0.731, abs=5e-4)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 4.0, 12.0, 40.0])
def test_a_channel_keeps_its_epsilon_exactly(epsilon: float) -> None:
    wanted = [ALL, Need("a", frozenset("a"), 2, 0.3), Need("bc", frozenset("bc"), 1, 0.8)]
    channel = linear_channel("abc", epsilon, wanted, RARE)
    assert channel.certificate().holds
    if epsilon > 8:
        found = qualities(wanted, [Tabled.of("abc", channel)], RARE)
        assert all(one.recall > 0.99 for one in found.values())


@settings(max_examples=40, deadline=None)
@given(needs, rows, st.floats(0.2, 3))
def test_no_channel_that_we_know_loses_less(
    wanted: list[Need], counts: list[int], epsilon: float
) -> None:
    prior = prior_of(counts)
    inside = [need for need in wanted if need.types & frozenset("abc")]
    if not inside:
        return
    made = Tabled.of("abc", linear_channel("abc", epsilon, inside, prior))
    weights = sum(need.weight for need in inside)
    least = loss(inside, made, prior)
    assert least <= loss(inside, Joint(frozenset("abc"), epsilon), prior) + 1e-5 * weights
    for need in inside:  # a table for one query alone
        alone = Tabled.of("abc", linear_channel("abc", epsilon, [need], prior))
        assert least <= loss(inside, alone, prior) + 1e-5 * weights


@settings(max_examples=25, deadline=None)
@given(st.lists(needs.map(lambda found: found[0]), min_size=1, max_size=3), rows)
def test_vectors_that_satisfy_the_same_queries_share_a_row_without_loss(
    wanted: list[Need], counts: list[int]
) -> None:
    """A query of no weight that asks for something else keeps all vectors apart."""
    prior = prior_of(counts)
    inside = [Need(n.name, n.types - {"p"}, n.weight, n.alpha) for n in wanted if n.types - {"p"}]
    if not inside:
        return
    apart = [*inside, Need("apart", frozenset("ap"), weight=1e-9)]
    merged = Tabled.of("abc", linear_channel("abc", 1.0, inside, prior))
    whole = Tabled.of("abc", linear_channel("abc", 1.0, apart, prior))
    weights = sum(need.weight for need in inside)
    assert loss(inside, merged, prior) == pytest.approx(
        loss(inside, whole, prior), abs=1e-5 * weights
    )


@settings(max_examples=40, deadline=None)
@given(needs, rows, st.floats(0.2, 3))
def test_the_better_channel_is_never_worth_less_than_the_joint_response(
    wanted: list[Need], counts: list[int], epsilon: float
) -> None:
    prior = prior_of(counts)
    inside = [need for need in wanted if need.types & frozenset("abc")]
    found = better_channel("abc", epsilon, wanted, prior)
    if found is not None:
        plain = worth(inside, [Joint(frozenset("abc"), epsilon)], prior)
        assert worth(inside, [Tabled.of("abc", found)], prior) > plain


def test_five_types_are_solved_in_seconds_and_twice_alike() -> None:
    wanted = [
        Need("two", frozenset("ab"), 1, 0.3),
        Need("three", frozenset("bcd"), 2, 0.6),
        Need("one", frozenset("e")),
        Need("public", frozenset("cep")),
    ]
    started = time.perf_counter()
    first = linear_channel("abcde", 1.0, wanted, RARE)
    assert time.perf_counter() - started < 20
    assert linear_channel("abcde", 1.0, wanted, RARE).rows == first.rows


def test_too_many_types_are_refused() -> None:
    with pytest.raises(ValueError, match="6 types are given; there must be 1 to 5"):
        linear_channel("abcdef", 1.0, [ALL], RARE)
