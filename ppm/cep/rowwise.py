"""Predicates and conditions on one row, in plain Python: slow, and meant to be read.

The meaning is that of `ppm.cep.predicate`, which computes whole columns; a property test holds the
two equal. Conditions may also ask what earlier stages of a match took, which columns cannot.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

from ppm.cep.scalar import (
    ARITHMETIC,
    COMPARE,
    EPOCH,
    OF_NUMBER,
    OF_TEXT,
    Typed,
    alike,
    as_double,
    calculated,
    clock,
    like,
    micros_of,
    typed,
    unless_null,
)
from ppm.errors import BindingError, InternalError, did_you_mean
from ppm.spec.expression.functions import (
    CLOCK,
    FUNCTIONS,
    STAGE_FUNCTIONS,
    ZONE_RULES,
    Kind,
)
from ppm.spec.expression.kinds import ColumnType
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

Row: TypeAlias = Mapping[str, object]


def answer(
    node: Node,
    row: Row,
    *,
    timezone: str,
    taken: Mapping[str, Sequence[Row]] | None = None,
    types: Mapping[str, ColumnType] | None = None,
) -> bool | None:
    """What a lowered predicate says about a row: true, false, or None for unknown.

    `taken` holds the rows that each stage of a match has taken so far. Without `types` a value
    says itself what it is; null does not, which matters in one place only: whole numbers beyond
    2**53 that stand in for a null double in coalesce() then stay exact.

    >>> from ppm.spec.expression.parse import parse
    >>> answer(parse("x > last(a.x)"), {"x": 3.0}, timezone="UTC", taken={"a": [{"x": 2.0}]})
    True
    """
    _, value = _Evaluation(row, timezone, taken or {}, types).value(node)
    if value is None or isinstance(value, bool):
        return value
    raise BindingError(f"{to_sql(node)} does not fit the data: a truth value is needed")


class _Evaluation:
    """One predicate on one row."""

    def __init__(
        self,
        row: Row,
        timezone: str,
        taken: Mapping[str, Sequence[Row]],
        types: Mapping[str, ColumnType] | None,
    ) -> None:
        self._row = row
        self._zone = ZoneInfo(timezone)
        self._taken = taken
        self._types = types
        self._known: dict[int, Typed] = {}

    def value(self, node: Node) -> Typed:
        """A node's kind and value, which is never NaN."""
        # Zones are lowered to trees that share their parts; without this they would be walked
        # once for each path.
        if id(node) not in self._known:
            self._known[id(node)] = self._computed(node)
        return self._known[id(node)]

    def _computed(self, node: Node) -> Typed:
        match node:
            case Literal(value=value):
                return typed(value)
            case Moment(micros=micros):
                return Kind.TIME, micros
            case Column(name=name):
                return self._cell(self._row, name)
            case StageValue():
                return self._of_stage(node)
            case Negate(operand=operand):
                return calculated(operator.neg, self._double(operand))
            case Arithmetic(operator="/"):
                divisor = self._double(node.right)
                return calculated(operator.truediv, self._double(node.left), divisor or None)
            case Arithmetic(operator=sign):
                return calculated(
                    ARITHMETIC[sign], self._double(node.left), self._double(node.right)
                )
            case Not(operand=operand):
                truth = self._data(operand)
                return Kind.BOOLEAN, None if truth is None else not truth
            case Logic(operator=sign):
                # Three-valued: one false settles AND, one true settles OR, else null spreads.
                sides = (self._data(node.left), self._data(node.right))
                settling = sign == "OR"
                if settling in sides:
                    return Kind.BOOLEAN, settling
                return Kind.BOOLEAN, None if None in sides else not settling
            case Compare(operator=sign):
                _, (left, right) = alike([self.value(node.left), self.value(node.right)], node)
                return unless_null(Kind.BOOLEAN, COMPARE[sign], left, right)
            case In(operand=operand, values=wanted):
                _, (found, *listed) = alike(
                    [self.value(operand), *(typed(one.value) for one in wanted)], node
                )
                return Kind.BOOLEAN, None if found is None else found in listed
            case Like(operand=operand, pattern=pattern):
                return unless_null(Kind.BOOLEAN, like, self._data(operand), pattern)
            case IsNull(operand=operand):
                return Kind.BOOLEAN, self._data(operand) is None
            case Call(function=name, arguments=(operand,)) if name in OF_NUMBER:
                return calculated(OF_NUMBER[name], self._double(operand))
            case Call(function=name, arguments=(operand,)) if name in OF_TEXT:
                return unless_null(FUNCTIONS[name].result, OF_TEXT[name], self._data(operand))
            case Call(function=name, arguments=(operand,)) if name in CLOCK:
                return unless_null(Kind.INTEGER, clock, self._wall_time(operand), CLOCK[name])
            case Call(function="coalesce", arguments=arguments):
                kind, values = alike([self.value(argument) for argument in arguments], node)
                return kind, next((value for value in values if value is not None), None)
        raise InternalError(f"predicates over rows do not know {to_sql(node)}")

    def _data(self, node: Node) -> Any:
        return self.value(node)[1]

    def _double(self, node: Node) -> float | None:
        return as_double(self._data(node))

    def _cell(self, row: Row, name: str) -> Typed:
        if name not in row:
            raise BindingError(f"column {name} is missing{did_you_mean(name, list(row))}")
        kind, value = typed(row[name])
        if self._types is None or name not in self._types:
            return kind, value
        declared = self._types[name].kind
        return declared, as_double(value) if declared is Kind.NUMBER else value

    def _of_stage(self, node: StageValue) -> Typed:
        """R6: over the events that this run's stage has taken before the event at hand."""
        rows = self._taken.get(node.stage, ())
        if node.column is None:
            return Kind.INTEGER, len(rows)
        cells = [self._cell(row, node.column) for row in rows]
        if not STAGE_FUNCTIONS[node.function].needs_number:
            position = 0 if node.function == "first" else -1
            return cells[position] if cells else (Kind.ANY, None)
        # Nulls are left out, as in SQL; what then is over no events is as if there were none.
        doubles = [number for _, value in cells if (number := as_double(value)) is not None]
        if not doubles:
            return Kind.NUMBER, as_double(STAGE_FUNCTIONS[node.function].empty)
        match node.function:
            case "min":
                return Kind.NUMBER, min(doubles)
            case "max":
                return Kind.NUMBER, max(doubles)
        # Not sum() or fsum(): added one after the other, as a run that carries its sum would.
        total = doubles[0]
        for number in doubles[1:]:
            total += number
        return calculated(float, total / len(doubles) if node.function == "avg" else total)

    def _wall_time(self, node: Node) -> int | None:
        """What clocks show at a time, as microseconds on the clock."""
        kind, micros = self.value(node)
        if micros is None or kind is Kind.LOCAL_TIME:
            return None if micros is None else int(micros)
        ruled = max(min(micros, ZONE_RULES[1]), ZONE_RULES[0])
        offset = (EPOCH + timedelta(microseconds=ruled)).astimezone(self._zone).utcoffset()
        return int(micros) + micros_of(offset or timedelta(0))
