"""Two-world lower bounds on outputs of every kind."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ppm.audit import Outputs, lower_bound
from ppm.audit.binomial import least_probability, most_probability


def rng(seed: int = 5) -> np.random.Generator:
    return np.random.default_rng(seed)


def bits(p: float, runs: int = 4_000, *, seed: int = 5) -> np.ndarray:
    return rng(seed).random(runs) < p


def test_the_bound_is_the_log_ratio_of_exact_limits() -> None:
    found = lower_bound(bits(0.75), bits(0.25, seed=6), alpha=1e-3, delta=0.01)
    likely, other = (0, 1) if found.is_first else (1, 0)
    least = least_probability(found.hits[likely], found.runs[likely], alpha=5e-4)
    most = most_probability(found.hits[other], found.runs[other], alpha=5e-4)
    assert found.epsilon == math.log((least - 0.01) / most)
    assert found.runs == (2_800, 2_800)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(lambda bit: bit, id="bits"),
        pytest.param(lambda bit: bit.astype(np.int64) * 7 - 3, id="whole numbers"),
        pytest.param(lambda bit: np.where(bit, 0.0, -0.0), id="the sign of zero"),
        pytest.param(lambda bit: np.where(bit, np.nan, 0.5), id="not a number"),
        pytest.param(lambda bit: np.where(bit, "yes", "no"), id="text"),
        pytest.param(lambda bit: np.stack([bit, ~bit, bit], axis=1), id="rows of an array"),
        pytest.param(lambda bit: [("row", 1.5) if one else () for one in bit], id="tuples"),
        pytest.param(lambda bit: [None if one else "x" for one in bit], id="nulls"),
    ],
)
def test_outputs_of_any_kind_are_counted(kind: object) -> None:
    assert callable(kind)
    found = lower_bound(kind(bits(0.75)), kind(bits(0.25, seed=6)))
    assert 0.8 < found.epsilon < math.log(3)


@pytest.mark.parametrize("columns", [1, 2])
def test_numbers_without_end_are_counted_in_stretches(columns: int) -> None:
    first, second = (rng(seed).normal(at, 1, (4_000, columns)) for seed, at in ((1, 0), (2, 2)))
    assert lower_bound(first, second).epsilon > 2


def test_many_symbols_are_no_evidence() -> None:
    first, second = ([str(one) for one in rng(seed).random(4_000)] for seed in (1, 2))
    assert lower_bound(first, second).epsilon == 0


def test_symbols_that_only_tested_runs_gave_are_one_symbol() -> None:
    """Every output is new. An event that told new outputs apart would see two worlds."""
    first, second = [*range(2_000)], [*range(2_000, 4_000)]
    assert lower_bound([str(one) for one in first], [str(one) for one in second]).epsilon == 0


def test_equal_worlds_give_no_bound() -> None:
    bounds = [lower_bound(bits(0.5, seed=2 * s), bits(0.5, seed=2 * s + 1)) for s in range(50)]
    assert max(bound.epsilon for bound in bounds) == 0


def test_one_sided_looks_from_the_first_world_only() -> None:
    always, often = np.ones(4_000, np.int64), bits(0.5).astype(np.int64)
    assert lower_bound(always, often, one_sided=True).epsilon < math.log(2)
    assert lower_bound(often, always, one_sided=True).epsilon > 4
    assert lower_bound(always, often).epsilon == pytest.approx(
        lower_bound(often, always).epsilon, abs=0.2
    )


def test_delta_is_what_may_go_wrong() -> None:
    """One output in twenty names its world."""
    first, second = (np.where(bits(0.05, seed=seed), seed, 0) for seed in (5, 6))
    assert lower_bound(first, second).epsilon > 1
    assert lower_bound(first, second, delta=0.05).epsilon == 0


class TestFeatures:
    """What is looked at besides the value; each takes its part of alpha."""

    @staticmethod
    def sums(outputs: Outputs) -> Outputs:
        return np.asarray(np.asarray(outputs).sum(axis=1))

    def test_a_feature_of_the_user_finds_what_the_value_hides(self) -> None:
        """Of thirty bits no vector comes twice, but their sum tells."""
        first, second = (rng(s).random((1_000, 30)) < p for s, p in ((1, 0.5), (2, 0.7)))
        found = lower_bound(first, second, features={"sum": self.sums})
        assert found.feature == "sum"
        assert found.epsilon > 1 > lower_bound(first, second).epsilon

    def test_alpha_is_divided_by_the_number_of_features(self) -> None:
        first, second = bits(0.75)[:, None], bits(0.25, seed=6)[:, None]
        with_feature = lower_bound(first, second, alpha=2e-6, features={"sum": self.sums})
        assert with_feature.epsilon == lower_bound(first, second, alpha=1e-6).epsilon
        assert with_feature.alpha == 2e-6

    def test_the_number_of_rows_is_looked_at(self) -> None:
        first, second = (
            [tuple(generator.random(generator.poisson(mean)).tolist()) for _ in range(2_000)]
            for generator, mean in ((rng(1), 1.0), (rng(2), 4.0))
        )
        found = lower_bound(first, second)
        assert found.feature == "number of rows"
        assert found.epsilon > 1

    @pytest.mark.parametrize("as_rows", [False, True])
    def test_an_input_that_comes_out_as_it_is_is_seen(self, as_rows: bool) -> None:
        """One output in ten is not noised at all, and the noise of the others is coarse."""

        def sample(at: float, seed: int) -> Outputs:
            noised = at + 0.25 * rng(seed).integers(-1_000, 1_000, 4_000)
            values = np.where(bits(0.1, seed=seed), at, noised)
            return [(one,) for one in values.tolist()] if as_rows else values

        first, second = sample(0.0, 5), sample(0.25, 6)
        inputs = ((0.0,), (0.25,)) if as_rows else (0.0, 0.25)
        found = lower_bound(first, second, inputs=inputs)
        assert found.epsilon > 2

    def test_a_feature_that_loses_runs_is_refused(self) -> None:
        with pytest.raises(ValueError, match="feature first gives 1 values for 100 outputs"):
            lower_bound(bits(0.5, 100), bits(0.5, 100), features={"first": lambda seen: seen[:1]})

    def test_the_place_of_a_run_is_no_feature(self) -> None:
        """Worlds stand one after the other, but a feature sees one of them at a time."""
        first, second = bits(0.5, 2_000), bits(0.5, 2_000, seed=6)
        found = lower_bound(
            first, second, features={"place": lambda seen: np.arange(len(seen)) // 1_000}
        )
        assert found.epsilon == 0


def test_only_symbols_that_training_runs_gave_are_counted() -> None:
    two = lower_bound(bits(0.9), bits(0.1, seed=6))
    assert two.symbols == (1, 2)
    new = lower_bound([0] * 700 + [1] * 300, [0] * 700 + [2] * 300)
    assert new.symbols == (0, 1)  # what no training run gave is the event


def test_diffprivlib_leaks_through_low_bits() -> None:
    """Why its continuous mechanisms stay off the data path."""
    from diffprivlib.mechanisms import Laplace

    mechanism = Laplace(epsilon=1.0, sensitivity=1.0, random_state=1)
    worlds = [np.array([mechanism.randomise(x) for _ in range(5_000)]) for x in (0.0, 1.0)]
    found = lower_bound(*worlds, inputs=(0.0, 1.0))
    assert found.feature == "multiples of 2^-53"
    assert found.epsilon > 3
    assert lower_bound(*(np.round(world, 3) for world in worlds)).epsilon < 1


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"alpha": 0.0}, "alpha is 0.0; it must lie between 0 and 1"),
        ({"delta": 1.0}, "delta is 1.0; it must be at least 0 and below 1"),
    ],
)
def test_what_is_no_probability_is_refused(options: dict[str, float], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        lower_bound(bits(0.5), bits(0.5), **options)  # type: ignore[arg-type]


def test_too_few_runs_are_refused() -> None:
    with pytest.raises(ValueError, match="9 and 9 runs are too few"):
        lower_bound(bits(0.5, 9), bits(0.5, 9))
