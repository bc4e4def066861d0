import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppm.dp.columns import (
    category_kept,
    geo_axis_deviation,
    geo_epsilon,
    geo_rms,
    laplace_deviation,
    snap_limit,
    snap_rms,
)


def test_ln_4_within_200_metres() -> None:
    epsilon = geo_epsilon(math.log(4), 200.0)
    assert epsilon == pytest.approx(0.00693, abs=5e-6)
    assert geo_rms(epsilon, grid=1.0) == pytest.approx(2.83 / epsilon, rel=1e-3)


@given(st.floats(1e-4, 1.0))
def test_a_fine_grid_tends_to_the_continuous_error(epsilon: float) -> None:
    fine = 1e-3 / epsilon
    assert geo_rms(epsilon, grid=fine) == pytest.approx(2 * math.sqrt(2) / epsilon, rel=1e-6)
    assert geo_axis_deviation(epsilon, grid=fine) == pytest.approx(2 / epsilon, rel=1e-6)


@pytest.mark.parametrize("grid", [0.5, 5.0, 50.0])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_the_laplace_deviation_equals_the_sum_over_the_grid(epsilon: float, grid: float) -> None:
    a = math.exp(-epsilon * grid / 50.0)
    steps = range(-20_000, 20_001)
    variance = math.fsum((1 - a) / (1 + a) * a ** abs(n) * (n * grid) ** 2 for n in steps)
    assert laplace_deviation(epsilon, 50.0, grid=grid) == pytest.approx(math.sqrt(variance))


def test_no_budget_means_boundless_noise() -> None:
    assert laplace_deviation(0.0, 1.0, grid=1.0) == math.inf


def test_a_huge_epsilon_means_no_noise() -> None:
    assert laplace_deviation(10_000.0, 1.0, grid=1.0) == 0.0


def test_a_category_without_budget_is_drawn_from_all() -> None:
    assert category_kept(0.0, values=5) == pytest.approx(1 / 5)


def test_two_categories_are_a_binary_response() -> None:
    assert category_kept(1.0, values=2) == pytest.approx(math.e / (1 + math.e))


@pytest.mark.parametrize("axes", [1, 2])
def test_the_snap_error_equals_a_walk_over_the_cell(axes: int) -> None:
    points = [(i + 0.5) / 1000 - 0.5 for i in range(1000)]
    mean_square = axes * sum((10.0 * x) ** 2 for x in points) / 1000
    assert snap_rms(10.0, axes=axes) == pytest.approx(math.sqrt(mean_square), rel=1e-5)
    assert snap_limit(10.0, axes=axes) == pytest.approx(math.hypot(*[5.0] * axes))


@pytest.mark.parametrize("length", [0.0, -1.0, math.inf, math.nan])
def test_lengths_that_are_none_are_refused(length: float) -> None:
    with pytest.raises(ValueError, match="finite and above 0"):
        snap_rms(length)
    with pytest.raises(ValueError, match="finite and above 0"):
        geo_epsilon(1.0, length)
