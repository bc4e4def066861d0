"""What consumers need: the types that a query asks for together, and how much it counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ppm.dp.prior import Prior
from ppm.dp.utility import Channel, Quality, query_quality


@dataclass(frozen=True, slots=True)
class Need:
    """One query for all of its types in a slot, as far as an allocation must know it."""

    name: str
    types: frozenset[str]
    """Everything that must have happened; types that are not private are seen as they are."""
    weight: float = 1.0
    """How much it counts when queries compete for budget."""
    alpha: float = 0.5
    """1 wants precision only, 0 wants recall only."""

    def __post_init__(self) -> None:
        if not self.types:
            raise ValueError(f"the need {self.name} asks for no type; it must ask for one at least")
        if not self.weight > 0:
            raise ValueError(f"the weight of {self.name} is {self.weight}; it must be above 0")
        if not 0 <= self.alpha <= 1:
            raise ValueError(f"alpha of {self.name} is {self.alpha}; it must be from 0 to 1")


def needed(needs: Iterable[Need]) -> frozenset[str]:
    """The types that at least one query asks for.

    >>> sorted(needed([Need("a", frozenset("xy")), Need("b", frozenset("yz"))]))
    ['x', 'y', 'z']
    """
    return frozenset().union(*(need.types for need in needs))


def qualities(
    needs: Iterable[Need], channels: Sequence[Channel], prior: Prior | None
) -> dict[str, Quality]:
    """What each query may expect of what is released."""
    return {
        need.name: query_quality(need.types, channels, prior=prior, alpha=need.alpha)
        for need in needs
    }


def worth(needs: Sequence[Need], channels: Sequence[Channel], prior: Prior | None) -> float:
    """The sum of weight times Q over all queries: what an allocation is chosen by.

    Without a prior only the recall of a query is known, so that all of them must want nothing else.
    """
    found = qualities(needs, channels, prior)
    return sum(need.weight * _worth(need, found[need.name]) for need in needs)


def _worth(need: Need, quality: Quality) -> float:
    if quality.q is not None:
        return quality.q
    if need.alpha:
        raise ValueError(f"{need.name} wants precision, and without a prior there is none to tell")
    return quality.recall
