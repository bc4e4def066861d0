"""What kind of value each part of a predicate has, so that nonsense is refused before any row."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from ppm.errors import did_you_mean
from ppm.spec.expression.functions import FUNCTIONS, STAGE_FUNCTIONS, Kind
from ppm.spec.expression.nodes import (
    Arithmetic,
    Call,
    Column,
    Compare,
    In,
    IsNull,
    Like,
    Literal,
    Logic,
    Moment,
    Negate,
    Node,
    Not,
    StageValue,
)
from ppm.spec.expression.text import to_sql


class ExpressionError(ValueError):
    """A predicate is not of the language; the message says what, for the end of a sentence."""


class ColumnType(StrEnum):
    """What a column of the stream can hold, as far as predicates are concerned."""

    STRING = "string"
    INTEGER = "integer"
    DOUBLE = "double"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"
    LOCAL_TIMESTAMP = "local_timestamp"

    @property
    def kind(self) -> Kind:
        """The kind of the column's values."""
        return _KIND_OF_COLUMN[self]


_KIND_OF_COLUMN = {
    ColumnType.STRING: Kind.TEXT,
    ColumnType.INTEGER: Kind.INTEGER,
    ColumnType.DOUBLE: Kind.NUMBER,
    ColumnType.BOOLEAN: Kind.BOOLEAN,
    ColumnType.TIMESTAMP: Kind.TIME,
    ColumnType.LOCAL_TIMESTAMP: Kind.LOCAL_TIME,
}


def kind_of(node: Node, columns: Mapping[str, ColumnType] | None = None) -> Kind:
    """The kind of a node's value, or an `ExpressionError`.

    Without `columns` the kind of a column is not known and fits everywhere; with them, an unknown
    column is an error too.
    """
    match node:
        case Literal(value=value):
            return _kind_of_scalar(value)
        case Moment():
            return Kind.TIME
        case Column(name=name):
            return _kind_of_column(name, columns)
        case StageValue(function=function, column=column):
            if column is None:
                return Kind.INTEGER
            kind = _kind_of_column(column, columns)
            if STAGE_FUNCTIONS[function].needs_number:
                _need(Kind.NUMBER, kind, node, f"{function}() needs a number")
                return Kind.NUMBER
            return kind
        case Negate(operand=operand):
            _need(Kind.NUMBER, kind_of(operand, columns), operand, "- needs a number")
            return Kind.NUMBER
        case Arithmetic(operator=operator):
            for side in (node.left, node.right):
                _need(Kind.NUMBER, kind_of(side, columns), side, f"{operator} needs numbers")
            return Kind.NUMBER
        case Not(operand=operand):
            _need(Kind.BOOLEAN, kind_of(operand, columns), operand, "NOT needs a truth value")
            return Kind.BOOLEAN
        case Logic(operator=operator):
            for side in (node.left, node.right):
                _need(Kind.BOOLEAN, kind_of(side, columns), side, f"{operator} needs truth values")
            return Kind.BOOLEAN
        case Compare():
            _same_kind(node.left, node.right, columns, node)
            return Kind.BOOLEAN
        case In(operand=operand, values=values):
            for listed in values:
                _same_kind(operand, listed, columns, node)
                _same_kind(values[0], listed, columns, node)
            return Kind.BOOLEAN
        case Like(operand=operand):
            _need(Kind.TEXT, kind_of(operand, columns), operand, "LIKE needs text")
            return Kind.BOOLEAN
        case IsNull(operand=operand):
            kind_of(operand, columns)
            return Kind.BOOLEAN
        case Call():
            return _kind_of_call(node, columns)


def _kind_of_scalar(value: object) -> Kind:
    if isinstance(value, bool):
        return Kind.BOOLEAN
    if isinstance(value, int):
        return Kind.INTEGER
    return Kind.NUMBER if isinstance(value, float) else Kind.TEXT


def _kind_of_column(name: str, columns: Mapping[str, ColumnType] | None) -> Kind:
    if columns is None:
        return Kind.ANY
    if name not in columns:
        raise ExpressionError(
            f"reads the column {name}, which the stream does not have"
            + did_you_mean(name, list(columns))
        )
    return columns[name].kind


def _kind_of_call(call: Call, columns: Mapping[str, ColumnType] | None) -> Kind:
    function = FUNCTIONS[call.function]
    kinds = [kind_of(argument, columns) for argument in call.arguments]
    if call.function == "coalesce":
        for argument in call.arguments[1:]:
            _same_kind(call.arguments[0], argument, columns, call)
        return _widest(kinds)
    for position, kind in enumerate(kinds):
        allowed = function.argument(position)
        if not any(_fits(kind, one) for one in allowed):
            words = " or ".join(one.value for one in allowed)
            raise ExpressionError(
                f"has {to_sql(call)}, where argument {position + 1} is {kind.value}; "
                f"{call.function}() needs {words} there"
            )
    return function.result


def _same_kind(
    left: Node, right: Node, columns: Mapping[str, ColumnType] | None, whole: Node
) -> None:
    one, other = kind_of(left, columns), kind_of(right, columns)
    if not (_fits(one, other) or _fits(other, one)):
        raise ExpressionError(f"has {to_sql(whole)}, which compares {one.value} with {other.value}")


def _need(wanted: Kind, found: Kind, node: Node, sentence: str) -> None:
    if not _fits(found, wanted):
        raise ExpressionError(f"has {to_sql(node)}, which is {found.value}; {sentence}")


def _fits(found: Kind, wanted: Kind) -> bool:
    return Kind.ANY in (found, wanted) or found is wanted or (found, wanted) == _INTEGER_AS_NUMBER


def _widest(kinds: list[Kind]) -> Kind:
    if Kind.ANY in kinds:
        return Kind.ANY
    return Kind.NUMBER if Kind.NUMBER in kinds else kinds[0]


_INTEGER_AS_NUMBER = (Kind.INTEGER, Kind.NUMBER)
