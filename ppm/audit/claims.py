"""What rows may tell some readers of a pattern's slot, as the policy's promise has it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

from ppm.protect.chains import chains_of_bits
from ppm.protect.collusion import colluding, sees_raw
from ppm.protect.guarantee import guarantees
from ppm.protect.plan import Plan
from ppm.protect.spending import spending_of


def readers_of(communities: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Each community alone, all pairs that could compare notes, and all of them together."""
    for size in sorted({1, 2, len(communities)}):
        yield from combinations(communities, size)


def claim_of(plan: Plan, communities: Sequence[str], pattern: str) -> float | None:
    """The epsilon that communities who compare notes are promised not to exceed.

    For one community, and for all of a policy, it is what `explain` prints. None where one of them
    is not kept from the pattern, so that nothing is promised.
    """
    chosen = [plan.terms[name] for name in communities]
    if any(sees_raw(plan, terms, pattern) for terms in chosen):
        return None
    told = [*_told(plan, communities, pattern)]
    if not told:
        return 0.0  # no row tells of it; answers are no rows
    if len(chosen) == 1:
        return next(one.slot for one in guarantees(plan, chosen[0]) if one.pattern == pattern)
    if len(chosen) == len(plan.terms):
        return colluding(plan, pattern).epsilon
    return math.fsum(told)


def _told(plan: Plan, communities: Sequence[str], pattern: str) -> Iterator[float]:
    """What each chain tells them: as much as it tells the best informed of them.

    Chains are those of the whole policy: whoever else is in one decides what is derived from what.
    """
    for chain in chains_of_bits(plan):
        costs = [
            one.epsilon
            for one in chain.members
            if one.terms.community in communities
            and not one.of.isdisjoint(spending_of(plan, one.terms).changed[pattern])
        ]
        if costs:
            yield max(costs)
