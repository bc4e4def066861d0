"""Noise on positions, and the seam between measured numbers and cells."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from ppm.dp.exact import WORD
from ppm.dp.grid import Grid, Plane
from ppm.dp.mechanisms.geo import GeoNoise
from tests.dp.conformance import chi_square, draws

NOISE = GeoNoise(0.01, grid=50.0, columns=15, rows=12)
OSLO = Plane(59.8, 10.6, 60.0, 10.9, grid=25.0)
DRAWS = 1_000_000


def test_a_million_positions_tell_the_law_from_one_of_2_percent_more_or_less() -> None:
    """Both axes together, so that one word for both would show; false alarm 1e-6."""
    cell = np.array([[5, 7]])
    told = NOISE.release(np.tile(cell, (DRAWS, 1)), draws(DRAWS, words=2))
    for epsilon, fits in ((0.01, True), (0.0102, False), (0.0098, False)):
        axes = GeoNoise(epsilon, grid=50.0, columns=15, rows=12).axes
        east, north = axes[0].counts(5), axes[1].counts(7)
        both = [x * y // WORD for x in east for y in north]
        statistic, freedom = chi_square(told[:, 0] * 12 + told[:, 1], both)
        assert bool(statistic < chi2.isf(1e-6, freedom)) is fits


def test_one_word_for_both_axes_would_show() -> None:
    words = np.repeat(draws(100_000), 2, axis=1)
    told = NOISE.release(np.tile(np.array([[5, 7]]), (100_000, 1)), words)
    east, north = NOISE.axes[0].counts(5), NOISE.axes[1].counts(7)
    both = [x * y // WORD for x in east for y in north]
    statistic, freedom = chi_square(told[:, 0] * 12 + told[:, 1], both)
    assert statistic > chi2.isf(1e-6, freedom)


def test_moments_interval_and_estimate_are_those_of_the_axes() -> None:
    told = NOISE.release(np.tile(np.array([[2, 7]]), (200_000, 1)), draws(200_000, words=2))
    value = 2 * 12 + 7
    mean = told.mean(axis=0) - [2, 7]
    assert NOISE.bias(value) == pytest.approx(math.hypot(*mean), abs=0.05)
    assert NOISE.variance(value) == pytest.approx(told.var(axis=0).sum(), rel=0.02)
    low, high = NOISE.interval(value, 0.9)
    assert low == 0
    assert (np.hypot(*(told - [2, 7]).T) <= high).mean() >= 0.9
    scores = NOISE.estimate(told)
    error = scores.std(axis=0) / math.sqrt(200_000)
    assert (np.abs(scores.mean(axis=0) - [2, 7]) < 5 * error).all()


def test_the_root_mean_square_error_is_that_of_the_specification() -> None:
    noise = GeoNoise(math.log(4) / 200, grid=25.0, columns=801, rows=801)
    rms = 25.0 * math.sqrt(noise.variance(400 * 801 + 400))
    assert rms * noise.per_metre == pytest.approx(2.83, abs=0.01)


def test_without_a_floor_the_table_would_run_out() -> None:
    """One-metre cells at ln 4 in 200 m: words end some 8 km away, and a step further is 0."""
    axis = GeoNoise(math.log(4) / 200, grid=1.0, columns=20_001, rows=2).axes[0]
    assert axis.floor == 1 << 14
    counts = axis.counts(0)
    assert counts[12_000] == counts[12_001] == axis.floor
    ends = next(d for d, count in enumerate(counts) if d and count == axis.floor)
    assert 7_000 < ends < 9_000


def test_geo_noise_is_a_value() -> None:
    assert pickle.loads(pickle.dumps(NOISE)) == NOISE  # noqa: S301
    assert repr(NOISE) == "GeoNoise(per_metre=0.01, grid=50.0, columns=15, rows=12)"
    with pytest.raises(ValueError, match="two columns"):
        NOISE.release(np.array([[1, 1]]), draws(1))
    with pytest.raises(ValueError, match=r"outside 0\.\.14"):
        NOISE.release(np.array([[15, 1]]), draws(1, words=2))


positions = st.tuples(st.floats(59.8, 60.0), st.floats(10.6, 10.9))


def on_the_ground(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Metres on the ellipsoid of WGS 84 (Vincenty 1975)."""
    a, f = 6_378_137.0, 1 / 298.257223563
    b = a * (1 - f)
    u1, u2 = (math.atan((1 - f) * math.tan(math.radians(place[0]))) for place in (one, other))
    apart = math.radians(other[1] - one[1])
    longitude = apart
    for _ in range(100):
        x = math.cos(u2) * math.sin(longitude)
        y = math.cos(u1) * math.sin(u2) - math.sin(u1) * math.cos(u2) * math.cos(longitude)
        sine = math.hypot(x, y)
        if sine == 0:
            return 0.0
        cosine = math.sin(u1) * math.sin(u2) + math.cos(u1) * math.cos(u2) * math.cos(longitude)
        angle = math.atan2(sine, cosine)
        azimuth = math.cos(u1) * math.cos(u2) * math.sin(longitude) / sine
        square = 1 - azimuth**2
        middle = cosine - 2 * math.sin(u1) * math.sin(u2) / square if square else 0.0
        c = f / 16 * square * (4 + f * (4 - 3 * square))
        before = longitude
        tail = middle + c * cosine * (2 * middle**2 - 1)
        longitude = apart + (1 - c) * f * azimuth * (angle + c * sine * tail)
        if abs(longitude - before) < 1e-14:
            break
    u = square * (a * a - b * b) / (b * b)
    big = 1 + u / 16384 * (4096 + u * (u * (320 - 175 * u) - 768))
    small = u / 1024 * (256 + u * (u * (74 - 47 * u) - 128))
    rest = cosine * (2 * middle**2 - 1) - small / 6 * middle * (4 * sine**2 - 3) * (
        4 * middle**2 - 3
    )
    return b * big * (angle - small * sine * (middle + small / 4 * rest))


@given(positions, positions)
def test_places_are_not_further_apart_on_the_grid_than_on_the_ground_and_a_diagonal(
    one: tuple[float, float], other: tuple[float, float]
) -> None:
    cells = OSLO.to_cells(np.array([one[0], other[0]]), np.array([one[1], other[1]]))
    apart = 25.0 * math.hypot(*(cells[0] - cells[1]))
    assert apart <= on_the_ground(one, other) + math.sqrt(2) * 25.0 + 1e-6


def test_the_ground_is_measured_right() -> None:
    """A known line and two known degrees."""
    assert on_the_ground((0.0, 0.0), (1.0, 0.0)) == pytest.approx(110_574.389, abs=0.01)
    assert on_the_ground((0.0, 0.0), (0.0, 1.0)) == pytest.approx(111_319.491, abs=0.01)
    # Flinders Peak to Buninyong, from Geoscience Australia (GRS 80, as WGS 84 to 0.1 mm).
    flinders, buninyong = (-37.951033417, 144.424867889), (-37.652821139, 143.926495528)
    assert on_the_ground(flinders, buninyong) == pytest.approx(54_972.271, abs=0.005)


@given(
    st.floats(-85, 85), st.floats(0.001, 20), st.floats(0.001, 20),
    st.tuples(*[st.floats(0, 1)] * 4),
)  # fmt: skip
def test_no_two_places_are_further_apart_on_a_plane_than_on_the_ground(
    south: float, height: float, width: float, parts: tuple[float, float, float, float]
) -> None:
    """Boxes of all latitudes, on cells so small that only the scale counts."""
    north, grid = min(south + height, 86.0), 1e-3
    plane = Plane(south, 5.0, north, 5.0 + width, grid=grid)
    latitude = south + (north - south) * np.array(parts[:2])
    longitude = 5.0 + width * np.array(parts[2:])
    cells = plane.to_cells(latitude, longitude)
    apart = grid * math.hypot(*(cells[0] - cells[1]).astype(float))
    one, other = zip(latitude.tolist(), longitude.tolist(), strict=True)
    ground = on_the_ground(one, other)
    assert apart <= ground * (1 + 1e-9) + 2 * grid


@pytest.mark.parametrize("edge", [0.0, 30.0, 60.0, 70.0, 85.0])
def test_a_small_plane_loses_next_to_nothing(edge: float) -> None:
    """Along both edges where a degree is shortest, and along the equator's 200 m."""
    plane = Plane(edge, 0.0, edge + 1e-6, 0.3, grid=1e-3)
    (x, _), (_, y) = plane.to_cells(np.array([edge, edge + 1e-6]), np.array([0.3, 0.0])) * 1e-3
    assert x == pytest.approx(on_the_ground((edge, 0.0), (edge, 0.3)), rel=2e-3)
    assert y == pytest.approx(on_the_ground((edge, 0.0), (edge + 1e-6, 0.0)), rel=2e-2)
    degrees = 200 / 110_574.3886  # 201.12 m on a sphere of the earth's mean radius
    (_, up), (_, down) = Plane(-20.0, 0.0, 20.0, 1.0, grid=0.01).to_cells(
        np.array([degrees / 2, -degrees / 2]), np.array([0.0, 0.0])
    )
    assert 199.9 < 0.01 * (up - down) <= 200.02


@given(positions)
def test_a_cell_gives_a_place_nearby_and_the_same_cell_again(place: tuple[float, float]) -> None:
    cells = OSLO.to_cells(np.array([place[0]]), np.array([place[1]]))
    assert ((cells >= 0) & (cells < [OSLO.columns, OSLO.rows])).all()
    latitude, longitude = OSLO.to_degrees(cells)
    assert on_the_ground(place, (latitude[0], longitude[0])) < 25.0
    assert (OSLO.to_cells(latitude, longitude) == cells).all()


def test_places_outside_move_to_the_edge_and_missing_ones_are_refused() -> None:
    cells = OSLO.to_cells(np.array([0.0, 90.0]), np.array([-180.0, 180.0]))
    assert cells.tolist() == [[0, 0], [OSLO.columns - 1, OSLO.rows - 1]]
    with pytest.raises(ValueError, match="a position is missing"):
        OSLO.to_cells(np.array([math.nan]), np.array([10.7]))


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.floats(0, 1), st.integers(1, 5000))
def test_numbers_move_to_the_nearest_cell(
    lower: float, width: float, part: float, cells: int
) -> None:
    upper = lower + width
    grid = Grid.between(lower, upper, missing=lower, cells=cells)
    assert cells <= grid.cells <= 2 * cells + 3
    number = min(max(lower + part * width, lower), upper)
    cell = grid.to_cells(np.array([number, -math.inf, math.inf, math.nan]))
    assert (cell >= 0).all()
    assert (cell < grid.cells).all()
    back = grid.to_numbers(cell)
    assert abs(back[0] - number) <= grid.step / 2
    assert cell[1] == cell[3] == 0 or grid.to_numbers(cell[:2])[1] <= lower + grid.step / 2
    assert lower <= back.min() <= back.max() <= upper
    assert (grid.to_cells(back) == grid.to_cells(grid.to_numbers(grid.to_cells(back)))).all()


@pytest.mark.parametrize(
    ("lower", "upper", "missing", "step", "fault"),
    [
        (1.0, 1.0, 1.0, 0.5, "must be a range"),
        (0.0, math.inf, 1.0, 0.5, "must be a range"),
        (0.0, 1.0, 2.0, 0.5, "missing is 2"),
        (0.0, 1.0, 0.0, 0.3, "power of two"),
        (0.0, 1.0, 0.0, 0.0, "power of two"),
    ],
)
def test_grids_that_make_no_sense_are_refused(
    lower: float, upper: float, missing: float, step: float, fault: str
) -> None:
    with pytest.raises(ValueError, match=fault):
        Grid(lower, upper, missing, step)
