"""The language of predicates: what it knows, what it refuses, and with which words."""

from __future__ import annotations

import builtins
import logging
import os
import subprocess

import pytest

from ppm.spec.expression.declared import Condition, Predicate
from ppm.spec.expression.functions import FUNCTIONS
from ppm.spec.expression.kinds import ColumnType, ExpressionError, kind_of
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
from ppm.spec.expression.parse import MAX_DEPTH, MAX_LENGTH, parse, parse_predicate
from ppm.spec.expression.text import to_sql

X, Y, Z = Column("x"), Column("y"), Column("z")
ONE = Literal(1)
KNOWN = (
    "which predicates do not know; they know = <> < <= > >= + - * / AND OR NOT "
    "IN BETWEEN LIKE IS NULL and functions"
)
NO_TIME = (
    "has a TIMESTAMP that is not one; a time with its offset is needed, "
    "such as 2026-03-01T08:00:00+01:00"
)
NO_CLOCK = "hour() needs a time or a time without zone there"
NO_STAGE = "on something else than a stage; it is"
FUNCTION_NAMES = (
    "allowed are abs, avg, ceil, coalesce, count, distance, first, floor, hour, in_zone, last, "
    "length, lower, max, min, minute, sqrt, sum, trim, upper, weekday"
)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        pytest.param("x = 1", Compare("=", X, ONE), id="equal"),
        pytest.param("x == 1", Compare("=", X, ONE), id="equal, doubled"),
        pytest.param("x <> 1", Compare("<>", X, ONE), id="not equal"),
        pytest.param("x != 1", Compare("<>", X, ONE), id="not equal, as in C"),
        pytest.param("x <= 1.5", Compare("<=", X, Literal(1.5)), id="at most"),
        pytest.param("x > -1", Compare(">", X, Literal(-1)), id="a negative number"),
        pytest.param("x > .5", Compare(">", X, Literal(0.5)), id="a bare fraction"),
        pytest.param("x > 1e3", Compare(">", X, Literal(1000.0)), id="an exponent"),
        pytest.param("-x > 1", Compare(">", Negate(X), ONE), id="a minus before a column"),
        pytest.param(
            "x + y * z > 1",
            Compare(">", Arithmetic("+", X, Arithmetic("*", Y, Z)), ONE),
            id="times before plus",
        ),
        pytest.param(
            "x - y - z > 1",
            Compare(">", Arithmetic("-", Arithmetic("-", X, Y), Z), ONE),
            id="minus from the left",
        ),
        pytest.param("x AND y OR z", Logic("OR", Logic("AND", X, Y), Z), id="AND before OR"),
        pytest.param("x and (y or z)", Logic("AND", X, Logic("OR", Y, Z)), id="brackets"),
        pytest.param("NOT x = 1", Not(Compare("=", X, ONE)), id="NOT after comparison"),
        pytest.param("x IN (1, 2)", In(X, (ONE, Literal(2))), id="IN"),
        pytest.param("x NOT IN ('a')", Not(In(X, (Literal("a"),))), id="NOT IN"),
        pytest.param(
            "x BETWEEN 1 AND y",
            Logic("AND", Compare(">=", X, ONE), Compare("<=", X, Y)),
            id="BETWEEN",
        ),
        pytest.param("x LIKE 'a\\\\%b%'", Like(X, "a\\%b%"), id="LIKE"),
        pytest.param("x NOT LIKE '_'", Not(Like(X, "_")), id="NOT LIKE"),
        pytest.param("x IS NULL", IsNull(X), id="IS NULL"),
        pytest.param("x IS NOT NULL", Not(IsNull(X)), id="IS NOT NULL"),
        pytest.param("TRUE", Literal(True), id="TRUE"),
        pytest.param("x", X, id="a column that may be a truth value"),
        pytest.param(
            '`a b` = "c"',
            Compare("=", Column("a b"), Literal("c")),
            id="backticks name, quotes are text",
        ),
        pytest.param("x = 'it\\'s'", Compare("=", X, Literal("it's")), id="an escaped quote"),
        pytest.param("x > 1 -- why", Compare(">", X, ONE), id="a comment to the end"),
        pytest.param("x /* why */ > 1", Compare(">", X, ONE), id="a comment inside"),
        pytest.param(
            "ABS(x) > 1", Compare(">", Call("abs", (X,)), ONE), id="functions in capitals"
        ),
        pytest.param(
            "ceiling(x) = len(y)",
            Compare("=", Call("ceil", (X,)), Call("length", (Y,))),
            id="other names of functions",
        ),
        pytest.param(
            "coalesce(x, y, 1) = 1", Compare("=", Call("coalesce", (X, Y, ONE)), ONE), id="coalesce"
        ),
        pytest.param(
            "in_zone(x, y, 'home')", Call("in_zone", (X, Y, Literal("home"))), id="in_zone"
        ),
        pytest.param(
            "distance(x, y, 59.9, -10) < 1",
            Compare("<", Call("distance", (X, Y, Literal(59.9), Literal(-10))), ONE),
            id="distance to a point",
        ),
        pytest.param(
            "x > TIMESTAMP '1970-01-01T01:00:01+01:00'",
            Compare(">", X, Moment(1_000_000)),
            id="a point in time",
        ),
        pytest.param(
            "x > last(a.y)",
            Compare(">", X, StageValue("last", "a", "y")),
            id="a value of an earlier stage",
        ),
        pytest.param(
            "count(a) < 1",
            Compare("<", StageValue("count", "a", None), ONE),
            id="how many events a stage took",
        ),
    ],
)
def test_the_language(text: str, tree: Node) -> None:
    assert parse(text) == tree
    assert parse(to_sql(tree)) == tree


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "is empty; a predicate is needed, such as speed > 2.5", id="nothing"),
        pytest.param("x" * (MAX_LENGTH + 1), "is longer than 4000 characters", id="too long"),
        pytest.param(
            "x >", "is not SQL: it stops too early, or a bracket is missing", id="half a comparison"
        ),
        pytest.param(
            "(x > 1",
            "is not SQL: it stops too early, or a bracket is missing",
            id="an open bracket",
        ),
        pytest.param(
            "x > 'a",
            "is not SQL: a quote does not end, or a character is stray",
            id="an open quote",
        ),
        pytest.param("x XOR y", "is not SQL near 'XOR'", id="an unknown operator"),
        pytest.param(
            "x > 1, y > 2",
            "is not one SQL expression; check its brackets and commas",
            id="two expressions",
        ),
        pytest.param(
            "x) OR (y",
            "is not one SQL expression; check its brackets and commas",
            id="brackets turned around",
        ),
        pytest.param(
            "SELECT 1", "is not one SQL expression; check its brackets and commas", id="a statement"
        ),
        pytest.param("x; DROP TABLE y", "is not SQL near 'x'", id="a second statement"),
        pytest.param(
            "x = NULL", "has NULL as a value; use IS NULL or IS NOT NULL", id="equal to NULL"
        ),
        pytest.param(
            "x IN (NULL)", "has NULL as a value; use IS NULL or IS NOT NULL", id="in NULL"
        ),
        pytest.param(
            "x IS TRUE", "has IS with something else than NULL; compare with =", id="IS TRUE"
        ),
        pytest.param(
            "x IN (y)",
            "has IN without a list of plain values; write x IN ('a', 'b')",
            id="IN columns",
        ),
        pytest.param(
            "EXISTS(SELECT 1)", "has a query inside; a predicate looks at one row", id="EXISTS"
        ),
        pytest.param(
            "x LIKE y", "has LIKE with something else than a plain text", id="LIKE a column"
        ),
        pytest.param(
            "x LIKE 'a\\\\b'",
            "has a LIKE text where a backslash is not before % or _ or another",
            id="a stray backslash",
        ),
        pytest.param("x LIKE 'a' ESCAPE '!'", f"has ESCAPE, {KNOWN}", id="ESCAPE"),
        pytest.param("x ILIKE 'a'", f"has ILIKE, {KNOWN}", id="ILIKE"),
        pytest.param("x RLIKE 'a'", f"has RLIKE, {KNOWN}", id="RLIKE"),
        pytest.param("x % 2 = 0", f"has %, {KNOWN}", id="modulo"),
        pytest.param(
            "x || 'a' = 'b'",
            "has ||, which puts texts together; use OR for alternatives",
            id="joined texts",
        ),
        pytest.param("a && b", "has &&, which SQL does not know; use AND", id="and of C"),
        pytest.param("x <=> 1", f"has <=>, {KNOWN}", id="null-safe equality"),
        pytest.param("x[0] = 1", f"has [], {KNOWN}", id="an index"),
        pytest.param("CASE WHEN x THEN 1 END = 1", f"has CASE, {KNOWN}", id="CASE"),
        pytest.param("if(x, 1, 2) = 1", f"has IF, {KNOWN}", id="IF"),
        pytest.param("sum(x) OVER () > 1", f"has OVER, {KNOWN}", id="a window function"),
        pytest.param("x = ?", f"has PLACEHOLDER, {KNOWN}", id="a placeholder"),
        pytest.param(
            "CAST(x AS INT) = 1",
            "has a CAST; predicates do not convert, declare the column's type instead",
            id="CAST",
        ),
        pytest.param(
            "x::int = 1",
            "has a CAST; predicates do not convert, declare the column's type instead",
            id="CAST in short",
        ),
        pytest.param(
            "x = 1234567890123456789",
            "has 1234567890123456789, which is too large a whole number",
            id="19 digits",
        ),
        pytest.param(
            "x > 1e999", "has 1e999, which is too large a number", id="beyond all numbers"
        ),
        pytest.param(
            "x = 'a\0'", "has a text with half a surrogate pair or a zero byte", id="a zero byte"
        ),
        pytest.param(
            "x > TIMESTAMP '2026-03-01'",
            NO_TIME,
            id="a time without offset",
        ),
        pytest.param(
            "x > TIMESTAMP '0001-01-01T00:00:00+01:00'",
            NO_TIME,
            id="a time before the first year",
        ),
        pytest.param(
            "cell(x) > 1",
            "calls cell(), which is not known; did you mean ceil?",
            id="a misspelled function",
        ),
        pytest.param(
            "now() > x", f"calls now(), which is not known; {FUNCTION_NAMES}", id="the clock"
        ),
        pytest.param(
            "rand() > x", f"calls rand(), which is not known; {FUNCTION_NAMES}", id="chance"
        ),
        pytest.param(
            "current_date > x",
            f"calls current_date(), which is not known; {FUNCTION_NAMES}",
            id="the clock without brackets",
        ),
        pytest.param(
            "floor(x, 2) = 1",
            "calls floor() with 2 arguments; it is floor(x): the next whole number down",
            id="too many arguments",
        ),
        pytest.param(
            "coalesce(x) = 1",
            "calls coalesce() with 1 arguments; it is coalesce(x, y, ...): the first not null",
            id="too few arguments",
        ),
        pytest.param(
            "trim(BOTH 'a' FROM x) = 'b'",
            "calls trim() with words inside",
            id="words inside a call",
        ),
        pytest.param(
            "in_zone(x, y, z)",
            "calls in_zone() without a zone's name in quotes",
            id="a zone from a column",
        ),
        pytest.param(
            "distance(x, y, z, 1) < 1",
            "calls distance() to a point that is not two plain numbers",
            id="a point from a column",
        ),
        pytest.param(
            "distance(x, y, 'home', 1) < 1",
            f"calls distance() wrongly; it is {FUNCTIONS['distance'].doc}",
            id="a zone and a number",
        ),
        pytest.param(
            "a.x > 1",
            "has a.x; a stage may have taken several events: write last(a.x) or first(a.x)",
            id="a stage's column without a function",
        ),
        pytest.param(
            "last(x) > 1",
            f"calls last() {NO_STAGE} last(a.x): x of the latest event",
            id="last of a column",
        ),
        pytest.param(
            "sum(a.x + 1) > 1",
            f"calls sum() {NO_STAGE} sum(a.x): the sum of x, 0 over no events",
            id="a sum over a sum",
        ),
        pytest.param(
            "sum(last(a.x)) > 1",
            f"calls sum() {NO_STAGE} sum(a.x): the sum of x, 0 over no events",
            id="an aggregate of an aggregate",
        ),
        pytest.param(
            "count(*) > 1",
            f"calls count() {NO_STAGE} count(a): how many events",
            id="count of everything",
        ),
        pytest.param(
            "count(a.x) > 1",
            f"calls count() {NO_STAGE} count(a): how many events",
            id="count of a column",
        ),
        pytest.param(
            "count(DISTINCT a) > 1",
            f"calls count() {NO_STAGE} count(a): how many events",
            id="count of different ones",
        ),
        pytest.param(
            "max(a.b.c) > 1",
            "calls max() on something else than a stage's column; it is max(a.x): the largest x",
            id="a column of a column",
        ),
        pytest.param(
            "min(a.x, 2) > 1",
            f"calls min() {NO_STAGE} min(a.x): the smallest x",
            id="two arguments",
        ),
        pytest.param(
            "1 = 'a'",
            "has 1 = 'a', which compares a whole number with text",
            id="a number and a text",
        ),
        pytest.param(
            "lower(x) = TRUE",
            "has lower(x) = TRUE, which compares text with a truth value",
            id="a text and a truth value",
        ),
        pytest.param(
            "x IN (1) = 'a'",
            "has (x IN (1)) = 'a', which compares a truth value with text",
            id="a truth value and a text",
        ),
        pytest.param(
            "abs(x) IN (1, 'a')",
            "has abs(x) IN (1, 'a'), which compares a number with text",
            id="a text in a list of numbers",
        ),
        pytest.param(
            "x AND 1",
            "has 1, which is a whole number; AND needs truth values",
            id="AND of a number",
        ),
        pytest.param("NOT 'a'", "has 'a', which is text; NOT needs a truth value", id="NOT a text"),
        pytest.param("-'a' > 1", "has 'a', which is text; - needs a number", id="minus a text"),
        pytest.param("x + 'a' > 1", "has 'a', which is text; + needs numbers", id="plus a text"),
        pytest.param(
            "abs(x) LIKE 'a'",
            "has abs(x), which is a number; LIKE needs text",
            id="LIKE of a number",
        ),
        pytest.param(
            "lower(1) = 'a'",
            "has lower(1), where argument 1 is a whole number; lower() needs text there",
            id="a number in small letters",
        ),
        pytest.param(
            "hour('a') = 1",
            f"has hour('a'), where argument 1 is text; {NO_CLOCK}",
            id="the hour of a text",
        ),
        pytest.param(
            "x + 1", "is a number; a predicate is needed, such as speed > 2.5", id="a sum"
        ),
        pytest.param("'a'", "is text; a predicate is needed, such as speed > 2.5", id="a text"),
    ],
)
def test_what_is_not_of_the_language_is_refused(text: str, message: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        parse_predicate(text)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("NOT " * 200 + "x", id="NOT"),
        pytest.param("(" * 200 + "x" + ")" * 200, id="brackets"),
        pytest.param("-(" * 200 + "x" + ")" * 200 + " > 1", id="minus"),
        pytest.param("abs(" * 200 + "x" + ")" * 200 + " > 1", id="calls"),
        pytest.param(" AND ".join(["x"] * 200), id="a long chain"),
        pytest.param("(" * 1_900 + "x" + ")" * 1_900, id="more brackets than Python can follow"),
    ],
)
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError, match=f"^is nested deeper than {MAX_DEPTH} levels$"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        pytest.param(
            "speed > 1",
            {"sped": "double"},
            "reads the column speed, which the stream does not have; did you mean sped?",
            id="a column that is not there",
        ),
        pytest.param(
            "x = 'a'",
            {"x": "integer"},
            "has x = 'a', which compares a whole number with text",
            id="a number column and a text",
        ),
        pytest.param(
            "hour(x) = 1",
            {"x": "string"},
            f"has hour(x), where argument 1 is text; {NO_CLOCK}",
            id="the hour of a text column",
        ),
        pytest.param(
            "sum(a.x) > 1",
            {"x": "string"},
            "has sum(a.x), which is text; sum() needs a number",
            id="the sum of a text column",
        ),
        pytest.param(
            "x < y",
            {"x": "timestamp", "y": "local_timestamp"},
            "has x < y, which compares a time with a time without zone",
            id="times with and without zone",
        ),
        pytest.param("x", {"x": "double"}, None, id="parsing alone cannot know"),
        pytest.param(
            "x + y > 1.5", {"x": "integer", "y": "double"}, None, id="whole numbers are numbers"
        ),
        pytest.param("last(a.s) = s", {"s": "string"}, None, id="the last text"),
        pytest.param("coalesce(x, 1.5) > 1", {"x": "integer"}, None, id="coalesce widens"),
    ],
)
def test_kinds_are_checked_against_the_columns(
    text: str, columns: dict[str, str], message: str | None
) -> None:
    types = {name: ColumnType(word) for name, word in columns.items()}
    if message is None:
        kind_of(parse(text), types)
        return
    with pytest.raises(ExpressionError) as refused:
        kind_of(parse(text), types)
    assert str(refused.value) == message


def test_a_predicate_sees_one_row_only() -> None:
    assert str(Condition.parse("x > last(a.x)")) == "x > last(a.x)"
    with pytest.raises(ExpressionError) as refused:
        Predicate.parse("x > last(a.x)")
    assert str(refused.value) == (
        "asks about other events (last(a.x)); it sees one row: put this into where of a stage"
    )


@pytest.mark.parametrize("written", [1, 1.5, None, ["x > 1"], {"x": 1}])
def test_a_predicate_is_text(written: object) -> None:
    with pytest.raises(ValueError, match=r"^SQL is needed, such as speed > 2\.5$"):
        Predicate.parse(written)


def test_true_and_false_are_predicates() -> None:
    assert Predicate.parse(True) == Predicate.parse("TRUE")
    assert Predicate.parse(False) == Predicate.parse("false")


def test_a_predicate_knows_what_it_reads() -> None:
    condition = Condition.parse("in_zone(lat, lon, 'home') AND price > last(a.cost) + count(b)")
    assert condition.columns == {"lat", "lon", "price"}
    assert condition.all_columns == {"lat", "lon", "price", "cost"}
    assert condition.zones == {"home"}


def test_a_number_a_truth_value_and_a_float_are_different_literals() -> None:
    assert len({Literal(1), Literal(1.0), Literal(True)}) == 3


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true') = 1",
        "eval('1') = 1",
        "exec('1') = 1",
        "java_method('java.lang.Runtime', 'exit') = 1",
        "reflect('java.lang.System', 'exit', 0) = 1",
        "x = {{ 7 * 7 }}",
        "x = ${env:HOME}",
        "open('/etc/passwd') = 'a'",
        "x IN (SELECT y)",
    ],
)
def test_nothing_is_executed(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("a predicate was executed")

    monkeypatch.setattr(os, "system", forbidden)
    monkeypatch.setattr(subprocess, "Popen", forbidden)
    monkeypatch.setattr(builtins, "open", forbidden)
    with pytest.raises(ExpressionError):
        parse(text)


def test_the_parser_says_nothing_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(ExpressionError):
        parse("GRANT x TO y")
    assert not caplog.records
