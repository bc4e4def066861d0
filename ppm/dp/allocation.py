"""How the budgets of private patterns are shared out over their event types."""

import math
from collections.abc import Collection, Mapping
from fractions import Fraction

from ppm.dp.epsilon import check_epsilon

Budgets = Mapping[str, tuple[Collection[str], float]]
"""The name of each private pattern, with its types and its epsilon."""


def uniform(patterns: Budgets) -> dict[str, float]:
    """An equal share for every type of a pattern (the uniform PPM of Gu et al. 2023).

    A type of several patterns gets its smallest share, so that no pattern exceeds its epsilon.

    >>> uniform({"visit": (["home", "clinic"], 1.0), "errand": (["clinic", "shop"], 0.5)})
    {'home': 0.5, 'clinic': 0.25, 'shop': 0.25}
    """
    shares: dict[str, float] = {}
    for name, (types, epsilon) in patterns.items():
        distinct = dict.fromkeys(types)
        if not distinct:
            raise ValueError(f"pattern {name} has no types; it must have at least one")
        share = _share(epsilon, len(distinct))
        for type_name in distinct:
            shares[type_name] = min(share, shares.get(type_name, share))
    return shares


def unspent(patterns: Budgets, shares: Mapping[str, float]) -> dict[str, float]:
    """What stays of each pattern's epsilon; below 0 if the shares exceed it.

    A type without a share is not released, and costs nothing.

    >>> patterns = {"visit": (["home", "clinic"], 1.0), "errand": (["clinic", "shop"], 0.5)}
    >>> unspent(patterns, uniform(patterns))
    {'visit': 0.25, 'errand': 0.0}
    """
    return {
        name: math.fsum([epsilon, *(-shares.get(type_name, 0.0) for type_name in set(types))])
        for name, (types, epsilon) in patterns.items()
    }


def _share(epsilon: float, m: int) -> float:
    share = check_epsilon(epsilon) / m
    # A quotient that was rounded up would add to more than epsilon.
    while Fraction(share) * m > Fraction(epsilon):
        share = math.nextafter(share, 0.0)
    return share
