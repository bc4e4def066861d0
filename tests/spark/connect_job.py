"""Protection and detection through Spark Connect, which needs a process without a classic Spark."""

from __future__ import annotations

import json
import socket
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ppm
from tests.spark import house_events as house
from tests.spark import town_events as town
from tests.spark.answered_house import write_project
from tests.spark.killing import SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def main(folder: Path) -> None:
    from pyspark.sql import Observation

    spark = connected_session()
    guard = ppm.load(house.POLICY, secret=folder / "secret")
    flats, people = folder / "house", folder / "town"

    seen = Observation()
    rows = house.frame_of(spark, flats / "in")
    guard.protect_all(rows, metrics=seen).write.parquet(str(flats / "batch"))
    stream = house.stream_of(spark, flats / "in", files_at_once=2)
    protecting = house.run_to_the_end(guard.protect_all(stream), flats)
    guard.drain(flats / "checkpoint").write.parquet(str(flats / "rest"))

    ward = ppm.load(write_project(folder / "project"), secret=folder / "secret")
    ward.answer(rows, "board").write.parquet(str(folder / "ward" / "batch"))
    stream = house.stream_of(spark, flats / "in", files_at_once=2)
    answering = town.run_to_the_end(ward.answer(stream, "board"), folder / "ward")

    labels = spark.read.schema(town.SCHEMA).parquet(str(people / "in"))
    matches(labels).write.parquet(str(people / "batch"))
    stream = town.stream_of(spark, people / "in", files_at_once=2)
    detecting = town.run_to_the_end(matches(stream, lateness=town.LATENESS), people)

    nameless = rows.selectExpr("nullif(flat, 'flat-9') AS flat", "ts", "sensor", "watts")
    report = {
        "session": type(spark).__module__,
        "protected batch": seen.get,
        "protected stream": counts(protecting, "ppm.protect"),
        "answered stream": counts(answering, "ppm.answer"),
        "detected stream": counts(detecting, "ppm.detect"),
        "community": fault(lambda: guard.protect(rows, "insurers")),
        "column": fault(lambda: guard.protect_all(rows.withColumnRenamed("watts", "wats"))),
        "subject": fault(lambda: ppm.detect(labels, town.RISE, subject="whom", time="ts")),
        "worker": fault(lambda: guard.protect_all(nameless).collect()),
    }
    (folder / "report.json").write_text(json.dumps(report), "utf-8")


def connected_session() -> SparkSession:
    """A session that speaks to a server of its own, at a port that nobody else has."""
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.client import DefaultChannelBuilder

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    # A local session always looks for its server at 15002, where another one may be.
    DefaultChannelBuilder.default_port = staticmethod(lambda: port)  # type: ignore[method-assign]
    settings = {**SETTINGS, "spark.connect.grpc.binding.port": str(port)}
    return SparkSession.builder.remote("local[2]").config(map=settings).getOrCreate()


def matches(rows: DataFrame, **settings: Any) -> DataFrame:
    return ppm.detect(rows, town.RISE, subject="who", time="ts", event_id="n", **settings)


def counts(query: Any, metrics: str) -> Counter[str]:
    """The metrics of all batches together; Connect gives values and their schema apart."""
    total = Counter[str]()
    for progress in query.recentProgress:
        told = progress.observedMetrics[metrics]
        names = [field["name"] for field in told["schema"]["fields"]]
        total.update(dict(zip(names, told["values"], strict=True)))
    return total


def fault(body: Callable[[], object]) -> str:
    """The error that something ends with: its class and what it says."""
    try:
        body()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "none"
