"""Any predicate and any condition, as a tree whose kinds fit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TypeAlias

from hypothesis import strategies as st

from ppm.spec.expression.declared import Condition, Predicate
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

Nodes: TypeAlias = st.SearchStrategy[Node]

COLUMNS = (
    "x",
    "lat",
    "Speed_2",
    "a b",
    "größe",
    "1st",
    "select",
    "values",
    "if",
    "timestamp",
    "it's",
    "a`b",
)
ZONES = ("home", "clinic-2")
_MICROS = 1_000_000
_FIRST, _LAST = -62_135_596_800 * _MICROS, 253_402_300_800 * _MICROS - 1

columns: st.SearchStrategy[Column] = st.sampled_from(COLUMNS).map(Column)
words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
integers = st.integers(-(10**18) + 1, 10**18 - 1).map(Literal)
floats = st.floats(allow_nan=False, allow_infinity=False).map(Literal)
numbers = integers | floats
texts = words.map(Literal)
truths = st.booleans().map(Literal)
like_patterns = st.lists(
    st.sampled_from(["%", "_", "\\%", "\\_", "\\\\", "a", "'", "é", " "]), max_size=6
).map("".join)


def trees(*stages: str, depth: int = 3) -> Nodes:
    """Trees that say yes or no; they may ask what the stages took."""
    return _truth(stages, depth)


def predicates() -> st.SearchStrategy[Predicate]:
    """Small predicates over one row."""
    return trees(depth=1).map(Predicate)


def conditions(stages: Sequence[str]) -> st.SearchStrategy[Condition]:
    """Small conditions that may ask what earlier stages took."""
    asked = _stage_numbers(tuple(stages)) if stages else columns
    return st.builds(Compare, st.sampled_from(["=", "<"]), asked, numbers).map(Condition)


# Strategies are kept: making them anew for every draw costs far more than drawing.


@cache
def _number(stages: tuple[str, ...], depth: int) -> Nodes:
    leaves: Nodes = numbers | columns
    if stages:
        leaves |= _stage_numbers(stages)
    if depth == 0:
        return leaves
    below = _number(stages, depth - 1)
    text, time = _text(depth - 1), _time()
    return st.one_of(
        leaves,
        st.builds(Arithmetic, st.sampled_from("+-*/"), below, below),
        # A minus before a number belongs to the number.
        below.map(lambda node: node if isinstance(node, Literal) else Negate(node)),
        st.builds(_call, st.sampled_from(["abs", "ceil", "floor", "sqrt"]), st.tuples(below)),
        st.builds(_call, st.just("length"), st.tuples(text)),
        st.builds(_call, st.sampled_from(["hour", "minute", "weekday"]), st.tuples(time)),
        st.builds(_call, st.just("distance"), st.tuples(below, below, _zones())),
        st.builds(_call, st.just("distance"), st.tuples(below, below, numbers, numbers)),
        st.builds(_call, st.just("coalesce"), st.lists(below, min_size=2, max_size=3)),
    )


@cache
def _text(depth: int) -> Nodes:
    leaves: Nodes = texts | columns
    if depth == 0:
        return leaves
    below = _text(depth - 1)
    return st.one_of(
        leaves,
        st.builds(_call, st.sampled_from(["lower", "upper", "trim"]), st.tuples(below)),
        st.builds(_call, st.just("coalesce"), st.lists(below, min_size=2, max_size=3)),
    )


def _time() -> Nodes:
    return st.integers(_FIRST, _LAST).map(Moment) | columns


@cache
def _truth(stages: tuple[str, ...], depth: int) -> Nodes:
    leaves: Nodes = truths | columns
    if depth == 0:
        return leaves
    below = _truth(stages, depth - 1)
    number, text, time = _number(stages, depth - 1), _text(depth - 1), _time()
    operators = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
    return st.one_of(
        leaves,
        *(st.builds(Compare, operators, kind, kind) for kind in (number, text, time, below)),
        *(
            st.builds(In, operand, st.lists(listed, min_size=1, max_size=3).map(tuple))
            for operand, listed in ((number, numbers), (text, texts), (below, truths))
        ),
        st.builds(Like, text, like_patterns),
        st.one_of(number, text, time, below).map(IsNull),
        below.map(Not),
        st.builds(Logic, st.sampled_from(["AND", "OR"]), below, below),
        st.builds(_call, st.just("in_zone"), st.tuples(number, number, _zones())),
        st.builds(_call, st.just("coalesce"), st.lists(below, min_size=2, max_size=3)),
    )


@cache
def _stage_numbers(stages: tuple[str, ...]) -> Nodes:
    stage = st.sampled_from(stages)
    of_a_column = st.sampled_from(["avg", "first", "last", "max", "min", "sum"])
    return st.builds(StageValue, st.just("count"), stage, st.none()) | st.builds(
        StageValue, of_a_column, stage, st.sampled_from(COLUMNS)
    )


def _zones() -> Nodes:
    return st.sampled_from(ZONES).map(Literal)


def _call(function: str, arguments: Sequence[Node]) -> Call:
    return Call(function, tuple(arguments))
