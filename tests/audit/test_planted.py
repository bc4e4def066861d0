"""Bugs that were planted are caught, and mechanisms without them are left in peace."""

from __future__ import annotations

import numpy as np
import pytest

from ppm.audit import Bound, Outputs, assert_private, lower_bound
from tests.audit.planted import (
    PLANTED,
    Planted,
    any_match,
    decoys,
    float_laplace,
    next_match,
    response,
)

ALPHA = 1e-6
AUDITS = 200
"""Of each right mechanism. All of them together are wrong with a chance below 3e-3."""

each_bug = pytest.mark.parametrize("planted", PLANTED, ids=lambda one: one.name)


def audit(planted: Planted, *, is_right: bool, seed: int) -> Bound:
    return assert_private(
        planted.right if is_right else planted.broken,
        planted.worlds,
        epsilon=planted.claim,
        runs=planted.runs,
        alpha=ALPHA,
        seed=seed,
        one_sided=planted.one_sided,
    )


@each_bug
@pytest.mark.parametrize("seed", range(20))
def test_a_planted_bug_is_caught(planted: Planted, seed: int) -> None:
    with pytest.raises(AssertionError, match=r"claimed epsilon 1, audited epsilon >= "):
        audit(planted, is_right=False, seed=seed)


@each_bug
def test_its_right_twin_never_exceeds_the_claim(planted: Planted) -> None:
    bounds = [audit(planted, is_right=True, seed=seed).epsilon for seed in range(AUDITS)]
    assert max(bounds) <= planted.claim


def test_float_noise_is_caught_by_its_low_bits() -> None:
    planted = next(one for one in PLANTED if one.name == "float noise")
    with pytest.raises(AssertionError, match=r"an event on its multiples of 2\^-53"):
        audit(planted, is_right=False, seed=1)


def test_without_its_low_bits_float_noise_looks_right() -> None:
    def rounded(world: float, runs: int, rng: np.random.Generator) -> Outputs:
        return np.round(float_laplace(world, runs, rng), 3)

    assert_private(rounded, (0.0, 1.0), epsilon=1.0, runs=5_000, alpha=ALPHA, seed=1)


def test_a_match_may_re_form_on_another_event() -> None:
    match, thinned = ("a", "b", "b"), ("a", "", "b")
    assert (next_match(match), next_match(thinned)) == ({0, 1}, {0, 1, 2})
    assert any_match(match) == any_match(thinned) == {0, 1, 2}


class TestDecoysThatHideAMatch:
    """Two slots are freed, so 2 epsilon is claimed, in one direction."""

    WORLDS = (("a", "b", ""), ("a", "", ""))

    def test_the_bound_comes_near_the_claim_and_stays_below(self) -> None:
        bounds = [
            assert_private(
                decoys(any_match), self.WORLDS, epsilon=2.0, one_sided=True, seed=seed
            ).epsilon
            for seed in range(AUDITS)
        ]
        assert min(bounds) > 1.6
        assert max(bounds) <= 2.0

    def test_the_other_direction_is_not_hidden(self) -> None:
        with pytest.raises(AssertionError, match="claimed epsilon 2"):
            assert_private(decoys(any_match), self.WORLDS, epsilon=2.0, seed=1)


def test_a_message_tells_claim_bound_event_and_runs_but_no_output() -> None:
    with pytest.raises(AssertionError) as failed:
        assert_private(
            lambda world, runs, _rng: ["marvin" if world else "nobody"] * runs,
            (1, 0),
            epsilon=1.0,
            runs=1_000,
            seed=3,
        )
    assert str(failed.value) == (
        "claimed epsilon 1, audited epsilon >= 3.866 (alpha 1e-06, delta 0): an event on its value "
        "(1 symbol of 2) came in 700 of 700 runs of the first world and in 0 of 700 of the second. "
        "Runs were made from seed 3; the worlds are those of the test, so this says nothing about "
        "anybody's data."
    )
    assert "marvin" not in str(failed.value)


@pytest.mark.parametrize(
    ("epsilon", "runs"),
    [
        pytest.param(1.1, 50_000, id="a tenth too much"),
        pytest.param(1.25, 5_000, id="a quarter too much"),
        pytest.param(2.0, 500, id="twice as much"),
    ],
)
def test_so_many_runs_catch_such_an_excess_in_19_of_20_audits(epsilon: float, runs: int) -> None:
    caught = 0
    for seed in range(100):
        worlds = [
            response(epsilon)(world, runs, np.random.default_rng([seed, world])) for world in (0, 1)
        ]
        caught += lower_bound(*worlds, alpha=ALPHA).epsilon > 1
    assert caught >= 95
