"""No table tells more than its epsilon: exactly, over all epsilons and sizes in use."""

from __future__ import annotations

import math
import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppm.dp.certificate import Certificate, certify
from ppm.dp.exact import (
    WORD,
    ceiling,
    exp_above,
    exp_below,
    float_below,
    least_reading,
    log_above,
    root_above,
)
from ppm.dp.mechanism import Mechanism
from ppm.dp.mechanisms.binary import BinaryResponse
from ppm.dp.mechanisms.channel import Channel
from ppm.dp.mechanisms.decoy import DecoyDecision
from ppm.dp.mechanisms.geo import GeoNoise, geo_per_metre
from ppm.dp.mechanisms.joint import JointResponse
from ppm.dp.mechanisms.kary import KaryResponse
from ppm.dp.mechanisms.laplace import DiscreteLaplace
from ppm.dp.response import flip_probability

EPSILONS = [
    0.01,
    0.02,
    0.05,
    0.1,
    0.2,
    0.25,
    1 / 3,
    0.5,
    0.7,
    1.0,
    math.log(4),
    2.0,
    3.0,
    5.0,
    10.0,
]


def keeps(mechanism: Mechanism, *, slack: float = 1e-15) -> None:
    """The bound lies below the epsilon, read either way, and not far below it."""
    bound = Fraction(mechanism.certificate().bound)
    epsilon = mechanism.epsilon
    assert bound <= Fraction(epsilon)
    assert bound <= Fraction(repr(epsilon))
    assert bound >= Fraction(epsilon) * Fraction(1 - slack)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_bits_and_decoys(epsilon: float) -> None:
    keeps(BinaryResponse(epsilon))
    keeps(DecoyDecision(epsilon))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_lists_of_values_and_vectors_of_bits(epsilon: float) -> None:
    for values in [*range(2, 33), 100, 1001]:
        keeps(KaryResponse(epsilon, values), slack=1e-9)
    for bits in range(1, 13):
        keeps(JointResponse(epsilon, bits), slack=1e-7)


@pytest.mark.parametrize("cells", [2, 3, 10, 101, 1025, 2049])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_columns_of_numbers(epsilon: float, cells: int) -> None:
    noise = DiscreteLaplace.spanning(epsilon, cells)
    keeps(noise, slack=1e-3)
    assert Fraction(noise.epsilon) * (cells - 1) <= least_reading(epsilon)


@pytest.mark.parametrize("cells", [2, 45, 1_000, 50_000])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_counts_over_subjects(epsilon: float, cells: int) -> None:
    """Epsilon is for one step, so that far cells need the floor."""
    noise = DiscreteLaplace(epsilon, cells)
    keeps(noise, slack=1e-5)
    if epsilon * cells > 60:
        assert noise.floor >= 1 << 14
        assert noise.floor * cells < WORD >> 20


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_counts_to_which_a_subject_adds_several(epsilon: float) -> None:
    noise = DiscreteLaplace.capped(epsilon, 3, cells=1_000)
    keeps(noise, slack=1e-5)
    assert 3 * Fraction(noise.epsilon) <= least_reading(epsilon)
    assert noise.epsilon == pytest.approx(epsilon / 3)


@pytest.mark.parametrize("level", EPSILONS)
@pytest.mark.parametrize(("radius", "grid"), [(200.0, 25.0), (200.0, 5.0), (1000.0, 100.0)])
def test_positions_in_a_city(level: float, radius: float, grid: float) -> None:
    noise = GeoNoise.within(level, radius, grid=grid, columns=int(20e3 / grid), rows=801)
    keeps(noise, slack=1e-4)
    # Two raw places within the radius, a diagonal further apart on the grid, on a slope of 1.
    steps = (radius + math.sqrt(2) * grid) / grid * math.sqrt(2)
    assert float(noise.certificate().bound) * steps <= level * (1 + 1e-12)
    assert float(noise.certificate().bound) * steps == pytest.approx(level, rel=1e-4)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_channels_from_an_optimiser(epsilon: float) -> None:
    """Rows that exceed epsilon by a solver's tolerance are rounded into it."""
    random = np.random.default_rng(7)
    base = random.dirichlet(np.ones(8), 1)
    law = base * np.exp(epsilon * random.random((8, 8)) * 0.999)
    law /= law.sum(axis=1, keepdims=True)
    wished = np.log(law.max(axis=0) / law.min(axis=0)).max()
    channel = Channel.rounded(float(wished) * (1 - 1e-9), law)
    keeps(channel, slack=1e-5)
    rounded = np.array([channel.counts(x) for x in range(8)], dtype=np.float64) / WORD
    assert np.abs(rounded - law).max() < 1e-5


def test_a_channel_that_proves_something_is_refused() -> None:
    with pytest.raises(ValueError, match="a channel does not keep epsilon 5"):
        Channel(5.0, ((WORD, 0), (WORD >> 1, WORD >> 1)))
    with pytest.raises(ValueError, match="a channel does not keep epsilon 1"):
        Channel.rounded(1.0, [[0.9, 0.1], [0.1, 0.9]])
    with pytest.raises(ValueError, match="one length"):
        Channel(1.0, ((WORD,), (1, WORD - 1)))
    with pytest.raises(ValueError, match="add to 2"):
        Channel(1.0, ((1, 2), (2, 1)))
    with pytest.raises(ValueError, match="no probability"):
        Channel.rounded(1.0, [[0.0, 0.0]])
    with pytest.raises(ValueError, match="table of probabilities"):
        Channel.rounded(1.0, [[-0.1, 1.1]])


def test_an_output_that_nobody_releases_is_no_fault() -> None:
    half = WORD >> 1
    channel = Channel(0.0, ((half, 0, half, 0), (half, 0, half, 0)))
    assert channel.certificate().ratio == 1
    with pytest.raises(ValueError, match="depend on each other"):
        channel.estimate(np.array([0]))


@given(st.floats(1e-3, 40))
def test_every_epsilon_gives_a_certified_bit(epsilon: float) -> None:
    bit = BinaryResponse(epsilon)
    assert bit.certificate().holds
    assert bit.flips / WORD == pytest.approx(flip_probability(epsilon), rel=1e-12, abs=2.0**-63)
    # One word less would break the claim: the table is the tightest that 64 bits allow.
    less = bit.flips - 1
    assert not Certificate(epsilon, Fraction(WORD - less, less) if less else None).holds


@given(st.floats(1e-3, 40), st.integers(2, 5000))
def test_every_epsilon_gives_certified_values(epsilon: float, values: int) -> None:
    assert KaryResponse(epsilon, values).certificate().holds
    assert DecoyDecision(epsilon).certificate().holds


def test_without_budget_nothing_is_told() -> None:
    assert BinaryResponse(0.0).certificate().ratio == 1
    assert KaryResponse(0.0, 8).certificate().ratio == 1
    assert DecoyDecision(0.0).counts(0) == [0, WORD]
    for mechanism in (BinaryResponse(0.0), KaryResponse(0.0, 8), DecoyDecision(0.0)):
        with pytest.raises(ValueError, match="epsilon is 0"):
            mechanism.estimate(np.array([0]))
    # 2^64 words cannot be shared out to 3 values in equal parts.
    with pytest.raises(ValueError, match=r"does not keep epsilon 0\.0"):
        KaryResponse(0.0, 3)
    with pytest.raises(ValueError, match="epsilon is 0"):
        DiscreteLaplace(0.0, 3)


@pytest.mark.parametrize(
    ("build", "fault"),
    [
        pytest.param(lambda: KaryResponse(1.0, 1), "2 are the fewest", id="one value"),
        pytest.param(lambda: JointResponse(1.0, 0), "0 bits", id="no bits"),
        pytest.param(lambda: JointResponse(1.0, 21), "21 bits", id="too many bits"),
        pytest.param(lambda: DiscreteLaplace(1.0, 1), "1 cells", id="one cell"),
        pytest.param(lambda: DiscreteLaplace(1e-17, 10), "too little", id="hardly any epsilon"),
        pytest.param(lambda: GeoNoise(1.0, 0.0, 9, 9), "grid is 0", id="no grid"),
    ],
)
def test_sizes_that_make_no_sense_are_refused(build: object, fault: str) -> None:
    assert callable(build)
    with pytest.raises(ValueError, match=fault):
        build()


def test_a_certificate_takes_the_worst_pair_in_its_direction() -> None:
    rows = [[4, 4, 8], [8, 4, 4], [5, 5, 6]]
    both = certify(1.0, rows)
    assert (both.ratio, both.worst) == (Fraction(2), (1, 0, 0))
    one = certify(1.0, rows, neighbours=[(0, 2)], one_sided=True)
    assert (one.ratio, one.worst, one.one_sided) == (Fraction(4, 3), (0, 2, 2), True)
    assert certify(0.0, [[1, 1]]).bound == Decimal(0)


@given(st.fractions(-30, 30))
def test_exponentials_are_enclosed(x: Fraction) -> None:
    low, high = exp_below(x), exp_above(x)
    assert low <= high
    assert float(high / low - 1) < 1e-57
    assert float(low) == pytest.approx(math.exp(x))
    # A logarithm from above of a number from above is above.
    assert Fraction(log_above(high)) >= x


@given(st.fractions(-10, 10))
def test_floats_below_are_the_nearest_below(x: Fraction) -> None:
    below = float_below(x)
    assert Fraction(below) <= x < Fraction(math.nextafter(below, math.inf))


def test_roots_and_ceilings() -> None:
    assert root_above(2) ** 2 > 2
    assert (root_above(2) - Fraction(1, 10**55)) ** 2 < 2
    assert [ceiling(Fraction(n, 2)) for n in (-1, 1, 2)] == [0, 1, 1]
    assert Fraction(geo_per_metre(1.0, 200.0, grid=25.0)) * (200 + 25 * root_above(2)) <= 1


@pytest.mark.parametrize(
    ("epsilon", "cells"), [(0.1, 1 << 21), (0.01, 1 << 20), (0.001, 1 << 22), (1e-6, 1 << 12)]
)
def test_noise_that_no_table_can_hold_is_refused_at_once(epsilon: float, cells: int) -> None:
    start = time.process_time()
    with pytest.raises(ValueError, match="too little for 64-bit words"):
        DiscreteLaplace.spanning(epsilon, cells)
    assert time.process_time() - start < 0.5
