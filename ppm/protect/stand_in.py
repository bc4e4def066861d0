"""Whether a stand-in passes for a row of its own type, and for no other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta

import pyarrow as pa
import pyarrow.compute as pc

from ppm.cep.predicate import evaluate
from ppm.errors import BindingError, Fault
from ppm.protect.plan import Plan
from ppm.protect.terms import Terms
from ppm.spec.expression.kinds import ColumnType, ExpressionError
from ppm.spec.load import Declared
from ppm.spec.pattern import EventType, Pattern
from ppm.spec.stream import Stream

_ARROW: Mapping[ColumnType, pa.DataType] = {
    ColumnType.STRING: pa.string(),
    ColumnType.INTEGER: pa.int64(),
    ColumnType.DOUBLE: pa.float64(),
    ColumnType.BOOLEAN: pa.bool_(),
    ColumnType.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    ColumnType.LOCAL_TIMESTAMP: pa.timestamp("us"),
}
_WEEK = 7 * 86_400_000_000
_MOST_SLOTS = 7 * 24 * 60
"""Slot starts that are tried: those of a week, or so many if slots are shorter than a minute."""


def stand_in_faults(plan: Plan) -> Iterator[Fault]:
    """Stand-ins that would betray themselves, or pass for something else."""
    declared = {
        (name, one): home for name, home in plan.patterns.items() for one in home.spec.events
    }
    types = {one: home.spec.events[one] for (_, one), home in declared.items()}
    for (_, name), home in declared.items():
        if home.spec.events[name].stand_in is not None:
            yield from _faults_of_one(name, home, types, plan.policy.stream)


def stand_ins_seen_by(plan: Plan, terms: Terms, pattern: Pattern) -> list[str]:
    """The private types whose stand-ins pass for something that a query asks under another name."""
    stream = plan.policy.stream
    released = plan.types(terms, "response", "joint-response")
    asked = {name: event for name, event in pattern.events.items() if name not in released}
    return [
        name
        for name, event in released.items()
        if event.stand_in is not None
        and any(_passing(other, _rows(event, asked, stream), stream) for other in asked.values())
    ]


def _passing(event: EventType, rows: pa.Table, stream: Stream) -> int:
    """How many rows satisfy the predicate of a type."""
    matches = evaluate(event.where.tree, rows, zones=stream.zones, timezone=stream.timezone)
    return int(pc.sum(pc.cast(pc.fill_null(matches, False), pa.int64())).as_py() or 0)


def _faults_of_one(
    name: str, home: Declared[Pattern], types: Mapping[str, EventType], stream: Stream
) -> Iterator[Fault]:
    place = ("events", name, "stand_in")
    try:
        rows = _rows(home.spec.events[name], types, stream)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError):
        yield home.fault(place, "has values that do not fit the columns that the policy declares")
        return
    for other, event in {**types, name: home.spec.events[name]}.items():
        try:
            count = _passing(event, rows, stream)
        except (BindingError, ExpressionError):
            continue  # told by the binding of the predicate itself
        if other == name and count == 0:
            yield home.fault(place, f"does not satisfy its own predicate, {event.where}")
        elif other == name and count < rows.num_rows:
            yield home.fault(
                place,
                f"does not satisfy its own predicate in every slot ({event.where}); a stand-in "
                f"stands at its slot's start, so the predicate cannot ask for the time of day",
            )
        elif other != name and count > 0:
            yield home.fault(
                place, f"satisfies {other} as well ({event.where}); choose other values"
            )


def _rows(event: EventType, types: Mapping[str, EventType], stream: Stream) -> pa.Table:
    """The stand-in of each subject and slot of a week, nulls where nothing is declared."""
    values = event.stand_in or {}
    read = {column for one in types.values() for column in one.where.columns}
    slots = min(_MOST_SLOTS, -(-_WEEK // stream.slot.microseconds))
    subjects = (None,) if stream.subjects == "seen" else stream.subjects
    size = max(slots, len(subjects))
    step = timedelta(microseconds=stream.slot.microseconds)
    known = stream.types or {}
    columns: dict[str, pa.Array] = {}
    for column in sorted(read | values.keys()):
        # Without a declared type, a column is what its stand-in is; an absent one is null.
        kind = _ARROW[known[column]] if column in known else None
        if column == stream.time:
            starts = [stream.from_ + step * (row % slots) for row in range(size)]
            columns[column] = pa.array(starts, _ARROW[ColumnType.TIMESTAMP])
        elif column == stream.subject:
            whose = [subjects[row % len(subjects)] for row in range(size)]
            columns[column] = pa.array(whose, pa.string()).cast(kind or pa.string())
        else:
            columns[column] = pa.array([values.get(column)] * size, kind)
    return pa.table(columns) if columns else pa.table({"": pa.nulls(size)})
