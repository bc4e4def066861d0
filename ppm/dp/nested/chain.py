"""What all chains share: the order of their epsilons, and how a stage asks for words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from ppm.dp.epsilon import check_epsilon
from ppm.dp.mechanism import Values, Words

Draw = Callable[[int, Values], Words]
"""Words for a stage, given its number and the true values that the chain started from.

Each stage has a purpose of its own, and so a key of its own. All of them are drawn for the truth,
never for the state that a stage goes on from: two true cells of one epoch may reach the same state,
and with one word for both a later community would see more often than by its own law that they are
equal. (For 3 values and epsilons 3 and 1, it would learn 1.104 of one cell.)
"""


def falling(epsilons: Sequence[float]) -> tuple[float, ...]:
    """Epsilons of a chain, the largest first; equal ones share one release.

    >>> falling([2.0, 1.0])
    (2.0, 1.0)
    """
    found = tuple(map(check_epsilon, epsilons))
    if not found:
        raise ValueError("a chain has at least one epsilon")
    if any(one <= other for one, other in pairwise(found)):
        raise ValueError(
            f"epsilons are {', '.join(map(str, found))}; in a chain each is less than the one "
            "before, and communities with equal epsilons share one release"
        )
    return found
