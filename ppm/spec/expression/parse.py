"""SQL text into the tree, and everything that is not of the language refused with a sentence."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from ppm.errors import did_you_mean
from ppm.spec.expression import nodes
from ppm.spec.expression.functions import FUNCTIONS, STAGE_FUNCTIONS, Kind
from ppm.spec.expression.kinds import ExpressionError, kind_of
from ppm.spec.expression.nodes import Node
from ppm.spec.expression.text import EPOCH
from ppm.spec.instant import parse_instant

MAX_LENGTH = 4_000
MAX_DEPTH = 60

_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_ARITHMETIC: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
}
_OTHER_SYNTAX: dict[type[exp.Expr], str] = {
    exp.Bracket: "[]",
    exp.Case: "CASE",
    exp.Cast: "CAST",
    exp.Concat: "||",
    exp.DPipe: "||",
    exp.Escape: "ESCAPE",
    exp.Exists: "EXISTS",
    exp.If: "IF",
    exp.ILike: "ILIKE",
    exp.Mod: "%",
    exp.NullSafeEQ: "<=>",
    exp.RegexpLike: "RLIKE",
    exp.TryCast: "CAST",
    exp.Window: "OVER",
}
_READ = {
    "this",
    "expression",
    "expressions",
    "low",
    "high",
    "table",
    "to",
    "is_string",
    "quoted",
    "db",
}
_DIALECT = {"typed", "safe"}  # how Spark divides: in double precision, and null for x / 0
_NAMED_OTHERWISE = {"ceiling": "ceil", "len": "length"}


def parse(text: str) -> Node:
    """Parse one SQL expression of the closed language.

    >>> parse("speed > 2.5 AND kind IN ('walk', 'run')").operator
    'AND'
    """
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"is longer than {MAX_LENGTH} characters")
    if not text.strip():
        raise ExpressionError("is empty; a predicate is needed, such as speed > 2.5")
    try:
        tree = _convert(_syntax_tree(text), depth=0)
    except RecursionError:
        raise ExpressionError(f"is nested deeper than {MAX_DEPTH} levels") from None
    kind_of(tree)
    return tree


def parse_predicate(text: str) -> Node:
    """Parse an expression that says yes or no about one row."""
    tree = parse(text)
    kind = kind_of(tree)
    if kind not in (Kind.BOOLEAN, Kind.ANY):
        raise ExpressionError(f"is {kind.value}; a predicate is needed, such as speed > 2.5")
    return tree


def _syntax_tree(text: str) -> exp.Expr:
    # The brackets keep sqlglot from reading a statement; the newline ends a trailing comment.
    logger = logging.getLogger("sqlglot")
    was_disabled, logger.disabled = logger.disabled, True
    try:
        tree = sqlglot.parse_one(f"({text}\n)", dialect="spark")
    except ParseError as error:
        raise ExpressionError(_syntax_fault(error)) from None
    except SqlglotError:
        raise ExpressionError("is not SQL: a quote does not end, or a character is stray") from None
    finally:
        logger.disabled = was_disabled
    if not isinstance(tree, exp.Paren):
        raise ExpressionError("is not one SQL expression; check its brackets and commas")
    inner: exp.Expr = tree.this
    return inner


def _syntax_fault(error: ParseError) -> str:
    for detail in error.errors:
        said = str(detail.get("description") or "")
        if said.startswith("The number of provided arguments"):
            return "calls a function with too many arguments"
        if said.startswith("Required argument"):
            return "calls a function with too few arguments"
        near = str(detail.get("highlight") or "").strip()
        if near == "&&":
            return "has &&, which SQL does not know; use AND"
        if near and near != ")":
            return f"is not SQL near {near[:40]!r}"
    return "is not SQL: it stops too early, or a bracket is missing"


def _convert(node: exp.Expr, depth: int) -> Node:
    if depth > MAX_DEPTH:
        raise ExpressionError(f"is nested deeper than {MAX_DEPTH} levels")

    def below(child: exp.Expr) -> Node:
        return _convert(child, depth + 1)

    if node.args.get("negate"):
        # sqlglot keeps the NOT of NOT LIKE inside the LIKE.
        positive = node.copy()
        positive.set("negate", None)
        return nodes.Not(below(positive))
    if isinstance(node, exp.Paren):
        return below(node.this)
    unread = {key for key, value in node.args.items() if value} - _READ - _DIALECT
    if unread and not isinstance(node, exp.Func):
        raise ExpressionError(_not_of_the_language(node))
    if isinstance(node, exp.And | exp.Or):
        return nodes.Logic(
            "AND" if isinstance(node, exp.And) else "OR", below(node.left), below(node.right)
        )
    if isinstance(node, exp.Binary) and type(node) in _COMPARISONS:
        return nodes.Compare(_COMPARISONS[type(node)], below(node.left), below(node.right))
    if isinstance(node, exp.Binary) and type(node) in _ARITHMETIC:
        return nodes.Arithmetic(_ARITHMETIC[type(node)], below(node.left), below(node.right))
    if isinstance(node, exp.Not):
        return nodes.Not(below(node.this))
    if isinstance(node, exp.Neg):
        return _negated(below(node.this))
    if isinstance(node, exp.Literal):
        return _literal(node)
    if isinstance(node, exp.Boolean):
        return nodes.Literal(bool(node.this))
    if isinstance(node, exp.Column):
        return _column(node)
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        return nodes.IsNull(below(node.this))
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        operand = below(node.this)
        low = nodes.Compare(">=", operand, below(node.args["low"]))
        return nodes.Logic("AND", low, nodes.Compare("<=", operand, below(node.args["high"])))
    if isinstance(node, exp.In):
        return _in(node, below)
    if isinstance(node, exp.Like):
        return _like(node, below)
    if type(node) is exp.Cast:
        return _moment(node)
    if isinstance(node, exp.Func) and type(node) not in _OTHER_SYNTAX:
        return _call(node, below)
    raise ExpressionError(_not_of_the_language(node))


def _not_of_the_language(node: exp.Expr) -> str:
    if isinstance(node, exp.Null):
        return "has NULL as a value; use IS NULL or IS NOT NULL"
    if isinstance(node, exp.Is):
        return "has IS with something else than NULL; compare with ="
    if isinstance(node, exp.Query | exp.Subquery | exp.Exists) or node.args.get("query"):
        return "has a query inside; a predicate looks at one row"
    if isinstance(node, exp.Cast):
        return "has a CAST; predicates do not convert, declare the column's type instead"
    if isinstance(node, exp.DPipe):
        return "has ||, which puts texts together; use OR for alternatives"
    if isinstance(node, exp.Concat):
        return "puts texts together; compare them one by one (a quote in a text is \\')"
    word = _OTHER_SYNTAX.get(type(node), node.key.upper())
    return (
        f"has {word}, which predicates do not know; they know = <> < <= > >= + - * / AND OR NOT "
        "IN BETWEEN LIKE IS NULL and functions"
    )


def _negated(operand: Node) -> Node:
    if (
        isinstance(operand, nodes.Literal)
        and isinstance(operand.value, int | float)
        and not isinstance(operand.value, bool)
    ):
        return nodes.Literal(-operand.value)
    return nodes.Negate(operand)


def _literal(node: exp.Literal) -> nodes.Literal:
    text = str(node.this)
    if node.is_string:
        if any("\ud800" <= char <= "\udfff" for char in text) or "\0" in text:
            raise ExpressionError("has a text with half a surrogate pair or a zero byte")
        return nodes.Literal(text)
    if text.isascii() and text.isdigit():
        if len(text) > 18:
            raise ExpressionError(f"has {text[:24]}, which is too large a whole number")
        return nodes.Literal(int(text))
    try:
        number = float(text)
    except ValueError:
        raise ExpressionError(f"has {text[:24]}, which is not a number") from None
    if not math.isfinite(number):
        raise ExpressionError(f"has {text[:24]}, which is too large a number")
    return nodes.Literal(number)


def _column(node: exp.Column) -> nodes.Column:
    if node.table:
        inner = ".".join(part.name for part in node.parts)
        raise ExpressionError(
            f"has {inner}; a stage may have taken several events: write last({inner}) or "
            f"first({inner})"
        )
    if not isinstance(node.this, exp.Identifier):
        raise ExpressionError(_not_of_the_language(node.this))
    if node.name[:1].isdigit() and not node.this.args.get("quoted"):
        raise ExpressionError(f"has {node.name[:24]}, which is neither a number nor a column")
    return nodes.Column(node.name)


def _in(node: exp.In, below: Callable[[exp.Expr], Node]) -> nodes.In:
    values = tuple(below(value) for value in node.expressions)
    literals = tuple(value for value in values if isinstance(value, nodes.Literal))
    if not literals or len(literals) != len(values):
        raise ExpressionError("has IN without a list of plain values; write x IN ('a', 'b')")
    return nodes.In(below(node.this), literals)


def _like(node: exp.Like, below: Callable[[exp.Expr], Node]) -> nodes.Like:
    pattern = below(node.expression)
    if not (isinstance(pattern, nodes.Literal) and isinstance(pattern.value, str)):
        raise ExpressionError("has LIKE with something else than a plain text")
    text = pattern.value.replace("\\\\", "")
    if any(text[at + 1 : at + 2] not in ("%", "_") for at, c in enumerate(text) if c == "\\"):
        raise ExpressionError("has a LIKE text where a backslash is not before % or _ or another")
    return nodes.Like(below(node.this), pattern.value)


def _moment(node: exp.Cast) -> nodes.Moment:
    if (
        isinstance(node.this, exp.Literal)
        and node.this.is_string
        and node.to.is_type(exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPTZ)
    ):
        try:
            moment = parse_instant(str(node.this.this))
        except ValueError as error:
            raise ExpressionError(f"has a TIMESTAMP that is not one; {error}") from None
        seconds = moment - EPOCH
        micros = (seconds.days * 86_400 + seconds.seconds) * 1_000_000 + seconds.microseconds
        return nodes.Moment(micros)
    raise ExpressionError(_not_of_the_language(node))


def _call(node: exp.Func, below: Callable[[exp.Expr], Node]) -> Node:
    name = str(node.this) if isinstance(node, exp.Anonymous) else node.sql_name()
    name = _NAMED_OTHERWISE.get(name.lower(), name.lower())
    if name in STAGE_FUNCTIONS:
        return _stage_value(name, node)
    if name not in FUNCTIONS:
        known = [*FUNCTIONS, *STAGE_FUNCTIONS]
        raise ExpressionError(f"calls {name}(), which is not known{did_you_mean(name, known)}")
    arguments = _arguments(node)
    if not FUNCTIONS[name].accepts(len(arguments)):
        raise ExpressionError(
            f"calls {name}() with {len(arguments)} arguments; it is {FUNCTIONS[name].doc}"
        )
    call = nodes.Call(name, tuple(below(argument) for argument in arguments))
    _check_zone(call)
    return call


def _arguments(node: exp.Func) -> list[exp.Expr]:
    if isinstance(node, exp.Anonymous):
        return list(node.expressions)
    found: list[exp.Expr] = []
    for key, value in node.args.items():
        if value is None or value is False or key not in node.arg_types:
            continue
        values = value if isinstance(value, list) else [value]
        found += [part for part in values if isinstance(part, exp.Expr)]
        if any(isinstance(part, str) for part in values):
            raise ExpressionError(f"calls {node.sql_name().lower()}() with words inside")
    return found


def _check_zone(call: nodes.Call) -> None:
    if call.function not in ("in_zone", "distance"):
        return
    target = call.arguments[2]
    named = isinstance(target, nodes.Literal) and isinstance(target.value, str)
    if call.function == "in_zone" and not named:
        raise ExpressionError("calls in_zone() without a zone's name in quotes")
    if call.function == "distance" and named != (len(call.arguments) == 3):
        raise ExpressionError(f"calls distance() wrongly; it is {FUNCTIONS['distance'].doc}")
    if call.function == "distance" and not named:
        for part in call.arguments[2:]:
            if not (isinstance(part, nodes.Literal) and isinstance(part.value, int | float)):
                raise ExpressionError("calls distance() to a point that is not two plain numbers")


def _stage_value(name: str, node: exp.Func) -> nodes.StageValue:
    inner = _arguments(node)
    usage = STAGE_FUNCTIONS[name].doc
    if len(inner) != 1 or not isinstance(inner[0], exp.Column):
        raise ExpressionError(f"calls {name}() on something else than a stage; it is {usage}")
    column = inner[0]
    if column.args.get("db") is not None or isinstance(column.this, exp.Star):
        raise ExpressionError(
            f"calls {name}() on something else than a stage's column; it is {usage}"
        )
    if name == "count" and not column.table and isinstance(column.this, exp.Identifier):
        return nodes.StageValue(name, column.name, None)
    if name == "count" or not column.table:
        raise ExpressionError(f"calls {name}() on something else than a stage; it is {usage}")
    return nodes.StageValue(name, column.table, column.name)
