"""A predicate's tree written as SQL again, with no more brackets than it needs."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import cache

from sqlglot import TokenType
from sqlglot.dialects.spark import Spark

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

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OR, _AND, _NOT, _COMPARE, _ADD, _MULTIPLY, _SIGN, _ATOM = range(8)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_sql(node: Node) -> str:
    """The SQL text that parses to this very tree."""
    return _write(node)[0]


def _write(node: Node) -> tuple[str, int]:
    match node:
        case Literal(value=value):
            return _scalar(value), _ATOM
        case Moment(micros=micros):
            moment = EPOCH + timedelta(microseconds=micros)
            return f"TIMESTAMP '{moment.isoformat().replace('+00:00', 'Z')}'", _ATOM
        case Column(name=name):
            return quoted_name(name), _ATOM
        case StageValue(function=function, stage=stage, column=column):
            inner = quoted_name(stage) + (f".{quoted_name(column)}" if column is not None else "")
            return f"{function}({inner})", _ATOM
        case Negate(operand=operand):
            return f"-{_inside(operand, _ATOM)}", _SIGN
        case Not(operand=IsNull(operand=operand)):
            return f"{_inside(operand, _ADD)} IS NOT NULL", _COMPARE
        case Not(operand=In(operand=operand, values=values)):
            return f"{_inside(operand, _ADD)} NOT IN ({_commas(values)})", _COMPARE
        case Not(operand=Like(operand=operand, pattern=pattern)):
            return f"{_inside(operand, _ADD)} NOT LIKE {_scalar(pattern)}", _COMPARE
        case Not(operand=operand):
            return f"NOT {_inside(operand, _COMPARE)}", _NOT
        case Arithmetic(operator=operator):
            level = _ADD if operator in "+-" else _MULTIPLY
            left, right = _inside(node.left, level), _inside(node.right, level + 1)
            return f"{left} {operator} {right}", level
        case Compare(operator=operator):
            return f"{_inside(node.left, _ADD)} {operator} {_inside(node.right, _ADD)}", _COMPARE
        case Logic(operator=operator):
            level = _AND if operator == "AND" else _OR
            return f"{_inside(node.left, level)} {operator} {_inside(node.right, level + 1)}", level
        case In(operand=operand, values=values):
            return f"{_inside(operand, _ADD)} IN ({_commas(values)})", _COMPARE
        case Like(operand=operand, pattern=pattern):
            return f"{_inside(operand, _ADD)} LIKE {_scalar(pattern)}", _COMPARE
        case IsNull(operand=operand):
            return f"{_inside(operand, _ADD)} IS NULL", _COMPARE
        case Call(function=function, arguments=arguments):
            return f"{function}({_commas(arguments)})", _ATOM


def _inside(node: Node, least: int) -> str:
    text, level = _write(node)
    return text if level >= least else f"({text})"


def _commas(nodes: tuple[Node, ...]) -> str:
    return ", ".join(to_sql(node) for node in nodes)


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"
    return repr(value)


def quoted_name(name: str) -> str:
    """A column's or stage's name as SQL writes it, in backticks where it must be."""
    if _PLAIN_NAME.fullmatch(name) and _is_no_keyword(name):
        return name
    return f"`{name.replace('`', '``')}`"


@cache
def _is_no_keyword(name: str) -> bool:
    """Whether the parser reads a name as nothing but a name, wherever it stands."""
    if name.upper() in Spark.Parser.NO_PAREN_FUNCTION_PARSERS:
        return False
    return [token.token_type for token in Spark.Tokenizer().tokenize(name)] == [TokenType.VAR]
