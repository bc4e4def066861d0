"""`ppm.detect` on Spark: batch and stream tell the same, however it is cut, stopped and started."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import ppm
from ppm.errors import BindingError, PpmError
from tests.spark.town_events import (
    LATENESS,
    RISE,
    SCHEMA,
    START,
    abc,
    certain,
    run_to_the_end,
    stream_of,
    told,
    told_in,
    town_rows,
    write_files,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

QUIET = abc("b !-> c", name="quiet", within="5 min")
MEASURES = {"rise": "last(c.price) - first(a.price)"}
ROLES: dict[str, Any] = {"subject": "who", "time": "ts", "event_id": "n"}


def found_in(rows: DataFrame, **settings: Any) -> DataFrame:
    """Two patterns, one of which needs time to pass."""
    measures = {"rise": MEASURES, "quiet": {"rise": "last(b.price) - 0"}}
    return ppm.detect(rows, [RISE, QUIET], measures=measures, **{**ROLES, **settings})


@pytest.fixture(scope="module")
def town(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("town")
    write_files(spark, folder, town_rows(), files=4)
    return folder


def test_a_match_is_a_row(spark: SparkSession) -> None:
    rows = [
        ("x", START, 1, "A", 1.0),
        ("x", START + timedelta(minutes=1), 2, "Z", 1.0),
        ("x", START + timedelta(minutes=2), 3, "B", 4.0),
        ("x", START + timedelta(minutes=3), 4, "C", 9.0),
        ("y", START, 5, "A", 1.0),
    ]
    frame = spark.createDataFrame(rows, SCHEMA)
    found = ppm.detect(frame, RISE, columns=["price"], measures=MEASURES, **ROLES)
    assert found.columns == [
        "who", "pattern", "kind", "match_id", "start", "end", "at", "stages", "rise"
    ]  # fmt: skip
    [match] = found.collect()
    assert (match.who, match.pattern, match.kind, match.rise) == ("x", "rise", "match", 8.0)
    taken = {stage: [(e.id, e.price) for e in es] for stage, es in match.stages.items()}
    assert taken == {"a": [(1, 1.0)], "b": [(3, 4.0)], "c": [(4, 9.0)]}
    assert (match.end - match.start, match.at) == (timedelta(minutes=3), match.end)
    assert found.select("stages.b.id").collect() == [([3],)]


def test_any_cut_and_number_of_shards_and_partitions_tells_what_a_batch_tells(
    spark: SparkSession, town: Path, tmp_path: Path
) -> None:
    whole = found_in(spark.read.schema(SCHEMA).parquet(str(town)).repartition(5), shards=3)
    expected = told(certain(whole, town_rows()))
    assert len({line.split('"pattern":"')[1].split('"')[0] for line in expected}) == 2
    for files_at_once, shards, partitions in ((1, 3, 2), (3, 7, 3)):
        folder = tmp_path / f"{files_at_once}"
        spark.conf.set("spark.sql.shuffle.partitions", partitions)
        try:
            stream = stream_of(spark, town, files_at_once=files_at_once)
            query = run_to_the_end(found_in(stream, lateness=LATENESS, shards=shards), folder)
        finally:
            spark.conf.set("spark.sql.shuffle.partitions", 2)
        assert told_in(spark, folder) == expected
        counts = [dict(one.observedMetrics["ppm.detect"].asDict()) for one in query.recentProgress]
        assert sum(one["matches"] for one in counts) == len(expected)
        assert sum(one["late"] for one in counts) == 0


def test_a_stream_that_was_stopped_goes_on_and_another_query_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows, source = town_rows(600), tmp_path / "in"
    write_files(spark, source, rows[:300], files=1)
    run_to_the_end(found_in(stream_of(spark, source), lateness=LATENESS), tmp_path)
    write_files(spark, source, rows[300:], files=1)

    other = RISE.model_copy(update={"within": None})
    changed = ppm.detect(stream_of(spark, source), [other], lateness=LATENESS, **ROLES)
    with pytest.raises(Exception, match="the checkpoint was written for another query") as refused:
        run_to_the_end(changed, tmp_path)
    assert "the pattern rise is another" in str(refused.value)
    assert "start over with a new checkpoint folder" in str(refused.value)
    with pytest.raises(Exception, match="the number of shards is another"):
        run_to_the_end(found_in(stream_of(spark, source), lateness=LATENESS, shards=5), tmp_path)

    run_to_the_end(found_in(stream_of(spark, source), lateness=LATENESS), tmp_path)
    whole = found_in(spark.createDataFrame(rows, SCHEMA))
    assert told_in(spark, tmp_path) == told(certain(whole, rows))


def test_equal_rows_odd_names_and_rows_as_late_as_allowed(
    spark: SparkSession, tmp_path: Path
) -> None:
    def minute(number: int, label: str) -> tuple[str, datetime, int, str, float]:
        return ("x", START + timedelta(minutes=number), 0, label, 1.0)

    # No id, two equal rows, and a stream in order: B has the time of the row before it.
    files = [
        [minute(0, "A"), minute(0, "A"), minute(1, "Z")],
        [minute(1, "B")],
        [minute(2, "C")],
        [minute(30, "Z")],
    ]
    for rows in files:
        write_files(spark, tmp_path / "in", rows, files=1)
    stream = odd_names(stream_of(spark, tmp_path / "in"))
    roles: dict[str, Any] = {"subject": "w.h`o", "time": "t s.", "columns": ["a`b.c"]}
    run_to_the_end(ppm.detect(stream, RISE, lateness="0 s", **roles), tmp_path)
    whole = odd_names(spark.createDataFrame([row for rows in files for row in rows], SCHEMA))
    expected = told(ppm.detect(whole, RISE, **roles))
    assert len(set(expected)) == 2
    assert told_in(spark, tmp_path) == expected


def odd_names(rows: DataFrame) -> DataFrame:
    return rows.toDF("w.h`o", "t s.", "n", "label", "a`b.c")


def test_rows_that_differ_in_where_they_have_nulls_are_two_rows(spark: SparkSession) -> None:
    first, second = ("s", START, "A", "q", None, [1]), ("s", START, "A", None, "q", [1])
    third = ("s", START, "A", None, "q", [1, None])
    end = ("s", START + timedelta(minutes=1), "B", None, None, None)
    schema = "who string, ts timestamp, label string, x string, y string, z array<int>"
    pair = abc("a -> b", name="pair", within="10 min")
    found = []
    for rows in ([first, second, third, end], [end, third, second, first]):
        frame = spark.createDataFrame(rows, schema)
        asked: dict[str, Any] = {"columns": ["x", "y", "z"], "ignore_duplicates": "1 h"}
        found.append(told(ppm.detect(frame, pair, subject="who", time="ts", **asked)))
    assert len(set(found[0])) == 3
    assert found[0] == found[1]


def test_losses_are_counted_and_told_on_request(spark: SparkSession, tmp_path: Path) -> None:
    source, hour = tmp_path / "in", timedelta(hours=1)
    write_files(spark, source, [("x", START + hour, 1, "A", 1.0)], files=1)
    # Only rows of no pattern move the watermark on.
    write_files(spark, source, [("x", START + 3 * hour, 2, "Z", 1.0)], files=1)
    lost = [
        ("x", START + hour + timedelta(minutes=1), 3, "B", 1.0),
        (None, START + 4 * hour, 4, "A", 1.0),
        ("x", START + 4 * hour, 5, "C", 1.0),
        ("x", START + 4 * hour, 5, "C", 1.0),
    ]
    write_files(spark, source, lost, files=1)
    write_files(spark, source, [("x", START + 9 * hour, 6, "Z", 1.0)], files=1)
    found = ppm.detect(
        stream_of(spark, source),
        RISE,
        lateness="1 min",
        late=True,
        timed_out=True,
        on_null="drop",
        ignore_duplicates="1 h",
        **ROLES,
    )
    query = run_to_the_end(found, tmp_path)
    counts = [one.observedMetrics["ppm.detect"].asDict() for one in query.recentProgress]
    total = {name: sum(one[name] for one in counts) for name in counts[0]}
    assert total == {"matches": 0, "late": 1, "nulls": 1, "duplicates": 1}
    told_rows = spark.read.parquet(str(tmp_path / "out")).orderBy("kind").collect()
    assert [(one.kind, next(iter(one.stages.values()))[0].id) for one in told_rows] == [
        ("late", 3),
        ("timed_out", 1),
    ]


def test_rows_that_no_pattern_wants_stay_in_the_jvm_but_move_the_watermark(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_files(spark, tmp_path / "in", town_rows(20), files=1)
    # Where no null can be, Spark drops what asks for nulls, and with it the mention of the time.
    stream = not_null(stream_of(spark, tmp_path / "in"))
    plan = plan_that_ran(ppm.detect(stream, RISE, lateness=LATENESS, **ROLES), tmp_path / "1")
    assert re.search(r"Filter .*label#.*(\n.*)*\n.*EventTimeWatermark", plan)
    strict = abc("a >> b", name="p", within="10 min")
    plan = plan_that_ran(ppm.detect(stream, strict, lateness=LATENESS, **ROLES), tmp_path / "2")
    assert "EventTimeWatermark" in plan
    assert not re.search(r"Filter .*label#", plan)


def not_null(rows: DataFrame) -> DataFrame:
    return rows.selectExpr(
        "coalesce(who, '') AS who",
        "coalesce(ts, timestamp_micros(0)) AS ts",
        "n",
        "label",
        "price",
    )


def plan_that_ran(found: DataFrame, folder: Path) -> str:
    query = (
        found.writeStream.format("noop")
        .option("checkpointLocation", str(folder))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    whole = str(query._jsq.explainInternal(True))
    return whole[whole.index("== Optimized") : whole.index("== Physical")]


def test_zones_of_sessions_and_changes_of_clocks_play_no_part(spark: SparkSession) -> None:
    times = [START + timedelta(minutes=at) for at in (55, 62, 64)]
    rows = [("x", time, at, "ABC"[at], 1.0) for at, time in enumerate(times)]
    for zone in ("UTC", "Europe/Oslo", "America/New_York"):
        spark.conf.set("spark.sql.session.timeZone", zone)
        try:
            [match] = ppm.detect(spark.createDataFrame(rows, SCHEMA), RISE, **ROLES).collect()
        finally:
            spark.conf.set("spark.sql.session.timeZone", "UTC")
        assert match.end - match.start == timedelta(minutes=9)
        assert match.match_id == "ef65a33bc0b72b4cd69f2313d84297bb"


def test_no_error_and_no_plan_tells_a_row(spark: SparkSession, tmp_path: Path) -> None:
    rows = [("canary-7f3a", START, 42424, "A", 42424.5)] * 2
    frame = spark.createDataFrame(rows, SCHEMA)
    write_files(spark, tmp_path / "in", rows, files=1)
    stream = stream_of(spark, tmp_path / "in")
    found = ppm.detect(stream, RISE, lateness=LATENESS, **ROLES)
    with pytest.raises(Exception, match="came twice") as raised:
        run_to_the_end(found, tmp_path)
    with pytest.raises(Exception, match="came twice") as in_batch:
        ppm.detect(frame, RISE, **ROLES).collect()
    said = [str(raised.value), str(in_batch.value), found._jdf.queryExecution().toString()]
    assert not [text for text in said if "canary" in text or "42424" in text]


def refused(spark: SparkSession, *, pattern: ppm.Pattern = RISE, **settings: Any) -> str:
    frame = spark.createDataFrame([], SCHEMA + ", odd decimal(5,2), m map<string,int>")
    with pytest.raises(PpmError) as raised:
        ppm.detect(frame, pattern, **{**ROLES, **settings})
    return str(raised.value)


def test_what_does_not_fit_is_refused_before_anything_runs(spark: SparkSession) -> None:
    assert refused(spark, subject="whom", time="t") == (
        "subject is whom, which the DataFrame does not have; did you mean who?\n"
        "time is t, which the DataFrame does not have; did you mean ts?"
    )
    assert "time is label, which is string; cast it to timestamp" in refused(spark, time="label")
    assert "subject is odd, which is decimal(5,2); text or a" in refused(spark, subject="odd")
    assert "must be different columns" in refused(spark, subject="n")
    assert "columns is x, which the DataFrame does not have" in refused(spark, columns=["x"])
    assert "m cannot be compared; name a column" in refused(spark, event_id=None)
    assert "a measure is called kind, like a column of the output" in refused(
        spark, measures={"kind": "count(a)"}
    )
    assert "a measure is called Kind, like a column" in refused(spark, measures={"Kind": "1 + 1"})
    assert "a measure is called WHO, like a" in refused(spark, measures={"WHO": "count(a)"})
    assert "on_null is Drop; it must be refuse or drop" in refused(spark, on_null="Drop")
    assert "shards is 0; it must be from 1" in refused(spark, shards=0)
    assert "lateness is soon; a duration is needed" in refused(spark, lateness="soon")
    unknown = abc("a", name="p", events={"a": "colour = 'red'"})
    assert "p: colour = 'red' does not fit the data: column colour is missing" in refused(
        spark, pattern=unknown
    )
    longest = abc("a -> b", name="p", preset="longest")
    assert "p: preset is longest; the engine knows all, first" in refused(spark, pattern=longest)


def test_a_stream_needs_a_lateness_or_a_watermark(spark: SparkSession, town: Path) -> None:
    stream = stream_of(spark, town)
    with pytest.raises(BindingError, match="say how much later than newer rows a row may come"):
        ppm.detect(stream, RISE, **ROLES)
    marked = stream.withWatermark("ts", "2 minutes")
    assert ppm.detect(marked, RISE, **ROLES).isStreaming
    with pytest.raises(BindingError, match="has a watermark of 120000 ms already"):
        ppm.detect(marked, RISE, lateness="3 min", **ROLES)
