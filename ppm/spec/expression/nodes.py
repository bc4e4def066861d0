"""The one tree that a predicate becomes; every evaluator compiles this, and nothing else.

The language is small on purpose. Each node has a meaning that a JVM and Arrow can both compute to
the last bit:

- Arithmetic is in double precision; NaN counts as null, and dividing by zero gives null.
- Whole numbers compare exactly, and as doubles where one side is not whole.
- Text is UTF-8, and compares by its bytes.
- Times compare by their microseconds; finer ones are rounded down first.
- Null follows SQL's three-valued logic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

Scalar: TypeAlias = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Literal:
    """A value written in the predicate itself."""

    value: Scalar

    def __eq__(self, other: object) -> bool:
        # Python has 1 == True == 1.0; a predicate does not.
        return (
            isinstance(other, Literal)
            and type(self.value) is type(other.value)
            and self.value == other.value
        )

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time, written as TIMESTAMP '2026-03-01T08:00:00+01:00'."""

    micros: int
    """Microseconds since 1970-01-01T00:00:00Z."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the row at hand."""

    name: str


@dataclass(frozen=True, slots=True)
class StageValue:
    """Something about the events that an earlier stage of the same match took: last(a.price)."""

    function: str
    stage: str
    column: str | None
    """None only for count(a)."""


@dataclass(frozen=True, slots=True)
class Negate:
    operand: Node


@dataclass(frozen=True, slots=True)
class Not:
    operand: Node


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """One of + - * / on numbers, in double precision."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Compare:
    """One of = <> < <= > >= on two values of one kind."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Logic:
    """AND or OR, with SQL's three-valued logic."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class In:
    """Whether a value is in a list; all are doubles if it or anything in the list is not whole."""

    operand: Node
    values: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Like:
    """SQL LIKE: % is any text, _ any one character, a backslash takes the next one literally."""

    operand: Node
    pattern: str


@dataclass(frozen=True, slots=True)
class IsNull:
    operand: Node


@dataclass(frozen=True, slots=True)
class Call:
    """A function of `ppm.spec.expression.functions`."""

    function: str
    arguments: tuple[Node, ...]


Node: TypeAlias = (
    Literal
    | Moment
    | Column
    | StageValue
    | Negate
    | Not
    | Arithmetic
    | Compare
    | Logic
    | In
    | Like
    | IsNull
    | Call
)


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below one."""
    match node:
        case Arithmetic() | Compare() | Logic():
            return (node.left, node.right)
        case Negate() | Not() | IsNull() | Like():
            return (node.operand,)
        case In():
            return (node.operand, *node.values)
        case Call():
            return node.arguments
        case _:
            return ()


def rebuilt(node: Node, change: Callable[[Node], Node]) -> Node:
    """A node with something else in place of each node directly below it."""
    match node:
        case Call(arguments=arguments):
            return replace(node, arguments=tuple(change(part) for part in arguments))
        case Arithmetic() | Compare() | Logic():
            return replace(node, left=change(node.left), right=change(node.right))
        case Negate() | Not() | Like() | In() | IsNull():
            return replace(node, operand=change(node.operand))
        case _:
            return node


def walk(node: Node) -> Iterator[Node]:
    """A node and everything below it."""
    yield node
    for child in children(node):
        yield from walk(child)


def columns_of(node: Node) -> frozenset[str]:
    """The columns of the row at hand that a node reads."""
    return frozenset(part.name for part in walk(node) if isinstance(part, Column))


def zones_of(node: Node) -> frozenset[str]:
    """The zones that a node names."""
    return frozenset(
        str(argument.value)
        for part in walk(node)
        if isinstance(part, Call) and part.function in ("in_zone", "distance")
        for argument in part.arguments[2:3]
        if isinstance(argument, Literal) and isinstance(argument.value, str)
    )


def stage_values_of(node: Node) -> tuple[StageValue, ...]:
    """What a node asks about earlier stages."""
    return tuple(part for part in walk(node) if isinstance(part, StageValue))


def conjuncts(node: Node) -> Iterator[Node]:
    """The parts that must all be met for a condition to be met."""
    if isinstance(node, Logic) and node.operator == "AND":
        yield from conjuncts(node.left)
        yield from conjuncts(node.right)
    else:
        yield node
