"""A small town's events, the same whenever they are made, as a frame, as files and as a stream."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import ppm

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "who string, ts timestamp, n bigint, label string, price double"
START = datetime(2026, 3, 29, 0, tzinfo=UTC)  # clocks in Oslo change at 01:00
LATENESS = "2 min"

Row = tuple[str | None, datetime, int, str, float]


def abc(sequence: str, **settings: Any) -> ppm.Pattern:
    """A pattern over the labels A, B and C."""
    events = {kind.lower(): f"label = '{kind}'" for kind in "ABC"}
    return ppm.Pattern.model_validate({"events": events, "sequence": sequence, **settings})


RISE = abc("a -> b -> c", name="rise", within="10 min")


def town_rows(count: int = 1200) -> list[Row]:
    """Out of order by less than a minute; half of them are of no pattern."""
    random = Random(3)
    return [
        (
            f"u{random.randrange(10)}",
            START + timedelta(seconds=10 * number + random.uniform(0, 50)),
            number,
            random.choice("ABCDEF"),
            float(random.randrange(9)),
        )
        for number in range(count)
    ]


def write_files(spark: SparkSession, folder: Path, rows: Sequence[Row], files: int) -> None:
    """Rows as parquet files that a stream reads one after the other."""
    size = -(-len(rows) // files)
    for at in range(files):
        frame = spark.createDataFrame(rows[at * size : (at + 1) * size], SCHEMA)
        frame.coalesce(1).write.mode("append").parquet(str(folder))


def certain(found: DataFrame, rows: Sequence[Row]) -> DataFrame:
    """What a stream of these rows has told in the end: all that was certain by its watermark."""
    newest = max(row[1] for row in rows) - timedelta(minutes=2)
    # Spark's watermark counts milliseconds.
    watermark = newest.replace(microsecond=newest.microsecond // 1000 * 1000)
    return found.where(found.at < watermark)


def stream_of(spark: SparkSession, folder: Path, *, files_at_once: int = 1) -> DataFrame:
    """The files of a folder as a stream."""
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files_at_once)
    return reader.parquet(str(folder))


def run_to_the_end(found: DataFrame, folder: Path) -> Any:
    """Write a stream to files until nothing is left to read; gives the query."""
    query = (
        found.writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return query


def told(frame: DataFrame) -> list[str]:
    """What a frame of matches says, in one order, to the last digit."""
    return sorted(row.told for row in frame.selectExpr("to_json(struct(*)) AS told").collect())


def told_in(spark: SparkSession, folder: Path) -> list[str]:
    """What a stream has written."""
    return told(spark.read.parquet(str(folder / "out")))
