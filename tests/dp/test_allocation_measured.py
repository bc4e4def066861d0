"""Predicted and measured quality agree: streams are drawn from a prior, and noised as they run.

A right prediction is blamed with a chance of 6e-5 for each quality: 4 standard errors, two sides.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from ppm.dp.allocation.adaptive import adaptive
from ppm.dp.allocation.linear import linear_channel
from ppm.dp.allocation.need import Need, qualities
from ppm.dp.allocation.optimal import optimal
from ppm.dp.allocation.uniform import uniform
from ppm.dp.mechanism import Values
from ppm.dp.mechanisms.binary import BinaryResponse
from ppm.dp.mechanisms.joint import JointResponse
from ppm.dp.prior import Prior
from ppm.dp.utility import Channel, Joint, Quality, Response, Tabled

SLOTS = 200_000
TYPES = ("a", "b", "c", "d")
NEEDS = (
    Need("two", frozenset("ab"), weight=2.0, alpha=0.3),
    Need("three", frozenset("bcd"), weight=1.0, alpha=0.7),
    Need("one", frozenset("d"), weight=0.5, alpha=0.5),
)
BUDGETS = {"P": ("abc", 3.0), "Q": ("cd", 2.0)}
PRIOR = Prior.table(
    [
        ((), 0.45), ("a", 0.1), ("ab", 0.1), ("abc", 0.05), ("abcd", 0.1),
        ("bcd", 0.05), ("d", 0.1), ("cd", 0.05),
    ]
)  # fmt: skip


def slots(seed: int) -> Values:
    """The true vectors of many slots."""
    rng = np.random.default_rng(seed)
    found = PRIOR.distribution(TYPES)
    vectors = [sum(1 << TYPES.index(name) for name in present) for present in found]
    return rng.choice(np.array(vectors), SLOTS, p=[*found.values()])


def words(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**64, (SLOTS, 1), dtype=np.uint64)


def responded(shares: dict[str, float], truth: Values) -> Values:
    told = np.zeros_like(truth)
    for place, name in enumerate(TYPES):
        bits = BinaryResponse(shares[name]).release(truth >> place & 1, words(100 + place))
        told |= bits << place
    return told


def gap(truth: Values, told: Values, need: Need, predicted: Quality) -> float:
    """How many standard errors the measured recall or precision is away from what was predicted."""
    mask = sum(1 << TYPES.index(name) for name in need.types)
    is_match, is_shown = truth & mask == mask, told & mask == mask
    assert predicted.precision is not None
    sides = [(is_shown[is_match], predicted.recall), (is_match[is_shown], predicted.precision)]
    return max(
        abs(float(found.mean()) - expected) / math.sqrt(expected * (1 - expected) / len(found))
        for found, expected in sides
    )


def gaps(truth: Values, told: Values, channels: list[Channel]) -> list[float]:
    predicted = qualities(NEEDS, channels, PRIOR)
    return [gap(truth, told, need, predicted[need.name]) for need in NEEDS]


@pytest.mark.parametrize("allocation", ["uniform", "adaptive", "optimal"])
def test_response_is_as_good_as_predicted(allocation: str) -> None:
    shares = {
        "uniform": uniform(BUDGETS),
        "adaptive": adaptive(BUDGETS, NEEDS, PRIOR),
        "optimal": optimal(BUDGETS, NEEDS, PRIOR),
    }[allocation]
    truth = slots(1)
    assert max(gaps(truth, responded(shares, truth), [Response.spending(shares)])) < 4


def test_the_joint_response_is_as_good_as_predicted() -> None:
    truth = slots(2)
    told = JointResponse(2.0, len(TYPES)).release(truth, words(12))
    assert max(gaps(truth, told, [Joint(frozenset(TYPES), 2.0)])) < 4


def test_a_channel_made_for_the_queries_is_as_good_as_predicted() -> None:
    channel = linear_channel(TYPES, 2.0, NEEDS, PRIOR)
    truth = slots(3)
    assert max(gaps(truth, channel.release(truth, words(13)), [Tabled.of(TYPES, channel)])) < 4


def test_a_prediction_for_other_shares_than_are_spent_is_caught() -> None:
    shares = optimal(BUDGETS, NEEDS, PRIOR)
    truth = slots(1)
    told = responded({name: 0.9 * share for name, share in shares.items()}, truth)
    assert max(gaps(truth, told, [Response.spending(shares)])) > 4


def test_on_streams_optimal_serves_the_queries_better_than_uniform() -> None:
    truth = slots(4)

    def measured(shares: dict[str, float]) -> float:
        told, total = responded(shares, truth), 0.0
        for need in NEEDS:
            mask = sum(1 << TYPES.index(name) for name in need.types)
            is_match, is_shown = truth & mask == mask, told & mask == mask
            recall, precision = is_shown[is_match].mean(), is_match[is_shown].mean()
            total += need.weight * (need.alpha * precision + (1 - need.alpha) * recall)
        return float(total)

    plain, stepped = measured(uniform(BUDGETS)), measured(adaptive(BUDGETS, NEEDS, PRIOR))
    best = measured(optimal(BUDGETS, NEEDS, PRIOR))
    # A quality of 10,000 matches or more has a standard error of .005 at most.
    assert stepped > plain + 4 * 0.005 * 3.5
    assert best > stepped - 4 * 0.005 * 3.5
