"""Which types may hold of one and the same row, so that telling of one tells of the other."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from ppm.dp.composition import groups_by_shared_types
from ppm.protect.plan import Plan
from ppm.protect.terms import Terms
from ppm.spec.expression.declared import Predicate
from ppm.spec.expression.disjoint import may_overlap
from ppm.spec.pattern import EventType


def reached(
    plan: Plan, types: Mapping[str, EventType], among: Mapping[str, EventType]
) -> frozenset[str]:
    """The types of `among` that rows of `types` may be of as well; equal names always are."""
    return frozenset(
        name
        for name, event in among.items()
        if name in types or any(_overlap(plan, event.where, one.where) for one in types.values())
    )


@lru_cache(maxsize=65_536)
def _overlap(plan: Plan, one: Predicate, other: Predicate) -> bool:
    return may_overlap(one.tree, other.tree, plan.policy.stream.zones)


def private_types_of_rows(plan: Plan, terms: Terms, pattern: str) -> frozenset[str]:
    """The private types of a community that may change with the rows of a pattern's types."""
    return reached(plan, plan.pattern(pattern).events, plan.types(terms))


def groups(plan: Plan, terms: Terms, *mechanisms: str) -> tuple[frozenset[str], ...]:
    """The protected patterns whose rows may be the same, directly or through others."""
    names = terms.by(*mechanisms) if mechanisms else terms.guarded
    among = plan.types(terms, *mechanisms)
    return groups_by_shared_types(
        {name: reached(plan, plan.pattern(name).events, among) for name in names}
    )
