"""Guesses about the canaries of one run, learnt on a part of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ppm.audit import Outputs
from ppm.audit.one_run import one_run_bound

CANARIES = 2_000


def run(
    epsilon: float, types: int, seed: int, canaries: int = CANARIES
) -> tuple[Outputs, np.ndarray]:
    """Canaries of a pattern of some types under response, with the budget split evenly."""
    rng = np.random.default_rng(seed)
    planted = rng.random(canaries) < 0.5
    flips = rng.random((canaries, types)) < 1 / (1 + math.exp(epsilon / types))
    return planted[:, None] ^ flips, planted


@pytest.mark.parametrize(
    ("types", "least"), [pytest.param(1, 0.8, id="one type"), pytest.param(2, 0.7, id="two types")]
)
def test_a_run_comes_near_the_true_epsilon(types: int, least: float) -> None:
    found = one_run_bound(*run(1.0, types, seed=1))
    assert least < found.epsilon < 1
    assert found.canaries == 1400


def test_false_alarms_are_as_rare_as_claimed() -> None:
    """More than 60 of 400 at beta 0.1 would come with a chance below 2e-3."""
    alarms = sum(one_run_bound(*run(1.0, 2, seed), beta=0.1).epsilon > 1 for seed in range(400))
    assert alarms <= 60


@pytest.mark.parametrize(
    ("epsilon", "canaries"),
    [
        pytest.param(2.0, 1_000, id="twice as much"),
        pytest.param(1.5, 5_000, id="half more"),
        pytest.param(1.25, 20_000, id="a quarter more"),
    ],
)
def test_so_many_canaries_catch_such_an_excess_in_19_of_20_audits(
    epsilon: float, canaries: int
) -> None:
    caught = 0
    for seed in range(40):
        seen, planted = run(epsilon, 2, seed, canaries)
        caught += one_run_bound(seen, planted, beta=1e-6).epsilon > 1
    assert caught >= 38


def test_no_guess_is_made_about_canaries_that_taught() -> None:
    """Known to be bad: each output comes once only, so whoever learns it by heart knows all."""
    planted = np.random.default_rng(1).random(CANARIES) < 0.5
    assert one_run_bound([*range(CANARIES)], planted).epsilon < 0.1


def test_outputs_that_no_other_canary_has_give_themselves_away() -> None:
    planted = np.random.default_rng(1).random(CANARIES) < 0.5
    leaked = [f"payload {at}" if coin else "" for at, coin in enumerate(planted)]
    assert one_run_bound(leaked, planted, beta=1e-6).epsilon > 4


def test_every_canary_has_an_output() -> None:
    with pytest.raises(ValueError, match="there are 1 outputs of 2 canaries"):
        one_run_bound([()], [True, False])
