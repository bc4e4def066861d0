"""Each test is named after a mistake that would break the proof; here in the rows that come out.

Others are in tests/protect/test_what_breaks_the_proof.py; values in errors, logs, metrics and plans
are looked for in test_canaries.py.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.protect.town import ERRAND, POLICY, Edit
from tests.spark.town_stream import SCHEMA, START, town_guard

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SURE = "{mechanism: response, epsilon: 100}"
ELDERS: tuple[Edit, ...] = (
    (ERRAND, "shop: {where: place = 'shop', stand_in: {place: shop}}",
     "elder: {where: age > 100, stand_in: {age: 120}}"),
    (ERRAND, "sequence: shop", "sequence: elder"),
    (POLICY, "{mechanism: response, epsilon: 1}", SURE),
)  # fmt: skip
"""A type that may hold of the same row as others, and budgets so large that noise never shows."""
AT = START + timedelta(minutes=20, microseconds=7)
SLOT = START + timedelta(minutes=15)


@pytest.fixture(scope="module")
def told(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[str], Counter[Any]]:
    """The columns and rows that friends get of a few rows."""
    guard = town_guard(tmp_path_factory.mktemp("town"), *ELDERS)
    rows = [
        ("ada", AT, "clinic", 150, 59.5, 10.5),
        ("ada", AT, "clinic", 7, 59.6, 10.6),
        ("bo", AT, "park", 150, 59.7, 10.7),
        ("bo", AT, "park", None, 59.8, 10.8),
        ("bo", AT, None, None, None, None),
        ("bo", AT + timedelta(hours=1), "home", 50, None, None),
    ]
    safe = guard.protect(spark.createDataFrame(rows, SCHEMA), "friends")
    found = [(row.ts.astimezone(START.tzinfo), *row[:1], *row[2:]) for row in safe.collect()]
    return safe.columns, Counter(found)


def test_payload_or_exact_time_passed_through_on_scoped_types(told: Any) -> None:
    _, rows = told
    private = [row for row in rows if row[2] == "clinic" or row[3] == 120]
    assert {row[0] for row in private} == {SLOT}
    assert {row[4:] for row in private} == {(None, None)}
    assert not {row[4] for row in rows} & {59.5, 59.6, 59.7}


def test_a_row_of_two_types_passed_as_the_public_one(told: Any) -> None:
    """An elder in the clinic is told as both, an elder in the park as an elder, and never as is."""
    _, rows = told
    assert rows[SLOT, "ada", "clinic", None, None, None] == 1
    assert rows[SLOT, "ada", None, 120, None, None] == 1
    assert rows[SLOT, "bo", None, 120, None, None] == 1
    assert not [row for row in rows if row[3] == 150]


def test_nulls(told: Any) -> None:
    """A predicate that is unknown is not yes: such rows are public, and pass as they are."""
    _, rows = told
    assert rows[AT, "bo", "park", None, 59.8, 10.8] == 1
    assert rows[AT, "bo", None, None, None, None] == 1


def test_columns_such_as_noise_applied(told: Any) -> None:
    columns, rows = told
    assert columns == ["person", "ts", "place", "age", "lat", "lon"]
    assert sum(rows.values()) == 6


def test_rows_that_stay_are_told_once(told: Any) -> None:
    _, rows = told
    assert set(rows.values()) == {1}


def test_what_is_told_of_one_subject_says_nothing_of_another(
    spark: SparkSession, tmp_path: Path
) -> None:
    guard = town_guard(tmp_path)
    last = ("bo", AT + timedelta(hours=9), "home", None, None, None)
    alone = [("bo", AT, "clinic", 1, None, None), last]
    both = [*alone, *(("ada", AT + timedelta(minutes=n), "shop", 2, None, None) for n in range(90))]
    of_bo = [
        Counter(
            tuple(row)
            for row in guard.protect(spark.createDataFrame(rows, SCHEMA), "friends").collect()
            if row.person == "bo"
        )
        for rows in (alone, both)
    ]
    assert of_bo[0] == of_bo[1]
