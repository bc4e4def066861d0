import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppm.dp.prior import Prior

TOGETHER = Prior.table([("", 0.6), ("ab", 0.3), ("b", 0.1)], types="abc")


def test_independent_types_multiply() -> None:
    prior = Prior.independent({"a": 0.5, "b": 0.25, "c": 0.1})
    assert prior.distribution("ab") == {
        frozenset(): 0.375,
        frozenset("a"): 0.375,
        frozenset("b"): 0.125,
        frozenset("ab"): 0.125,
    }


@pytest.mark.parametrize(
    ("types", "probability"),
    [
        pytest.param("a", 0.3, id="one type"),
        pytest.param("b", 0.4, id="a type of two rows"),
        pytest.param("ab", 0.3, id="two types that come together"),
        pytest.param("c", 0.0, id="a known type that never occurs"),
        pytest.param("", 1.0, id="nothing asked"),
    ],
)
def test_a_table_keeps_what_occurs_together(types: str, probability: float) -> None:
    assert TOGETHER.probability(types) == pytest.approx(probability)


def test_a_table_of_independent_types_is_the_independent_prior() -> None:
    independent = Prior.independent({"a": 0.5, "b": 0.25})
    table = Prior.table([("", 0.375), ("a", 0.375), ("b", 0.125), ("ab", 0.125)])
    assert table.distribution("ab") == independent.distribution("ab")


def test_a_type_that_nobody_knows_is_named() -> None:
    with pytest.raises(ValueError, match="the prior has no x; it knows a, b, c"):
        TOGETHER.distribution("ax")


@pytest.mark.parametrize("rate", [-0.1, 1.1, math.nan])
def test_a_rate_is_a_probability(rate: float) -> None:
    with pytest.raises(ValueError, match="the rate of a is"):
        Prior.independent({"a": rate})


def test_a_table_sums_to_one() -> None:
    with pytest.raises(ValueError, match=r"sum to 0\.5"):
        Prior.table([("a", 0.5)])


def test_a_row_is_a_probability() -> None:
    with pytest.raises(ValueError, match="outside 0 to 1"):
        Prior.table([("a", 1.5), ("", -0.5)])


@given(st.dictionaries(st.sampled_from("abcdef"), st.floats(0, 1), min_size=1), st.data())
def test_every_distribution_sums_to_one(rates: dict[str, float], data: st.DataObject) -> None:
    prior = Prior.independent(rates)
    types = data.draw(st.sets(st.sampled_from(sorted(rates))))
    distribution = prior.distribution(types)
    assert math.fsum(distribution.values()) == pytest.approx(1)
    assert prior.probability(types) == pytest.approx(math.prod(rates[name] for name in types))
