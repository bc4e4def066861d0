"""Conditions on earlier events mean the same in columns as in the reference interpreter."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta
from random import Random

import pyarrow as pa
import pytest

from ppm.cep.columnar.engine import find_columns
from ppm.cep.columnar.tables import compile_pattern
from ppm.cep.match import Event
from ppm.cep.reference import find
from ppm.errors import BindingError
from ppm.spec.expression.kinds import ColumnType
from ppm.spec.pattern import Pattern
from tests.cep.columnar_tables import Shown, shown
from tests.cep.notation import MS

TYPES = {
    "kind": ColumnType.STRING,
    "price": ColumnType.DOUBLE,
    "number": ColumnType.INTEGER,
    "card": ColumnType.STRING,
    "seen": ColumnType.TIMESTAMP,
    "is_on": ColumnType.BOOLEAN,
}
BIG = 2**53
DAY = datetime(2026, 3, 1, tzinfo=UTC)


def streams(seed: int, *, count: int = 60) -> dict[str, list[Event]]:
    random, found = Random(seed), {}
    for subject in range(count):
        rows = [
            {
                "kind": random.choice("abbc"),
                "price": random.choice([None, -1.5, 0.0, 1.0, 2.0, 2.5]),
                "number": random.choice([None, 0, 1, 2, BIG, BIG + 1]),
                "card": random.choice([None, "", "x", "xy", "é"]),
                "seen": random.choice([None, DAY, DAY + timedelta(seconds=1)]),
                "is_on": random.choice([None, True, False]),
            }
            for _ in range(random.randint(3, 8))
        ]
        events = [Event(at, at * MS, row) for at, row in enumerate(rows)]
        found[f"{subject:03}"] = events
    return found


def table_of(found: dict[str, list[Event]]) -> pa.Table:
    rows = [(subject, event) for subject, events in found.items() for event in events]
    types = {
        "kind": pa.string(),
        "price": pa.float64(),
        "number": pa.int64(),
        "card": pa.string(),
        "seen": pa.timestamp("us", "UTC"),
        "is_on": pa.bool_(),
    }
    columns = {
        name: pa.array([event.row[name] for _, event in rows], arrow)
        for name, arrow in types.items()
    }
    return pa.table(
        {
            "subject": pa.array([subject for subject, _ in rows], pa.string()),
            "time": pa.array([event.time for _, event in rows], pa.int64()),
            "id": pa.array([event.id for _, event in rows], pa.int64()),
            **columns,
        }
    )


def asking(condition: str, stage: str) -> Pattern:
    stages: list[dict[str, object]] = [
        {"event": "a", "name": "s0"},
        {"event": "b", "name": "s1", "times": "1..3", "optional": True, "loop": "combinations"},
        {"event": "c", "name": "s2", "contiguity": "followed_by_any"},
    ]
    stages[int(stage[1])]["where"] = condition
    events = {one: f"kind = '{one}'" for one in "abc"}
    return Pattern.model_validate({"name": "p", "events": events, "stages": stages})


def by_columns(pattern: Pattern, found: dict[str, list[Event]]) -> list[Shown]:
    table = table_of(found)
    compiled = compile_pattern(pattern, types=TYPES, zones={}, timezone="UTC")
    # What is compiled on a driver is used on workers.
    compiled = pickle.loads(pickle.dumps(compiled))  # noqa: S301
    return shown(pattern, find_columns(compiled, table), table)


def by_reference(pattern: Pattern, found: dict[str, list[Event]]) -> list[Shown]:
    return [
        (subject, match.at, [(stage, event.id) for stage, es in match.stages for event in es])
        for subject, events in found.items()
        for match in find(pattern, events, zones={}, timezone="UTC", types=TYPES)
    ]


@pytest.mark.parametrize(
    ("stage", "condition"),
    [
        ("s1", "price > last(s0.price)"),
        ("s1", "sum(s1.price) + price < 4"),
        ("s1", "count(s1) < 2"),
        ("s1", "card = last(s1.card) OR count(s1) = 0"),
        ("s1", "price > 0 AND price >= coalesce(max(s1.price), 0)"),
        ("s2", "price = first(s0.price)"),
        ("s2", "price >= avg(s1.price)"),
        ("s2", "price <> max(s1.price)"),
        ("s2", "price / min(s1.price) > 1"),
        ("s2", "sum(s1.price) = 0"),
        ("s2", "count(s1) IN (0, 2)"),
        ("s2", "card = first(s0.card)"),
        ("s2", "card <> last(s1.card)"),
        ("s2", "card < first(s1.card)"),
        ("s2", "coalesce(last(s1.card), 'x') = card"),
        ("s2", "last(s0.card) IN ('x', 'é')"),
        ("s2", "number = last(s0.number)"),
        ("s2", "number > first(s1.number)"),
        ("s2", "number = last(s0.number) + 1"),
        ("s2", "last(s0.number) IN (1, 9007199254740993)"),
        ("s2", "last(s0.number) IN (1.0, 9007199254740993)"),
        ("s2", "last(s0.number) > price"),
        ("s2", "seen > last(s0.seen)"),
        ("s2", "last(s0.seen) = TIMESTAMP '2026-03-01T00:00:01+00:00'"),
        ("s2", "is_on = last(s0.is_on)"),
        ("s2", "last(s0.is_on) AND NOT is_on"),
        ("s2", "last(s0.price) IS NULL OR price > 1"),
        ("s2", "NOT (price > last(s0.price))"),
        ("s2", "sqrt(price - last(s0.price)) >= 0"),
        ("s2", "abs(price - avg(s1.price)) < 1 OR (card LIKE 'x%' AND last(s0.price) > 0)"),
        ("s2", "floor(last(s0.price)) = 2 OR ceil(sum(s1.price)) > 2"),
        ("s2", "-last(s0.price) < price * 2"),
    ],
)
def test_condition(stage: str, condition: str) -> None:
    pattern, found = asking(condition, stage), streams(7)
    expected = by_reference(pattern, found)
    assert expected
    assert by_columns(pattern, found) == expected
    assert expected != by_reference(asking("price IS NULL OR price IS NOT NULL", "s2"), found)


@pytest.mark.parametrize(
    ("condition", "fault"),
    [
        pytest.param("last(s0.card) LIKE 'x%'", "does not know LIKE", id="like"),
        pytest.param("length(last(s0.card)) = 1", r"does not know length\(\)", id="text"),
        pytest.param("hour(last(s0.seen)) = 1", r"does not know hour\(\)", id="clock"),
        pytest.param("last(s0.card) > 1", "compares", id="kinds that do not fit"),
        pytest.param("last(s0.prize) > 1", "prize", id="an unknown column"),
    ],
)
def test_what_programs_cannot_say_is_refused(condition: str, fault: str) -> None:
    with pytest.raises(BindingError, match=fault):
        compile_pattern(asking(condition, "s2"), types=TYPES, zones={}, timezone="UTC")


def test_whole_numbers_that_a_double_cannot_hold_are_refused_where_they_must_be_exact() -> None:
    with pytest.raises(BindingError, match=r"beyond 2\*\*53"):
        by_columns(asking("number = coalesce(last(s1.number), 0)", "s2"), streams(7))
