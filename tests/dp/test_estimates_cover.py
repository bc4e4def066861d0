"""Estimates over 200 seeds: right on average, and their intervals hold the truth 19 times in 20.

With 200 seeds the mean lies beyond 4 standard errors with probability 6e-5, and the number of
intervals that hold the truth outside the bounds with 6e-5; with the fixed seeds nothing is left to
chance. Estimators that are wrong must fail the same test.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from ppm.dp.estimate.counts import CountLaw
from ppm.dp.estimate.law import EXACT, TableLaw, law_of_bit
from ppm.dp.estimate.matches import Matches
from ppm.dp.estimate.result import Estimate
from ppm.dp.estimate.score import score_of
from ppm.dp.exact import WORD
from ppm.dp.mechanism import Mechanism, Values
from ppm.dp.mechanisms.binary import BinaryResponse
from ppm.dp.mechanisms.channel import Channel
from ppm.dp.mechanisms.joint import JointResponse
from ppm.dp.mechanisms.laplace import DiscreteLaplace
from ppm.dp.nested.response import ResponseChain, SwapLaw

SEEDS = 200
LEAST = int(binom.ppf(3e-5, SEEDS, 0.95))
SUBJECT_SLOTS = 1_500
Random = np.random.Generator


def truths(asked: int = 3) -> Values:
    """Three bits that hang together: who does the first thing mostly does the others."""
    random = np.random.default_rng(SEEDS)  # none of those that noise is drawn from
    busy = random.random(SUBJECT_SLOTS) < 0.3
    bits = random.random((asked, SUBJECT_SLOTS)) < np.where(busy, 0.8, 0.1)
    return np.asarray((bits.T << np.arange(asked)).sum(axis=1))


TRUTH = truths()
FIRST_TWO = int(((TRUTH & 0b011) == 0b011).sum())
COUNTS = np.random.default_rng(SEEDS + 1).poisson(6, 120)


def words(random: Random, rows: int) -> np.ndarray:
    return random.integers(0, 2**64, (rows, 1), dtype=np.uint64)


def told(mechanism: Mechanism, values: Values, random: Random) -> Values:
    return mechanism.release(values, words(random, len(values)))


def by_chain(random: Random, *, read_as: tuple[int, int] = (1, 0)) -> Estimate:
    """Two types, one of them by the second release of its chain."""
    chains = ResponseChain((2.0, 1.0)), ResponseChain((1.5, 0.7))
    laws = [chain.laws[number] for chain, number in zip(chains, read_as, strict=True)]
    shown = [
        chain.release(TRUTH >> bit & 1, lambda _, values: words(random, len(values)))[number]
        for bit, (chain, number) in enumerate(zip(chains, (1, 0), strict=True))
    ]
    return Matches(tuple(score_of(law, 1) for law in laws)).estimate(shown)


def by_one_noisy_and_one_exact(random: Random) -> Estimate:
    bit = BinaryResponse(1.0)
    shown = told(bit, TRUTH & 1, random), TRUTH >> 1 & 1
    return Matches((score_of(law_of_bit(bit), 1), score_of(EXACT, 1))).estimate(shown)


def by_vector(random: Random, *, law: SwapLaw | None = None) -> Estimate:
    vector = JointResponse(1.0, bits=3)
    own = SwapLaw(8, Fraction(vector.table.swaps, WORD))
    return Matches((score_of(law or own, 0b011),)).estimate([told(vector, TRUTH, random)])


TABLE = Channel.rounded(2.0, [[4, 1, 2, 1], [1, 5, 1, 1], [1, 2, 4, 1], [1, 1, 1, 5]])


def by_table(random: Random) -> Estimate:
    shown = told(TABLE, TRUTH & 0b011, random)
    return Matches((score_of(TableLaw.of(TABLE), 0b11),)).estimate([shown])


def by_existence(random: Random) -> Estimate:
    """A query's answers: one bit for each subject and slot, true where the first two occur."""
    bit = BinaryResponse(0.8)
    shown = told(bit, ((TRUTH & 0b011) == 0b011).astype(np.int64), random)
    return Matches((score_of(law_of_bit(bit), 1),)).estimate([shown])


NOISE = DiscreteLaplace.capped(1.0, 2, cells=31)


def by_count(random: Random) -> Estimate:
    return CountLaw.of(NOISE).estimate(told(NOISE, COUNTS, random))


def by_raw_count(random: Random) -> Estimate:
    """Wrong: clamped noise pushes small counts up."""
    shown = told(NOISE, COUNTS, random)
    return Estimate(float(shown.sum()), CountLaw.of(NOISE).estimate(shown).standard_error, 120)


def by_raw_matches(random: Random) -> Estimate:
    """Wrong: what a reader sees who takes stand-ins for truths."""
    shown = told(JointResponse(1.0, bits=3), TRUTH, random)
    return Estimate(
        float(((shown & 3) == 3).sum()), by_vector(random).standard_error, SUBJECT_SLOTS
    )


def by_timid_vector(random: Random) -> Estimate:
    """Wrong: twice the standard error."""
    fair = by_vector(random)
    return Estimate(fair.count, 2 * fair.standard_error, fair.of)


def by_bold_vector(random: Random) -> Estimate:
    """Wrong: 0.7 of the standard error."""
    fair = by_vector(random)
    return Estimate(fair.count, 0.7 * fair.standard_error, fair.of)


def faults(estimator: Callable[[Random], Estimate], truth: int) -> list[str]:
    """What 200 seeds hold against an estimator."""
    found = [estimator(np.random.default_rng(seed)) for seed in range(SEEDS)]
    counts = np.array([one.count for one in found])
    held = sum(low <= truth <= high for low, high in (one.interval() for one in found))
    wrong = []
    if abs(counts.mean() - truth) > 4 * counts.std(ddof=1) / SEEDS**0.5:
        wrong.append("biased")
    if not LEAST <= held < SEEDS:
        wrong.append(f"{held} of {SEEDS} intervals hold the truth")
    return wrong


@pytest.mark.parametrize(
    ("estimator", "truth"),
    [
        pytest.param(by_chain, FIRST_TWO, id="response, nested"),
        pytest.param(by_one_noisy_and_one_exact, FIRST_TWO, id="one type is exact"),
        pytest.param(by_vector, FIRST_TWO, id="joint, two of three types"),
        pytest.param(by_table, FIRST_TWO, id="table"),
        pytest.param(by_existence, FIRST_TWO, id="answers: existence"),
        pytest.param(by_count, int(COUNTS.sum()), id="answers: counts"),
    ],
)
def test_estimates_are_unbiased_and_intervals_cover(
    estimator: Callable[[Random], Estimate], truth: int
) -> None:
    assert faults(estimator, truth) == []


@pytest.mark.parametrize(
    ("estimator", "truth"),
    [
        pytest.param(
            lambda random: by_chain(random, read_as=(0, 1)), FIRST_TWO, id="law of another release"
        ),
        pytest.param(
            lambda random: by_vector(random, law=ResponseChain((1.5,), values=8).laws[0]),
            FIRST_TWO,
            id="epsilon 1.5 for 1",
        ),
        pytest.param(by_raw_matches, FIRST_TWO, id="raw matches"),
        pytest.param(by_raw_count, int(COUNTS.sum()), id="raw counts"),
        pytest.param(by_timid_vector, FIRST_TWO, id="intervals too wide"),
        pytest.param(by_bold_vector, FIRST_TWO, id="intervals too narrow"),
    ],
)
def test_wrong_estimators_fail_the_same_test(
    estimator: Callable[[Random], Estimate], truth: int
) -> None:
    assert faults(estimator, truth)


def test_a_variance_is_never_less_than_the_noise_gives() -> None:
    score = score_of(ResponseChain((3.0,)).laws[0], 1)
    matches = Matches((score, score))
    nobody = [np.zeros(1, np.int64)] * 2  # a small square of a small number: z*(z-1) < 0
    assert (matches.of(nobody) * (matches.of(nobody) - 1))[0] < 0
    assert matches.estimate(nobody).standard_error == pytest.approx(
        float(matches.least_noise) ** 0.5
    )


def test_vectors_may_stand_for_many_subject_slots() -> None:
    matches = Matches((score_of(law_of_bit(BinaryResponse(1.0)), 1),))
    shown = np.array([0, 1, 1, 1, 0])
    whole = matches.estimate([shown])
    summed = matches.estimate([np.array([0, 1])], times=np.array([2, 3]))
    assert summed.of == 5
    assert summed.count == pytest.approx(whole.count)
    assert summed.standard_error == pytest.approx(whole.standard_error)
