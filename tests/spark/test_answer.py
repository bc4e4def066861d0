"""Answers from a DataFrame: batch = stream = any cut of it, and what queries see of it."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import ppm
from ppm.spark.answer import refuse_subject
from tests.protect.asking import (
    EVERY_KIND,
    STROLLED,
    VISIT_ANSWERED,
    Answer,
    Asking,
    asks,
    town_answering,
)
from tests.protect.running import SEEN, Event, town_plan
from tests.protect.town import Edit, in_friends, in_stream
from tests.spark.town_events import run_to_the_end
from tests.spark.town_stream import (
    START,
    frame_of,
    stream_of,
    told,
    town_events,
    town_guard,
    write_stream,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENTS = town_events(600)
SLOT = timedelta(minutes=15)
UNTIL = START + 12 * SLOT


def answers_in(frame: DataFrame) -> Counter[Answer]:
    """Answers by subject, number of the slot and query."""
    return Counter(
        (row.person, (row.slot.astimezone(START.tzinfo) - START) // SLOT, row["query"], row.answer)
        for row in frame.collect()
    )


@pytest.mark.parametrize("subjects", ["declared", "seen"])
def test_spark_answers_what_the_step_answers(
    spark: SparkSession, tmp_path: Path, subjects: str
) -> None:
    edits = (*EVERY_KIND, *([SEEN] if subjects == "seen" else []))
    guard = town_guard(tmp_path, *edits)
    answers = guard.answer(frame_of(spark, EVENTS), "app", until=UNTIL)
    assert answers.dtypes == [
        ("person", "string"),
        ("slot", "timestamp"),
        ("query", "string"),
        ("answer", "bigint"),
    ]
    asking = Asking(town_answering(tmp_path, *edits), town_plan(tmp_path, *edits))
    asking.finish([EVENTS], asking.step.program.end_of(11))
    assert answers_in(answers) == Counter(asking.answers)
    assert {name for _, _, name, _ in asking.answers} == {
        "visited",
        "visits",
        "errands",
        "strolled",
        "strolls",
    }


@pytest.mark.parametrize("subjects", ["declared", "seen"])
def test_a_stream_is_answered_as_a_batch_is(
    spark: SparkSession, tmp_path: Path, subjects: str
) -> None:
    """Counts too, though their parts come from several shards."""
    guard = town_guard(tmp_path, *EVERY_KIND, *([SEEN] if subjects == "seen" else []))
    write_stream(spark, tmp_path / "in", EVENTS, files=4)
    stream = stream_of(spark, tmp_path / "in")
    query = run_to_the_end(guard.answer(stream, "app", shards=3), tmp_path)
    written = spark.read.parquet(str(tmp_path / "out"))
    assert told(written) == told(guard.answer(frame_of(spark, EVENTS), "app"))
    assert {row["query"] for row in written.collect()} >= {"visits", "strolls"}
    batches = {one.batchId: one.observedMetrics for one in query.recentProgress}
    counts = Counter[str]()
    for observed in batches.values():
        counts.update(observed["ppm.answer"].asDict())
    assert counts["answers"] == written.count()
    assert counts["late"] == counts["nulls"] == 0


def test_answers_carry_what_estimates_of_the_truth_need(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows, (file, weak, strong) = frame_of(spark, EVENTS), VISIT_ANSWERED
    clear = (file, weak, strong.replace("epsilon: 4", "epsilon: 160"))  # flips one in e^40
    answers = town_guard(tmp_path / "noisy", *EVERY_KIND).answer(rows, "app", until=UNTIL)
    plain = town_guard(tmp_path / "clear", clear, *EVERY_KIND[1:])
    truth = plain.answer(rows, "app", until=UNTIL).groupBy("query").sum("answer").collect()
    happened = {row["query"]: row["sum(answer)"] for row in truth}
    for query in ("visited", "visits", "strolled", "strolls"):
        [row] = ppm.estimate_answers(answers, query, by="all").collect()
        assert row.answers == answers.where(f"query = '{query}'").count()
        assert (row.standard_error > 0) == query.startswith("visit")
        # Beyond 5 standard errors with probability 6e-7; the seed is fixed.
        assert abs(row.estimate - happened[query]) <= 5 * row.standard_error
    assert happened["visited"] > 5


def test_matches_are_those_of_the_protected_stream(spark: SparkSession, tmp_path: Path) -> None:
    """As whoever reads it would find them, by `ppm.detect`."""
    shops = "name: shops\npattern: {name: shops, events: {shop: place = 'shop'}, sequence: shop}"
    outing = (
        "name: outing\npattern: {name: outing, events: {post: place = 'post', "
        "school: place = 'school', home: place = 'home'}, "
        "sequence: post !-> home -> school, within: 20 min}"
    )
    guard = town_guard(tmp_path, asks(shops, outing))
    rows = frame_of(spark, EVENTS)
    safe = guard.protect(rows, "friends", until=UNTIL).where(f"ts < timestamp'{UNTIL}'").cache()
    patterns = []
    for question in guard.plan.questions:
        patterns.append(question.pattern)
    found = ppm.detect(safe, patterns, subject="person", time="ts").collect()
    expected = Counter(
        (row.person, (row["at"].astimezone(START.tzinfo) - START) // SLOT, row.pattern)
        for row in found
        if row["at"].astimezone(START.tzinfo) < UNTIL
    )
    answers = answers_in(guard.answer(rows, "app", until=UNTIL))
    assert {one[:3]: one[3] for one in answers} == dict(expected)
    assert {name for _, _, name in expected} == {"shops", "outing"}


def test_queries_of_what_is_told_see_columns_after_the_rules(
    spark: SparkSession, tmp_path: Path
) -> None:
    old = (
        "name: old\npattern: {name: old, events: {old: place = 'park' AND age >= 50}, "
        "sequence: old}"
    )
    far = (
        "name: far\npattern: {name: far, events: {park: place = 'park'}, stages: [{name: first, "
        "event: park}, {name: second, event: park, where: lat > last(first.lat)}], within: 10 min}"
    )
    edits = (VISIT_ANSWERED, asks(old, far))
    rows = spark.createDataFrame(
        [
            ("ada", START + timedelta(seconds=5), "park", 55, 59.1, None),
            ("ada", START + timedelta(seconds=9), "park", 44, 59.9, None),
        ],
        "person string, ts timestamp, place string, age bigint, lat double, lon double",
    )
    plain = town_guard(tmp_path / "plain", *edits)
    assert answers_in(plain.answer(rows, "app", until=UNTIL)) == Counter(
        [("ada", 0, "old", 1), ("ada", 0, "far", 1)]
    )
    snapped = town_guard(
        tmp_path / "snapped",
        *edits,
        in_friends("columns:", "  - {rule: snap, column: age, grid: 100}",
                   "  - {rule: drop, column: lat}"),
    )  # fmt: skip
    # 55 moves to 100 and 44 to 0; nothing is known of the latitude.
    assert answers_in(snapped.answer(rows, "app", until=UNTIL)) == Counter([("ada", 0, "old", 1)])


def test_stand_ins_are_seen_after_the_rules(spark: SparkSession, tmp_path: Path) -> None:
    aged: tuple[Edit, ...] = (
        ("patterns/errand.yaml", "{place: shop}", "{place: shop, age: 55}"),
        asks("name: old\npattern: {name: old, events: {old: age >= 100}, sequence: old}"),
    )
    rows, until = frame_of(spark, []), START + 200 * SLOT
    plain = town_guard(tmp_path / "plain", *aged)
    assert plain.answer(rows, "app", until=until).count() == 0
    snap = in_friends("columns:", "  - {rule: snap, column: age, grid: 100}")
    snapped = town_guard(tmp_path / "snapped", *aged, snap)
    old = snapped.protect(rows, "friends", until=until).where("age = 100 AND place = 'shop'")
    assert snapped.answer(rows, "app", until=until).count() == old.count() > 50


def test_rows_of_one_moment_are_in_the_order_of_their_ids(
    spark: SparkSession, tmp_path: Path
) -> None:
    edits = (
        in_stream("event_id: fix"),
        ("policies/town.yaml", "columns: {person", "columns: {fix: integer, person"),
        asks(STROLLED),
    )
    guard = town_guard(tmp_path, *edits)
    at = START + timedelta(seconds=5)
    rows = spark.createDataFrame(
        [
            ("ada", at, "park", 2), ("ada", at, "home", 10), ("ada", at, "home", None),
            ("bo", at, "park", 10), ("bo", at, "home", 2), ("bo", at, "home", None),
        ],
        "person string, ts timestamp, place string, fix int",
    ).selectExpr("*", "1L AS age", "0D AS lat", "0D AS lon")  # fmt: skip
    found = answers_in(guard.answer(rows, "app", until=START + SLOT))
    assert found == Counter([("ada", 0, "strolled", 1), ("bo", 0, "strolled", 0)])


def test_answers_say_which_policy_and_consumer_they_are_for(
    spark: SparkSession, tmp_path: Path
) -> None:
    guard = town_guard(tmp_path, *EVERY_KIND)
    answers = guard.answer(frame_of(spark, EVENTS[:50]), "app")
    said: dict[str, Any] = answers.schema["person"].metadata["ppm"]
    expected = {"policy": "town", "version": 1, "mode": "evaluation", "consumer": "app"}
    assert {name: said[name] for name in expected} == expected
    public = ppm.parameters_of(answers)
    assert {one.query for one in public.answers} == {"visited", "visits", "strolled", "strolls"}


@pytest.mark.parametrize("world", [[], [("bo", 1000.0, "pharmacy")]], ids=["empty", "private"])
def test_whether_there_are_answers_does_not_tell_of_a_private_row(
    spark: SparkSession, tmp_path: Path, world: list[Event]
) -> None:
    guard = town_guard(tmp_path, *EVERY_KIND, SEEN)
    answers = guard.answer(frame_of(spark, world), "app", until=START + 4 * SLOT)
    told_of = {(who, slot, query) for who, slot, query, _ in answers_in(answers)}
    assert told_of == {(None, slot, query) for slot in range(4) for query in ("visits", "strolls")}


def test_matches_in_a_stream_of_their_own_are_warned_of(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_stream(spark, tmp_path / "in", EVENTS[:50], files=1)
    guard = town_guard(tmp_path, *EVERY_KIND)
    guard.answer(frame_of(spark, EVENTS[:50]), "app")
    assert "are late in one" not in caplog.text
    guard.answer(stream_of(spark, tmp_path / "in"), "app")
    assert "rows that are late in one and not in the other" in caplog.text


def test_a_late_row_is_counted_and_never_answered(spark: SparkSession, tmp_path: Path) -> None:
    guard = town_guard(tmp_path, VISIT_ANSWERED, asks(STROLLED))
    on_time: list[Event] = [("ada", 5.0, "park"), ("ada", 4000.0, "school")]
    late: list[Event] = [("ada", 6.0, "home"), ("ada", 9000.0, "school")]
    write_stream(spark, tmp_path / "in", on_time, files=1)
    answers = guard.answer(stream_of(spark, tmp_path / "in"), "app")
    run_to_the_end(answers, tmp_path)
    write_stream(spark, tmp_path / "in", late, files=1)
    query = run_to_the_end(guard.answer(stream_of(spark, tmp_path / "in"), "app"), tmp_path)
    written = answers_in(spark.read.parquet(str(tmp_path / "out")))
    assert {answer for *_, answer in written} == {0}
    observed = {one.batchId: one.observedMetrics for one in query.recentProgress}
    assert sum(one["ppm.answer"].late for one in observed.values()) == 1


@pytest.mark.parametrize("first", ["protect", "answer"])
def test_a_checkpoint_of_the_one_is_refused_by_the_other(
    spark: SparkSession, tmp_path: Path, first: str
) -> None:
    """By Spark: a protected stream reads its source twice, and an answered one once."""
    from pyspark.errors import StreamingQueryException

    guard = town_guard(tmp_path, VISIT_ANSWERED, asks(STROLLED))
    write_stream(spark, tmp_path / "in", EVENTS[:100], files=1)
    stream = stream_of(spark, tmp_path / "in")
    both = [guard.protect(stream, "friends"), guard.answer(stream, "app")]
    before, after = both if first == "protect" else both[::-1]
    run_to_the_end(before, tmp_path)
    with pytest.raises(StreamingQueryException, match="sources in the checkpoint offsets"):
        run_to_the_end(after, tmp_path)
    if first == "answer":
        with pytest.raises(ppm.CheckpointError, match="the checkpoint is not one of ppm protect"):
            guard.drain(tmp_path / "checkpoint")


def test_other_queries_cannot_go_on_from_a_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.errors import StreamingQueryException

    write_stream(spark, tmp_path / "in", EVENTS[:100], files=1)
    guard = town_guard(tmp_path, VISIT_ANSWERED, asks(STROLLED))
    run_to_the_end(guard.answer(stream_of(spark, tmp_path / "in"), "app"), tmp_path)
    write_stream(spark, tmp_path / "in", EVENTS[100:200], files=1)
    longer = STROLLED.replace("within: 20 min", "within: 25 min")
    other = town_guard(tmp_path, VISIT_ANSWERED, asks(longer))
    with pytest.raises(StreamingQueryException, match="the consumer app is another"):
        run_to_the_end(other.answer(stream_of(spark, tmp_path / "in"), "app"), tmp_path)


def test_subjects_may_be_whole_numbers(spark: SparkSession, tmp_path: Path) -> None:
    numbered = ("policies/town.yaml", "subjects: [ada, bo]", "subjects: ['7', '8']")
    typed = ("policies/town.yaml", "person: string", "person: integer")
    guard = town_guard(tmp_path, *EVERY_KIND, numbered, typed)
    rows = frame_of(spark, [("7", 5.0, "park"), ("7", 9.0, "home"), ("9", 9.0, "home")])
    rows = rows.withColumn("person", rows.person.cast("int"))
    answers = guard.answer(rows, "app", until=START + 50 * SLOT)
    assert answers.schema["person"].dataType.simpleString() == "int"
    found: Counter[Any] = Counter(answers_in(answers))
    assert {who for who, *_ in found} == {7, 8, None}
    assert {one for one in found if one[2] == "strolled" and one[3]} == {(7, 0, "strolled", 1)}


def test_a_subject_called_like_a_column_of_answers_is_refused() -> None:
    with pytest.raises(ppm.PpmError, match="the subject's column is called Slot"):
        refuse_subject("Slot")
