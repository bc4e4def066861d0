"""Streams that are stopped in the middle of a batch, and noise that would not bear it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, TypeVar

import pytest

from ppm.dp.purpose import Purpose
from ppm.dp.secret import SecretRef
from ppm.dp.source import Seed, Source, Stream
from tests.spark.killing import (
    committed,
    kill_between_write_and_commit,
    run,
    running,
    wait_for_batches,
    written,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Told = TypeVar("Told")


def survive(job: str, folder: Path, *, kills: int, batches: int) -> None:
    """Kill a job, every third time between the sink's write and the commit; then let it end."""
    random, caught = Random(5), []
    for kill in range(kills):
        with running(job, folder) as process:
            wait_for_batches(process, folder, 3 * kill + 1)
            if kill % 3 == 0:
                batch = kill_between_write_and_commit(process, folder)
                assert batch in written(folder) - committed(folder)
                caught.append(batch)
            else:
                time.sleep(random.random())
        assert len(committed(folder)) < batches
    assert caught
    run(job, folder)
    assert committed(folder) >= set(caught)


def told_to_a_sink_that_fails_once(
    spark: SparkSession,
    frame: Callable[[], DataFrame],
    folder: Path,
    told: Callable[[DataFrame], Told],
) -> list[Told]:
    """What each of three batches tells, as often as it does; the second one fails once."""
    from pyspark.errors import StreamingQueryException

    seen: list[tuple[int, Told]] = []

    def tell(batch: DataFrame, number: int) -> None:
        seen.append((number, told(batch)))
        if len(seen) == 2:
            raise RuntimeError("the sink has failed")

    def run_to_the_end() -> None:
        (
            frame()
            .writeStream.foreachBatch(tell)
            .option("checkpointLocation", str(folder))
            .trigger(availableNow=True)
            .start()
            .awaitTermination()
        )

    spark.conf.set("spark.sql.shuffle.partitions", 3)
    try:
        with pytest.raises(StreamingQueryException, match="the sink has failed"):
            run_to_the_end()
        run_to_the_end()
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", 2)
    assert [number for number, _ in seen] == [0, 1, 1, 2]
    return [one for _, one in seen]


class FreshSource(Source):
    """Known to be bad: words that no second attempt draws again."""

    def stream(self, purpose: Purpose) -> Stream:  # noqa: ARG002
        return Stream(os.urandom(32))


def fresh(noise: SecretRef | Seed) -> Source:
    """Such a source in place of the one that a program names."""
    assert isinstance(noise, SecretRef)
    return FreshSource(noise.resolve(), mode="production")
