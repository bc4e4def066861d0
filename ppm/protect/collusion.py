"""What communities learn together when they compare notes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from ppm.dp.composition import colluding_independent, colluding_nested, colluding_response
from ppm.dp.decoy import slots_of_event
from ppm.protect.nesting import groups_in_chains, nested_terms
from ppm.protect.overlap import reached
from ppm.protect.plan import Plan
from ppm.protect.spans import sees_every_row
from ppm.protect.spending import Spending, spending_of
from ppm.protect.terms import Terms


@dataclass(frozen=True, slots=True)
class Together:
    """What all communities of a policy learn about one slot of a pattern, if they collude."""

    epsilon: float | None
    """None if one of them sees the pattern as it is."""
    is_one_sided: bool
    """Whether some of them see true slots, so that absence is not hidden."""
    raw: tuple[str, ...]
    """The communities that are not kept from the pattern, and so void the others' protection."""


@lru_cache(maxsize=4096)
def colluding(plan: Plan, pattern: str) -> Together:
    """What the communities of a plan learn together about one slot of a private pattern."""
    raw = tuple(name for name, terms in plan.terms.items() if sees_raw(plan, terms, pattern))
    if raw:
        return Together(None, is_one_sided=False, raw=raw)
    guarding = [terms for terms in plan.terms.values() if pattern in terms.guarded]
    spent = {terms.community: spending_of(plan, terms) for terms in guarding}
    # Who is told nothing of the pattern adds nothing.
    kept = [terms for terms in guarding if spent[terms.community].of(pattern) > 0]
    nested = [terms for terms in kept if terms.collusion == "nested"]
    alone = [terms for terms in kept if terms.collusion == "independent"]
    decoyed = [terms for terms in kept if terms.guarded[pattern].mechanism == "decoy-windows"]
    reach = 1
    if 0 < len(decoyed) < len(kept):
        # The others pay for a slot whose rows change, and such a change can free many slots.
        names = {name for terms in decoyed for name in terms.by("decoy-windows")}
        spans = [plan.pattern(name).within for name in names]
        longest = max(span.microseconds for span in spans if span is not None)
        reach = slots_of_event(longest, plan.slot)
    costs = [
        _of_chains(pattern, [one], joint=[g.epsilon for g in one.groups_of(pattern)], reach=reach)
        for one in (spent[terms.community] for terms in alone)
    ]
    chained = {terms.community: spent[terms.community] for terms in nested}
    joint = _of_groups(plan, pattern, chained)
    costs.append(_of_chains(pattern, [*chained.values()], joint=joint, reach=reach))
    return Together(math.fsum(costs), is_one_sided=bool(decoyed), raw=())


def sees_raw(plan: Plan, terms: Terms, pattern: str) -> bool:
    """Whether a community is told of a pattern without protection."""
    if pattern in terms.guarded:
        return False
    if terms.releases_rows:
        return True
    types = plan.pattern(pattern).events
    return any(
        sees_every_row(question.pattern) or reached(plan, question.pattern.events, types)
        for question in plan.asked_in(terms.community)
        if question.is_answered_on_truth
    )


def _of_chains(pattern: str, spent: list[Spending], *, joint: Iterable[float], reach: int) -> float:
    decoys: dict[frozenset[str], list[float]] = {}
    for one in spent:
        if one.decoys and pattern in one.decoys.patterns:
            decoys.setdefault(one.decoys.patterns, []).append(one.decoys.epsilon)
    answers = [a.slots * a.epsilon for s in spent for a in s.answers if pattern in a.patterns]
    return math.fsum(
        [
            _of_bits(pattern, spent),
            *joint,
            *(reach * colluding_nested(epsilons) for epsilons in decoys.values()),
            colluding_independent(answers),
        ]
    )


def _of_bits(pattern: str, spent: list[Spending]) -> float:
    """What the chains of single types cost, each of them its largest share.

    Each community's allocation may favour other types, so it may be more than any of them pays.
    """
    return colluding_response(
        {name: share for name, share in one.shares.items() if name in one.changed[pattern]}
        for one in spent
    )


def _of_groups(plan: Plan, pattern: str, spent: Mapping[str, Spending]) -> Iterator[float]:
    """What each chain of joint groups costs: the first group that the pattern's rows may change."""
    for chain in groups_in_chains(plan, nested_terms(plan)):
        told = [
            group.epsilon
            for terms, group in chain.members
            if terms.community in spent and group in spent[terms.community].groups_of(pattern)
        ]
        yield from told[:1]
