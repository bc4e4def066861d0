"""Predicates over Arrow columns: whole columns at once, and null where the answer is unknown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

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
    children,
)
from ppm.spec.expression.text import to_sql
from ppm.spec.zone import Zone

Values: TypeAlias = Any
"""An Arrow array, chunked array or scalar: float64, int64 (times in microseconds), text or bool."""

Typed: TypeAlias = tuple[Kind, Values]

_MICROS_IN = {"s": 1_000_000, "ms": 1_000}
_LARGEST_INTEGER = 2**63 - 1
_COMPARE = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_ARITHMETIC = {"+": pc.add, "-": pc.subtract, "*": pc.multiply, "/": pc.divide}
_LOGIC = {"AND": pc.and_kleene, "OR": pc.or_kleene}
_OF_NUMBER = {"abs": pc.abs, "ceil": pc.ceil, "floor": pc.floor, "sqrt": pc.sqrt}
_OF_TEXT = {
    "length": lambda text: pc.cast(pc.utf8_length(text), pa.int64()),
    "lower": pc.ascii_lower,
    "trim": lambda text: pc.ascii_trim(text, characters=" "),
    "upper": pc.ascii_upper,
}


def evaluate(
    node: Node, columns: pa.Table | pa.RecordBatch, *, zones: Mapping[str, Zone], timezone: str
) -> pa.BooleanArray:
    """What a predicate says about each row: true, false, or null for unknown.

    >>> from ppm.spec.expression.parse import parse
    >>> rows = pa.table({"speed": [3.0, 1.0, None]})
    >>> evaluate(parse("speed > 2.5"), rows, zones={}, timezone="UTC").to_pylist()
    [True, False, None]
    """
    bind(node, [(field.name, column_type(field.type)) for field in columns.schema])
    return values_of(node, columns, zones=zones, timezone=timezone)


def values_of(
    node: Node, columns: pa.Table | pa.RecordBatch, *, zones: Mapping[str, Zone], timezone: str
) -> pa.Array:
    """The value of an expression for each row; a time is its microseconds."""
    lowered = lower(node, zones)
    _, values = _Evaluation(lowered, columns, timezone).value(lowered)
    if isinstance(values, pa.Scalar):
        return pa.repeat(values, columns.num_rows)
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def column_type(arrow: pa.DataType) -> ColumnType | str:
    """What predicates take an Arrow column for, or the name of a type that they do not know.

    >>> column_type(pa.int16()), column_type(pa.decimal128(10, 2))
    (<ColumnType.INTEGER: 'integer'>, 'decimal128(10, 2)')
    """
    text = arrow.value_type if pa.types.is_dictionary(arrow) else arrow
    if pa.types.is_string(text) or pa.types.is_large_string(text) or pa.types.is_string_view(text):
        return ColumnType.STRING
    if pa.types.is_integer(arrow) and not pa.types.is_uint64(arrow):
        return ColumnType.INTEGER
    if pa.types.is_floating(arrow):
        return ColumnType.DOUBLE
    if pa.types.is_boolean(arrow):
        return ColumnType.BOOLEAN
    if pa.types.is_timestamp(arrow):
        return ColumnType.LOCAL_TIMESTAMP if arrow.tz is None else ColumnType.TIMESTAMP
    return str(arrow)


class _Evaluation:
    """One predicate on one set of columns; what it needs several times is computed once."""

    def __init__(self, root: Node, columns: pa.Table | pa.RecordBatch, timezone: str) -> None:
        self._columns = columns
        self._timezone = timezone
        self._shared = _needed_twice(root)
        self._known: dict[int | str, Typed] = {}

    def value(self, node: Node) -> Typed:
        """A node's kind and values, with no NaN among them."""
        key = node.name if isinstance(node, Column) else id(node)
        if key not in self._shared:
            return self._computed(node)
        if key not in self._known:
            self._known[key] = self._computed(node)
        return self._known[key]

    def _computed(self, node: Node) -> Typed:
        match node:
            case Literal(value=value):
                return _literal(value)
            case Moment(micros=micros):
                return Kind.TIME, pa.scalar(micros, pa.int64())
            case Column(name=name):
                return _column(self._columns.column(name))
            case Negate() | Arithmetic():
                return Kind.NUMBER, _null_for_nan(self._calculated(node))
            case Not(operand=operand):
                return Kind.BOOLEAN, pc.invert(self._data(operand))
            case Logic(operator=operator):
                return Kind.BOOLEAN, _LOGIC[operator](self._data(node.left), self._data(node.right))
            case Compare(operator=operator):
                _, (left, right) = _alike([self.value(node.left), self.value(node.right)])
                return Kind.BOOLEAN, _COMPARE[operator](left, right)
            case In(operand=operand, values=wanted):
                listed = [_literal(one.value) for one in wanted]
                return Kind.BOOLEAN, _in(self.value(operand), listed)
            case Like(operand=operand, pattern=pattern):
                return Kind.BOOLEAN, _like(self._data(operand), pattern)
            case IsNull(operand=operand):
                return Kind.BOOLEAN, pc.is_null(self._data(operand))
            case Call(function=name) if name in _OF_NUMBER:
                return Kind.NUMBER, _null_for_nan(self._calculated(node))
            case Call(function=name, arguments=(operand,)) if name in _OF_TEXT:
                return FUNCTIONS[name].result, _OF_TEXT[name](self._data(operand))
            case Call(function=name, arguments=(operand,)) if name in CLOCK:
                return Kind.INTEGER, _clock(self._wall_time(operand), CLOCK[name])
            case Call(function="coalesce", arguments=arguments):
                kind, values = _alike([self.value(argument) for argument in arguments])
                return kind, pc.coalesce(*values)
        raise InternalError(f"predicates over columns do not know {to_sql(node)}")

    def _data(self, node: Node) -> Values:
        return self.value(node)[1]

    def _number(self, node: Node) -> Values:
        """A node in double precision, where NaN may stand for null."""
        is_calculation = isinstance(node, Negate | Arithmetic) or (
            isinstance(node, Call) and node.function in _OF_NUMBER
        )
        if is_calculation and id(node) not in self._shared:
            return self._calculated(node)
        return _as_double(self._data(node))

    def _calculated(self, node: Node) -> Values:
        # NaN passes through every step, so it is enough to look for it after the last one.
        match node:
            case Negate(operand=operand):
                return pc.negate(self._number(operand))
            case Arithmetic(operator="/"):
                return pc.divide(self._number(node.left), _null_for_zero(self._number(node.right)))
            case Arithmetic(operator=operator):
                return _ARITHMETIC[operator](self._number(node.left), self._number(node.right))
            case Call(function=name, arguments=(operand,)):
                return _OF_NUMBER[name](self._number(operand))
        raise InternalError(f"{to_sql(node)} is not a calculation")

    def _wall_time(self, node: Node) -> Values:
        """What clocks show at a time, within a week: the offset can then not overflow."""
        kind, micros = self.value(node)
        within_week = _modulo(micros, WEEK)
        if kind is not Kind.TIME:
            return within_week
        ruled = pc.max_element_wise(pc.min_element_wise(micros, ZONE_RULES[1]), ZONE_RULES[0])
        shown = pc.local_timestamp(pc.cast(ruled, pa.timestamp("us", self._timezone)))
        return pc.add(within_week, pc.subtract(pc.cast(shown, pa.int64()), ruled))


def _needed_twice(root: Node) -> frozenset[int | str]:
    """The columns and the nodes that stand at several places of a tree."""
    times: Counter[int | str] = Counter()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        key = node.name if isinstance(node, Column) else id(node)
        times[key] += 1
        if times[key] == 1:
            waiting += children(node)
    return frozenset(key for key, count in times.items() if count > 1)


def _literal(value: Scalar) -> Typed:
    match value:
        case bool():
            return Kind.BOOLEAN, pa.scalar(value, pa.bool_())
        case int():
            return Kind.INTEGER, pa.scalar(value, pa.int64())
        case float():
            return Kind.NUMBER, pa.scalar(value, pa.float64())
        case str():
            return Kind.TEXT, pa.scalar(value, pa.string())


def _column(values: Values) -> Typed:
    kind = ColumnType(column_type(values.type)).kind
    match kind:
        case Kind.TEXT if not pa.types.is_string(values.type):
            return kind, pc.cast(values, pa.large_string())
        case Kind.INTEGER:
            return kind, pc.cast(values, pa.int64())
        case Kind.NUMBER:
            return kind, _null_for_nan(pc.cast(values, pa.float64()))
        case Kind.TIME | Kind.LOCAL_TIME:
            return kind, _micros(pc.cast(values, pa.int64()), values.type.unit)
    return kind, values


def _micros(counts: Values, unit: str) -> Values:
    """Times in microseconds: finer ones rounded down, those too far away null."""
    if unit == "us":
        return counts
    if unit == "ns":
        return _floor_divide(counts, 1_000)
    most = _LARGEST_INTEGER // _MICROS_IN[unit]
    fits = pc.and_(pc.less_equal(counts, most), pc.greater_equal(counts, -most))
    return pc.multiply(pc.if_else(fits, counts, _null(pa.int64())), _MICROS_IN[unit])


def _alike(parts: list[Typed]) -> tuple[Kind, list[Values]]:
    """Values of one kind: whole numbers stay exact among themselves, else all are doubles."""
    kinds = [kind for kind, _ in parts]
    if Kind.NUMBER in kinds:
        return Kind.NUMBER, [_as_double(values) for _, values in parts]
    return kinds[0], [values for _, values in parts]


def _in(operand: Typed, listed: list[Typed]) -> Values:
    kind, (found, *wanted) = _alike([operand, *listed])
    if kind is Kind.NUMBER:
        # Arrow looks values up by their bits; this makes -0.0 one with 0.0.
        found, *wanted = (pc.add(values, 0.0) for values in (found, *wanted))
    choice = pa.array([one.as_py() for one in wanted], wanted[0].type)
    return pc.if_else(pc.is_valid(found), pc.is_in(found, choice), _null(pa.bool_()))


def _like(texts: Values, pattern: str) -> Values:
    if "\\" not in pattern:
        return pc.match_like(texts, pattern)
    # match_like() takes the suffix of '%\\\\' for two backslashes (Arrow 26).
    regex = re.sub(r"\\(.)|(.)", _regex_of_character, pattern, flags=re.DOTALL)
    return pc.match_substring_regex(texts, rf"(?s)\A{regex}\z")


def _regex_of_character(found: re.Match[str]) -> str:
    escaped, plain = found.groups()
    wildcard = {"%": ".*", "_": "."}.get(plain)
    return wildcard or rf"\x{{{ord(escaped or plain):x}}}"


def _as_double(values: Values) -> Values:
    return pc.cast(values, pa.float64(), safe=False)  # large whole numbers are rounded


def _null_for_nan(values: Values) -> Values:
    return pc.if_else(pc.is_nan(values), _null(pa.float64()), values)


def _null_for_zero(values: Values) -> Values:
    return pc.if_else(pc.equal(values, 0.0), _null(pa.float64()), values)


def _null(arrow: pa.DataType) -> pa.Scalar:
    return pa.scalar(None, arrow)


def _clock(wall: Values, part: ClockPart) -> Values:
    units = _floor_divide(_modulo(pc.subtract(wall, part.start), part.period), part.unit)
    return pc.add(units, part.first)


def _modulo(values: Values, divisor: int) -> Values:
    return pc.subtract(values, pc.multiply(_floor_divide(values, divisor), divisor))


def _floor_divide(values: Values, divisor: int) -> Values:
    toward_zero = pc.divide(values, divisor)
    is_above = pc.less(values, pc.multiply(toward_zero, divisor))
    return pc.subtract(toward_zero, pc.cast(is_above, pa.int64()))
