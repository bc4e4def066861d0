"""Conditions on earlier events as small stack programs over numbers.

Every value is a double, and NaN is null: a truth value is 0 or 1, a text or a time is its rank
among all that a condition can see, which keeps every comparison. What a stage took is carried
along by each event that a run takes, so a program never walks back through a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ppm.errors import BindingError
from ppm.spec.expression.functions import Kind
from ppm.spec.expression.kinds import ColumnType, ExpressionError, kind_of
from ppm.spec.expression.lower import lower
from ppm.spec.expression.nodes import (
    Arithmetic,
    Call,
    Column,
    Compare,
    In,
    IsNull,
    Literal,
    Logic,
    Moment,
    Negate,
    Node,
    Not,
    Scalar,
    StageValue,
    stage_values_of,
)
from ppm.spec.expression.text import to_sql
from ppm.spec.zone import Zone

Ints = npt.NDArray[np.int64]
Entry = TypeVar("Entry")


class Op(IntEnum):
    """What a program can do, step by step."""

    CONSTANT = 0
    CELL = 1
    CARRIED = 2
    NEGATE = 3
    NOT = 4
    ADD = 5
    SUBTRACT = 6
    MULTIPLY = 7
    DIVIDE = 8
    EQUAL = 9
    UNEQUAL = 10
    LESS = 11
    LESS_EQUAL = 12
    GREATER = 13
    GREATER_EQUAL = 14
    AND = 15
    OR = 16
    IS_NULL = 17
    ABS = 18
    CEIL = 19
    FLOOR = 20
    SQRT = 21
    COALESCE = 22


class Carry(IntEnum):
    """What is carried along about the events of a stage."""

    COUNT = 0
    FIRST = 1
    LAST = 2
    SUM = 3
    AVG = 4
    MIN = 5
    MAX = 6


_SIGNS = {
    "+": Op.ADD,
    "-": Op.SUBTRACT,
    "*": Op.MULTIPLY,
    "/": Op.DIVIDE,
    "=": Op.EQUAL,
    "<>": Op.UNEQUAL,
    "<": Op.LESS,
    "<=": Op.LESS_EQUAL,
    ">": Op.GREATER,
    ">=": Op.GREATER_EQUAL,
    "AND": Op.AND,
    "OR": Op.OR,
}
_FUNCTIONS = {"abs": Op.ABS, "ceil": Op.CEIL, "floor": Op.FLOOR, "sqrt": Op.SQRT}
_RANKED = (Kind.TEXT, Kind.TIME, Kind.LOCAL_TIME)

Domain = str
"""`number`, `flag`, `exact` (whole numbers that a double must hold), or a kind that is ranked."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A value of each row that programs read: a column, or a truth value computed from the row."""

    domain: Domain
    source: Node


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that is written in a condition."""

    domain: Domain
    value: Scalar


class Programs(NamedTuple):
    """All programs of a pattern, one after the other."""

    ops: Ints
    arguments: Ints
    carry: Ints
    """What is carried along (`Carry`), of which stage, and from which cell."""
    carry_stage: Ints
    carry_cell: Ints


class Writer:
    """Writes the programs of one pattern."""

    def __init__(
        self, stages: Mapping[str, int], types: Mapping[str, ColumnType], zones: Mapping[str, Zone]
    ) -> None:
        self._stages = stages
        self._types = types
        self._zones = zones
        self._code: list[tuple[Op, int]] = []
        self._carried: list[tuple[Carry, int, int]] = []
        self.cells: list[Cell] = []
        self.constants: list[Constant] = []

    def write(self, conditions: list[Node]) -> tuple[int, int]:
        """Where the program starts and ends that says whether all of some conditions are met."""
        start = len(self._code)
        for place, condition in enumerate(conditions):
            self._check(condition)
            self._expression(condition, exact=False)
            if place:
                self._emit(Op.AND)
        return start, len(self._code)

    def programs(self) -> Programs:
        """All that was written."""
        code = np.array(self._code, np.int64).reshape(-1, 2)
        carried = np.array(self._carried, np.int64).reshape(-1, 3)
        return Programs(*(np.ascontiguousarray(a) for a in (*code.T, *carried.T)))

    def _check(self, condition: Node) -> None:
        try:
            kind_of(condition, self._types)
        except ExpressionError as error:
            raise BindingError(f"{to_sql(condition)} does not fit the data: it {error}") from None

    def _emit(self, op: Op, argument: int = 0) -> None:
        self._code.append((op, argument))

    def _expression(self, node: Node, *, exact: bool) -> None:
        """The steps that leave a node's value on the stack."""
        kind = kind_of(node, self._types)
        if kind is Kind.BOOLEAN and not stage_values_of(node) and not isinstance(node, Literal):
            self._emit(Op.CELL, self._cell("flag", node))
            return
        match node:
            case Literal() | Moment() | Column() | StageValue():
                self._leaf(node, self._domain(kind, exact=exact))
            case Negate(operand=operand):
                self._expression(operand, exact=False)
                self._emit(Op.NEGATE)
            case Not(operand=operand):
                self._expression(operand, exact=False)
                self._emit(Op.NOT)
            case IsNull(operand=operand):
                self._expression(operand, exact=False)
                self._emit(Op.IS_NULL)
            case Arithmetic(operator=sign) | Logic(operator=sign):
                self._expression(node.left, exact=False)
                self._expression(node.right, exact=False)
                self._emit(_SIGNS[sign])
            case Compare(operator=sign):
                self._alike([node.left, node.right])
                self._emit(_SIGNS[sign])
            case In(operand=operand, values=values):
                kinds = {kind_of(one, self._types) for one in (operand, *values)}
                whole = [operand, *values]
                for place, value in enumerate(values):
                    self._alike([operand, value], whole if len(kinds) > 1 else None)
                    self._emit(Op.EQUAL)
                    if place:
                        self._emit(Op.OR)
            case Call(function=name, arguments=(operand,)) if name in _FUNCTIONS:
                self._expression(operand, exact=False)
                self._emit(_FUNCTIONS[name])
            case Call(function="coalesce", arguments=arguments):
                exact = kind is Kind.INTEGER
                self._expression(arguments[0], exact=exact)
                for argument in arguments[1:]:
                    self._expression(argument, exact=exact)
                    self._emit(Op.COALESCE)
            case Call(function="distance" | "in_zone"):
                self._expression(lower(node, self._zones), exact=False)
            case _:
                raise BindingError(_refusal(node))

    def _alike(self, nodes: list[Node], among: list[Node] | None = None) -> None:
        """Values that are compared: whole numbers exactly among themselves, else as doubles."""
        kinds = [kind_of(node, self._types) for node in among or nodes]
        is_whole = all(kind is Kind.INTEGER for kind in kinds)
        if is_whole and all(_is_leaf(node) for node in nodes):
            for node in nodes:
                self._leaf(node, Kind.INTEGER.value)
            return
        for node in nodes:
            self._expression(node, exact=is_whole)

    def _leaf(self, node: Node, domain: Domain) -> None:
        match node:
            case Literal(value=value):
                self._emit(Op.CONSTANT, self._constant(domain, value))
            case Moment(micros=micros):
                self._emit(Op.CONSTANT, self._constant(domain, micros))
            case Column():
                self._emit(Op.CELL, self._cell(domain, node))
            case StageValue(function=function, stage=stage, column=column):
                carry = Carry[function.upper()]
                cell = -1
                if column is not None:
                    is_number = carry not in (Carry.FIRST, Carry.LAST)
                    cell = self._cell("number" if is_number else domain, Column(column))
                self._emit(Op.CARRIED, _place((carry, self._stages[stage], cell), self._carried))

    def _domain(self, kind: Kind, *, exact: bool) -> Domain:
        if kind in _RANKED:
            return kind.value
        if kind is Kind.BOOLEAN:
            return "flag"
        return "exact" if exact and kind is Kind.INTEGER else "number"

    def _cell(self, domain: Domain, source: Node) -> int:
        return _place(Cell(domain, source), self.cells)

    def _constant(self, domain: Domain, value: Scalar) -> int:
        return _place(Constant(domain, value), self.constants)


def _place(wanted: Entry, known: list[Entry]) -> int:
    if wanted not in known:
        known.append(wanted)
    return known.index(wanted)


def _is_leaf(node: Node) -> bool:
    # count() is a whole number, but no value of a column.
    return isinstance(node, Literal | Column) or (
        isinstance(node, StageValue) and node.function in ("first", "last")
    )


def _refusal(node: Node) -> str:
    what = node.function + "()" if isinstance(node, Call) else "LIKE"
    return (
        f"{to_sql(node)} stands in a condition on earlier events, where the fast engine does not "
        f"know {what}; compute it in a column of the stream and compare that"
    )
