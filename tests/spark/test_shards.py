"""The packed-shard operator: any cut of a stream, any number of shards, the same rows once."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from ppm.cep.step import Step, Turn
from ppm.errors import BindingError
from ppm.spec.values import Duration

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LATENESS = Duration.parse("400 s")
START = datetime(2026, 1, 1, tzinfo=UTC)
ROWS = [(f"u{n % 7}", START + timedelta(seconds=n * 7 % 301 + n), n) for n in range(400)]
"""Out of order by up to 300 s, so that none is late."""
SCHEMA = "who string, ts timestamp, n bigint"


@dataclass(frozen=True)
class Hold(Step):
    """Rows leave when the watermark has passed them, in order of time."""

    def __call__(self, state: bytes | None, rows: pa.Table, watermark: int) -> Turn:
        from ppm.spark.blobs import from_blob, to_blob

        held = rows if state is None else pa.concat_tables([from_blob(state), rows])
        times = pc.cast(held["ts"], pa.int64())
        is_ready = pc.less_equal(times, pa.scalar(watermark, pa.int64()))
        ready, rest = held.filter(is_ready), held.filter(pc.invert(is_ready))
        if rest.num_rows == 0:
            return Turn(None, [ready])
        return Turn(to_blob(rest), [ready], pc.min(pc.cast(rest["ts"], pa.int64())).as_py())


@dataclass(frozen=True)
class Alarm(Step):
    """Every shard says once that time has passed, whether it has rows or not."""

    def __call__(self, state: bytes | None, rows: pa.Table, watermark: int) -> Turn:
        at = int(START.timestamp()) * 1_000_000
        if state == b"rung" or watermark < at:
            return Turn(state or b"waiting", [], None if state == b"rung" else at)
        ring = pa.table(
            {"who": ["shard"], "ts": pa.nulls(1, rows.schema.field("ts").type), "n": [1]}
        )
        return Turn(b"rung", [ring.cast(rows.schema)])


@dataclass(frozen=True)
class Fails(Step):
    """Fails over a row's value."""

    def __call__(self, state: bytes | None, rows: pa.Table, watermark: int) -> Turn:  # noqa: ARG002
        raise ValueError(f"cannot read {rows['who'][0].as_py()}")


@pytest.fixture(autouse=True)
def _steps_travel_by_value() -> None:
    """Workers cannot import a test's module, so its classes are pickled whole."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]


def write_files(spark: SparkSession, folder: Path, rows: list[Any], files: int) -> None:
    size = -(-len(rows) // files)
    for start in range(0, len(rows), size):
        frame = spark.createDataFrame(rows[start : start + size], SCHEMA).coalesce(1)
        frame.write.mode("append").parquet(str(folder))


def shards(frame: DataFrame, step: Step, number: int) -> DataFrame:
    from ppm.spark.shards import Shards, run_in_shards

    spread = Shards("who", "ts", LATENESS, number)
    return run_in_shards(frame, step, shards=spread, output=frame.schema)


def run_stream(spark: SparkSession, source: Path, step: Any, number: int, out: Path) -> list[Any]:
    frame = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(source))
    query = (
        shards(frame, step, number)
        .writeStream.format("parquet")
        .option("path", str(out / "rows"))
        .option("checkpointLocation", str(out / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return sorted(map(tuple, spark.read.schema(SCHEMA).parquet(str(out / "rows")).collect()))


def test_a_batch_releases_every_row_whatever_the_number_of_shards(spark: SparkSession) -> None:
    frame = spark.createDataFrame(ROWS, SCHEMA)
    wanted = sorted(map(tuple, frame.collect()))
    for number in (1, 5):
        assert sorted(map(tuple, shards(frame, Hold(), number).collect())) == wanted


def test_a_stream_releases_what_its_watermark_has_passed_once_and_after_a_restart_the_rest(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = tmp_path / "in"
    write_files(spark, source, ROWS[:200], files=2)
    first = run_stream(spark, source, Hold(), 3, tmp_path)
    write_files(spark, source, ROWS[200:], files=1)
    both = run_stream(spark, source, Hold(), 3, tmp_path)

    everything = [tuple(row) for row in spark.createDataFrame(ROWS, SCHEMA).collect()]
    passed = max(time for _, time, _ in everything) - timedelta(seconds=400)
    assert set(first) < set(both)
    assert both == sorted(row for row in everything if row[1] < passed)


def test_a_shard_without_rows_is_woken_too(spark: SparkSession, tmp_path: Path) -> None:
    late = [("u1", START + timedelta(hours=1), 1)]
    write_files(spark, tmp_path / "in", late, files=1)
    assert len(run_stream(spark, tmp_path / "in", Alarm(), 4, tmp_path)) == 4


def test_a_failure_in_a_worker_tells_no_value(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("canary-7f3a", START, 1)], SCHEMA)
    with pytest.raises(Exception, match="a worker failed: ValueError in __call__") as raised:
        shards(frame, Fails(), 2).collect()
    assert "canary-7f3a" not in str(raised.value)


def test_a_watermark_that_contradicts_lateness_is_refused(spark: SparkSession) -> None:
    stream = (
        spark.readStream.format("rate")
        .load()
        .selectExpr("'u' AS who", "timestamp AS ts", "value AS n")
    )
    with pytest.raises(BindingError, match="has a watermark of 1000 ms already"):
        shards(stream.withWatermark("ts", "1 second"), Hold(), 2)


def test_another_state_store_is_refused(spark: SparkSession) -> None:
    stream = (
        spark.readStream.format("rate")
        .load()
        .selectExpr("'u' AS who", "timestamp AS ts", "value AS n")
    )
    key = "spark.sql.streaming.stateStore.providerClass"
    before = spark.conf.get(key, None)
    spark.conf.set(
        key, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    )
    try:
        with pytest.raises(BindingError, match="is HDFSBackedStateStoreProvider; set it to"):
            shards(stream, Hold(), 2)
    finally:
        if before is None:
            spark.conf.unset(key)
        else:
            spark.conf.set(key, before)
