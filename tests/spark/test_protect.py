"""The protected DataFrame: batch = stream = any cut of it, and exact where nothing is private."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ppm.protect.parameters import Parameters
from ppm.protect.step import Protection
from tests.protect.guided import guided
from tests.protect.running import NEIGHBOURS, SEEN, Event, Town, town_program
from tests.protect.town import Edit
from tests.spark.town_events import run_to_the_end
from tests.spark.town_stream import (
    PRIVATE,
    SCHEMA,
    START,
    frame_of,
    rows_of,
    stream_of,
    told,
    town_events,
    town_guard,
    write_stream,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENTS = town_events(600)
UNTIL = START + timedelta(hours=3)


def is_private(frame: DataFrame) -> DataFrame:
    return frame.where(frame.place.isin(*PRIVATE))


def is_public(frame: DataFrame) -> DataFrame:
    return frame.where(~frame.place.isin(*PRIVATE))


def written(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.read.parquet(str(folder / "out"))


def test_rows_of_no_private_type_equal_the_input_and_the_others_are_stand_ins(
    spark: SparkSession, tmp_path: Path
) -> None:
    frame = frame_of(spark, EVENTS)
    safe = town_guard(tmp_path, NEIGHBOURS).protect(frame, "friends", until=UNTIL).cache()
    assert safe.columns == frame.columns
    assert told(is_public(safe)) == told(is_public(frame))
    stand_ins = is_private(safe).collect()
    assert len(stand_ins) > 50
    for row in stand_ins:
        since = row.ts.astimezone(START.tzinfo) - START
        assert since % timedelta(minutes=15) == timedelta(0)
        assert (row.age, row.lat, row.lon) == (None, None, None)
        assert row.person in ("ada", "bo")


@pytest.mark.parametrize(
    "edits",
    [
        pytest.param((NEIGHBOURS,), id="nested bits"),
        pytest.param((*guided("joint-response"), NEIGHBOURS), id="a table and bits"),
    ],
)
def test_spark_tells_what_the_step_tells(
    spark: SparkSession, tmp_path: Path, edits: tuple[Edit, ...]
) -> None:
    guard = town_guard(tmp_path, *edits)
    safe = guard.protect_all(frame_of(spark, EVENTS), until=UNTIL)
    town = Town(Protection(town_program(tmp_path, *edits)))
    town.finish([EVENTS], town.step.program.end_of(11))
    slot = timedelta(minutes=15)
    seen = Counter(
        (row.person, (row.ts.astimezone(START.tzinfo) - START) // slot, row.place, row.community)
        for row in is_private(safe).collect()
    )
    assert seen == Counter(town.told)


def test_each_community_alone_gets_what_it_gets_among_all(
    spark: SparkSession, tmp_path: Path
) -> None:
    guard, frame = town_guard(tmp_path, NEIGHBOURS), frame_of(spark, EVENTS)
    every = guard.protect_all(frame).cache()
    for community in ("friends", "neighbours"):
        own = every.where(every.community == community).drop("community")
        assert told(own) == told(guard.protect(frame, community, shards=3))


@pytest.mark.parametrize("subjects", ["declared", "seen"])
def test_a_stream_tells_what_a_batch_tells_and_drains_the_rest(
    spark: SparkSession, tmp_path: Path, subjects: str
) -> None:
    guard = town_guard(tmp_path, NEIGHBOURS, *([SEEN] if subjects == "seen" else []))
    write_stream(spark, tmp_path / "in", EVENTS, files=4)
    query = run_to_the_end(guard.protect_all(stream_of(spark, tmp_path / "in")), tmp_path)
    stream = written(spark, tmp_path)
    # The end of the slot of the newest row, as a drain takes it.
    newest = max(at for _, at, _ in EVENTS if at is not None)
    until = START + timedelta(seconds=(newest // 900 + 1) * 900)
    assert told(stream) == told(guard.protect_all(frame_of(spark, EVENTS)))
    batch = guard.protect_all(frame_of(spark, EVENTS), until=until)
    rest = guard.drain(tmp_path / "checkpoint")
    assert rest.dtypes == stream.dtypes
    drained = told(rest)
    assert sum(drained.values()) > 5
    assert told(stream) + drained == told(batch)
    counts = Counter[str]()
    for progress in query.recentProgress:
        counts.update(progress.observedMetrics["ppm.protect"].asDict())
    assert counts["stand_ins"] == is_private(stream).count()
    assert counts["late"] == counts["nulls"] == 0
    strangers = sum(who == "eve" and place in PRIVATE for who, _, place in EVENTS)
    assert counts["unknown"] == (strangers if subjects == "declared" else 0)


def test_another_cut_other_partitions_and_shards_give_the_same_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    guard = town_guard(tmp_path, NEIGHBOURS)
    write_stream(spark, tmp_path / "in", EVENTS, files=4)
    batch = guard.protect_all(frame_of(spark, EVENTS))
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    try:
        other = guard.protect_all(stream_of(spark, tmp_path / "in", files_at_once=3), shards=5)
        run_to_the_end(other, tmp_path)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
    assert told(written(spark, tmp_path)) == told(batch)


def test_late_private_rows_are_counted_and_late_public_rows_pass(
    spark: SparkSession, tmp_path: Path
) -> None:
    late: list[Event] = [("ada", 5.0, "clinic"), ("ada", 6.0, "park"), ("bo", 7.0, "shop")]
    on_time: list[Event] = [("ada", 10_000.0, "park"), ("ada", 10_001.0, "home")]
    guard = town_guard(tmp_path)
    for number, part in enumerate((on_time[:1], on_time[1:], late)):
        write_stream(spark, tmp_path / f"in/part={number}", part, files=1)
    stream = spark.readStream.schema(f"{SCHEMA}, part int").option("maxFilesPerTrigger", 1)
    query = run_to_the_end(guard.protect(stream.parquet(str(tmp_path / "in")), "friends"), tmp_path)
    counts = [one.observedMetrics["ppm.protect"].late for one in query.recentProgress]
    assert sum(counts) == 2
    public = is_public(written(spark, tmp_path)).drop("part")
    assert told(public) == told(is_public(frame_of_parts(spark, on_time[:1], on_time[1:], late)))
    # Nothing happened in time, so what is told is what an empty stream tells.
    town = Town(Protection(town_program(tmp_path)))
    town.finish([], town.step.program.end_of(9))
    assert is_private(written(spark, tmp_path)).count() == len(town.told)


def frame_of_parts(spark: SparkSession, *parts: list[Event]) -> DataFrame:
    return spark.createDataFrame([row for part in parts for row in rows_of(part)], SCHEMA)


def test_columns_of_every_kind_pass_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    frame = frame_of(spark, EVENTS[:200]).selectExpr(
        "*",
        "cast(lat as decimal(12, 9)) AS price",
        "named_struct('a', age, 'b', array(lat, lon)) AS nested",
        "map(place, age) AS counts",
        "encode(place, 'utf-8') AS raw",
        "cast(ts as date) AS day",
        "age AS `odd name.with ``quotes`",
    )
    safe = town_guard(tmp_path).protect(frame, "friends")
    assert [(one.name, one.dataType) for one in safe.schema] == [
        (one.name, one.dataType) for one in frame.schema
    ]
    assert told(is_public(safe)) == told(is_public(frame))


def test_a_frame_without_public_rows_ends_where_it_is_told_to(
    spark: SparkSession, tmp_path: Path
) -> None:
    guard = town_guard(tmp_path)
    frame = frame_of(spark, [("ada", 5.0, "clinic"), ("bo", 905.0, "shop")])
    assert guard.protect(frame, "friends").count() == 0
    given = guard.protect(frame, "friends", until=START + timedelta(minutes=30)).collect()
    assert {row.ts.astimezone(START.tzinfo) - START for row in given} == {
        timedelta(0),
        timedelta(minutes=15),
    }


def test_subjects_may_be_given_with_the_stream(spark: SparkSession, tmp_path: Path) -> None:
    declared = town_guard(tmp_path / "a", seed=3)
    seen = town_guard(tmp_path / "b", SEEN, seed=3)
    frame = frame_of(spark, EVENTS)
    expected = told(declared.protect(frame, "friends"))
    people = spark.createDataFrame([("bo",), ("ada",), ("ada",), (None,)], "person string")
    assert told(seen.protect(frame, "friends", subjects=people)) == expected
    assert told(seen.protect(frame, "friends", subjects=["ada", "bo"])) == expected


def test_subjects_may_be_whole_numbers(spark: SparkSession, tmp_path: Path) -> None:
    numbered = ("policies/town.yaml", "subjects: [ada, bo]", "subjects: ['7', '8']")
    typed = ("policies/town.yaml", "person: string", "person: integer")
    guard = town_guard(tmp_path, numbered, typed)
    frame = frame_of(spark, [("7", 5.0, "clinic"), ("9", 5.0, "clinic"), ("8", 9000.0, "park")])
    frame = frame.withColumn("person", frame.person.cast("int"))
    safe = guard.protect(frame, "friends")
    assert safe.schema["person"].dataType.simpleString() == "int"
    assert {row.person for row in safe.collect()} == {7, 8}


def test_what_is_made_says_which_policy_and_mode_made_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    safe = town_guard(tmp_path).protect(frame_of(spark, EVENTS[:50]), "friends")
    safe.write.parquet(str(tmp_path / "out"))
    said: dict[str, Any] = written(spark, tmp_path).schema["person"].metadata
    parameters = said["ppm"].pop("parameters")
    assert said == {
        "ppm": {"policy": "town", "version": 1, "mode": "evaluation", "names_communities": False}
    }
    public = Parameters.from_json(parameters)
    assert (public.community, public.answers) == ("friends", ())


def test_a_stream_cannot_go_on_under_another_secret(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.errors import StreamingQueryException

    write_stream(spark, tmp_path / "in", EVENTS[:100], files=1)
    first = town_guard(tmp_path).protect(stream_of(spark, tmp_path / "in"), "friends")
    run_to_the_end(first, tmp_path)
    before = told(written(spark, tmp_path))
    write_stream(spark, tmp_path / "in", EVENTS[100:200], files=1)
    other = town_guard(tmp_path, seed=8).protect(stream_of(spark, tmp_path / "in"), "friends")
    sentence = (
        "CheckpointError: the checkpoint was written for another query: the secret is another"
    )
    with pytest.raises(StreamingQueryException, match=sentence):
        run_to_the_end(other, tmp_path)
    assert told(written(spark, tmp_path)) == before


def test_a_drain_needs_the_checkpoint_of_a_protected_stream(
    spark: SparkSession, tmp_path: Path
) -> None:
    import ppm

    guard = town_guard(tmp_path)
    with pytest.raises(ppm.CheckpointError, match="is not the checkpoint folder of a protected"):
        guard.drain(tmp_path / "nothing")
    write_stream(spark, tmp_path / "in", EVENTS[:100], files=1)
    run_to_the_end(guard.protect(stream_of(spark, tmp_path / "in"), "friends"), tmp_path)
    other = town_guard(tmp_path, seed=8)
    with pytest.raises(ppm.CheckpointError, match="another query: the secret is another"):
        other.drain(tmp_path / "checkpoint")
    changed = town_guard(tmp_path, ("policies/town.yaml", "version: 1", "version: 2"))
    with pytest.raises(ppm.CheckpointError, match="the version of the policy is another"):
        changed.drain(tmp_path / "checkpoint")
