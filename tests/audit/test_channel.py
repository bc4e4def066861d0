"""Exact epsilons, for designs that are small enough to enumerate."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import pytest

from ppm.audit import exact_delta, exact_loss
from ppm.dp.mechanisms.binary import BinaryResponse

M = 3
VECTORS = list(itertools.product((0, 1), repeat=M))
BIT = BinaryResponse(1 / 3)
Vector = tuple[int, ...]


def response_row(x: Vector) -> list[int]:
    """Every bit of the slot flips by its own draw."""
    return [math.prod(BIT.counts(a)[b] for a, b in zip(x, y, strict=True)) for y in VECTORS]


def truth_row(x: Vector) -> list[int]:
    return [2 ** (64 * M) * (y == x) for y in VECTORS]


def response_if(is_noised: Callable[[Vector], object]) -> list[list[int]]:
    return [response_row(x) if is_noised(x) else truth_row(x) for x in VECTORS]


def test_response_on_all_types_keeps_the_sum_of_its_epsilons() -> None:
    loss = exact_loss(response_if(lambda _: True))
    assert loss.epsilon == pytest.approx(1.0)
    assert not loss.exceeds(3 * (1 / 3))
    assert exact_delta(response_if(lambda _: True), 1.0) == 0


@pytest.mark.parametrize(
    "is_noised",
    [
        pytest.param(all, id="completed matches only"),
        pytest.param(lambda x: x[0], id="once a prefix was seen"),
        pytest.param(any, id="slots with an event"),
    ],
)
def test_noise_that_waits_for_data_is_infinite(is_noised: Callable[[Vector], object]) -> None:
    loss = exact_loss(response_if(is_noised))
    assert loss.is_infinite
    assert loss.epsilon == math.inf
    assert loss.exceeds(1e300)


def test_detect_then_perturb_has_a_delta_of_1() -> None:
    assert exact_delta(response_if(all), 10.0) == 1


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0, 1.0986])
def test_delta_of_a_bit_is_what_its_hockey_stick_says(epsilon: float) -> None:
    assert exact_delta([[3, 1], [1, 3]], epsilon) == pytest.approx((3 - math.exp(epsilon)) / 4)


def test_decoys_are_bounded_in_one_direction() -> None:
    """A slot is withheld (first column): always with a match, with 3/8 otherwise."""
    table = [[8, 0], [3, 5]]
    assert exact_loss(table, pairs=[(0, 1)]).ratio == Fraction(8, 3)
    assert exact_loss(table, pairs=[(1, 0)]).is_infinite
    assert exact_delta(table, 1.0, pairs=[(1, 0)]) == 5 / 8


def test_the_place_of_the_largest_loss_is_told() -> None:
    half, third = Fraction(1, 2), Fraction(1, 3)
    loss = exact_loss([[half, half, 0], [half, third, Fraction(1, 6)], [third] * 3], pairs=[(1, 2)])
    assert (loss.ratio, loss.pair, loss.output) == (Fraction(3, 2), (1, 2), 0)


def test_a_claim_is_compared_without_rounding() -> None:
    """ln 3 lies between two neighbouring floats."""
    below = math.log(3)
    while exact_loss([[3, 1], [1, 3]]).exceeds(below) is False:
        below = math.nextafter(below, 0)
    above = math.nextafter(below, 2)
    assert exact_loss([[3, 1], [1, 3]]).exceeds(below)
    assert not exact_loss([[3, 1], [1, 3]]).exceeds(above)
    assert exact_loss([[3, 1], [1, 3]]).epsilon == above


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        pytest.param([[1]], "has 1 rows", id="one input"),
        pytest.param([[1, 2], [3]], "different lengths", id="ragged"),
        pytest.param([[1, 2], [2, 2]], "do not have one sum", id="no probabilities"),
        pytest.param([[3, -1], [1, 1]], "below 0", id="negative"),
        pytest.param([[0, 0], [0, 0]], "one sum above 0", id="nothing at all"),
    ],
)
def test_what_is_no_channel_is_refused(table: list[list[int]], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        exact_loss(table)


def test_floats_are_refused_because_they_are_not_exact() -> None:
    with pytest.raises(TypeError, match="not exact"):
        exact_loss([[0.75, 0.25], [0.25, 0.75]])  # type: ignore[list-item]
