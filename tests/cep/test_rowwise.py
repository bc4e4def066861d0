"""A predicate says the same about a row alone as about the row among columns."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ppm.cep.predicate import evaluate
from ppm.cep.rowwise import answer
from ppm.errors import BindingError, InternalError
from ppm.spec.expression.functions import Kind
from ppm.spec.expression.lower import lower
from ppm.spec.expression.nodes import Call, Literal, Node, columns_of
from ppm.spec.expression.parse import parse
from ppm.spec.expression.text import to_sql
from tests.spark.test_predicate import TABLE, TIMEZONES, TYPES, ZONES, expressions, small_predicates


def plain(scalar: pa.Scalar) -> object:
    """A cell as Python holds it; times as microseconds, as no datetime reaches all of them."""
    return scalar.value if isinstance(scalar, pa.TimestampScalar) else scalar.as_py()


ROWS = [{name: plain(TABLE[name][row]) for name in TABLE.column_names} for row in range(len(TABLE))]


def disagreements(node: Node, timezone: str, rows: range) -> list[str]:
    table = TABLE.slice(rows.start, len(rows))
    among_columns = evaluate(node, table, zones=ZONES, timezone=timezone).to_pylist()
    lowered = lower(node, ZONES)
    return [
        f"row {row}: {to_sql(node)} with {[ROWS[row][name] for name in columns_of(node)]}"
        for row, expected in zip(rows, among_columns, strict=True)
        if answer(lowered, ROWS[row], timezone=timezone, types=TYPES) is not expected
    ]


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(expressions(Kind.BOOLEAN, 3), st.sampled_from(TIMEZONES), st.integers(0, len(ROWS) - 8))
def test_rows_and_columns_agree(node: Node, timezone: str, first: int) -> None:
    assert disagreements(node, timezone, range(first, first + 8)) == []


def test_every_function_agrees() -> None:
    for place, node in enumerate(small_predicates()):
        first = place * 7 % (len(ROWS) - 8)
        assert disagreements(node, "Europe/Oslo", range(first, first + 8)) == []


@pytest.mark.parametrize(
    ("value", "sql"),
    [
        pytest.param(datetime(2026, 3, 29, 1, tzinfo=UTC), "hour(x) = 3", id="with a zone"),
        pytest.param(datetime(2026, 3, 29, 1), "hour(x) = 1", id="without"),
        pytest.param(
            datetime(2026, 3, 1, tzinfo=timezone(timedelta(hours=1))),
            "x = TIMESTAMP '2026-03-01T00:00:00+01:00'",
            id="an offset",
        ),
        pytest.param(True, "x", id="a truth value is itself"),
        pytest.param(float("nan"), "x IS NULL", id="NaN is null"),
        pytest.param(2**53 + 1, "x <> 9007199254740992", id="whole numbers are exact"),
    ],
)
def test_values_say_themselves_what_they_are(value: object, sql: str) -> None:
    assert answer(parse(sql), {"x": value}, timezone="Europe/Oslo") is True


@pytest.mark.parametrize(
    ("value", "sql", "fault"),
    [
        pytest.param("secret", "x > 1", "compares different kinds", id="text and number"),
        pytest.param(5, "x", "a truth value is needed", id="a number is no truth value"),
        pytest.param(b"secret", "x = 1", "a column holds bytes", id="bytes"),
        pytest.param(1, "y = 1", "column y is missing; allowed are x", id="missing"),
    ],
)
def test_what_does_not_fit_is_a_fault_without_the_value(
    value: object, sql: str, fault: str
) -> None:
    with pytest.raises(BindingError) as caught:
        answer(parse(sql), {"x": value}, timezone="UTC")
    assert fault in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_zone_must_be_lowered_first() -> None:
    node = Call("in_zone", (Literal(1.0), Literal(2.0), Literal("home")))
    with pytest.raises(InternalError, match="do not know in_zone"):
        answer(node, {}, timezone="UTC")
