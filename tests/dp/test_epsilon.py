import math
from fractions import Fraction

import pytest

from ppm.dp.epsilon import as_written, check_epsilon


@pytest.mark.parametrize("epsilon", [math.inf, math.nan, -1.0, -math.inf])
def test_there_is_no_off_switch(epsilon: float) -> None:
    with pytest.raises(ValueError, match="finite and at least 0"):
        check_epsilon(epsilon)


@pytest.mark.parametrize(
    ("epsilon", "written"),
    [
        pytest.param(0.1, Fraction(1, 10), id="a decimal"),
        pytest.param(2, Fraction(2), id="a whole number"),
        pytest.param(1e-7, Fraction(1, 10**7), id="an exponent"),
    ],
)
def test_an_epsilon_is_read_as_it_was_written(epsilon: float, written: Fraction) -> None:
    assert as_written(epsilon) == written
