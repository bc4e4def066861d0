"""Whether a stand-in passes for a row of its own type, and for no other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ppm.cep.rowwise import answer
from ppm.errors import BindingError, Fault, listed
from ppm.protect.plan import Plan
from ppm.protect.terms import Terms
from ppm.spec.expression.functions import Kind
from ppm.spec.expression.kinds import ColumnType, ExpressionError
from ppm.spec.expression.lower import lower
from ppm.spec.expression.nodes import Literal, Logic, Node, Not, columns_of
from ppm.spec.load import Declared
from ppm.spec.pattern import EventType, Pattern
from ppm.spec.stream import Stream


def stand_in_faults(plan: Plan) -> Iterator[Fault]:
    """Stand-ins that would betray themselves, or pass for something else."""
    types = {
        name: event for home in plan.patterns.values() for name, event in home.spec.events.items()
    }
    for home in plan.patterns.values():
        for name, event in home.spec.events.items():
            if event.stand_in is not None:
                yield from _faults_of_one(name, home, types, plan.policy.stream)


def stand_ins_seen_by(plan: Plan, terms: Terms, pattern: Pattern) -> list[str]:
    """The private types whose stand-ins pass for something that a query asks under another name."""
    stream = plan.policy.stream
    released = plan.types(terms, "response", "joint-response")
    asked = [event for name, event in pattern.events.items() if name not in released]
    return [
        name
        for name, event in released.items()
        if event.stand_in is not None
        and any(_may_pass_for(other, event.stand_in, stream) for other in asked)
    ]


def _faults_of_one(
    name: str, home: Declared[Pattern], types: Mapping[str, EventType], stream: Stream
) -> Iterator[Fault]:
    event = home.spec.events[name]
    values = event.stand_in or {}
    place = ("events", name, "stand_in")
    own = {name: one for name, one in values.items() if name not in (stream.time, stream.subject)}
    unfit = misfits(own, stream.types or {})
    if unfit:
        yield home.fault(place, f"has values that do not fit the declared {listed(unfit)}")
        return
    varying = sorted(event.where.columns & {stream.time, stream.subject})
    if varying:
        yield home.fault(
            ("events", name, "where"),
            f"reads {listed(varying)}; a stand-in stands for every subject, at the start of every "
            "slot, so the predicate of its type cannot ask for them",
        )
    elif _passes_for(event.where.tree, values, stream) is False:
        yield home.fault(place, f"does not satisfy its own predicate, {event.where}")
    for other, one in types.items():
        if other != name and _may_pass_for(one, values, stream):
            yield home.fault(place, f"satisfies {other} as well ({one.where}); choose other values")


def misfits(values: Mapping[str, object], types: Mapping[str, ColumnType]) -> list[str]:
    """The columns whose type a stand-in's value is not of."""
    kinds = {bool: Kind.BOOLEAN, int: Kind.INTEGER, float: Kind.NUMBER, str: Kind.TEXT}
    return [
        column
        for column, value in values.items()
        if column in types
        and types[column].kind is not kinds[type(value)]
        and (types[column].kind, type(value)) != (Kind.NUMBER, int)
    ]


def _may_pass_for(event: EventType, values: Mapping[str, object], stream: Stream) -> bool:
    """Whether a stand-in satisfies a predicate for some subject and in some slot."""
    varying = frozenset({stream.time, stream.subject})
    return _passes_for(_at_best(event.where.tree, varying, is_true=True), values, stream) is True


def _at_best(node: Node, varying: frozenset[str], *, is_true: bool) -> Node:
    """The predicate with everything that reads a varying column as true (or false) as it can be."""
    match node:
        case Logic():
            return Logic(
                node.operator,
                _at_best(node.left, varying, is_true=is_true),
                _at_best(node.right, varying, is_true=is_true),
            )
        case Not(operand=operand):
            return Not(_at_best(operand, varying, is_true=not is_true))
        case _:
            return Literal(is_true) if columns_of(node) & varying else node


def _passes_for(tree: Node, values: Mapping[str, object], stream: Stream) -> bool | None:
    """Whether a stand-in satisfies a predicate; None if the predicate does not fit the stream."""
    row = {column: values.get(column) for column in columns_of(tree)}
    if stream.types is not None and not row.keys() <= stream.types.keys():
        return None
    try:
        return answer(lower(tree, stream.zones), row, timezone=stream.timezone) is True
    except (BindingError, ExpressionError):
        return None  # the binding of the predicate tells why
