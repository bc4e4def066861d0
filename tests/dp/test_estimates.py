"""Estimators against whole laws: every expectation is a sum over all outcomes, in exact numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppm.dp.estimate.counts import CountLaw
from ppm.dp.estimate.law import EXACT, Law, TableLaw, bits_of, law_of_bit
from ppm.dp.estimate.matches import Matches
from ppm.dp.estimate.score import score_of
from ppm.dp.exact import WORD
from ppm.dp.mechanisms.binary import BinaryResponse
from ppm.dp.mechanisms.channel import Channel
from ppm.dp.mechanisms.joint import JointResponse
from ppm.dp.mechanisms.laplace import DiscreteLaplace
from ppm.dp.nested.joint import JointChain
from ppm.dp.nested.response import ResponseChain, SwapLaw

epsilons = st.sampled_from([0.1, 0.5, 1.0, 2.0, 4.0])


@st.composite
def responses(draw: st.DrawFn) -> SwapLaw:
    """The last release of a chain of one to three."""
    chain = sorted(draw(st.sets(epsilons, min_size=1, max_size=3)), reverse=True)
    return ResponseChain(tuple(chain), values=1 << draw(st.integers(1, 3))).laws[-1]


@st.composite
def tables(draw: st.DrawFn) -> TableLaw:
    """Any law on one or two bits, with any number of outcomes."""
    bits = draw(st.integers(1, 2))
    row = st.lists(st.integers(0, 9), min_size=1 << bits, max_size=1 << bits)
    rows = draw(st.lists(row, min_size=1 << bits, max_size=1 << bits))
    most = 1 + max(map(sum, rows))
    return TableLaw(tuple((*one, most - sum(one)) for one in rows))


laws: st.SearchStrategy[Law] = st.one_of(responses(), tables(), st.just(EXACT))


def probability(law: Law, truth: int, told: int) -> Fraction:
    if isinstance(law, TableLaw):
        return Fraction(law.rows[truth][told], law.total)
    return law.kept if truth == told else law.swapped


def outcomes(law: Law) -> range:
    return range(len(law.rows[0]) if isinstance(law, TableLaw) else law.values)


@given(st.lists(laws, min_size=1, max_size=2), st.data())
def test_scores_and_variances_are_right_for_every_truth(
    units: list[Law], data: st.DataObject
) -> None:
    asked = [data.draw(st.integers(1, law.values - 1), label="asked") for law in units]
    try:
        matches = Matches(tuple(map(score_of, units, asked)))
    except ValueError:
        return  # not identifiable; what that means is tested below
    for truth in product(*(range(law.values) for law in units)):
        holds = all(one & mask == mask for one, mask in zip(truth, asked, strict=True))
        mean = variance = guessed = Fraction(0)
        for told in product(*map(outcomes, units)):
            p = math.prod(map(probability, units, truth, told), start=Fraction(1))
            z = matches.at(told)
            mean += p * z
            variance += p * (z - holds) ** 2
            guessed += p * z * (z - 1)
        assert mean == holds
        assert guessed == variance
        noisy = [one for one, law in zip(truth, units, strict=True) if law == EXACT]
        assert matches.least_noise * all(noisy) <= variance


@given(st.lists(laws, min_size=1, max_size=2), st.integers(0, 2**32))
def test_arrays_get_the_exact_scores(units: list[Law], seed: int) -> None:
    try:
        matches = Matches(tuple(score_of(law, law.values - 1) for law in units))
    except ValueError:
        return
    random = np.random.default_rng(seed)
    told = [random.integers(0, len(outcomes(law)), 5) for law in units]
    exact = [float(matches.at([int(one[row]) for one in told])) for row in range(5)]
    assert matches.of(told) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_scores_are_those_of_the_mechanisms(epsilon: float) -> None:
    bit, vector = BinaryResponse(epsilon), JointResponse(epsilon, bits=3)
    table = Channel(epsilon, tuple(tuple(vector.counts(value)) for value in range(8)))
    told = np.arange(8)
    own = score_of(law_of_bit(bit), 1).of(told[:2])
    assert own == pytest.approx(bit.estimate(told[:2]), rel=1e-12)
    joint = score_of(SwapLaw(8, Fraction(vector.table.swaps, WORD)), 0b101)
    assert joint.of(told) == pytest.approx(vector.estimate_all(told, 0b101), rel=1e-12)
    least_norm = table.estimate(told)[:, [0b101, 0b111]].sum(axis=1)
    assert score_of(TableLaw.of(table), 0b101).of(told) == pytest.approx(least_norm, rel=1e-9)


def test_a_later_release_of_a_chain_is_read_by_its_own_law() -> None:
    chain = JointChain((2.0, 1.0), types=((0, 1, 2), (0, 2)))
    assert bits_of(chain.laws[1]) == 2
    score = score_of(chain.laws[1], 0b11)
    law = chain.laws[1]
    assert law.kept * score.at(3) + 3 * law.swapped * score.at(0) == 1


def test_a_fair_coin_says_nothing() -> None:
    with pytest.raises(ValueError, match="epsilon is 0: what is released does not depend on"):
        score_of(law_of_bit(BinaryResponse(0.0)), 1)


QUARTER = WORD // 4
HALF = WORD // 2


def test_a_table_answers_what_it_tells_apart_and_no_more() -> None:
    # Two bits; the first is told with noise, and nothing of the second.
    blind = TableLaw(
        tuple((3 * QUARTER, QUARTER) if x % 2 == 0 else (QUARTER, 3 * QUARTER) for x in range(4))
    )
    assert score_of(blind, 0b01).values == (Fraction(-1, 2), Fraction(3, 2))
    with pytest.raises(ValueError, match="takes vectors for each other"):
        score_of(blind, 0b10)


def test_a_table_that_tells_by_its_rounding_alone_is_refused() -> None:
    with pytest.raises(ValueError, match="hides what is asked, but for rounding"):
        score_of(TableLaw(((HALF, HALF), (HALF - 1, HALF + 1))), 1)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        pytest.param((), "rows of one length and one sum", id="no rows"),
        pytest.param(((1, 2), (1, 1)), "rows of one length and one sum", id="another sum"),
        pytest.param(((3, -1), (1, 1)), "no counts below 0", id="below 0"),
        pytest.param(((1, 1), (1, 1), (1, 1)), "the law is of 3 values", id="no vectors of bits"),
    ],
)
def test_a_table_that_is_no_law_is_refused(
    rows: tuple[tuple[int, ...], ...], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        TableLaw(rows)


@pytest.mark.parametrize("asked", [0, 4])
def test_only_bits_that_there_are_can_be_asked_for(asked: int) -> None:
    with pytest.raises(ValueError, match="are asked of vectors of 2; ask for one at least"):
        score_of(SwapLaw(4, Fraction(1, 8)), asked)


@pytest.mark.parametrize(
    ("epsilon", "cells"),
    [(2.0, 2), (1.0, 3), (0.5, 11), (0.1, 40), (0.5, 1001), (3.0, 200)],
)
def test_counts_have_the_right_mean_and_variance_for_every_truth(
    epsilon: float, cells: int
) -> None:
    noise = DiscreteLaplace(epsilon, cells)
    law, told = CountLaw.of(noise), np.arange(cells)
    scores, variances = law.scores(told), law.variances(told)
    assert scores == pytest.approx(noise.estimate(told), rel=1e-12)
    for truth in {0, 1, cells // 3, cells - 1}:
        p = np.array([count / WORD for count in noise.counts(truth)])
        assert p @ scores == pytest.approx(truth, abs=1e-6)
        assert p @ variances == pytest.approx(p @ (scores - truth) ** 2, rel=1e-6)


def test_the_uniform_part_of_counts_is_taken_out_of_the_variance() -> None:
    law = CountLaw(cells=9, step=Fraction(1), floor=WORD // 18)  # half of all words are uniform
    a, told = math.exp(-1), np.arange(9)
    laplace = np.array([[a ** abs(y - x) for y in range(-40, 50)] for x in told])
    laplace /= laplace.sum(axis=1, keepdims=True)
    clamped = laplace[:, 40:49].copy()
    clamped[:, 0] += laplace[:, :40].sum(axis=1)
    clamped[:, 8] += laplace[:, 49:].sum(axis=1)
    p = clamped / 2 + 1 / 18
    scores, variances = law.scores(told), law.variances(told)
    assert p @ scores == pytest.approx(told, abs=1e-9)
    assert p @ variances == pytest.approx(p @ scores**2 - told**2.0, abs=1e-6)
