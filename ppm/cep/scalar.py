"""Single values as predicates see them: their kinds, null, and what functions make of them."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from ppm.errors import BindingError
from ppm.spec.expression.functions import WEEK, ClockPart, Kind
from ppm.spec.expression.nodes import Node
from ppm.spec.expression.text import to_sql

Typed: TypeAlias = tuple[Kind, Any]
"""A kind and a value: None for null, float, int (times in microseconds), text or bool."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
OF_NUMBER: dict[str, Callable[[float], float]] = {
    "abs": abs,
    "ceil": lambda number: float(math.ceil(number)) if math.isfinite(number) else number,
    "floor": lambda number: float(math.floor(number)) if math.isfinite(number) else number,
    "sqrt": lambda number: math.sqrt(number) if number >= 0 else math.nan,
}
_SMALL = "abcdefghijklmnopqrstuvwxyz"
OF_TEXT: dict[str, Callable[[str], str | int]] = {
    "length": len,
    # Not str.lower(): only ASCII letters change.
    "lower": lambda text: text.translate(str.maketrans(_SMALL.upper(), _SMALL)),
    "trim": lambda text: text.strip(" "),
    "upper": lambda text: text.translate(str.maketrans(_SMALL, _SMALL.upper())),
}


def typed(value: object) -> Typed:
    """A Python value with its kind; NaN is null, and null is of any kind."""
    match value:
        case None:
            return Kind.ANY, None
        case bool():
            return Kind.BOOLEAN, value
        case int():
            return Kind.INTEGER, value
        case float():
            return Kind.NUMBER, None if math.isnan(value) else value
        case str():
            return Kind.TEXT, value
        case datetime(tzinfo=None):
            return Kind.LOCAL_TIME, micros_of(value.replace(tzinfo=UTC) - EPOCH)
        case datetime():
            return Kind.TIME, micros_of(value - EPOCH)
    raise BindingError(f"a column holds {type(value).__name__}, which predicates do not know")


def micros_of(length: timedelta) -> int:
    """A length of time in whole microseconds, rounded down."""
    return length // timedelta(microseconds=1)


def as_double(value: Any) -> float | None:
    """A number in double precision; large whole numbers are rounded."""
    return None if value is None else float(value)


def calculated(function: Callable[..., float], *arguments: float | None) -> Typed:
    """The result of a calculation, where NaN is null."""
    kind, value = unless_null(Kind.NUMBER, function, *arguments)
    return kind, None if value is None or math.isnan(value) else value


def unless_null(kind: Kind, function: Callable[..., Any], *arguments: Any) -> Typed:
    """The result of a function that gives null for null."""
    return kind, None if None in arguments else function(*arguments)


def alike(parts: list[Typed], whole: Node) -> tuple[Kind, list[Any]]:
    """Values of one kind: whole numbers stay exact among themselves, else all are doubles."""
    kinds = {kind for kind, _ in parts} - {Kind.ANY}
    values = [value for _, value in parts]
    if Kind.NUMBER in kinds and kinds <= {Kind.NUMBER, Kind.INTEGER}:
        return Kind.NUMBER, [as_double(value) for value in values]
    if kinds == {Kind.TEXT}:
        # UTF-8 orders texts by their characters, as Python does.
        return Kind.TEXT, values
    if len(kinds) > 1:
        raise BindingError(f"{to_sql(whole)} does not fit the data: it compares different kinds")
    return next(iter(kinds), Kind.ANY), values


def like(text: str, pattern: str) -> bool:
    """SQL's LIKE, with the backslash as its escape."""
    regex = re.sub(r"\\(.)|(.)", _regex_of_character, pattern, flags=re.DOTALL)
    return re.fullmatch(regex, text, re.DOTALL) is not None


def _regex_of_character(found: re.Match[str]) -> str:
    escaped, plain = found.groups()
    return {"%": ".*", "_": "."}.get(plain) or re.escape(escaped or plain)


def clock(wall: int, part: ClockPart) -> int:
    """What hour(), minute() or weekday() reads off a clock."""
    return (wall % WEEK - part.start) % part.period // part.unit + part.first
