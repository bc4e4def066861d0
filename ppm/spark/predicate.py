"""Predicates as Spark columns: Catalyst evaluates them, and no row leaves the JVM.

The answers are those of `ppm.cep.predicate`, null for null. They depend neither on the session's
time zone nor on ANSI mode, and no row's value can make a query fail.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import TypeAlias

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ppm.errors import InternalError
from ppm.spec.expression.functions import CLOCK, FUNCTIONS, WEEK, ZONE_RULES, ClockPart, Kind
from ppm.spec.expression.kinds import ColumnType
from ppm.spec.expression.lower import bind, lower
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
    Scalar,
)
from ppm.spec.expression.text import to_sql
from ppm.spec.zone import Zone

Typed: TypeAlias = tuple[Kind, str]
"""The kind of an expression, and Spark's SQL for it."""

_BINARY = "UTF8_BINARY"


def to_column(
    node: Node, schema: T.StructType, *, zones: Mapping[str, Zone], timezone: str
) -> SparkColumn:
    """The column that says of each row: true, false, or null for unknown."""
    bind(node, [(field.name, column_type(field.dataType)) for field in schema])
    # As one text, because Spark's Python functions call the JVM a dozen times for each operator.
    # With calls for operators, because Spark's parser guesses at each bracket, and keeps the guess.
    return F.expr(_Compiler(schema, timezone).value(lower(node, zones))[1])


def column_type(spark: T.DataType) -> ColumnType | str:
    """What predicates take a Spark column for, or the name of a type that they do not know.

    >>> column_type(T.ShortType()), column_type(T.DecimalType(10, 2))
    (<ColumnType.INTEGER: 'integer'>, 'decimal(10,2)')
    """
    match spark:
        case T.StringType():
            return ColumnType.STRING
        case T.ByteType() | T.ShortType() | T.IntegerType() | T.LongType():
            return ColumnType.INTEGER
        case T.FloatType() | T.DoubleType():
            return ColumnType.DOUBLE
        case T.BooleanType():
            return ColumnType.BOOLEAN
        case T.TimestampType():
            return ColumnType.TIMESTAMP
        case T.TimestampNTZType():
            return ColumnType.LOCAL_TIMESTAMP
    return spark.simpleString()


class _Compiler:
    """Turns the nodes of one predicate into SQL, each node object once."""

    def __init__(self, schema: T.StructType, timezone: str) -> None:
        self._schema = schema
        self._timezone = timezone
        self._known: dict[int, Typed] = {}

    def value(self, node: Node) -> Typed:
        """A node's kind and SQL, with no NaN in its values."""
        if id(node) not in self._known:
            self._known[id(node)] = self._compiled(node)
        return self._known[id(node)]

    def _compiled(self, node: Node) -> Typed:
        match node:
            case Literal(value=value):
                return _literal(value)
            case Moment(micros=micros):
                return Kind.TIME, f"timestamp_micros({micros}L)"
            case Column(name=name):
                return _column(self._schema[name])
            case Negate() | Arithmetic():
                return Kind.NUMBER, _null_for_nan(self._number(node))
            case Not(operand=operand):
                return Kind.BOOLEAN, f"`not`({self._sql(operand)})"
            case Logic(operator=sign):
                sides = f"{self._sql(node.left)}, {self._sql(node.right)}"
                return Kind.BOOLEAN, f"`{sign.lower()}`({sides})"
            case Compare(operator=sign):
                _, (left, right) = _alike([self.value(node.left), self.value(node.right)])
                if sign == "<>":
                    return Kind.BOOLEAN, f"`not`(`=`({left}, {right}))"
                return Kind.BOOLEAN, f"`{sign}`({left}, {right})"
            case In(operand=operand, values=wanted):
                listed = [_literal(one.value) for one in wanted]
                _, (found, *choice) = _alike([self.value(operand), *listed])
                return Kind.BOOLEAN, f"`in`({found}, {', '.join(choice)})"
            case Like(operand=operand, pattern=pattern):
                return Kind.BOOLEAN, f"like({self._sql(operand)}, {_text(pattern)})"
            case IsNull(operand=operand):
                return Kind.BOOLEAN, f"isnull({self._sql(operand)})"
            case Call(function=name) if name in _OF_NUMBER:
                return Kind.NUMBER, _null_for_nan(self._number(node))
            case Call(function=name, arguments=(operand,)) if name in _OF_TEXT:
                return FUNCTIONS[name].result, _OF_TEXT[name].format(self._sql(operand))
            case Call(function=name, arguments=(operand,)) if name in CLOCK:
                return Kind.INTEGER, self._clock(name, self.value(operand))
            case Call(function="coalesce", arguments=arguments):
                kind, parts = _alike([self.value(argument) for argument in arguments])
                return kind, f"coalesce({', '.join(parts)})"
        raise InternalError(f"predicates over columns do not know {to_sql(node)}")

    def _sql(self, node: Node) -> str:
        return self.value(node)[1]

    def _number(self, node: Node) -> str:
        """A node in double precision, where NaN may stand for null.

        NaN passes through every step, so it is enough to look for it after the last one.
        """
        match node:
            case Negate(operand=operand):
                return f"negative({self._number(operand)})"
            case Arithmetic(operator="/"):
                return f"try_divide({self._number(node.left)}, {self._number(node.right)})"
            case Arithmetic(operator=sign):
                return f"`{sign}`({self._number(node.left)}, {self._number(node.right)})"
            case Call(function=name, arguments=(operand,)) if name in _OF_NUMBER:
                return _OF_NUMBER[name].format(self._number(operand))
        return _as_double(self.value(node))

    def _clock(self, name: str, time: Typed) -> str:
        kind, sql = time
        if kind is Kind.LOCAL_TIME:
            return _OF_LOCAL_TIME[name].format(sql)
        micros = f"unix_micros({sql})"
        ruled = f"greatest(least({micros}, {ZONE_RULES[1]}L), {ZONE_RULES[0]}L)"
        # Spark names this function after what it does to a clock set to UTC, not to an instant.
        local = f"from_utc_timestamp(timestamp_micros({ruled}), {_text(self._timezone)})"
        # Within a week, adding the offset cannot overflow.
        offset = f"`-`(unix_micros({local}), {ruled})"
        wall = f"`+`(pmod({micros}, {WEEK}L), {offset})"
        return _read(wall, CLOCK[name])


def _literal(value: Scalar) -> Typed:
    match value:
        case bool():
            return Kind.BOOLEAN, "TRUE" if value else "FALSE"
        case int():
            return Kind.INTEGER, f"{value}L"
        case float():
            return Kind.NUMBER, f"{value!r}D"
        case str():
            return Kind.TEXT, _text(value)


def _text(value: str) -> str:
    # By its bytes: how Spark reads quotes and backslashes depends on the session.
    return f"string(X'{value.encode().hex()}')"


def _column(field: T.StructField) -> Typed:
    column = f"`{field.name.replace('`', '``')}`"
    kind = ColumnType(column_type(field.dataType)).kind
    match kind:
        case Kind.TEXT if isinstance(field.dataType, T.StringType) and (
            field.dataType.collation != _BINARY
        ):
            return kind, f"collate({column}, '{_BINARY}')"
        case Kind.INTEGER:
            return kind, f"bigint({column})"
        case Kind.NUMBER:
            return kind, _null_for_nan(f"double({column})")
    return kind, column


def _alike(parts: list[Typed]) -> tuple[Kind, list[str]]:
    """Values of one kind: whole numbers stay exact among themselves, else all are doubles."""
    kinds = [kind for kind, _ in parts]
    if Kind.NUMBER in kinds:
        return Kind.NUMBER, [_as_double(part) for part in parts]
    return kinds[0], [sql for _, sql in parts]


def _as_double(part: Typed) -> str:
    kind, sql = part
    return f"double({sql})" if kind is Kind.INTEGER else sql


def _null_for_nan(sql: str) -> str:
    # nanvl() names its value once; CASE would name it twice, and nested ones grow as 2^depth.
    return f"nanvl({sql}, double(NULL))"


def _read(wall: str, part: ClockPart) -> str:
    since = f"pmod(`-`({wall}, {part.start}L), {part.period}L)"
    return f"`+`(`div`({since}, {part.unit}L), {part.first}L)"


# The lambda names its value once, too. Spark's own floor() and ceil() give a whole number, and fail
# where that is too large.
_OF_NUMBER = {
    "abs": "abs({})",
    "ceil": "get(transform(array({}), x -> rint(x) + IF(rint(x) < x, 1D, 0D)), 0)",
    "floor": "get(transform(array({}), x -> rint(x) - IF(rint(x) > x, 1D, 0D)), 0)",
    "sqrt": "sqrt({})",
}
_SMALL, _CAPITAL = string.ascii_lowercase, string.ascii_uppercase
_OF_TEXT = {
    "length": "bigint(length({}))",
    "lower": f"translate({{}}, '{_CAPITAL}', '{_SMALL}')",
    "trim": "trim({})",
    "upper": f"translate({{}}, '{_SMALL}', '{_CAPITAL}')",
}
_OF_LOCAL_TIME = {
    "hour": "bigint(hour({}))",
    "minute": "bigint(minute({}))",
    "weekday": "bigint(`+`(weekday(date({})), 1))",
}
