"""Days in the flats of quiet-house, the same whenever they are made: rows, files and a stream."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

POLICY = Path(__file__).parents[2] / "policies" / "quiet-house.yaml"
SCHEMA = "flat string, ts timestamp, sensor string, watts double"
START = datetime(2026, 2, 28, 23, tzinfo=UTC)  # where the policy's first slot starts
LATENESS = timedelta(minutes=5)
SLOT = timedelta(hours=1)
FLATS = ("flat-1", "flat-2", "flat-3", "flat-9")  # the policy does not declare flat-9
PRIVATE = ("medicine_box", "kitchen_tap", "doorbell", "front_door", "bed", "bathroom")
PUBLIC = ("oven", "fridge", "kettle")

Row = tuple[str, datetime, str, float]


def house_rows(count: int = 3000) -> list[Row]:
    """Four days and more, out of order by almost as much as may be, so that none is late."""
    random = Random(11)
    return [
        (
            random.choice(FLATS),
            START + timedelta(minutes=2 * number, seconds=random.uniform(0, 295)),
            random.choice(PRIVATE + PUBLIC),
            float(random.randrange(3000)),
        )
        for number in range(count)
    ]


def write_files(folder: Path, rows: Sequence[Row], files: int) -> None:
    """Rows as parquet files that a stream reads one after the other, in this order."""
    folder.mkdir(parents=True)
    for at in range(files):
        part = rows[len(rows) * at // files : len(rows) * (at + 1) // files]
        flat, ts, sensor, watts = zip(*part, strict=True)
        times = pa.array(ts, pa.timestamp("us", "UTC"))
        file = folder / f"{at:03}.parquet"
        pq.write_table(
            pa.table({"flat": flat, "ts": times, "sensor": sensor, "watts": watts}), file
        )
        os.utime(file, (at, at))  # Spark reads older files first


def frame_of(spark: SparkSession, folder: Path) -> DataFrame:
    """The files of a folder as a batch."""
    return spark.read.schema(SCHEMA).parquet(str(folder))


def stream_of(spark: SparkSession, folder: Path, *, files_at_once: int = 1) -> DataFrame:
    """The files of a folder as a stream."""
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files_at_once)
    return reader.parquet(str(folder))


def run_to_the_end(protected: DataFrame, folder: Path) -> Any:
    """Write a stream to files, by community, until nothing is left to read; gives the query."""
    query = (
        protected.writeStream.format("parquet")
        .partitionBy("community")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return query


def last_watermark(rows: Sequence[Row]) -> datetime:
    """Where the time of a stream of these rows stands in the end; Spark counts milliseconds."""
    newest = max(row[1] for row in rows) - LATENESS
    return newest.replace(microsecond=newest.microsecond // 1000 * 1000)


def told(frame: DataFrame) -> Counter[tuple[Any, ...]]:
    """What a frame says, each row as often as it stands there, to the last microsecond."""
    rows = frame.selectExpr("community", "flat", "unix_micros(ts) AS ts", "sensor", "watts")
    return Counter(map(tuple, rows.collect()))


def told_in(spark: SparkSession, folder: Path) -> Counter[tuple[Any, ...]]:
    """What a stream has written."""
    return told(spark.read.schema(f"{SCHEMA}, community string").parquet(str(folder / "out")))
