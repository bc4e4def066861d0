"""Whether patterns and rules fit the stream that a policy declares: its columns and its zones."""

from __future__ import annotations

from collections.abc import Iterator

from ppm.errors import Fault, did_you_mean
from ppm.protect.plan import Plan
from ppm.protect.terms import ColumnTerm
from ppm.spec.columns import Category, Drop, NoisyRule
from ppm.spec.document import Path
from ppm.spec.expression.declared import Condition
from ppm.spec.expression.functions import Kind
from ppm.spec.expression.kinds import ExpressionError, kind_of
from ppm.spec.load import Declared
from ppm.spec.pattern import Pattern
from ppm.spec.policy import Policy
from ppm.spec.stage import stages_with_places

_NUMBERS = (Kind.NUMBER, Kind.INTEGER)


def binding_faults(plan: Plan) -> Iterator[Fault]:
    """Everything that names a column or zone which the policy's stream does not have."""
    for declared in plan.patterns.values():
        for place, sentence in _pattern_faults(declared.spec, plan.policy):
            yield declared.fault(place, sentence)
    for question in plan.questions:
        for place, sentence in _pattern_faults(question.pattern, plan.policy):
            yield question.home.fault((*question.inside, *place), sentence)
    seen: set[Path] = set()
    for terms in plan.terms.values():
        for term in terms.columns:
            if term.place not in seen:
                seen.add(term.place)
                yield from _rule_faults(term, plan.declared)


def _pattern_faults(pattern: Pattern, policy: Policy) -> Iterator[tuple[Path, str]]:
    for name, event in pattern.events.items():
        yield from _condition_faults(event.where, ("events", name, "where"), policy)
        for column in event.stand_in or ():
            yield from _column_faults(column, ("events", name, "stand_in", column), policy)
            if column in (policy.stream.subject, policy.stream.time):
                place: Path = ("events", name, "stand_in", column)
                yield place, "is filled in by ppm: a stand-in has its subject and its slot's start"
    for stage, place in stages_with_places(pattern.stages):
        for key, condition in (("where", stage.where), ("until", stage.until)):
            if condition is not None:
                yield from _condition_faults(condition, (*place, key), policy)
    if pattern.window is not None and pattern.window.kind == "delta":
        place = ("window", "column")
        yield from _column_faults(pattern.window.column, place, policy, needs=_NUMBERS)
    if pattern.window is not None and pattern.window.kind == "punctuation":
        yield from _condition_faults(pattern.window.closes, ("window", "closes"), policy)


def _condition_faults(
    condition: Condition, place: Path, policy: Policy
) -> Iterator[tuple[Path, str]]:
    zones = policy.stream.zones
    for zone in sorted(condition.zones - zones.keys()):
        hint = did_you_mean(zone, sorted(zones)) or "; it has none"
        yield place, f"names the zone {zone}, which the policy {policy.name} does not have{hint}"
    try:
        kind = kind_of(condition.tree, policy.stream.types)
    except ExpressionError as error:
        yield place, f"{error} (as policy {policy.name} declares it)"
        return
    if kind not in (Kind.BOOLEAN, Kind.ANY):
        yield place, f"is {kind.value}; a predicate is needed, such as speed > 2.5"


def _column_faults(
    column: str, place: Path, policy: Policy, *, needs: tuple[Kind, ...] = ()
) -> Iterator[tuple[Path, str]]:
    types = policy.stream.types
    if types is None:
        return
    if column not in types:
        hint = did_you_mean(column, list(types))
        yield place, f"is {column}, a column that policy {policy.name} does not declare{hint}"
    elif needs and types[column].kind not in needs:
        yield (
            place,
            f"is {column}, which holds {types[column].kind.value}; {needs[0].value} is needed",
        )


def _rule_faults(term: ColumnTerm, policy: Declared[Policy]) -> Iterator[Fault]:
    stream = policy.spec.stream
    keys = {"latitude", "longitude"} if term.rule.rule == "geo" else {"column"}
    for key in sorted(keys):
        column: str = getattr(term.rule, key)
        place = (*term.place, key)
        if column in (stream.subject, stream.time):
            role = "subject" if column == stream.subject else "time"
            sentence = f"is {column}, the stream's {role}; rules are for other columns"
            yield policy.fault(place, sentence)
            continue
        needs = _needs(term)
        for where, sentence in _column_faults(column, place, policy.spec, needs=needs):
            yield policy.fault(where, sentence)
    scope = term.rule.where if isinstance(term.rule, NoisyRule) else None
    if scope is not None:
        place = (*term.place, "where")
        for where, sentence in _condition_faults(scope, place, policy.spec):
            yield policy.fault(where, sentence)


def _needs(term: ColumnTerm) -> tuple[Kind, ...]:
    if isinstance(term.rule, Drop):
        return ()
    return (Kind.TEXT,) if isinstance(term.rule, Category) else _NUMBERS
