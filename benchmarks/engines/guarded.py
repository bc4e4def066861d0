"""A protected DataFrame run to its end: what came out, what it cost, and what its state weighs."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

from engines.town import COMMUNITIES, PUBLIC
from engines.watch import Watch
from ppm.protect.step import LOSSES
from ppm.spark.guard import METRICS

_SEEN = "benchmark"


@dataclass(frozen=True)
class Ran:
    """What one way to read the town came to."""

    seconds: float
    cpu_seconds: float
    """Of Spark and its Python workers; other programs disturb it least."""
    megabytes: float
    """The most that all Python workers held at one time; shared pages count for each."""
    rows: int
    public: int
    """How many of the rows are of no private type."""
    first: int
    """How many stand-ins are for the first community, or for the only one."""
    metrics: dict[str, int] = field(default_factory=dict)
    """What ppm itself counted."""
    batches: tuple[float, ...] = ()
    """The seconds of each micro-batch."""

    @property
    def stand_ins(self) -> int:
        return self.rows - self.public

    @property
    def usual(self) -> float:
        """The seconds of a micro-batch once the query runs: its start takes longer, once."""
        return statistics.median(self.batches)

    @property
    def lost(self) -> int:
        """Rows that ppm says were late, null, of unknown subjects, too early or too late."""
        return sum(self.metrics.get(name, 0) for name in LOSSES)


@dataclass(frozen=True)
class StateSize:
    """The bytes of all shards after a micro-batch, and of the largest one."""

    batch: int
    whole: int
    largest: int


def run(frame: DataFrame, *, metrics: Observation | None = None) -> Ran:
    """Every row of a frame into the noop sink; a batch of ppm's tells its metrics by itself."""
    if frame.isStreaming:
        with tempfile.TemporaryDirectory(prefix="ppm-benchmark-") as checkpoint:
            return streamed(frame, Path(checkpoint))
    seen = Observation()
    with Watch() as watch:
        frame.observe(seen, *_counts(frame)).write.format("noop").mode("overwrite").save()
    return _ran(watch, [seen.get], [] if metrics is None else [metrics.get], [])


def streamed(frame: DataFrame, checkpoint: Path) -> Ran:
    """A stream into the noop sink, with its checkpoint in a folder that stays."""
    with Watch() as watch:
        query = (
            frame.observe(_SEEN, *_counts(frame))
            .writeStream.format("noop")
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    told = [one.observedMetrics for one in query.recentProgress]
    return _ran(
        watch,
        [one[_SEEN].asDict() for one in told if one.get(_SEEN)],
        [one[METRICS].asDict() for one in told if one.get(METRICS)],
        [one.batchDuration / 1000 for one in query.recentProgress],
    )


def state_sizes(spark: SparkSession, checkpoint: Path, batches: int) -> Iterator[StateSize]:
    """How large the state was after each micro-batch, as the state store has it."""
    for batch in range(batches):
        stored = (
            spark.read.format("statestore")
            .option("path", str(checkpoint))
            .option("stateVarName", "blob")
            .option("batchId", batch)
            .load()
            .select(F.length("value.blob").alias("size"))
        )
        sizes = [row["size"] for row in stored.collect()]
        yield StateSize(batch, sum(sizes), max(sizes, default=0))


@dataclass(frozen=True)
class Told:
    """A slot's rows: in which micro-batch they came out, and what time it was in the stream."""

    slot_start: datetime
    batch: int
    rows: int
    watermark: datetime
    """Of the micro-batch."""
    watermark_before: datetime | None
    """Of the micro-batch before it."""
    newest: datetime
    """The newest event that had been read by then."""


def slots_told(frame: DataFrame, labels: Sequence[str]) -> list[Told]:
    """When each slot's stand-ins come out of a stream, found from its output and its progress."""
    found: dict[int, dict[datetime, int]] = {}

    def note(rows: DataFrame, batch: int) -> None:
        private = rows.where(F.col("label").isin(*labels)).groupBy("ts").count()
        found[batch] = {row["ts"].astimezone(): row["count"] for row in private.collect()}

    with _query(frame, note) as query:
        query.awaitTermination()
        progress = query.recentProgress
    marks = {one.batchId: _moment(one.eventTime.get("watermark")) for one in progress}
    reached: dict[int, datetime] = {}
    for one in progress:
        newest = one.eventTime.get("max")
        before = reached.get(one.batchId - 1)
        here = before if newest is None else _moment(newest)
        assert here is not None
        reached[one.batchId] = here if before is None else max(before, here)
    return [
        Told(slot, batch, rows, marks[batch], marks.get(batch - 1), reached[batch])
        for batch, slots in sorted(found.items())
        for slot, rows in sorted(slots.items())
    ]


@contextmanager
def _query(frame: DataFrame, note: Any) -> Iterator[StreamingQuery]:
    with tempfile.TemporaryDirectory(prefix="ppm-benchmark-") as checkpoint:
        yield (
            frame.writeStream.foreachBatch(note)
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )


def _moment(written: str) -> datetime:
    return datetime.fromisoformat(written.replace("Z", "+00:00"))


def _counts(frame: DataFrame) -> list[Any]:
    is_public = F.col("label").isin(*PUBLIC)
    is_first = ~is_public
    if "community" in frame.columns:
        is_first &= F.col("community") == COMMUNITIES[0]
    return [
        F.count(F.lit(1)).alias("rows"),
        F.count_if(is_public).alias("public"),
        F.count_if(is_first).alias("first"),
    ]


def _ran(
    watch: Watch,
    seen: Sequence[dict[str, int]],
    metrics: Sequence[dict[str, int]],
    batches: Sequence[float],
) -> Ran:
    whole = _summed(seen)
    return Ran(
        watch.seconds,
        watch.cpu_seconds,
        watch.most_bytes / 1e6,
        whole["rows"],
        whole["public"],
        whole["first"],
        _summed(metrics),
        tuple(batches),
    )


def _summed(rows: Sequence[dict[str, int]]) -> dict[str, int]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: sum(row[name] for row in rows) for name in names}
