"""The budgets of private patterns, and what shares leave of them, without rounding."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from fractions import Fraction

from ppm.dp.epsilon import check_epsilon
from ppm.dp.exact import float_below

Budgets = Mapping[str, tuple[Collection[str], float]]
"""The name of each private pattern, with its types and its epsilon."""
Shares = Mapping[str, float]
"""The epsilon of each type that is released."""

_BITS = 14
"""Guided shares are whole multiples of the smallest budget's power of two, divided by 2^14."""


def unspent(patterns: Budgets, shares: Shares) -> dict[str, float]:
    """What stays of each pattern's epsilon; below 0 if the shares exceed it.

    A type without a share is not released, and costs nothing.

    >>> patterns = {"visit": (["home", "clinic"], 1.0), "errand": (["clinic", "shop"], 0.5)}
    >>> unspent(patterns, {"home": 0.5, "clinic": 0.25, "shop": 0.25})
    {'visit': 0.25, 'errand': 0.0}
    """
    return {
        name: math.fsum([epsilon, *(-shares.get(type_name, 0.0) for type_name in set(types))])
        for name, (types, epsilon) in patterns.items()
    }


def is_within(patterns: Budgets, shares: Shares) -> bool:
    """Whether no pattern's types spend more than its epsilon, decided exactly.

    >>> is_within({"visit": (["home", "clinic"], 0.3)}, {"home": 0.1, "clinic": 0.2})
    False
    """
    return all(
        sum(Fraction(shares.get(name, 0.0)) for name in set(types)) <= Fraction(epsilon)
        for types, epsilon in patterns.values()
    )


def only(patterns: Budgets, types: Collection[str]) -> dict[str, tuple[tuple[str, ...], float]]:
    """The same budgets for fewer types; patterns that keep none of theirs are left out.

    >>> only({"visit": (["home", "clinic"], 1.0), "errand": (["shop"], 0.5)}, {"clinic"})
    {'visit': (('clinic',), 1.0)}
    """
    kept = {
        name: (tuple(one for one in dict.fromkeys(own) if one in types), check_epsilon(epsilon))
        for name, (own, epsilon) in patterns.items()
    }
    return {name: budget for name, budget in kept.items() if budget[0]}


def on_steps(patterns: Budgets, shares: Shares) -> dict[str, float]:
    """Shares on a coarse grid of exact floats that together exceed no budget.

    Shares name the keys of the noise, so the last bits of a sum, which another build of numpy or
    another processor may round another way, must not be part of them. The steps are powers of two:
    such floats add up without rounding.

    >>> on_steps({"visit": (["home", "clinic"], 1.0)}, {"home": 1 / 3, "clinic": 2 / 3 + 1e-9})
    {'home': 0.33331298828125, 'clinic': 0.66668701171875}
    """
    least = min((epsilon for _, epsilon in patterns.values() if epsilon > 0), default=1.0)
    step = Fraction(2) ** (math.frexp(least)[1] - 1 - _BITS)
    counts = {name: max(0, round(Fraction(share) / step)) for name, share in shares.items()}
    for types, epsilon in patterns.values():
        own = [name for name in dict.fromkeys(types) if name in counts]
        most = int(Fraction(check_epsilon(epsilon)) / step)
        total = sum(counts[name] for name in own)
        if total > most + len(own):  # far too much: more than rounding adds
            counts |= {name: counts[name] * most // total for name in own}
        for _ in range(sum(counts[name] for name in own) - most):
            counts[max(own, key=lambda name: counts[name])] -= 1
    # Exact, unless one budget is more than 2^38 times another one.
    return {name: float_below(count * step) for name, count in counts.items()}
