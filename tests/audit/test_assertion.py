"""`assert_private`, as users call it in their own tests."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ppm.audit import Outputs, assert_private, one_by_one
from tests.audit.planted import flip_probability


def flipped(world: int, rng: np.random.Generator) -> tuple[str, ...]:
    """A mechanism that gives one output a call: a row, or none."""
    return ("row",) if bool(world) ^ (rng.random() < flip_probability(1.0)) else ()


def test_a_mechanism_may_give_one_output_a_call() -> None:
    bound = assert_private(one_by_one(flipped), (0, 1), epsilon=1.0, seed=1)
    assert 0.8 < bound.epsilon <= 1
    with pytest.raises(AssertionError, match=r"claimed epsilon 0\.5"):
        assert_private(one_by_one(flipped), (0, 1), epsilon=0.5, seed=1)


def test_the_same_seed_makes_the_same_runs() -> None:
    first, again, other = (
        assert_private(one_by_one(flipped), (0, 1), epsilon=1.0, runs=1_000, seed=seed)
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_worlds_draw_apart() -> None:
    """With one generator for both, "the first draw is x" would be an event of its own."""
    seen = []

    def sample(_world: int, runs: int, rng: np.random.Generator) -> Outputs:
        draws = rng.random(runs)
        seen.append(draws[0])
        return draws

    assert_private(sample, (0, 1), epsilon=0.0, seed=1)
    assert seen[0] != seen[1]


def test_a_feature_of_the_user_is_looked_at() -> None:
    def late(world: int, runs: int, rng: np.random.Generator) -> Outputs:
        """Which of 64 bits are set hides it, and their parity tells."""
        bits = rng.integers(0, 2, (runs, 64))
        bits[:, 0] ^= (bits.sum(axis=1) + world) % 2
        return bits

    def parity(outputs: Outputs) -> Outputs:
        return np.asarray(np.asarray(outputs).sum(axis=1) % 2)

    assert assert_private(late, (0, 1), epsilon=0.1, seed=1).epsilon == 0
    with pytest.raises(AssertionError, match="an event on its parity"):
        assert_private(late, (0, 1), epsilon=0.1, seed=1, features={"parity": parity})


def test_delta_is_granted() -> None:
    """Once in twenty the world itself comes out, otherwise nothing."""

    def sample(world: int, runs: int, rng: np.random.Generator) -> Outputs:
        return np.where(rng.random(runs) < 0.05, world, -1)

    with pytest.raises(AssertionError, match="claimed epsilon 0, audited epsilon >= "):
        assert_private(sample, (0, 1), epsilon=0.0, seed=1)
    assert_private(sample, (0, 1), epsilon=0.0, delta=0.05, seed=1)


def test_times_are_numbers() -> None:
    def sample(world: int, runs: int, rng: np.random.Generator) -> Outputs:
        """A release that comes late where something was hidden."""
        late = rng.exponential(1_000, runs) * (1 + world)
        return np.datetime64("2026-03-02T00:00:00", "us") + late.astype("timedelta64[us]")

    with pytest.raises(AssertionError, match="claimed epsilon 0"):
        assert_private(sample, (0, 1), epsilon=0.0, seed=1)


def test_outputs_that_cannot_be_counted_are_refused_by_kind() -> None:
    with pytest.raises(TypeError, match="an output is a list; give an array, or values such as"):
        assert_private(lambda _world, runs, _rng: [["row"]] * runs, (0, 1), epsilon=1.0, seed=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", [math.nan, math.inf, -1.0])
def test_a_claim_that_is_no_epsilon_is_refused_before_anything_runs(epsilon: float) -> None:
    """No bound lies above nan or infinity, so such a test would always pass."""

    def never(_world: int, _runs: int, _rng: np.random.Generator) -> Outputs:
        pytest.fail("it was run")

    with pytest.raises(ValueError, match="epsilon is"):
        assert_private(never, (0, 1), epsilon=epsilon, seed=1)
