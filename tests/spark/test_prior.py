"""Counting history on Spark: the same as counting row by row, and nothing of the live stream."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING

import pytest

from ppm.errors import BindingError
from ppm.spark.files import Progress
from ppm.spark.prior import History, count_together
from ppm.spec.pattern import EventType
from ppm.spec.stream import Stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

START = datetime(2026, 3, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
TYPES = {
    "rings": EventType.model_validate("kind = 'bell'"),
    "opens": EventType.model_validate("kind = 'door' OR kind = 'both'"),
    "early": EventType.model_validate("hour(ts) < 3"),
    "loud": EventType.model_validate("kind = 'both' OR noise > 80"),
}
SCHEMA = "flat string, ts timestamp, kind string, noise double"

Row = tuple[str | None, datetime | None, str | None, float | None]


def stream(**others: str) -> Stream:
    declared = {"subject": "flat", "time": "ts", "slot": "1 h", "lateness": "1 min"}
    return Stream.model_validate(declared | {"from": START} | others)


def frame(spark: SparkSession, rows: list[Row]) -> DataFrame:
    return spark.createDataFrame(rows, SCHEMA)


def at(hours: float, kind: str | None = None, *, flat: str | None = "a") -> Row:
    """A row so many hours before the stream starts."""
    return flat, START - timedelta(hours=hours), kind, None


def types_of(row: Row) -> set[str]:
    _, moment, kind, noise = row
    assert moment is not None
    found = {"rings"} if kind == "bell" else set()
    found |= {"opens"} if kind in ("door", "both") else set()
    found |= {"early"} if moment.hour < 3 else set()
    return found | ({"loud"} if kind == "both" or (noise or 0) > 80 else set())


def counted_by_hand(rows: list[Row]) -> dict[frozenset[str], int]:
    """The same count as a person would make it, slot by slot."""
    seen: dict[str, dict[int, set[str]]] = {}
    for row in rows:
        flat, moment = row[:2]
        assert flat is not None
        assert moment is not None
        seen.setdefault(flat, {}).setdefault((moment - START) // HOUR, set()).update(types_of(row))
    sets: Counter[frozenset[str]] = Counter()
    for slots in seen.values():
        for slot in range(min(slots), max(slots) + 1):
            sets[frozenset(slots.get(slot, ()))] += 1
    return dict(sets)


def random_rows(seed: int) -> list[Row]:
    """Rows of a few flats in their last week, at slot borders as well, some without values."""
    random = Random(seed)
    spans = {flat: (random.uniform(0, 40), random.uniform(0, 120)) for flat in "abcdefghij"}
    rows: list[Row] = []
    for _ in range(random.randrange(1, 400)):
        flat = random.choice([*spans])
        end, length = spans[flat]
        before = timedelta(hours=end + random.uniform(0, length))
        if random.random() < 0.3:
            before = max(HOUR, before // HOUR * HOUR)
        before = max(timedelta(microseconds=1), before)
        kind = random.choice(["bell", "door", "both", "tap", None])
        noise = random.choice([None, 10.0, 81.0])
        rows.append((flat, START - before, kind, noise))
    return rows


class TestOnSpark:
    @pytest.mark.parametrize("seed", [1, 2, 3, 4])
    def test_random_rows_count_as_by_hand(self, spark: SparkSession, seed: int) -> None:
        rows = random_rows(seed)
        found = count_together(frame(spark, rows), TYPES, stream())
        slots = [(moment - START) // HOUR for _, moment, _, _ in rows if moment is not None]
        assert found == History(
            subjects=len({flat for flat, *_ in rows}),
            first=min(slots),
            last=max(slots),
            together=counted_by_hand(rows),
            nulls=0,
        )

    def test_slots_without_rows_count_between_a_subjects_first_and_last(
        self, spark: SparkSession
    ) -> None:
        rows = [at(10, "bell"), at(9.5, "door"), at(6, "tap"), at(3, "tap", flat="b")]
        told: list[Progress] = []
        rings = {"rings": TYPES["rings"]}
        found = count_together(frame(spark, rows), rings, stream(), watch=told.append)
        assert {one.unit for one in told} <= {"tasks"}
        assert found == History(
            subjects=2,
            first=-10,
            last=-3,
            # Of a: one with bell and door, one with the tap alone, three in which nothing was.
            together={frozenset({"rings"}): 1, frozenset(): 5},
            nulls=0,
        )

    def test_the_live_stream_is_refused_with_a_count(self, spark: SparkSession) -> None:
        rows = [at(5), at(0, "canary"), at(-1, flat="canary"), at(0, flat=None)]
        with pytest.raises(BindingError) as refused:
            count_together(frame(spark, rows), TYPES, stream(on_null="drop"))
        assert str(refused.value) == (
            "2 rows from stream.from, 2026-03-01T00:00:00+00:00, on: this is the live stream, and "
            "whatever is learnt from it tells of it beyond every epsilon; give history that ends "
            "before"
        )

    def test_the_last_moment_before_the_stream_is_history(self, spark: SparkSession) -> None:
        last: Row = ("a", START - timedelta(microseconds=1), None, None)
        found = count_together(frame(spark, [last]), TYPES, stream())
        assert (found.first, found.last) == (-1, -1)

    def test_rows_without_subject_or_time_do_as_the_policy_says(self, spark: SparkSession) -> None:
        rows = frame(spark, [at(5), at(4, flat=None), ("canary", None, None, None)])
        with pytest.raises(BindingError) as refused:
            count_together(rows, TYPES, stream())
        assert str(refused.value) == (
            "2 rows without flat or ts; fill these columns, or leave such rows out with on_null: "
            "drop in the policy's stream"
        )
        found = count_together(rows, TYPES, stream(on_null="drop"))
        assert (found.subjects, found.nulls) == (1, 2)

    def test_nothing_to_count_is_refused(self, spark: SparkSession) -> None:
        with pytest.raises(BindingError, match="there are no rows to count"):
            count_together(frame(spark, []), TYPES, stream())

    def test_columns_that_do_not_fit_are_told_at_once(self, spark: SparkSession) -> None:
        rows = frame(spark, [at(5)]).withColumnRenamed("kind", "kinds").drop("ts")
        with pytest.raises(BindingError) as refused:
            count_together(rows, TYPES, stream())
        assert str(refused.value) == (
            "stream.time is ts, which the DataFrame does not have; allowed are flat, kinds, noise\n"
            "the event type rings: kind = 'bell' does not fit the data: column kind is missing; "
            "did you mean kinds?\n"
            "the event type opens: kind = 'door' OR kind = 'both' does not fit the data: column "
            "kind is missing; did you mean kinds?\n"
            "the event type early: hour(ts) < 3 does not fit the data: column ts is missing; "
            "allowed are flat, kinds, noise\n"
            "the event type loud: kind = 'both' OR noise > 80 does not fit the data: column kind "
            "is missing; did you mean kinds?"
        )
