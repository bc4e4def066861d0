import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppm.dp.joint import (
    all_shown,
    largest_nested_epsilon,
    value_kept,
    value_swapped,
    vector_kept,
    vector_swapped,
)
from ppm.dp.nested.joint import JointChain
from ppm.dp.response import kept_probability

KEEP_ALL = [
    pytest.param(2, 1.0, 0.475, 0.387, id="2 types, eps 1"),
    pytest.param(2, 2.0, 0.711, 0.534, id="2 types, eps 2"),
    pytest.param(2, 4.0, 0.948, 0.776, id="2 types, eps 4"),
    pytest.param(3, 1.0, 0.280, 0.198, id="3 types, eps 1"),
    pytest.param(3, 2.0, 0.514, 0.288, id="3 types, eps 2"),
    pytest.param(3, 4.0, 0.886, 0.496, id="3 types, eps 4"),
    pytest.param(5, 1.0, 0.081, 0.050, id="5 types, eps 1"),
    pytest.param(5, 2.0, 0.192, 0.077, id="5 types, eps 2"),
    pytest.param(5, 4.0, 0.638, 0.156, id="5 types, eps 4"),
]


@pytest.mark.parametrize(("m", "epsilon", "joint", "independent"), KEEP_ALL)
def test_a_joint_response_keeps_more_matches_than_independent_bits(
    m: int, epsilon: float, joint: float, independent: float
) -> None:
    assert vector_kept(epsilon, m) == pytest.approx(joint, abs=5e-4)
    assert kept_probability([epsilon / m] * m) == pytest.approx(independent, abs=5e-4)


@given(st.floats(0, 20), st.integers(1, 10))
def test_the_probabilities_of_all_vectors_sum_to_one(epsilon: float, m: int) -> None:
    total = vector_kept(epsilon, m) + (2**m - 1) * vector_swapped(epsilon, m)
    assert total == pytest.approx(1)


@given(st.floats(0, 20), st.integers(1, 100))
def test_the_true_value_is_e_to_the_epsilon_times_as_likely(epsilon: float, values: int) -> None:
    ratio = value_kept(epsilon, values) / value_swapped(epsilon, values)
    assert math.log(ratio) == pytest.approx(epsilon, abs=1e-12)


def test_a_query_for_all_types_is_the_vector_of_ones() -> None:
    assert all_shown(1.0, 3, asked=3, all_present=True) == vector_kept(1.0, 3)
    assert all_shown(1.0, 3, asked=3, all_present=False) == vector_swapped(1.0, 3)


@given(st.floats(0, 20), st.integers(1, 8), st.data())
def test_the_largest_nested_epsilon_is_what_the_marginal_tells(
    epsilon: float, m: int, data: st.DataObject
) -> None:
    types = data.draw(st.integers(1, m))
    told = all_shown(epsilon, m, asked=types, all_present=True)
    not_told = all_shown(epsilon, m, asked=types, all_present=False)
    largest = largest_nested_epsilon(epsilon, m, types=types)
    assert largest == pytest.approx(math.log(told / not_told), abs=1e-9)
    assert largest == pytest.approx(math.log1p(math.expm1(epsilon) / 2 ** (m - types)), abs=1e-9)


@pytest.mark.parametrize(
    ("coarse_epsilon", "types", "nested"),
    [
        pytest.param(2.0, 3, False, id="the same response, which is no second one"),
        pytest.param(1.0, 3, True, id="the same group with less"),
        pytest.param(2.1, 3, False, id="the same group with more"),
        pytest.param(1.43, 2, True, id="two of three, just below"),
        pytest.param(1.44, 2, False, id="two of three, just above"),
        pytest.param(0.0, 1, True, id="nothing"),
    ],
)
def test_which_responses_nest_in_three_types_at_eps_2(
    coarse_epsilon: float, types: int, nested: bool
) -> None:
    chain = JointChain((2.0,), types=((0, 1, 2),))
    longer = chain.with_next(coarse_epsilon, tuple(range(types)))
    assert (longer is not None) is nested
    if longer is not None:
        assert longer.epsilons == (2.0, coarse_epsilon)


@pytest.mark.parametrize(("m", "types"), [(2, 1), (3, 2), (5, 2), (9, 4)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0, 3.3])
def test_whatever_is_said_to_nest_can_be_built(epsilon: float, m: int, types: int) -> None:
    """Floats around the limit: their rounding must not decide."""
    chain = JointChain((epsilon,), types=(tuple(range(m)),))
    limit = largest_nested_epsilon(epsilon, m, types=types)
    wanted = tuple(range(types))
    near = [limit + k * 2.0**-54 for k in range(-40, 41)]
    found = [chain.with_next(one, wanted) is not None for one in near]
    for one, is_nested in zip(near, found, strict=True):
        if is_nested:
            assert JointChain((epsilon, one), types=(chain.types[0], wanted)).certificate(1).holds
        else:
            with pytest.raises(ValueError, match="tells less already"):
                JointChain((epsilon, one), types=(chain.types[0], wanted))
    assert found == sorted(found, reverse=True)
    assert found[0]
    assert not found[-1]


def test_a_huge_epsilon_does_not_overflow() -> None:
    assert vector_kept(10_000.0, 3) == 1.0
    assert largest_nested_epsilon(10_000.0, 3, types=2) == pytest.approx(10_000 - math.log(2))


@pytest.mark.parametrize("asked", [0, 4])
def test_only_types_of_the_group_can_be_asked_for(asked: int) -> None:
    with pytest.raises(ValueError, match="at least 1 and at most 3"):
        all_shown(1.0, 3, asked=asked, all_present=True)


def test_a_vector_has_at_least_one_bit() -> None:
    with pytest.raises(ValueError, match="m is 0"):
        vector_kept(1.0, 0)
