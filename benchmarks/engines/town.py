"""The stream that protection is measured on: who did what in a town, and the policies for it.

Three private types are 30 % of the events, the other rows are public. Events lie in parquet files
in order of arrival, up to 20 s out of order. The last row is public and comes just after all slots
have ended, in a file of its own, so that a stream's watermark closes every slot.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import ppm
from engines.data import DISORDER_MS, FILES_PER_BATCH, LATENESS, LATENESS_MS, START_MS

SLOT_MS = 3_600_000
PRIVATE = ("clinic", "pharmacy", "shop")
PUBLIC = ("bus", "cafe", "gym", "home", "office", "park", "school")
SHARE = 0.3
"""How much of the stream is private."""
EPSILONS = (6.0, 4.5, 3.0, 1.5)
"""Of a slot, for each community; a third of it is for each type."""
COMMUNITIES = ("family", "friends", "colleagues", "anybody")
POOLED = "clerk"
"""The community of the policy with joint responses."""
SEED = 7
SCHEMA = (
    "subject bigint, ts timestamp, label string, id bigint, reading double, cell int, sensor string"
)

_TYPES = [f"  {one}: {{where: label = '{one}', stand_in: {{label: {one}}}}}" for one in PRIVATE]
PATTERN = "\n".join(
    ["name: visit", "events:", *_TYPES, f"sequence: {' -> '.join(PRIVATE)}", "within: 2 h", ""]
)
STREAM = f"""\
version: 1
stream:
  subject: subject
  time: ts
  slot: {SLOT_MS // 60_000} min
  from: 2026-01-01T00:00:00Z
  lateness: {LATENESS}
  subjects: seen
communities:
"""
_MEMBER = "  {}:\n    protect:\n      visit: {{mechanism: {}, epsilon: {}}}\n"


@dataclass(frozen=True)
class Town:
    """A set of events, by what it is drawn from."""

    events: int
    subjects: int
    slots: int = 5
    """How many slots the events lie in; all of them are closed."""
    batches: int = 10
    """How many micro-batches a stream of them has, beside the one of the last row."""

    @property
    def rows(self) -> int:
        """All events, and the row that closes the last slot."""
        return self.events + 1

    @property
    def batch_ms(self) -> float:
        """How much time of the stream one micro-batch holds."""
        return self.slots * SLOT_MS / self.batches

    @property
    def end(self) -> datetime:
        """When the last slot ends."""
        return datetime.fromtimestamp((START_MS + self.slots * SLOT_MS) / 1000, UTC)

    def folder(self, cache: Path) -> Path:
        """Where the events stand; they are made at the first call."""
        name = f"{self.events}-{self.subjects}-{self.slots}-{self.batches}"
        folder = cache / "town" / name
        if not (folder / "done").exists():
            (folder / "events").mkdir(parents=True, exist_ok=True)
            self._write(folder / "events")
            everybody = pa.table({"subject": np.arange(self.subjects)})
            pq.write_table(everybody, folder / "subjects.parquet")
            (folder / "done").touch()
        return folder

    def read(self, spark: SparkSession, cache: Path, *, stream: bool) -> DataFrame:
        """All events, or two files at a time."""
        reader = spark.readStream if stream else spark.read
        if stream:
            reader = reader.option("maxFilesPerTrigger", FILES_PER_BATCH)
        return reader.schema(SCHEMA).parquet(str(self.folder(cache) / "events"))

    def everybody(self, spark: SparkSession, cache: Path) -> DataFrame:
        """The declared subjects."""
        return spark.read.parquet(str(self.folder(cache) / "subjects.parquet"))

    def unknown(self, spark: SparkSession, cache: Path) -> int:
        """The private rows of slots before their subject's first public row."""
        slot = F.floor(F.unix_millis("ts") / SLOT_MS)
        is_private = F.col("label").isin(*PRIVATE)
        rows = self.read(spark, cache, stream=False)
        rows = rows.select("subject", slot.alias("slot"), is_private.alias("is_private"))
        first = (
            rows.where(~F.col("is_private")).groupBy("subject").agg(F.min("slot").alias("since"))
        )
        private = rows.where("is_private").join(first, "subject", "left")
        return private.where("since IS NULL OR slot < since").count()

    def _write(self, folder: Path) -> None:
        rows, last = self._drawn(), self.events
        files = self.batches * FILES_PER_BATCH
        borders = [*np.linspace(0, last, files + 1).astype(int), last + 1]
        for place, (start, end) in enumerate(pairwise(borders)):
            file = folder / f"{place:04}.parquet"
            pq.write_table(rows.slice(start, end - start), file)
            os.utime(file, (START_MS // 1000 + place,) * 2)  # a stream reads files by their age

    def _drawn(self) -> pa.Table:
        random, size = np.random.default_rng(SEED), self.events
        whole = self.slots * SLOT_MS
        arrival = np.arange(size) * ((whole - DISORDER_MS) / size)
        times = arrival.astype(np.int64) + random.integers(0, DISORDER_MS, size)
        is_private = random.random(size) < SHARE
        labels = np.where(
            is_private,
            random.integers(0, len(PRIVATE), size),
            len(PRIVATE) + random.integers(0, len(PUBLIC), size),
        )
        times = START_MS + np.append(times, whole + LATENESS_MS + 1000)
        names = pa.array([*PRIVATE, *PUBLIC])
        numbers = np.arange(size + 1)
        sensors = pa.array([f"sensor-{number}" for number in range(64)])
        return pa.table(
            {
                "subject": np.append(random.integers(0, self.subjects, size), 0),
                "ts": pa.array(times * 1000, pa.timestamp("us", tz="UTC")),
                "label": names.take(pa.array(np.append(labels, len(PRIVATE)))),
                "id": numbers,
                "reading": random.random(size + 1),
                "cell": pa.array(random.integers(0, 10_000, size + 1).astype(np.int32)),
                "sensor": sensors.take(pa.array(numbers % 64)),
            }
        )


@dataclass(frozen=True)
class Policies:
    """Two policies for the town, written into a folder; evaluation, because a seed is repeatable.

    Where words come from makes no difference in time: a secret is read once in each process.
    """

    one_by_one: ppm.Guard
    """Each type by itself (response), for four communities."""
    pooled: ppm.Guard
    """All types at once (joint-response), for one."""


def policies_in(folder: Path) -> Policies:
    """The policies, read from files that are written here."""
    members = zip(COMMUNITIES, EPSILONS, strict=True)
    texts = {
        "patterns/visit.yaml": PATTERN,
        "policies/town.yaml": "name: town\n"
        + STREAM
        + "".join(_MEMBER.format(name, "response", epsilon) for name, epsilon in members),
        "policies/pooled.yaml": "name: pooled\n"
        + STREAM
        + _MEMBER.format(POOLED, "joint-response", EPSILONS[0]),
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    guards = (
        ppm.load(folder / "policies" / f"{name}.yaml", mode="evaluation", seed=SEED)
        for name in ("town", "pooled")
    )
    return Policies(*guards)
