"""diffprivlib as the oracle of our samplers, and why its own noise is not on the data path."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency

from ppm.dp.mechanism import FiniteMechanism
from ppm.dp.mechanisms.binary import BinaryResponse
from ppm.dp.mechanisms.decoy import DecoyDecision
from ppm.dp.mechanisms.kary import KaryResponse
from ppm.dp.mechanisms.laplace import DiscreteLaplace
from tests.dp.conformance import chi_square, draws, repeated

mechanisms = pytest.importorskip("diffprivlib.mechanisms")

DRAWS = 20_000
ALPHA = 1e-6
"""How often equal laws fail one test; all seeds are fixed."""


def binary() -> Callable[[], int]:
    one = mechanisms.Binary(epsilon=1.0, value0="0", value1="1", random_state=1)
    return lambda: int(one.randomise("1"))


def values() -> Callable[[], int]:
    # The exponential mechanism whose utility is 1 for the truth and 0 for all others.
    one = mechanisms.Exponential(
        epsilon=1.5,
        sensitivity=1.0,
        utility=[0.0, 1.0, 0.0, 0.0, 0.0],
        monotonic=True,
        random_state=2,
    )
    return lambda: int(one.randomise())


def numbers() -> Callable[[], int]:
    one = mechanisms.GeometricTruncated(
        epsilon=0.5, sensitivity=1, lower=0, upper=20, random_state=3
    )
    return lambda: int(one.randomise(6))


def decoys() -> Callable[[], int]:
    base = pytest.importorskip("diffprivlib.mechanisms.base")
    random = np.random.RandomState(4)
    return lambda: int(base.bernoulli_neg_exp(1.0, random))


@pytest.mark.parametrize(
    ("theirs", "ours", "value"),
    [
        pytest.param(binary, BinaryResponse(1.0), 1, id="binary"),
        pytest.param(values, KaryResponse(1.5, 5), 1, id="k-ary"),
        pytest.param(numbers, DiscreteLaplace(0.5, 21), 6, id="discrete laplace"),
        pytest.param(decoys, DecoyDecision(1.0), 0, id="decoy"),
    ],
)
def test_both_draw_from_one_law(
    theirs: Callable[[], Callable[[], int]], ours: FiniteMechanism, value: int
) -> None:
    sample = theirs()
    their_draws = np.array([sample() for _ in range(DRAWS)])
    statistic, freedom = chi_square(their_draws, ours.counts(value))
    assert statistic < chi2.isf(ALPHA, freedom)
    our_draws = ours.release(repeated(value, DRAWS), draws(DRAWS, seed=8))
    table = np.array([np.bincount(one, minlength=ours.outputs) for one in (their_draws, our_draws)])
    assert chi2_contingency(table[:, table.sum(axis=0) >= 20]).pvalue > ALPHA


def off_the_lattice(numbers: list[float]) -> int:
    """How many are no multiple of 2^-53; scaling by a power of two rounds nothing."""
    return sum(not (number * 2.0**53).is_integer() for number in numbers)


def test_low_bits_of_float_noise_tell_the_truth() -> None:
    """At a claim of 1, the last bits of diffprivlib's Laplace noise prove an input of 0.

    Lower bound at confidence 1 - 1e-6: the frequency under input 0 by Hoeffding from below, and no
    event among n under input 1 from above.
    """
    size, alpha = 4_000, 5e-7
    noise = mechanisms.Laplace(epsilon=1.0, sensitivity=1.0, random_state=5)
    off0 = off_the_lattice([float(noise.randomise(0.0)) for _ in range(size)])
    off1 = off_the_lattice([float(noise.randomise(1.0)) for _ in range(size)])
    assert off0 / size == pytest.approx(0.21, abs=0.03)
    assert off1 == 0
    lower0 = off0 / size - math.sqrt(math.log(1 / alpha) / (2 * size))
    upper1 = 1 - alpha ** (1 / size)
    assert math.log(lower0 / upper1) > 3


def test_our_noise_has_no_low_bits() -> None:
    cells = DiscreteLaplace.spanning(1.0, 1025).release(repeated(0, 4_000), draws(4_000))
    assert off_the_lattice([float(cell) * 0.25 for cell in cells]) == 0
