"""What consumers ask of the released stream, as far as an allocation can follow it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from ppm.dp.allocation.need import Need
from ppm.errors import listed
from ppm.protect.overlap import reached
from ppm.protect.plan import Plan, Question
from ppm.protect.spans import sees_every_row, slots_spanned
from ppm.protect.stand_in import stand_ins_seen_by
from ppm.protect.terms import Terms
from ppm.spec.pattern import Pattern


@lru_cache(maxsize=1024)
def needs_in(plan: Plan, terms: Terms) -> tuple[Need, ...]:
    """What the transparent consumers of a community need of its released rows."""
    return needs_of(plan, terms, guiding(plan, terms))


def guiding(plan: Plan, terms: Terms) -> list[Question]:
    """The queries that may guide an allocation: ppm knows who asks, and they read released rows."""
    return [
        question
        for question in plan.asked_in(terms.community)
        if question.consumer.spec.model == "transparent" and not question.is_answered_on_truth
    ]


def needs_of(plan: Plan, terms: Terms, questions: Iterable[Question]) -> tuple[Need, ...]:
    """What some queries need; those that no allocation helps are left out.

    In an order of their own: which file or line a query stands in must not decide between equals.
    """
    found = (need_of(plan, terms, question) for question in questions)
    return tuple(sorted((need for need in found if need is not None), key=_rank))


def _rank(need: Need) -> tuple[object, ...]:
    return (-need.weight, sorted(need.types), need.alpha, need.name)


def need_of(plan: Plan, terms: Terms, question: Question) -> Need | None:
    """The private types that a query needs together; None if it needs none, or cannot be asked.

    A query of which no closed form speaks counts as one for all of its private types at once.
    """
    pattern = question.pattern
    released = plan.types(terms, "response", "joint-response")
    dropped, _ = changed_columns(terms, pattern)
    if dropped or plan.types(terms, "answers").keys() & (required_types(pattern) or ()):
        return None
    types = released.keys() & {*types_in_stages(pattern), *stand_ins_seen_by(plan, terms, pattern)}
    if not types:
        return None
    query = question.query
    name = f"{question.consumer.spec.name}: {query.name}"
    return Need(name, frozenset(types), query.weight, query.preference)


def obstacle(plan: Plan, terms: Terms, pattern: Pattern) -> str | None:
    """Why no closed form speaks of a query, if none does."""
    private = plan.types(terms)
    has_decoys = bool(terms.by("decoy-windows"))
    held_back = plan.types(terms, "response", "joint-response", "answers")
    shared = private.keys() & set(pattern.types)
    invented = stand_ins_seen_by(plan, terms, pattern)
    others = {name: event for name, event in pattern.events.items() if name not in held_back}
    hidden = sorted(reached(plan, others, held_back))
    if invented:
        return f"stand-ins of {listed(invented)} count in it"
    if hidden:
        return f"rows that are {listed(hidden)} as well do not count in it"
    if sees_every_row(pattern) and private:
        return "rows of every type count in it"
    if has_decoys and slots_spanned(pattern, plan.slot) is None:
        return "without within it spans any number of slots"
    if has_decoys and any(stage.is_absence for stage in pattern.all_stages):
        return "a withheld slot looks like absence"
    if shared & held_back.keys():
        asked = required_types(pattern)
        if asked is None:
            return "it takes more than one event of each type in a slot"
        if asked - held_back.keys():
            return "stand-ins stand at their slot's start, so their order with other rows is lost"
    return None


def types_in_stages(pattern: Pattern) -> frozenset[str]:
    """The types that a pattern uses; others are declared because they go together with these."""
    events = [stage.event for stage in pattern.all_stages]
    used = frozenset(event for event in events if event is not None)
    return frozenset(pattern.types) if None in events else used


def required_types(pattern: Pattern) -> frozenset[str] | None:
    """The types whose presence in a slot makes a match; None if it takes more than that."""
    stages = pattern.all_stages
    plain = all(
        stage.event is not None
        and stage.times.fewest == 1
        and not (stage.is_absence or stage.optional)
        and stage.where is None
        and (stage.gap is None or stage.gap.min is None)
        for stage in stages
    )
    types = [stage.event for stage in stages if stage.event is not None]
    return frozenset(types) if plain and len(set(types)) == len(types) else None


def changed_columns(terms: Terms, pattern: Pattern) -> tuple[list[str], list[str]]:
    """The columns that a query reads and the community does not see as they are."""
    rules = {
        column: term.rule.rule
        for column in sorted(pattern.columns)
        for term in terms.rules_on(column)
    }
    dropped = [column for column, rule in rules.items() if rule == "drop"]
    changed = [column for column, rule in rules.items() if rule != "drop"]
    return dropped, changed
