"""Every mechanism passes one suite; a few broken ones must not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2

from ppm.dp.certificate import Certificate
from ppm.dp.exact import WORD
from ppm.dp.mechanism import Values, Words
from ppm.dp.mechanisms.binary import BinaryResponse
from ppm.dp.mechanisms.channel import Channel
from ppm.dp.mechanisms.laplace import DiscreteLaplace
from tests.dp.conformance import (
    CASES,
    CHECKS,
    Case,
    Check,
    any_two,
    certificate_is_the_largest_ratio_of_all,
    chi_square,
    counts_are_those_of_the_released_words,
    draws,
    repeated,
)

DRAWS = 1_000_000
ALPHA = 1e-6
"""How often a right law fails one test; the seed is fixed, so it passes always or never."""


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in CASES.items()])
@pytest.mark.parametrize("check", [pytest.param(check, id=check.__name__) for check in CHECKS])
def test_a_mechanism_conforms(case: Case, check: Check) -> None:
    check(case)


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in CASES.items()])
def test_a_million_draws_tell_the_law_from_one_of_2_percent_more_or_less(case: Case) -> None:
    mechanism = case.mechanism
    wrong = [case.build(factor * case.epsilon) for factor in (0.98, 1.02)]
    for value in {0, mechanism.inputs // 2}:
        if 0 in mechanism.counts(value):
            continue  # a touched slot is always withheld
        released = mechanism.release(repeated(value, DRAWS), draws(DRAWS, seed=value))
        statistic, freedom = chi_square(released, mechanism.counts(value))
        assert statistic < chi2.isf(ALPHA, freedom)
        for one in wrong:
            statistic, freedom = chi_square(released, one.counts(value))
            assert statistic > chi2.isf(ALPHA, freedom)


@pytest.mark.parametrize("value", [0, 30_000, 99_999])
def test_the_uniform_part_of_a_long_grid_is_taken_out_of_estimates(value: int) -> None:
    """It moves the mean by 4e-6 cells here, and a float sum of it is wrong by 1e-10 at most."""
    noise = DiscreteLaplace(0.01, 100_000)
    law, scores = noise.counts(value), noise.estimate(np.arange(100_000)).tolist()
    mean = math.fsum(count / WORD * score for count, score in zip(law, scores, strict=True))
    assert mean == pytest.approx(value, rel=0, abs=1e-7)


class Off(BinaryResponse):
    """A response whose words and counts do not agree: one word too many keeps the bit."""

    __slots__ = ()

    def release(self, values: Values, words: Words) -> Values:
        return values ^ (words[:, 0] < np.uint64(self.flips - 1))


class Bold(BinaryResponse):
    """A response that flips one word of 2^64 less than it should."""

    __slots__ = ()

    def counts(self, value: int) -> list[int]:
        flips = self.flips - 1
        return [flips, WORD - flips] if value else [WORD - flips, flips]


class Boastful(BinaryResponse):
    """A response that shows the certificate of another one."""

    __slots__ = ()

    def certificate(self) -> Certificate:
        return BinaryResponse(0.5 * self.epsilon).certificate()


def test_one_word_in_the_wrong_place_is_found() -> None:
    with pytest.raises(AssertionError):
        counts_are_those_of_the_released_words(Case(Off, 1.0, any_two))


def test_one_word_less_of_noise_is_never_built() -> None:
    with pytest.raises(ValueError, match=r"does not keep epsilon 1\.0"):
        Bold(1.0)


def test_a_certificate_that_is_not_of_its_table_is_found() -> None:
    with pytest.raises(AssertionError):
        certificate_is_the_largest_ratio_of_all(Case(Boastful, 1.0, any_two))


def test_more_outputs_than_a_narrow_value_can_hold_come_out_whole() -> None:
    """A channel with 300 outputs, fed with values of one byte."""
    wide = Channel.rounded(1.0, np.full((2, 300), 1 / 300))
    told = wide.release(np.zeros(5_000, np.int8), draws(5_000))
    assert told.max() > 256
    assert told.min() >= 0
