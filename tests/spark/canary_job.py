"""Streams that end well and badly, with planted values: python canary_job.py FOLDER.

Everything that an operator could see of them goes to standard output and error: plans, progress,
exceptions, reprs, and Spark's own log. Only the protected rows go to files.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import ppm
from ppm.protect.open_slots import SUBJECT
from ppm.protect.step import Protection
from ppm.spark import protect

SCHEMA = "person string, ts timestamp, place string, age bigint, lat double, lon double"


LOG = """\
rootLogger.level = info
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d %p %c: %m%n%ex
logger.python.name = org.apache.spark.api.python.PythonGatewayServer
logger.python.level = info
"""
"""Without the last two lines, Spark takes Python for a shell, and logs warnings only."""


def failing(subject: str) -> type[Protection]:
    """A step that releases a text where numbers belong: Arrow's own error names the value."""

    class FailsToCast(Protection):
        def finish(self, state: bytes | None, rows: pa.Table, end: int) -> Iterator[pa.Table]:
            for told in Protection.finish(self, state, rows, end):
                numbers = pa.field(SUBJECT, pa.int64())
                named = told.set_column(0, SUBJECT, pa.repeat(subject, told.num_rows))
                yield named.cast(pa.schema([numbers, *list(told.schema)[1:]]))

    return FailsToCast


def show(frame: DataFrame) -> None:
    """All that Spark can print of a plan."""
    for mode in ("extended", "formatted", "codegen"):
        frame.explain(mode=mode)


def stream(
    make: Callable[[DataFrame], DataFrame], spark: SparkSession, folder: Path, source: str, to: str
) -> None:
    found = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    made = make(found.parquet(str(folder / source)))
    files = made.writeStream.option("checkpointLocation", str(folder / f"{to}-checkpoint"))
    query = files.trigger(availableNow=True).start(str(folder / f"{to}-out"), format="parquet")
    try:
        query.awaitTermination()
    except PySparkException as error:
        print("FAILED", error)
    print(query.status, query.exception(), query.name)
    for progress in query.recentProgress:
        print(progress.json)


def main(folder: Path, canary: str) -> None:
    settings = folder / "log4j2.properties"
    settings.write_text(LOG)
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={settings}")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    guard = ppm.load(folder / "policies" / "town.yaml", secret=folder / "secret")
    frame = spark.read.schema(SCHEMA).parquet(str(folder / "good"))
    safe = guard.protect_all(frame)
    show(safe)
    print(guard, guard.plan.policy.name, safe, safe.schema.json())
    stream(guard.protect_all, spark, folder, "good", "good")
    stream(guard.protect_all, spark, folder, "nulls", "nulls")

    def answers(rows: DataFrame) -> DataFrame:
        return guard.answer(rows, "app")

    show(answers(frame))
    stream(answers, spark, folder, "good", "answers")
    stream(answers, spark, folder, "nulls", "no-answers")
    print(guard.drain(folder / "good-checkpoint").count())
    try:
        guard.protect(frame.drop("place"), "friends")
    except ppm.PpmError as error:
        print("REFUSED", error)
    setattr(protect, "Protection", failing(canary))  # noqa: B010
    try:
        guard.protect_all(frame).collect()
    except PySparkException as error:
        print("FAILED", error)
    spark.stop()


if __name__ == "__main__":
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules["__main__"])  # type: ignore[no-untyped-call]
    main(Path(sys.argv[1]), Path(sys.argv[1], "canary").read_text())
