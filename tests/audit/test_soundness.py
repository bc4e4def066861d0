"""An audit blames a right mechanism no more often than alpha says.

With an alpha this large a false alarm is no rarity, so their number can be held to it: more than
60 of 400 at alpha 0.1 would come with a chance below 2e-3. Peeking at tested runs shows here first.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from ppm.audit import Sample, lower_bound
from tests.audit.planted import decoys, grid_laplace, many, next_match, response

ALPHA, AUDITS, MOST = 0.1, 400, 60


def vectors(world: int, runs: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """So many outputs that most of the tested ones are new; only one bit of ten depends on x."""
    bits = rng.integers(0, 2, (runs, 10))
    bits[:, 0] = many(world, runs)[:, 0] ^ (rng.random(runs) < 0.25)
    return [tuple(row) for row in bits.tolist()]


def kary(world: int, runs: int, rng: np.random.Generator) -> np.ndarray:
    """20 values, so that an event is a choice among many."""
    swapped = rng.random(runs) >= math.e / (math.e + 19)
    return np.where(swapped, (world + rng.integers(1, 20, runs)) % 20, world)


@pytest.mark.parametrize(
    ("sample", "worlds", "epsilon"),
    [
        pytest.param(response(1.0), (0, 1), 1.0, id="a bit"),
        pytest.param(response(1 / 3), ((0, 0, 0), (1, 1, 1)), 1.0, id="a vector"),
        pytest.param(kary, (0, 1), 1.0, id="one of many values"),
        pytest.param(vectors, (0, 1), math.log(3), id="outputs that are mostly new"),
        pytest.param(grid_laplace, (0.0, 1.0), 1.0, id="numbers in stretches, with features"),
        pytest.param(response(0.0), (0, 1), 0.0, id="nothing at all"),
    ],
)
def test_false_alarms_are_as_rare_as_claimed(
    sample: Sample[object], worlds: tuple[object, object], epsilon: float
) -> None:
    alarms = 0
    for seed in range(AUDITS):
        rng = np.random.default_rng(seed)
        first, second = (sample(world, 500, rng) for world in worlds)
        bound = lower_bound(first, second, alpha=ALPHA, inputs=(worlds[0], worlds[1]))
        alarms += bound.epsilon > epsilon
    assert alarms <= MOST


def test_a_peek_at_tested_runs_would_show() -> None:
    """Known to be bad: runs come again, so that an event is tested on those that chose it."""
    alarms = 0
    for seed in range(AUDITS):
        rng = np.random.default_rng(seed)
        first, second = (np.tile(rng.integers(0, 12, 300), 3) for _ in range(2))
        alarms += lower_bound(first, second, alpha=ALPHA).epsilon > 0
    assert alarms > MOST


def test_one_sided_audits_of_decoys() -> None:
    alarms = 0
    for seed in range(AUDITS):
        rng = np.random.default_rng(seed)
        first, second = (decoys(next_match)(x, 1_000, rng) for x in (("a", "b"), ("a", "")))
        alarms += lower_bound(first, second, alpha=ALPHA, one_sided=True).epsilon > 2
    assert alarms <= MOST
