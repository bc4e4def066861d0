"""Which slots a community is told of while its budget over a horizon lasts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from ppm.dp.filter import Filter
from ppm.protect.overlap import groups
from ppm.protect.plan import Plan
from ppm.protect.spending import Spending, spending_of
from ppm.protect.terms import Terms


@lru_cache(maxsize=4096)
def hard_stop(plan: Plan, terms: Terms, name: str) -> Filter | None:
    """The filter of a pattern: of all patterns that stop together, the first to stop."""
    if terms.horizon is None:
        return None
    spending = spending_of(plan, terms)
    stops = [
        Filter.of(
            epsilon=spending.of(other),
            budget=terms.horizon.epsilon,
            over=terms.horizon.over.microseconds,
            slot=plan.slot,
        )
        for other in stopped_together(terms, spending, name, related_patterns(plan, terms))
    ]
    return min(stops, default=None, key=lambda stop: stop.paid)


def related_patterns(plan: Plan, terms: Terms) -> Mapping[str, frozenset[str]]:
    """For each protected pattern, those whose rows may be the same, itself included."""
    return {name: group for group in groups(plan, terms) for name in group}


def stopped_together(
    terms: Terms, spending: Spending, name: str, related: Mapping[str, frozenset[str]]
) -> list[str]:
    """The patterns of one mechanism that share rows or answers: what stops one stops the others."""
    answers = [answer.patterns for answer in spending.answers if name in answer.patterns]
    linked = related[name].union(*answers)
    return [other for other in terms.by(terms.guarded[name].mechanism) if other in linked]
