"""Nested releases: each community's own law, and together no more than the best informed one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from ppm.dp.certificate import certify
from ppm.dp.exact import WORD, least_reading
from ppm.dp.joint import largest_nested_epsilon
from ppm.dp.mechanism import Values, Words
from ppm.dp.mechanisms.decoy import DecoyDecision
from ppm.dp.mechanisms.geo import GeoNoise, as_one_number
from ppm.dp.mechanisms.kary import KaryResponse
from ppm.dp.mechanisms.laplace import DiscreteLaplace
from ppm.dp.nested.chain import Draw, falling
from ppm.dp.nested.decoy import DecoyChain
from ppm.dp.nested.geo import GeoChain
from ppm.dp.nested.joint import JointChain, narrowed
from ppm.dp.nested.laplace import LaplaceChain, Stage, kept_by_stage
from ppm.dp.nested.response import ResponseChain, SwapLaw
from ppm.dp.purpose import Purpose
from ppm.dp.source import Seed
from tests.dp.conformance import chi_square, draws, repeated

FOUR = (2.0, 1.0, 0.5, 0.25)
ALPHA = 1e-6


def drawing(seed: int, *, count: int = 1, slots: Values | None = None) -> Draw:
    """Words of the real source: a key for each stage, and the truth in the block."""
    source = Seed(seed).open()
    purpose = Purpose("test", 1, "chain", ("c",))
    streams = [source.stream(purpose := purpose.then(f"stage {i}")) for i in range(8)]
    tags = source.tags(["marvin"])

    def draw(stage: int, truth: Values) -> Words:
        moments = np.arange(len(truth)) if slots is None else slots
        value = as_one_number(truth) if truth.ndim == 2 else truth
        rows = np.zeros(len(truth), np.intp)
        return streams[stage].words(tags, moments, value, count=count, rows=rows)

    return draw


def subsets(size: int) -> list[tuple[int, ...]]:
    return [c for n in range(1, size + 1) for c in itertools.combinations(range(size), n)]


def joint_rows(
    stages: Sequence[Callable[[int], list[int]]], inputs: int, members: tuple[int, ...]
) -> list[list[int]]:
    """The exact joint law of what some members see, as counts, by enumeration of all paths."""
    rows = []
    for x in range(inputs):
        states: dict[tuple[int, tuple[int, ...]], int] = {(x, ()): 1}
        for number, stage in enumerate(stages):
            after: dict[tuple[int, tuple[int, ...]], int] = {}
            for (state, seen), weight in states.items():
                for y, count in enumerate(stage(state)):
                    key = y, (*seen, y) if number in members else seen
                    after[key] = after.get(key, 0) + weight * count
            states = after
        law: dict[tuple[int, ...], int] = {}
        for (_, seen), weight in states.items():
            law[seen] = law.get(seen, 0) + weight
        rows.append([law[seen] for seen in sorted(law)])
    return rows


@pytest.mark.parametrize("values", [2, 3, 5, 8])
def test_each_release_of_a_chain_is_the_communitys_own_response(values: int) -> None:
    chain = ResponseChain(FOUR, values)
    for number, (epsilon, law) in enumerate(zip(FOUR, chain.laws, strict=True)):
        own = Fraction(KaryResponse(epsilon, values).table.swaps, WORD)
        assert 0 <= law.swapped - own < Fraction(len(FOUR), WORD)
        assert chain.certificate(number).holds
        enumerated = joint_rows([s.counts for s in chain.stages], values, (number,))
        total = WORD ** len(FOUR)
        assert [Fraction(c, total) for c in enumerated[0]] == [
            law.kept,
            *[law.swapped] * (values - 1),
        ]


@pytest.mark.parametrize("members", subsets(3))
@pytest.mark.parametrize("values", [2, 4])
def test_colluders_pay_the_largest_epsilon_and_not_the_sum(
    values: int, members: tuple[int, ...]
) -> None:
    chain = ResponseChain(FOUR[:3], values)
    rows = joint_rows([stage.counts for stage in chain.stages], values, members)
    together = certify(max(FOUR[i] for i in members), rows)
    assert together.holds
    assert together.ratio == chain.certificate(members[0]).ratio
    assert float(together.bound) == pytest.approx(FOUR[members[0]], abs=1e-12)


def test_the_example_of_four_communities() -> None:
    """3.75 with independent noise, 2 nested: by enumeration of all that four colluders can see."""
    chain = ResponseChain(FOUR)
    nested = certify(2.0, joint_rows([stage.counts for stage in chain.stages], 2, (0, 1, 2, 3)))
    apart = [KaryResponse(epsilon, 2) for epsilon in FOUR]
    rows = [
        [
            math.prod(one.counts(x)[b] for one, b in zip(apart, y, strict=True))
            for y in itertools.product((0, 1), repeat=4)
        ]
        for x in (0, 1)
    ]
    assert float(nested.bound) == pytest.approx(2.0)
    assert nested.holds
    assert float(certify(3.75, rows).bound) == pytest.approx(3.75)


def test_second_stages_are_those_of_the_specification() -> None:
    p1, p2 = (1 / (1 + math.exp(epsilon)) for epsilon in (2.0, 1.0))
    flip = ResponseChain((2.0, 1.0)).stages[1].swaps / WORD
    assert flip == pytest.approx((p2 - p1) / (1 - 2 * p1))
    k = 8
    kept1, kept2 = (math.exp(e) / (math.exp(e) + k - 1) for e in (2.0, 1.0))
    stage = ResponseChain((2.0, 1.0), values=k).stages[1]
    keep = (k * kept2 - 1) / (k * kept1 - 1)
    assert stage.swaps / WORD == pytest.approx((1 - keep) / k)
    a1, a2 = math.exp(-2.0), math.exp(-1.0)
    assert float(kept_by_stage(Fraction(2), Fraction(1))) == pytest.approx(
        ((1 - a2) / (1 - a1)) ** 2 * a1 / a2
    )


@pytest.mark.parametrize("epsilons", [(0.01, 0.005), (10.0, 0.01), (1.0, 0.999), (3.0, 0.0)])
def test_chains_over_the_whole_range(epsilons: tuple[float, ...]) -> None:
    for values in (2, 4, 8, 32):
        chain = ResponseChain(epsilons, values)
        assert all(chain.certificate(i).holds for i in (0, 1))


def test_a_chain_replays_and_keeps_its_laws() -> None:
    chain = ResponseChain((2.0, 1.0, 0.5), values=5)
    truth = repeated(3, 400_000)
    released = chain.release(truth, drawing(5))
    for told, law in zip(released, chain.laws, strict=True):
        counts = [int((law.kept if y == 3 else law.swapped) * WORD) for y in range(5)]
        statistic, freedom = chi_square(told, counts)
        assert statistic < chi2.isf(ALPHA, freedom)
    part = np.arange(1000)[::-7]
    again = chain.release(truth[part], drawing(5, slots=part))
    assert all((one == all_[part]).all() for one, all_ in zip(again, released, strict=True))


def test_bits_of_fewer_types_are_derived_up_to_the_limit() -> None:
    limit = largest_nested_epsilon(2.0, 3, types=2)
    chain = JointChain((2.0, limit * (1 - 1e-9)), types=((0, 1, 2), (0, 2)))
    assert chain.certificate(1).holds
    with pytest.raises(ValueError, match="cannot be derived"):
        JointChain((2.0, limit * (1 + 1e-9)), types=((0, 1, 2), (0, 2)))


@pytest.mark.parametrize("members", subsets(3))
def test_joint_chains_with_fewer_types_by_enumeration(members: tuple[int, ...]) -> None:
    types = ((0, 1, 2), (0, 2), (2,))
    chain = JointChain((2.0, 1.0, 0.5), types=types)

    def stage(number: int) -> Callable[[int], list[int]]:
        def law(state: int) -> list[int]:
            before = types[max(number - 1, 0)]
            return chain.stages[number].counts(
                int(narrowed(np.array([state]), before, types[number])[0])
            )

        return law

    rows = joint_rows([stage(number) for number in range(3)], 8, members)
    found = certify(chain.epsilons[members[0]], rows)
    assert found.holds
    assert float(found.bound) == pytest.approx(chain.epsilons[members[0]], abs=1e-12)
    assert found.ratio == chain.certificate(members[0]).ratio


def test_a_joint_chain_tells_each_community_of_its_own_types() -> None:
    chain = JointChain((30.0, 20.0), types=((0, 1, 2), (2, 0)))
    whole, part = chain.release(np.arange(8), drawing(1))
    assert whole.tolist() == list(range(8))
    assert part.tolist() == [0, 2, 0, 2, 1, 3, 1, 3]  # type 2 first, then type 0


@pytest.mark.parametrize(
    ("epsilons", "types", "fault"),
    [
        pytest.param((1.0, 1.0), ((0,), (0,)), "falling", id="equal epsilons"),
        pytest.param((2.0, 1.0), ((0,), (0, 1)), "among those", id="a type more"),
        pytest.param((2.0, 1.0), ((0,), ()), "among those", id="no types"),
        pytest.param((2.0,), ((0,), (0,)), "each with an epsilon", id="an epsilon too few"),
    ],
)
def test_chains_that_are_none_are_refused(
    epsilons: tuple[float, ...], types: tuple[tuple[int, ...], ...], fault: str
) -> None:
    with pytest.raises(ValueError, match=fault):
        JointChain(epsilons, types)


def test_epsilons_must_fall() -> None:
    for epsilons in ([], [1.0, 1.0], [1.0, 2.0]):
        with pytest.raises(ValueError, match="chain"):
            falling(epsilons)
    with pytest.raises(ValueError, match="tells less already"):
        SwapLaw(2, Fraction(1, 2)).stage_to(0.0)


@pytest.mark.parametrize("members", subsets(3))
def test_decoys_share_one_uniform(members: tuple[int, ...]) -> None:
    chain = DecoyChain((3.0, 2.0, 1.0))
    found = chain.certificate(members)
    assert found.holds
    assert found.one_sided
    assert float(found.bound) == pytest.approx(chain.epsilons[members[0]])
    words = draws(200_000)
    clean = chain.release(repeated(0, 200_000), words)
    touched = chain.release(repeated(1, 200_000), words)
    assert all(told.all() for told in touched)
    # Whoever withholds more withholds all that the others withhold.
    assert all((one <= other).all() for one, other in itertools.pairwise(clean))
    for epsilon, told in zip(chain.epsilons, clean, strict=True):
        assert (told == DecoyDecision(epsilon).release(repeated(0, 200_000), words)).all()
    seen = np.bincount(sum(clean), minlength=4)[::-1]
    expected = np.array(chain.joint_law()) * 200_000
    assert float(((seen - expected) ** 2 / expected).sum()) < chi2.isf(ALPHA, 3)


def test_decoys_with_a_uniform_each_would_pay_the_sum() -> None:
    one, other = DecoyDecision(2.0), DecoyDecision(1.0)
    both_withheld = Fraction(one.decoys, WORD) * Fraction(other.decoys, WORD)
    assert -math.log(both_withheld) == pytest.approx(3.0)


@pytest.mark.parametrize(("a1", "a2"), [("1/4", "1/2"), ("1/100", "99/100"), ("3/7", "4/9")])
def test_the_stage_of_discrete_laplace_is_exact(a1: str, a2: str) -> None:
    """As an identity of generating functions in whole fractions, both sides times z."""
    one, other = Fraction(a1), Fraction(a2)
    scale = ((1 - other) / (1 - one)) ** 2
    w = scale * one / other

    def trinomial(a: Fraction) -> list[Fraction]:
        return [-a, 1 + a * a, -a]  # z * (1-az)(1-a/z)

    left = [w * c for c in trinomial(other)]
    left[1] += (1 - w) * (1 - other) ** 2
    assert left == [scale * c for c in trinomial(one)]
    assert 0 <= w <= 1


@pytest.mark.parametrize(
    ("epsilons", "cells"),
    [((1.0, 0.5), 40), ((0.1, 0.05, 0.02), 200), ((0.5, 0.01), 30), ((10.0, 3.0), 500)],
)
def test_laplace_chains_have_the_laws_of_their_communities(
    epsilons: tuple[float, ...], cells: int
) -> None:
    chain = LaplaceChain(epsilons, cells)
    for number, (epsilon, moves) in enumerate(zip(epsilons, chain.laws, strict=True)):
        total = WORD ** (number + 1)
        law = np.array([count / total for count in moves])
        a = math.exp(-epsilon)
        ideal = (1 - a) / (1 + a) * a ** np.arange(len(law))
        assert np.abs(law - ideal).sum() < 1e-6
        certificate = chain.certificate(number)
        assert Fraction(certificate.bound) <= least_reading(epsilon)
        assert float(certificate.bound) == pytest.approx(epsilon, rel=1e-3)


def stage_law(stage: Stage, state: int) -> dict[int, int]:
    """Where one stage takes a state, in counts."""
    law = {place - stage.reach: stage.floor for place in range(stage.places)}
    for d, count in enumerate(stage.moves):
        for place in {state - d, state + d}:
            law[place] = law.get(place, 0) + count
    return law


@pytest.mark.parametrize("members", subsets(2))
def test_the_joint_cost_of_a_laplace_chain_by_enumeration(members: tuple[int, ...]) -> None:
    """All states inside and outside a small box, and all that two communities see of them."""
    epsilons, cells = (3.0, 1.5), 3
    chain = LaplaceChain(epsilons, cells)
    rows = []
    for x in range(cells):
        law: dict[tuple[int, ...], int] = {}
        for first, weight in stage_law(chain.stages[0], x).items():
            for second, count in stage_law(chain.stages[1], first).items():
                told = [min(max(state, 0), cells - 1) for state in (first, second)]
                key = tuple(told[i] for i in members)
                law[key] = law.get(key, 0) + weight * count
        assert sum(law.values()) == WORD**2
        rows.append([law[key] for key in sorted(law)])
    steps = [(0, 1), (1, 0), (1, 2), (2, 1)]
    found = certify(epsilons[members[0]], rows, neighbours=steps)
    assert found.holds
    assert float(found.bound) == pytest.approx(epsilons[members[0]], rel=1e-6)
    assert found.ratio is not None
    worst = chain.certificate(members[0]).ratio
    assert worst is not None
    assert found.ratio <= worst


@pytest.mark.parametrize("number", [0, 1, 2])
def test_no_state_of_a_laplace_chain_proves_anything(number: int) -> None:
    """States outside the box too: without a floor there, the last move of a table would."""
    chain = LaplaceChain((4.0, 3.0, 2.0), cells=2)
    rows = []
    for x in range(2):
        law = {x: 1}
        for stage in chain.stages[: number + 1]:
            after: dict[int, int] = {}
            for state, weight in law.items():
                for place, count in stage_law(stage, state).items():
                    after[place] = after.get(place, 0) + weight * count
            law = after
        reach = chain.stages[number].reach
        assert sorted(law) == [*range(-reach, 2 + reach)]
        rows.append([law[place] for place in sorted(law)])
    found = certify(chain.epsilons[number], rows)
    worst = chain.certificate(number).ratio
    assert found.holds
    assert found.ratio is not None
    assert worst is not None
    assert found.ratio <= worst


def test_a_laplace_chain_releases_what_a_single_mechanism_would() -> None:
    """False alarm 1e-6 each, at 400,000 draws; with 2 % more epsilon it is found out."""
    chain = LaplaceChain((1.0, 0.3), cells=24)
    released = chain.release(repeated(5, 400_000), drawing(2))
    for epsilon, told in zip(chain.epsilons, released, strict=True):
        statistic, freedom = chi_square(told, DiscreteLaplace(epsilon, 24).counts(5))
        assert statistic < chi2.isf(ALPHA, freedom)
        statistic, freedom = chi_square(told, DiscreteLaplace(1.04 * epsilon, 24).counts(5))
        assert statistic > chi2.isf(ALPHA, freedom)
        score = chain.estimate(chain.epsilons.index(epsilon), told)
        assert score.mean() == pytest.approx(5, abs=5 * score.std() / math.sqrt(400_000))


def test_clamping_inside_the_chain_would_change_the_law() -> None:
    """Why the state is not clamped: the second community's law would not be its own."""
    chain = LaplaceChain((1.0, 0.3), cells=24)
    draw, truth = drawing(2), repeated(0, 400_000)
    clamped = np.clip(chain.stages[0].advance(truth, draw(0, truth)), 0, 23)
    told = np.clip(chain.stages[1].advance(clamped, draw(1, truth)), 0, 23)
    statistic, freedom = chi_square(told, DiscreteLaplace(0.3, 24).counts(0))
    assert statistic > chi2.isf(ALPHA, freedom)


def test_laplace_chains_without_an_end_are_refused() -> None:
    with pytest.raises(ValueError, match="epsilon is 0"):
        LaplaceChain((1.0, 0.0), 5)
    with pytest.raises(ValueError, match="too little"):
        LaplaceChain((1.0, 1e-9), 5)
    with pytest.raises(ValueError, match="1 cells"):
        LaplaceChain((1.0, 0.5), 1)
    with pytest.raises(ValueError, match="outside"):
        LaplaceChain((1.0, 0.5), 5).release(np.array([5]), drawing(1))


def test_a_geo_chain_moves_both_axes_as_its_communities_would() -> None:
    chain = GeoChain((0.02, 0.01), grid=50.0, columns=20, rows=12)
    truth = np.tile(np.array([[4, 7]]), (300_000, 1))
    released = chain.release(truth, drawing(9, count=2))
    for number, (epsilon, told) in enumerate(zip(chain.per_metre, released, strict=True)):
        assert chain.certificate(number).holds
        own = GeoNoise(epsilon, 50.0, columns=20, rows=12)
        assert chain.certificate(number).claim == own.epsilon
        east, north = (axis.counts(at) for axis, at in zip(own.axes, (4, 7), strict=True))
        both = [x * y // WORD for x in east for y in north]
        statistic, freedom = chi_square(told[:, 0] * 12 + told[:, 1], both)
        assert statistic < chi2.isf(ALPHA, freedom)
    with pytest.raises(ValueError, match="outside the box"):
        chain.release(np.array([[20, 0]]), drawing(9, count=2))
    with pytest.raises(ValueError, match="two columns"):
        chain.release(np.array([1]), drawing(9, count=2))


@pytest.mark.parametrize("is_for_the_truth", [True, False])
def test_words_of_a_later_stage_are_drawn_for_the_truth(is_for_the_truth: bool) -> None:
    """Two cells of one epoch, one of which changes; all that the second community sees of both.

    With words drawn for the state, two cells that reach one state are moved by one word.
    """
    chain = ResponseChain((3.0, 1.0), values=3)
    first, second = (stage.counts for stage in chain.stages)
    rows = []
    for one, other in [(0, 1), (2, 1)]:
        law: dict[tuple[int, int], int] = {}
        for a, b, u, v in itertools.product(range(3), repeat=4):
            moved = second(a)[u] * second(b)[v]
            if a == b and not is_for_the_truth:
                moved = second(a)[u] * WORD if u == v else 0
            law[u, v] = law.get((u, v), 0) + first(one)[a] * first(other)[b] * moved
        rows.append([law[key] for key in sorted(law)])
    found = certify(1.0, rows)
    assert found.holds is is_for_the_truth
    assert float(found.bound) == pytest.approx(1.0 if is_for_the_truth else 1.104, abs=5e-4)


def test_every_stage_asks_for_words_of_the_truth() -> None:
    asked: list[Values] = []

    def draw(_: int, truth: Values) -> Words:
        asked.append(truth)
        return draws(len(truth), words=truth.ndim)

    cells = np.tile(np.array([[3, 4]]), (50, 1))
    GeoChain((0.02, 0.01), grid=50.0, columns=20, rows=12).release(cells, draw)
    assert len(asked) == 2
    assert all((one == cells).all() for one in asked)
    asked.clear()
    truth = np.arange(50) % 8
    for chain in (
        ResponseChain((1.0, 0.5), values=8),
        LaplaceChain((1.0, 0.5), cells=8),
        JointChain((2.0, 0.5), types=((0, 1, 2), (1,))),
    ):
        chain.release(truth, draw)
    assert len(asked) == 6
    assert all((one == truth).all() for one in asked)


def test_no_two_cells_share_a_number() -> None:
    cells = np.array([[x, y] for x in range(-3, 4) for y in range(-3, 4)])
    assert len(np.unique(as_one_number(cells))) == len(cells)
