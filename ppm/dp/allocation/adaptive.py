"""Shares that follow history step by step, as they were published."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ppm.dp.allocation.budgets import Budgets, on_steps, only
from ppm.dp.allocation.need import Need, needed
from ppm.dp.allocation.objective import Objective, Vector
from ppm.dp.allocation.polytope import Polytope
from ppm.dp.allocation.uniform import uniform
from ppm.dp.prior import Prior

STEPS = 64
"""How many steps the smallest budget has."""
NO_BETTER = 1e-9
"""Less than this is no gain: sums of floats differ by as much between machines."""


def adaptive(patterns: Budgets, needs: Sequence[Need], prior: Prior | None) -> dict[str, float]:
    """Shares for the types that queries need (the adaptive PPM of Gu et al. 2023).

    Start from the uniform shares of these types. Give a small step of budget to the type that
    raises the sum of all Q on history most, in equal parts from the others of its patterns; stop
    when no step raises it. Types that no query needs have no share: they are not released.

    >>> rare = Prior.independent({"a": 0.1, "b": 0.1, "c": 0.1})
    >>> needs = [Need("two", frozenset("ab"), weight=3), Need("one", frozenset("b"))]
    >>> adaptive({"abc": (["a", "b", "c"], 2.0)}, needs, rare)
    {'a': 0.40625, 'b': 1.59375}
    """
    kept = only(patterns, needed(needs))
    start = uniform(kept)
    if not start:
        return {}
    names = tuple(start)
    objective, polytope = Objective(names, needs_of(needs, names), prior), Polytope(names, kept)
    first = np.array([*start.values()])
    found = climbed_by_steps(objective, polytope, first)
    shares = on_steps(kept, dict(zip(names, found.tolist(), strict=True)))
    settled = np.array([shares[name] for name in names])
    return shares if objective.value(settled) > objective.value(first) + NO_BETTER else start


def climbed_by_steps(objective: Objective, polytope: Polytope, start: Vector) -> Vector:
    """Where steps of budget from start lead, each to the type that gains most by it."""
    step = min((epsilon for _, epsilon in polytope.patterns if epsilon > 0), default=0.0) / STEPS
    shares, value = start, objective.value(start)
    # A type takes all of a budget in so many steps, and each step raises the value.
    for _ in range(STEPS * len(start)):
        tried = [_with_step(polytope, shares, place, step) for place in range(len(shares))]
        values = [objective.value(one) for one in tried]
        best = next(place for place, one in enumerate(values) if one > max(values) - NO_BETTER)
        if not values[best] > value + NO_BETTER:
            break
        shares, value = tried[best], values[best]
    return shares


def needs_of(needs: Sequence[Need], names: Sequence[str]) -> list[Need]:
    """The queries that at least one of these types matters to."""
    return [need for need in needs if not need.types.isdisjoint(names)]


def _with_step(polytope: Polytope, shares: Vector, taker: int, step: float) -> Vector:
    """The shares with a step more for one type, taken in equal parts from the others."""
    found = shares.copy()
    found[taker] += step
    for places, epsilon in polytope.patterns:
        if taker not in places:
            continue
        excess = found[places].sum() - epsilon
        while excess > 1e-15:
            givers = [place for place in places if place != taker and found[place] > 0]
            if not givers:
                found[taker] -= excess
                break
            part = min(excess / len(givers), found[givers].min())
            found[givers] -= part
            excess -= part * len(givers)
    return found
