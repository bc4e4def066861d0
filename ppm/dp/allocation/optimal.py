"""The best shares that can be found: ascent from several starts, and never worse than simpler ones.

The sum of Q is not concave. Two queries for two types each, over four types with epsilon 2, gain by
serving one of them alone (.784 against .775), and no single step from uniform shares helps. So the
ascent also starts from each query's own types.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ppm.dp.allocation.adaptive import NO_BETTER, adaptive, needs_of
from ppm.dp.allocation.budgets import Budgets, on_steps, only
from ppm.dp.allocation.need import Need, needed
from ppm.dp.allocation.objective import Objective, Vector
from ppm.dp.allocation.polytope import Polytope
from ppm.dp.allocation.uniform import uniform
from ppm.dp.prior import Prior

_CLIMBS = 60
"""The most steps of one ascent."""
_SHORTEST = 1e-6
"""A step of this length that does not help ends an ascent."""
_LEAST_GAIN = 1e-10
_QUERIES = 12
"""How many queries give a start of their own, the weightiest first."""
_SPREAD = 4
"""How many starts lie where no query and no rule would put them."""


def optimal(patterns: Budgets, needs: Sequence[Need], prior: Prior | None) -> dict[str, float]:
    """Shares for the types that queries need, with the largest sum of weight times Q found.

    Projected ascent on the closed form, with the best of all starts and of the uniform and the
    adaptive shares kept, so that it is never worse than these. There is no chance in it: the same
    queries and prior give the same shares. Types that no query needs are not released.

    >>> half = Prior.independent(dict.fromkeys("abcd", 0.5))
    >>> needs = [Need("one", frozenset("ab"), alpha=0), Need("two", frozenset("cd"), alpha=0)]
    >>> optimal({"all": (["a", "b", "c", "d"], 2.0)}, needs, half)
    {'a': 1.0, 'b': 1.0, 'c': 0.0, 'd': 0.0}
    """
    kept = only(patterns, needed(needs))
    simple = uniform(kept)
    if not simple:
        return {}
    names = tuple(simple)
    wanted = needs_of(needs, names)
    objective, polytope = Objective(names, wanted, prior), Polytope(names, kept)
    stepped = adaptive(patterns, needs, prior)
    best, most = simple, objective.value(_vector(names, simple))
    starts = [_vector(names, simple), _vector(names, stepped)]
    starts += [*_of_queries(names, kept, wanted), *_spread(polytope, len(names))]
    climbed = (_climbed(objective, polytope, start) for start in starts)
    found = (on_steps(kept, dict(zip(names, one.tolist(), strict=True))) for one in climbed)
    for shares in (stepped, *found):
        value = objective.value(_vector(names, shares))
        # Equally good shares are not told apart by the last bits of a sum: the first ones stay.
        if value > most + NO_BETTER:
            best, most = shares, value
    return best


def _climbed(objective: Objective, polytope: Polytope, start: Vector) -> Vector:
    """The shares at which an ascent from start ends."""
    shares, (value, slope) = start, objective.slope(start)
    length = 1.0
    for _ in range(_CLIMBS):
        steepest = np.abs(slope).max()
        if not steepest > 0:
            break
        while length > _SHORTEST:
            tried = polytope.nearest(shares + length / steepest * slope)
            if objective.value(tried) > value + _LEAST_GAIN:
                break
            length /= 2
        else:
            break
        shares, (value, slope) = tried, objective.slope(tried)
        length *= 4
    return shares


def _of_queries(names: Sequence[str], patterns: Budgets, needs: Sequence[Need]) -> Iterator[Vector]:
    """For each query, all budget on its own types."""
    weightiest = sorted(needs, key=lambda need: -need.weight)
    for types in [*dict.fromkeys(need.types for need in weightiest)][:_QUERIES]:
        yield _vector(names, uniform(only(patterns, types)))


def _spread(polytope: Polytope, size: int) -> Iterator[Vector]:
    """Starts that are spread over all shares, the same ones on every machine."""
    most = max((epsilon for _, epsilon in polytope.patterns), default=0.0)
    for number in range(1, _SPREAD + 1):
        # Multiples of square roots, without their whole parts, fill a cube evenly (Weyl 1916).
        parts = [math.modf(number * math.sqrt(place + 2))[0] for place in range(size)]
        yield polytope.nearest(most * np.array(parts))


def _vector(names: Sequence[str], shares: dict[str, float]) -> Vector:
    return np.array([shares.get(name, 0.0) for name in names])
