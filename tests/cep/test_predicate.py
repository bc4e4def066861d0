"""What predicates say about Arrow columns, with answers worked out by hand."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from ppm.cep.predicate import evaluate
from ppm.errors import BindingError
from ppm.spec.expression.nodes import Moment
from ppm.spec.expression.parse import parse

T, F, U = True, False, None
INF, NAN = float("inf"), float("nan")
LARGEST = 2**63 - 1


def ask(sql: str, timezone: str = "UTC", **columns: object) -> list[bool | None]:
    answers = evaluate(parse(sql), pa.table(columns), zones={}, timezone=timezone)
    assert isinstance(answers, pa.BooleanArray)
    found: list[bool | None] = answers.to_pylist()
    return found


def micros(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1_000_000)


@pytest.mark.parametrize(
    ("sql", "answers"),
    [
        ("a AND b", [T, F, U, F, F, F, U, F, U]),
        ("a OR b", [T, T, T, T, F, U, T, U, U]),
        ("NOT a", [F, F, F, T, T, T, U, U, U]),
        ("a = b", [T, F, U, F, T, U, U, U, U]),
        ("a <> b", [F, T, U, T, F, U, U, U, U]),
        ("a < b", [F, F, U, T, F, U, U, U, U]),
        ("a IS NULL", [F, F, F, F, F, F, T, T, T]),
        ("a IN (TRUE)", [T, T, T, F, F, F, U, U, U]),
        ("coalesce(a, b)", [T, T, T, F, F, F, T, F, U]),
        ("TRUE", [T] * 9),
        ("NOT TRUE", [F] * 9),
        ("1 / 0 > 0", [U] * 9),
    ],
)
def test_three_valued_logic(sql: str, answers: list[bool | None]) -> None:
    assert ask(sql, a=[T, T, T, F, F, F, U, U, U], b=[T, F, U] * 3) == answers


@pytest.mark.parametrize(
    ("sql", "x", "answer"),
    [
        pytest.param("x > 2.5", 3.0, T, id="more"),
        pytest.param("x > 2.5", 2.5, F, id="not more"),
        pytest.param("x = 0", -0.0, T, id="negative zero is zero"),
        pytest.param("x IN (0.0, 7.0)", -0.0, T, id="negative zero is zero in a list, too"),
        pytest.param("x > 1", NAN, U, id="NaN is unknown"),
        pytest.param("x IS NULL", NAN, T, id="NaN is null"),
        pytest.param("x - x IS NULL", INF, T, id="so is a NaN that was calculated"),
        pytest.param("x * 0 + 1 = 1", INF, U, id="and what is calculated from it"),
        pytest.param("coalesce(x - x, 5) = 5", INF, T, id="coalesce passes over it"),
        pytest.param("1 / x > 0", 0.0, U, id="division by zero is unknown"),
        pytest.param("1 / x > 0", -0.0, U, id="division by negative zero, too"),
        pytest.param("1 / x = 0", INF, T, id="division by infinity is zero"),
        pytest.param("x * 10 > 1e308", 1e308, T, id="overflow is infinite, not an error"),
        pytest.param("sqrt(x) IS NULL", -1.0, T, id="a root below zero is null"),
        pytest.param("abs(-x) = 2", 2.0, T, id="without its sign"),
        pytest.param("floor(x) = -2 AND ceil(x) = -1", -1.5, T, id="down and up"),
        pytest.param("floor(x) = x AND ceil(x) = x", 1e300, T, id="large numbers are whole"),
        pytest.param("floor(x) = x", INF, T, id="infinity is whole"),
        pytest.param("x / 2 * 2 = x AND x BETWEEN 3 AND 5", 5.0, T, id="in double precision"),
    ],
)
def test_numbers(sql: str, x: float, answer: bool | None) -> None:
    assert ask(sql, x=[x]) == [answer]


@pytest.mark.parametrize(
    ("sql", "n", "answer"),
    [
        pytest.param("n = 9007199254740993", 2**53 + 1, T, id="whole numbers are exact"),
        pytest.param("n = 9007199254740992", 2**53 + 1, F, id="to the last digit"),
        pytest.param("n = 9007199254740992.0", 2**53 + 1, T, id="as doubles they are not"),
        pytest.param(
            "n IN (1, 9007199254740992)", 2**53 + 1, F, id="a list of whole numbers is exact"
        ),
        pytest.param("n IN (1.5, 9007199254740992)", 2**53 + 1, T, id="a mixed list is not"),
        pytest.param("n + 1 > n", LARGEST, F, id="arithmetic is in doubles, with no overflow"),
        pytest.param("-n > 0", -LARGEST - 1, T, id="nor has a sign change any"),
        pytest.param("abs(n) > 0", -LARGEST - 1, T, id="nor has the amount"),
        pytest.param(
            "coalesce(n, 9007199254740992) = 9007199254740993", 2**53 + 1, T, id="coalesce"
        ),
        pytest.param("n > 0", None, U, id="null"),
    ],
)
def test_whole_numbers(sql: str, n: int | None, answer: bool | None) -> None:
    assert ask(sql, n=pa.array([n], pa.int64())) == [answer]


@pytest.mark.parametrize(
    ("sql", "s", "answer"),
    [
        pytest.param("s < 'b'", "a", T, id="by bytes"),
        pytest.param("s < 'a'", "Z", T, id="capitals first"),
        pytest.param("s > '\uffff'", "😀", T, id="UTF-8, not UTF-16"),
        pytest.param("s = 'é'", "e\u0301", F, id="accents are not composed"),
        pytest.param("length(s) = 3", "a😀b", T, id="characters, not bytes"),
        pytest.param("lower(s) = 'walk'", "WaLK", T, id="small letters"),
        pytest.param("lower(s) = s AND upper(s) = s", "ÅİßΣ", T, id="only ASCII letters change"),
        pytest.param("trim(s) = 'a'", "  a ", T, id="spaces"),
        pytest.param("trim(s) = s", "\ta\u00a0", T, id="other white space stays"),
        pytest.param("s IN ('run', 'walk')", "walk", T, id="in a list"),
        pytest.param("s NOT IN ('run', 'walk')", "walk", F, id="not in a list"),
        pytest.param(
            "s NOT IN ('run', 'walk')", None, U, id="null is not in a list, nor out of it"
        ),
        pytest.param("s LIKE 'w%k'", "wa\nlk", T, id="any text, across lines"),
        pytest.param("s NOT LIKE 'w%k'", "walk", F, id="not like"),
        pytest.param("s LIKE 'w_k'", "w😀k", T, id="any one character"),
        pytest.param("s LIKE 'wal'", "walk", F, id="all of the text"),
        pytest.param("s LIKE 'walk'", "walk\n", F, id="with the last line's end"),
        pytest.param(r"s LIKE '100\\%'", "100%", T, id="a percent sign"),
        pytest.param(r"s LIKE '100\\%'", "1000", F, id="and nothing else"),
        pytest.param(r"s LIKE '\\\\_'", "\\x", T, id="a backslash, then any character"),
        pytest.param(r"s LIKE '%\\\\'", "a\\", T, id="a backslash at the end"),
        pytest.param(r"s LIKE '%\\\\'", "a", F, id="which must be there"),
        pytest.param(r"s LIKE '\\_\n%'", "_\n\n", T, id="a wildcard and an escape, across lines"),
        pytest.param("s LIKE '(.*)'", "abc", F, id="no regular expression"),
        pytest.param("s LIKE ''", "", T, id="the empty text"),
    ],
)
def test_text(sql: str, s: str | None, answer: bool | None) -> None:
    assert ask(sql, s=pa.array([s], pa.string())) == [answer]


@pytest.mark.parametrize(
    ("sql", "at", "answer"),
    [
        pytest.param("hour(t) = 1", "2026-03-29T00:59:59.999999+00:00", T, id="before summer time"),
        pytest.param("hour(t) = 3", "2026-03-29T01:00:00+00:00", T, id="clocks jump over 2"),
        pytest.param("hour(t) = 2", "2026-10-25T00:59:00+00:00", T, id="2 o'clock"),
        pytest.param("hour(t) = 2", "2026-10-25T01:59:00+00:00", T, id="2 o'clock again"),
        pytest.param("minute(t) = 59", "2026-10-25T01:59:00+00:00", T, id="minute"),
        pytest.param("weekday(t) = 7", "2026-03-01T22:59:59+00:00", T, id="Sunday"),
        pytest.param("weekday(t) = 1", "2026-03-01T23:00:00+00:00", T, id="Monday starts in Oslo"),
        pytest.param("hour(t) = 0 AND minute(t) = 59", "1969-12-31T23:59:59+00:00", T, id="1969"),
        pytest.param("hour(t) = 13", "1910-07-01T12:00:00+00:00", T, id="before 1970: as in 1970"),
        pytest.param("hour(t) = 13", "2050-07-01T12:00:00+00:00", T, id="after 2037: as in 2037"),
        pytest.param(
            "t < TIMESTAMP '2026-03-01T00:00:00+01:00'", "2026-02-28T23:00:00+00:00", F, id="="
        ),
        pytest.param(
            "t < TIMESTAMP '2026-03-01T00:00:00+01:00'",
            "2026-02-28T22:59:59.999999+00:00",
            T,
            id="<",
        ),
    ],
)
def test_times_in_oslo(sql: str, at: str, answer: bool) -> None:
    t = pa.array([micros(at)], pa.timestamp("us", "America/New_York"))
    assert ask(sql, "Europe/Oslo", t=t) == [answer]


def test_a_wall_clock_knows_no_time_zone() -> None:
    wall = pa.array([micros("2026-03-29T02:30:00+00:00"), None], pa.timestamp("us"))
    sql = "hour(t) = 2 AND minute(t) = 30 AND weekday(t) = 7"
    assert ask(sql, "Europe/Oslo", t=wall) == [T, U]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "+01:00"])
def test_times_of_every_unit(unit: str, zone: str | None) -> None:
    t = pa.array([datetime(1969, 12, 31, 22, 7, 8, tzinfo=UTC), None], pa.timestamp("us", zone))
    assert ask("hour(t) = 22 AND minute(t) = 7", t=t.cast(pa.timestamp(unit, zone))) == [T, U]


def test_finer_times_are_rounded_down_to_microseconds() -> None:
    t = pa.array([-1_000, -999, -1, 0, 999, 1_000], pa.timestamp("ns", "UTC"))
    rows = pa.table({"t": t})
    before = [
        evaluate(parse(f"t < TIMESTAMP '{edge}'"), rows, zones={}, timezone="UTC").true_count
        for edge in ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000001Z")
    ]
    assert before == [3, 5]
    assert Moment(1) == parse("TIMESTAMP '1970-01-01T00:00:00.000001Z'")


def test_times_beyond_all_microseconds_are_null() -> None:
    t = pa.array([LARGEST, -LARGEST - 1, 0], pa.timestamp("s", "UTC"))
    assert ask("t IS NULL", t=t) == [T, T, F]


@pytest.mark.parametrize("extreme", [LARGEST, LARGEST - 1, -LARGEST, -LARGEST - 1])
@pytest.mark.parametrize("timezone", ["Asia/Tokyo", "America/New_York"])
def test_the_furthest_times_have_an_hour(extreme: int, timezone: str) -> None:
    t = pa.array([extreme], pa.timestamp("us", "UTC"))
    assert ask("hour(t) BETWEEN 0 AND 23 AND weekday(t) BETWEEN 1 AND 7", timezone, t=t) == [T]


@pytest.mark.parametrize(
    ("column", "sql"),
    [
        *((pa.array([7, None], whole), "x = 7") for whole in (pa.int8(), pa.int32(), pa.uint32())),
        *((pa.array([0.5, None], real), "x = 0.5") for real in (pa.float16(), pa.float32())),
        *(
            (pa.array(["a", None], text), "upper(x) LIKE 'A%' AND x IN ('a') AND 'b' > x")
            for text in (
                pa.string(),
                pa.large_string(),
                pa.string_view(),
                pa.dictionary(pa.int8(), pa.string()),
                pa.dictionary(pa.int32(), pa.large_string()),
            )
        ),
        (pa.chunked_array([["a"], [None]]), "coalesce(x, x) = 'a'"),
    ],
    ids=lambda value: str(value.type) if hasattr(value, "type") else "",
)
def test_columns_of_many_types(column: pa.Array, sql: str) -> None:
    assert ask(sql, x=column) == [T, U]


def test_texts_of_two_types_compare() -> None:
    one, other = pa.array(["a"], pa.large_string()), pa.array(["a"], pa.string())
    assert ask("x = y AND coalesce(x, y) = y", x=one, y=other) == [T]


@pytest.mark.parametrize("rows", [pa.table({"x": [1.0]}), pa.record_batch({"x": [1.0]})])
def test_tables_and_batches_of_any_length(rows: pa.Table | pa.RecordBatch) -> None:
    for sql in ("x > 0", "TRUE"):
        for length in (0, 1):
            answers = evaluate(parse(sql), rows.slice(0, length), zones={}, timezone="UTC")
            assert answers.to_pylist() == [T] * length


@pytest.mark.parametrize(
    ("column", "fault"),
    [
        pytest.param(
            pa.array([1], pa.decimal128(9, 2)), "column x is decimal128(9, 2)", id="decimal"
        ),
        pytest.param(pa.array([1], pa.uint64()), "column x is uint64; cast it to", id="uint64"),
        pytest.param(pa.array([0], pa.date32()), "column x is date32[day]", id="date"),
        pytest.param(pa.array(["secret"]), "compares text with a whole number", id="text"),
    ],
)
def test_a_column_that_does_not_fit_is_refused(column: pa.Array, fault: str) -> None:
    with pytest.raises(BindingError) as caught:
        ask("x > 0", x=column)
    assert fault in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_missing_column_is_named() -> None:
    with pytest.raises(BindingError, match=r"column sped is missing; did you mean speed\?"):
        ask("sped > 1", speed=[1.0])
