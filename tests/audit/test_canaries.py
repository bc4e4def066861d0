"""One run, many canaries (Steinke et al. 2023)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ppm.audit import canary_bound, guess, p_value, score_guesses

CANARIES = 2_000


def run(epsilon: float, seed: int, *, decoys: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Which canaries were planted, and what each of them looks like in the output."""
    rng = np.random.default_rng(seed)
    planted = rng.random(CANARIES) < 0.5
    draws = rng.random(CANARIES)
    if decoys:
        return planted, planted | (draws < math.exp(-epsilon))
    return planted, planted ^ (draws < 1 / (1 + math.exp(epsilon)))


@pytest.mark.parametrize(("delta", "epsilon"), [(1e-4, 0.673), (0.0, 0.702)])
def test_the_check_value(delta: float, epsilon: float) -> None:
    found = canary_bound(1000, 100, right=75, delta=delta, beta=0.05)
    assert round(found.epsilon, 3) == epsilon


def test_the_p_value_is_the_sum_of_its_two_terms() -> None:
    m, r, v, epsilon, delta = 50, 10, 7, 0.4, 0.002
    q = 1 / (1 + math.exp(-epsilon))
    law = [math.comb(r, k) * q**k * (1 - q) ** (r - k) for k in range(r + 1)]
    worst = max(sum(law[v - i : v]) / i for i in range(1, v + 1))
    expected = sum(law[v:]) + 2 * m * delta * worst
    assert p_value(m, r, right=v, epsilon=epsilon, delta=delta) == pytest.approx(expected)


@pytest.mark.parametrize(("guesses", "right"), [(0, 0), (100, 0), (100, 50), (1, 1)])
def test_no_evidence_gives_no_bound(guesses: int, right: int) -> None:
    assert canary_bound(1000, guesses, right=right).epsilon == 0


def test_all_right_is_a_large_but_finite_bound() -> None:
    found = canary_bound(1000, 1000, right=1000)
    assert found.epsilon == pytest.approx(math.log(1 / (0.05 ** (-1 / 1000) - 1)))


def test_a_run_comes_near_the_true_epsilon() -> None:
    planted, seen = run(1.0, seed=1)
    found = score_guesses(planted, guess(seen, CANARIES))
    assert 0.8 < found.epsilon < 1


def test_200_runs_of_a_right_mechanism_never_exceed_its_epsilon() -> None:
    """False alarms: 200 times 1e-6."""
    bounds = []
    for seed in range(200):
        planted, seen = run(1.0, seed)
        bounds.append(score_guesses(planted, guess(seen, CANARIES), beta=1e-6).epsilon)
    assert max(bounds) <= 1


def test_half_the_noise_is_caught() -> None:
    planted, seen = run(2.0, seed=1)
    assert score_guesses(planted, guess(seen, CANARIES), beta=1e-6).epsilon > 1


class TestDecoys:
    def test_guesses_for_planted_stay_below_epsilon(self) -> None:
        bounds = []
        for seed in range(200):
            planted, withheld = run(1.0, seed, decoys=True)
            guesses = guess(withheld, int(withheld.sum()), only_in=True)
            bounds.append(score_guesses(planted, guesses, beta=1e-6).epsilon)
        assert float(np.median(bounds)) > 0.65
        assert max(bounds) <= 1

    def test_guesses_for_not_planted_are_certain_by_design(self) -> None:
        planted, withheld = run(1.0, seed=1, decoys=True)
        shown = np.where(withheld, 0, -1).astype(np.int8)
        assert score_guesses(planted, shown).epsilon > 4


def test_guesses_are_made_where_evidence_is_strongest() -> None:
    scores = [3.0, -2.0, 0.5, 0.0, 4.0]
    assert guess(scores, 3).tolist() == [1, -1, 0, 0, 1]
    assert guess(scores, 0).tolist() == [0, 0, 0, 0, 0]
    assert guess(scores, 5).tolist() == [1, -1, 1, -1, 1]


@pytest.mark.parametrize(("canaries", "guesses", "right"), [(10, 11, 1), (10, 5, 6), (10, 5, -1)])
def test_impossible_counts_are_refused(canaries: int, guesses: int, right: int) -> None:
    with pytest.raises(ValueError, match="are impossible"):
        canary_bound(canaries, guesses, right=right)
