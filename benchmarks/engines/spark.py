"""One Spark session for all, and how a DataFrame is run to its end, batch or stream."""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from engines.data import FILES_PER_BATCH, SCHEMA
from engines.watch import Watch

SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
"""Beside the defaults; the rest of `start` only makes Spark small and quiet."""


@dataclass(frozen=True)
class Run:
    """What one way to read some events came to."""

    seconds: float
    rows: int
    """How many rows came out."""
    sampled: int
    """How many of them are of the subjects below `sample`."""
    megabytes: float
    """The most that all Python workers held at one time; shared pages count for each."""
    cpu_seconds: float
    """What Spark and its Python workers used of all cores; other programs disturb it least."""


def start() -> SparkSession:
    """Two cores, as Flink has two slots."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("ppm benchmarks")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "4g")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", tempfile.gettempdir())
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
    )
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def read(spark: SparkSession, folder: Path, *, stream: bool) -> DataFrame:
    """The events of a folder, whole or two files at a time."""
    if not stream:
        return spark.read.schema(SCHEMA).parquet(str(folder / "parquet"))
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", FILES_PER_BATCH)
    return reader.parquet(str(folder / "parquet"))


def run(frame: DataFrame, *, sample: int | None = None) -> Run:
    """Every row of a frame into the noop sink."""
    whose = F.lit(False) if sample is None else F.col("subject") < sample
    counts = [F.count(F.lit(1)).alias("rows"), F.count_if(whose).alias("sampled")]
    with Watch() as watch:
        rows, sampled = _streamed(frame, counts) if frame.isStreaming else _written(frame, counts)
    return Run(watch.seconds, rows, sampled, watch.most_bytes / 1e6, watch.cpu_seconds)


def _written(frame: DataFrame, counts: list[Column]) -> tuple[int, int]:
    seen = Observation()
    frame.observe(seen, *counts).write.format("noop").mode("overwrite").save()
    return seen.get["rows"], seen.get["sampled"]


def _streamed(frame: DataFrame, counts: list[Column]) -> tuple[int, int]:
    with tempfile.TemporaryDirectory(prefix="ppm-benchmark-") as checkpoint:
        query = (
            frame.observe("seen", *counts)
            .writeStream.format("noop")
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        seen = [progress.observedMetrics.get("seen") for progress in query.recentProgress]
    return sum(one["rows"] for one in seen if one), sum(one["sampled"] for one in seen if one)
