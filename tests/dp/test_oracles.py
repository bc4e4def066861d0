"""The numbers of the specification, computed from the integer tables themselves."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from ppm.dp.exact import WORD, log_above
from ppm.dp.mechanisms.binary import BinaryResponse
from ppm.dp.mechanisms.decoy import DecoyDecision
from ppm.dp.mechanisms.joint import JointResponse


@pytest.mark.parametrize(
    ("epsilon", "flip", "kept", "false_match"),
    [
        (0.5, 0.4584, 0.159, 0.096),
        (1.0, 0.4174, 0.198, 0.073),
        (2.0, 0.3392, 0.288, 0.039),
        (4.0, 0.2086, 0.496, 0.009),
    ],
)
def test_three_bits_with_equal_shares(
    epsilon: float, flip: float, kept: float, false_match: float
) -> None:
    bit = BinaryResponse(epsilon / 3)
    p = bit.counts(0)[1] / WORD
    assert p == pytest.approx(flip, abs=5e-5)
    assert (1 - p) ** 3 == pytest.approx(kept, abs=5e-4)
    assert p**3 == pytest.approx(false_match, abs=5e-4)


@pytest.mark.parametrize(
    ("bits", "joint", "single"),
    [
        (2, (0.475, 0.711, 0.948), (0.387, 0.534, 0.776)),
        (3, (0.280, 0.514, 0.886), (0.198, 0.288, 0.496)),
        (5, (0.081, 0.192, 0.638), (0.050, 0.077, 0.156)),
    ],
)
def test_how_often_all_bits_are_kept(
    bits: int, joint: tuple[float, ...], single: tuple[float, ...]
) -> None:
    for epsilon, together, apart in zip((1.0, 2.0, 4.0), joint, single, strict=True):
        last = (1 << bits) - 1
        assert JointResponse(epsilon, bits).counts(last)[last] / WORD == pytest.approx(
            together, abs=6e-4
        )
        kept = BinaryResponse(epsilon / bits).counts(1)[1] / WORD
        assert kept**bits == pytest.approx(apart, abs=6e-4)


@pytest.mark.parametrize(("epsilon", "kept"), [(1.0, 0.63), (2.0, 0.86), (3.0, 0.95)])
def test_truth_kept_on_clean_slots(epsilon: float, kept: float) -> None:
    assert DecoyDecision(epsilon).counts(0)[0] / WORD == pytest.approx(kept, abs=5e-3)


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
def test_independent_bits_lose_the_sum_of_their_epsilons(bits: int) -> None:
    """For every output the likeliest and the least likely of all true vectors, without rounding."""
    bit = BinaryResponse(1 / bits)
    vectors = [*itertools.product((0, 1), repeat=bits)]
    rows = [
        [math.prod(bit.counts(b)[c] for b, c in zip(x, y, strict=True)) for y in vectors]
        for x in vectors
    ]
    worst = max(Fraction(max(column), min(column)) for column in zip(*rows, strict=True))
    assert 1 - Fraction(1, 10**12) < Fraction(log_above(worst)) <= 1


def test_an_unbiased_count_of_matches() -> None:
    """The debiased AND of the bits, and of a joint response, exactly by the counts."""
    import numpy as np

    slot = JointResponse(1.0, 3)
    outputs = np.arange(8)
    for asked in range(1, 8):
        scores = slot.estimate_all(outputs, asked)
        for truth in range(8):
            law = np.array(slot.counts(truth), dtype=np.float64) / WORD
            assert law @ scores == pytest.approx(float(truth & asked == asked), abs=1e-12)
    bit = BinaryResponse(0.5)
    z = bit.estimate(np.array([0, 1]))
    for truth_vector in itertools.product((0, 1), repeat=2):
        expected = sum(
            z[y[0]]
            * z[y[1]]
            * math.prod(bit.counts(x)[b] / WORD for x, b in zip(truth_vector, y, strict=True))
            for y in itertools.product((0, 1), repeat=2)
        )
        assert expected == pytest.approx(float(all(truth_vector)))
