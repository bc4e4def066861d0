"""The channel of a joint group that serves its queries best, as a linear programme.

For true vectors x and released ones y, find P(y|x) with P(y|x) <= e^epsilon P(y|x') that loses
least, where a query loses alpha*P(shown | no match) + (1-alpha)*P(not shown | match). This is
linear in P, which precision is not. Both are conditional on what happened: for a rare match, to
say nothing would be right nearly always, and of no use.

A consumer sees of y only which queries it satisfies, so one y for each such set is enough: the
smallest, which is the union of their types. If no query asks for a type outside of the group, then
all x that satisfy the same queries lose the same up to a factor, and a channel loses no more if
each of them gets the average of their rows (an average keeps epsilon where all rows do). So they
share one row, and one query over m types is a programme of two rows and two columns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ppm.dp.allocation.need import Need
from ppm.dp.mechanisms.channel import Channel
from ppm.dp.prior import Prior

MOST_TYPES = 5
"""A programme over m types has up to 4^m unknowns: half a second for 5, and 15 for 7."""
_DIGITS = 9
"""Decimals of a law that are used: the solver's last bits must not be part of a table."""
_SLACK = 1e-6
"""The part of e^epsilon that is left for rounding."""
_LARGEST = 13.0
"""Up to which epsilon a programme is asked for; beyond, the nudges would outweigh e^-epsilon."""
_NUDGE = 1e-6
"""How much losses are changed, each by another amount, so that one law alone loses least."""
_EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
"""Finer than the solver's defaults, which would not see the nudges."""

Matrix = npt.NDArray[np.float64]


def linear_channel(
    types: Sequence[str], epsilon: float, needs: Sequence[Need], prior: Prior
) -> Channel:
    """The certified channel on the vectors of some types that loses least; bit i is type i.

    >>> rare = Prior.independent(dict.fromkeys("abc", 0.1))
    >>> found = linear_channel("abc", 1.0, [Need("all", frozenset("abc"))], rare)
    >>> [round(count / 2**64, 3) for count in found.counts(7)]
    [0.269, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.731]
    """
    if not 1 <= len(types) <= MOST_TYPES:
        raise ValueError(f"{len(types)} types are given; there must be 1 to {MOST_TYPES}")
    task = _Task.of(tuple(types), needs, prior)
    law = _solved(task.losses, epsilon)
    whole = np.zeros((1 << len(types), 1 << len(types)))
    for number, row in enumerate(task.row_of):
        whole[number, task.outputs] = law[row]
    return Channel.rounded(epsilon, whole)


@dataclass(frozen=True, slots=True)
class _Task:
    """Which vectors are told apart, and what each released one loses for each true one."""

    row_of: list[int]
    """For each true vector, its row."""
    outputs: list[int]
    """The released vectors."""
    losses: Matrix

    @classmethod
    def of(cls, types: tuple[str, ...], needs: Sequence[Need], prior: Prior) -> _Task:
        wanted = [need for need in needs if not need.types.isdisjoint(types)]
        asked = [_vector(need.types, types) for need in wanted]
        satisfied = [
            tuple(mask & vector == mask for mask in asked) for vector in range(1 << len(types))
        ]
        # The first vector that satisfies exactly these queries is the smallest: it is a part of
        # every other one.
        outputs = [*{kinds: place for place, kinds in reversed([*enumerate(satisfied)])}.values()]
        outputs.sort()
        is_inside = all(need.types <= set(types) for need in wanted)
        keys = satisfied if is_inside else [(vector,) for vector in range(1 << len(types))]
        rows = {key: row for row, key in enumerate(dict.fromkeys(keys))}
        row_of = [rows[key] for key in keys]
        losses = np.zeros((len(rows), len(outputs)))
        for need, mask in zip(wanted, asked, strict=True):
            shown = np.array([mask & output == mask for output in outputs], np.float64)
            false, true = _conditional(need, types, prior)
            for vector, row in enumerate(row_of):
                losses[row] += need.weight * need.alpha * false[vector] * shown
                losses[row] += need.weight * (1 - need.alpha) * true[vector] * (1 - shown)
        return cls(row_of, outputs, losses / sum(need.weight for need in wanted))


def _conditional(need: Need, types: tuple[str, ...], prior: Prior) -> tuple[Matrix, Matrix]:
    """P(vector, and all else that is asked | no match), and P(vector | match)."""
    outside = need.types.difference(types)
    masses = np.zeros((2, 1 << len(types)))
    match = prior.probability(need.types)
    for present, mass in prior.distribution(need.types.union(types)).items():
        if outside <= present:
            masses[int(need.types <= present), _vector(present, types)] += mass
    other = 1 - match
    return (
        masses[0] / other if other > 0 else masses[0],
        masses[1] / match if match > 0 else masses[1],
    )


def _vector(present: frozenset[str], types: tuple[str, ...]) -> int:
    return sum(1 << place for place, name in enumerate(types) if name in present)


def _solved(losses: Matrix, epsilon: float) -> Matrix:
    """The law P(y|x) that loses least, with rows x and columns y."""
    # Only a policy that asks for it needs a solver, and importing it takes a while.
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    rows, columns = losses.shape
    if columns == 1:
        return np.ones((rows, 1))
    size = rows * columns
    # With a floor for each y, P(y|x) lies between floor and e^epsilon floor: 2 conditions for each
    # x and y, where comparing all x with each other would take as many as there are pairs.
    place = np.arange(size)
    floor = size + place % columns
    ratio = max(1.0, math.exp(min(epsilon, _LARGEST)) * (1 - _SLACK))
    one = np.ones(size)
    bounds = coo_array(
        (
            np.concatenate([-one, one, one, -ratio * one]),
            (
                np.concatenate([place, place, size + place, size + place]),
                np.concatenate([place, floor, place, floor]),
            ),
        ),
        shape=(2 * size, size + columns),
    ).tocsr()
    sums = coo_array((one, (place // columns, place)), shape=(rows, size + columns)).tocsr()
    found = linprog(
        np.concatenate([(losses + _nudges(rows, columns)).ravel(), np.zeros(columns)]),
        A_ub=bounds,
        b_ub=np.zeros(2 * size),
        A_eq=sums,
        b_eq=np.ones(rows),
        bounds=(0, None),
        method="highs-ds",
        options=_EXACT,
    )
    if found.status != 0:
        raise ArithmeticError(f"no best channel was found for epsilon {epsilon}: {found.message}")
    law: Matrix = np.round(found.x[:size].reshape(rows, columns), _DIGITS)
    return np.maximum(law, 0.0)


def _nudges(rows: int, columns: int) -> Matrix:
    """Small amounts of which no sum is another one, so that no two laws lose the same."""
    parts = [math.modf(math.sqrt(place + 2))[0] for place in range(rows * columns)]
    return _NUDGE * np.array(parts).reshape(rows, columns)
