"""The numbers of a promise: what one slot, one match, a day and a horizon may tell."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ppm.dp.composition import DAY, slots_cost
from ppm.dp.decoy import slots_of_event, slots_of_match
from ppm.dp.filter import Filter
from ppm.protect.collusion import Together, colluding
from ppm.protect.horizon import hard_stop, related_patterns, stopped_together
from ppm.protect.plan import Plan
from ppm.protect.spans import slots_spanned
from ppm.protect.spending import Spending, spending_of
from ppm.protect.terms import Terms


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What one community may learn about one subject and one private pattern, as epsilons."""

    pattern: str
    mechanism: str
    declared: float
    """The budget that the policy gives a slot."""
    slot: float
    """What one slot costs: a change of its bits, or, under decoys, each slot that matches free."""
    match_slots: int | None
    """The most slots of one match; None if the pattern has no `within`."""
    match: float | None
    """What one match costs at most."""
    match_once: float | None
    """Under `response`: what it costs if each type occurs in one slot only; None if rows may be of
    other types too."""
    shared_event: float | None
    """Under decoys: what removing one event costs that many matches share."""
    day: float
    """What a change of 24 hours costs."""
    horizon: float | None
    """What all that is released within a horizon tells at most, if the policy has one."""
    paid_slots: int | None
    """How many slots are released before the budget is spent, and again after the horizon."""
    together: Together

    @property
    def is_one_sided(self) -> bool:
        """Whether only presence is hidden, not absence."""
        return self.mechanism == "decoy-windows"


def guarantees(plan: Plan, terms: Terms) -> tuple[Guarantee, ...]:
    """The guarantee for every pattern that a community is kept from."""
    spending = spending_of(plan, terms)
    related = related_patterns(plan, terms)
    return tuple(
        _guarantee(plan, terms, name, spending, stopped_together(terms, spending, name, related))
        for name in terms.guarded
    )


def _guarantee(
    plan: Plan, terms: Terms, name: str, spending: Spending, related: Collection[str]
) -> Guarantee:
    one, cost, slot = terms.guarded[name], spending.of(name), plan.slot
    stop = hard_stop(plan, terms, name)
    paid = None if stop is None else stop.paid
    day = _slots_in_a_day(stop, slot)
    slots = slots_spanned(plan.pattern(name), slot)
    shared = None
    if one.mechanism == "decoy-windows":
        # An event may be part of a match of every decoy pattern whose rows may be the same.
        spans = [plan.pattern(other).within for other in related]
        longest = max(span.microseconds for span in spans if span is not None)
        if len(related) > 1:
            slots = slots_of_match(longest, slot)
        shared = slots_cost(cost, slots_of_event(longest, slot))
        # Matches that the changed day has a part in reach into the days around it.
        day += slots_of_event(longest, slot) - 1
    return Guarantee(
        pattern=name,
        mechanism=one.mechanism,
        declared=one.epsilon,
        slot=cost,
        match_slots=slots,
        match=None if slots is None else slots_cost(cost, slots),
        match_once=cost
        if one.mechanism == "response" and spending.changed[name] == spending.types[name]
        else None,
        shared_event=shared,
        day=slots_cost(cost, day),
        horizon=None if paid is None else slots_cost(cost, paid),
        paid_slots=paid,
        together=colluding(plan, name),
    )


def _slots_in_a_day(stop: Filter | None, slot: int) -> int:
    """The most slots that 24 hours touch, from a slot's border where slots divide the day."""
    slots = DAY // slot if DAY % slot == 0 else (DAY - 1) // slot + 2
    return slots if stop is None else stop.open_within(slots)
