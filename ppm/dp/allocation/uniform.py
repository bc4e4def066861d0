"""The same share for every type of a pattern, whatever consumers ask."""

from __future__ import annotations

import math
from fractions import Fraction

from ppm.dp.allocation.budgets import Budgets
from ppm.dp.epsilon import check_epsilon


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


def _share(epsilon: float, m: int) -> float:
    share = check_epsilon(epsilon) / m
    # A quotient that was rounded up would add to more than epsilon.
    while Fraction(share) * m > Fraction(epsilon):
        share = math.nextafter(share, 0.0)
    return share
