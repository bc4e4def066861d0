"""How far column rules move a value, on average."""

import math

from ppm.dp.epsilon import check_epsilon
from ppm.dp.joint import value_kept


def laplace_deviation(epsilon: float, sensitivity: float, *, grid: float) -> float:
    """The standard deviation of discrete Laplace noise on a grid, before clamping.

    Epsilon is what a change of `sensitivity` costs (for a clamped column: upper minus lower bound).
    A step then costs h = epsilon*grid/sensitivity; with a = e^-h, P(n steps) = (1-a)/(1+a) a^|n|,
    and the deviation is grid*sqrt(2a)/(1-a). Clamping to bounds around the truth only lowers it.

    >>> round(laplace_deviation(1.0, 100.0, grid=1.0), 2)
    141.42
    >>> round(laplace_deviation(1.0, 100.0, grid=100.0), 1)
    135.7
    """
    _check_length("sensitivity", sensitivity)
    _check_length("grid", grid)
    step = check_epsilon(epsilon) * grid / sensitivity
    if step == 0:
        return math.inf
    return grid * math.sqrt(2 * math.exp(-step)) / -math.expm1(-step)


def geo_epsilon(level: float, radius: float) -> float:
    """The epsilon per metre of a position that costs `level` within `radius` metres.

    Geo-indistinguishability, Andres et al. 2013.

    >>> round(geo_epsilon(math.log(4), 200.0), 5)
    0.00693
    """
    return check_epsilon(level) / _check_length("radius", radius)


def geo_axis_deviation(epsilon: float, *, grid: float) -> float:
    """The standard deviation of one axis, in metres, for an epsilon per metre.

    Each axis spends epsilon/sqrt(2) per metre, because |dx|+|dy| <= sqrt(2)*distance.

    >>> round(geo_axis_deviation(0.00693, grid=1.0), 1)
    288.6
    """
    return laplace_deviation(epsilon, math.sqrt(2), grid=grid)


def geo_rms(epsilon: float, *, grid: float) -> float:
    """The root mean square distance, in metres, between the grid point and its released point.

    On a fine grid an axis has variance 2/(epsilon/sqrt 2)^2 = 4/epsilon^2. The two together have
    8/epsilon^2, so this tends to 2*sqrt(2)/epsilon = 2.83/epsilon.

    >>> round(geo_rms(geo_epsilon(math.log(4), 200.0), grid=1.0))
    408
    """
    return math.sqrt(2) * geo_axis_deviation(epsilon, grid=grid)


def category_kept(epsilon: float, values: int) -> float:
    """The probability that a category is released as it is, out of all values (`other` included).

    >>> round(category_kept(1.0, values=5), 3)
    0.405
    """
    return value_kept(epsilon, values)


def snap_rms(grid: float, *, axes: int = 1) -> float:
    """The root mean square error of moving a value to the nearest grid point.

    The error is taken as uniform on half a grid step to either side: grid/sqrt(12) an axis.

    >>> round(snap_rms(100.0), 1), round(snap_rms(100.0, axes=2), 1)
    (28.9, 40.8)
    """
    return _check_length("grid", grid) * math.sqrt(axes / 12)


def snap_limit(grid: float, *, axes: int = 1) -> float:
    """The largest error of moving a value to the nearest grid point.

    >>> snap_limit(100.0), round(snap_limit(100.0, axes=2), 1)
    (50.0, 70.7)
    """
    return _check_length("grid", grid) * math.sqrt(axes) / 2


def _check_length(name: str, length: float) -> float:
    if not (math.isfinite(length) and length > 0):
        raise ValueError(f"{name} is {length}; it must be finite and above 0")
    return length
