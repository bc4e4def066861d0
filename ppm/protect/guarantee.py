"""The numbers of a promise: what one slot, one match, a day and a horizon may tell."""

from __future__ import annotations

from dataclasses import dataclass

from ppm.dp.composition import DAY, slots_cost, slots_in, slots_paid
from ppm.dp.decoy import slots_of_event
from ppm.protect.collusion import Together, colluding
from ppm.protect.plan import Plan
from ppm.protect.spending import slots_spanned, spending_of
from ppm.protect.terms import Terms
from ppm.spec.policy import Horizon


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What one community may learn about one subject and one private pattern, as epsilons."""

    pattern: str
    mechanism: str
    declared: float
    """The budget that the policy gives a slot."""
    slot: float
    """What a change of one slot costs; at most what is declared."""
    match_slots: int | None
    """The most slots of one match; None if the pattern has no `within`."""
    match: float | None
    """What one match costs at most."""
    shared_event: float | None
    """Under decoys: what removing one event costs that many matches share."""
    day: float
    horizon: float | None
    """What a whole horizon costs, if the policy has one."""
    paid_slots: int | None
    """How many slots of each horizon are released before the budget is spent."""
    together: Together

    @property
    def is_one_sided(self) -> bool:
        """Whether only presence is hidden, not absence."""
        return self.mechanism == "decoy-windows"


def guarantees(plan: Plan, terms: Terms) -> tuple[Guarantee, ...]:
    """The guarantee for every pattern that a community is kept from."""
    spending = spending_of(plan, terms)
    found = []
    for name, one in terms.guarded.items():
        pattern = plan.pattern(name)
        cost = spending.of(name, pattern)
        slots = slots_spanned(pattern, plan.slot)
        decoyed = one.mechanism == "decoy-windows" and pattern.within is not None
        paid = _paid_slots(terms.horizon, cost, plan.slot)
        found.append(
            Guarantee(
                pattern=name,
                mechanism=one.mechanism,
                declared=one.epsilon,
                slot=cost,
                match_slots=slots,
                match=None if slots is None else slots_cost(cost, slots),
                shared_event=slots_cost(
                    cost, slots_of_event(pattern.within.microseconds, plan.slot)
                )
                if decoyed and pattern.within is not None
                else None,
                day=slots_cost(cost, _slots_in_a_day(terms.horizon, paid, plan.slot)),
                horizon=None if paid is None else slots_cost(cost, paid),
                paid_slots=paid,
                together=colluding(plan, name),
            )
        )
    return tuple(found)


def _paid_slots(horizon: Horizon | None, cost: float, slot: int) -> int | None:
    if horizon is None:
        return None
    most = slots_in(horizon.over.microseconds, slot)
    return most if cost == 0 else min(most, slots_paid(horizon.epsilon, cost))


def _slots_in_a_day(horizon: Horizon | None, paid: int | None, slot: int) -> int:
    """The most slots that are released in a day, whenever the day starts."""
    slots = slots_in(DAY, slot)
    if horizon is None or paid is None:
        return slots
    # A day touches one horizon more than it is long, if it starts inside one.
    return min(slots, paid * (-(-DAY // horizon.over.microseconds) + 1))
