"""Whether a DataFrame is the stream that a policy declares; every fault at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from ppm.errors import BindingError, did_you_mean
from ppm.protect.compile import private_types
from ppm.protect.plan import Plan
from ppm.protect.stand_in import misfits
from ppm.spark.binding import column_names, refuse_types
from ppm.spark.predicate import column_type
from ppm.spec.columns import Snap, columns_of_rule
from ppm.spec.expression.functions import Kind
from ppm.spec.expression.kinds import ColumnType
from ppm.spec.expression.lower import bind


def plain_schema(rows: DataFrame) -> T.StructType:
    """Names and types alone: comments and watermarks may change while a stream goes on."""
    return T.StructType([T.StructField(one.name, one.dataType) for one in rows.schema])


def binding_faults(rows: DataFrame, plan: Plan, *, taken: Collection[str]) -> Iterator[str]:
    """Everything about a DataFrame that a policy's stream cannot be."""
    names, stream = column_names(rows), plan.policy.stream
    roles = [("subject", stream.subject), ("time", stream.time)]
    missing = [(role, name) for role, name in roles if name not in names]
    for role, name in missing:
        hint = did_you_mean(name, names)
        yield f"stream.{role} is {name}, which the DataFrame does not have{hint}"
    if not missing:
        try:
            refuse_types(rows.schema, subject=stream.subject, time=stream.time, event_id=None)
        except BindingError as error:
            yield from str(error).split("\n")
    for name in names:
        if name.casefold() in taken:
            yield f"the DataFrame has a column {name}, which ppm adds; rename it"
    yield from _declared(rows, plan)
    yield from _types(rows, plan)
    yield from _rules(rows, plan)


def _declared(rows: DataFrame, plan: Plan) -> Iterator[str]:
    """Columns that the policy declares, and the DataFrame has otherwise."""
    for name, declared in (plan.policy.stream.types or {}).items():
        if name not in rows.columns:
            hint = did_you_mean(name, rows.columns)
            yield f"stream.columns has {name}, which the DataFrame does not have{hint}"
        else:
            found = column_type(rows.schema[name].dataType)
            if found != declared:
                said = found.value if isinstance(found, ColumnType) else found
                yield f"the column {name} is {said}; the policy declares {declared.value}"


def _types(rows: DataFrame, plan: Plan) -> Iterator[str]:
    """Predicates and stand-ins of private types that the columns do not fit."""
    given = [(field.name, column_type(field.dataType)) for field in rows.schema]
    known = {name: found for name, found in given if isinstance(found, ColumnType)}
    for name, event in private_types(plan).items():
        try:
            bind(event.where.tree, given)
        except BindingError as error:
            yield f"the event type {name}: {error}"
        for column in event.stand_in or ():
            if column not in rows.columns:
                hint = did_you_mean(column, rows.columns)
                yield f"the stand-in of {name} has {column}, which the DataFrame has not{hint}"
        for column in misfits(event.stand_in or {}, known):
            yield f"the stand-in of {name} has a {column} that is no {known[column].value}"
        for column, value in (event.stand_in or {}).items():
            if column in rows.columns and not _fits(value, rows.schema[column].dataType):
                yield f"the stand-in of {name} is too large for the column {column}"


def _rules(rows: DataFrame, plan: Plan) -> Iterator[str]:
    for terms in plan.terms.values():
        for term in terms.columns if terms.releases_rows else ():
            for column in columns_of_rule(term.rule):
                if column not in rows.columns:
                    hint = did_you_mean(column, rows.columns)
                    yield f"a {term.rule.rule} rule of {terms.community} is for {column}{hint}"
                elif isinstance(term.rule, Snap) and not _is_number(rows, column):
                    yield f"a snap rule of {terms.community} is for {column}, which is no number"


def _is_number(rows: DataFrame, column: str) -> bool:
    found = column_type(rows.schema[column].dataType)
    return isinstance(found, ColumnType) and found.kind in (Kind.NUMBER, Kind.INTEGER)


def _fits(value: object, kind: T.DataType) -> bool:
    """Whether a whole number fits a narrow column; a cast would fail in the running query."""
    widths: dict[type[T.DataType], int] = {T.ByteType: 8, T.ShortType: 16, T.IntegerType: 32}
    bits = widths.get(type(kind), 64)
    if not isinstance(kind, T.IntegralType) or not isinstance(value, int):
        return True
    return -(1 << bits - 1) <= value < 1 << bits - 1
