"""The town's policy over a DataFrame: events, what they should become, and ways to run them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import ppm
from tests.protect.running import Event
from tests.protect.town import Edit, check_town

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "person string, ts timestamp, place string, age bigint, lat double, lon double"
START = datetime(2026, 2, 28, 23, tzinfo=UTC)
"""Where the policy's first slot starts."""
PUBLIC = ("park", "home", "school", "station")
PRIVATE = ("clinic", "pharmacy", "shop", "post")
Row = tuple[Any, ...]


def town_guard(root: Path, *edits: Edit, seed: int = 7) -> ppm.Guard:
    """A guard of the town's policy with some edits."""
    check_town(root, *edits)
    return ppm.load(root / "policies" / "town.yaml", mode="evaluation", seed=seed)


def town_events(count: int = 900) -> list[Event]:
    """Two known people and a stranger, out of order by less than a minute."""
    random = Random(11)
    events: list[Event] = [
        (
            random.choice(("ada", "bo", "eve")),
            20.0 * number + random.uniform(0, 50),
            random.choice((*PRIVATE, *PUBLIC)),
        )
        for number in range(count)
    ]
    # The newest row is a public one, so that a batch ends where a stream does.
    return [*events, ("ada", 20.0 * count + 60, "home")]


def rows_of(events: Sequence[Event]) -> list[Row]:
    """Events as rows of the stream, each with a payload of its own."""
    random = Random(12)
    return [
        (
            who,
            None if at is None else START + timedelta(seconds=at),
            place,
            random.choice((None, random.randrange(100))),
            random.uniform(59, 60),
            random.choice((None, float("nan"), random.uniform(10, 11))),
        )
        for who, at, place in events
    ]


def frame_of(spark: SparkSession, events: Sequence[Event]) -> DataFrame:
    """Events as a batch."""
    return spark.createDataFrame(rows_of(events), SCHEMA)


def write_stream(spark: SparkSession, folder: Path, events: Sequence[Event], files: int) -> None:
    """Events as files that a stream reads one after the other."""
    rows = rows_of(events)
    size = -(-len(rows) // files)
    for at in range(0, len(rows), size):
        part = spark.createDataFrame(rows[at : at + size], SCHEMA).coalesce(1)
        part.write.mode("append").parquet(str(folder))


def stream_of(spark: SparkSession, folder: Path, *, files_at_once: int = 1) -> DataFrame:
    """The files of a folder as a stream."""
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files_at_once)
    return reader.parquet(str(folder))


def told(frame: DataFrame) -> Counter[str]:
    """What a frame says, to the last digit, whatever the order."""
    as_text = frame.selectExpr("to_json(struct(*), map('ignoreNullFields', 'false')) AS told")
    return Counter(row.told for row in as_text.collect())
