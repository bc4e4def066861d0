"""A stream whose driver, JVM and workers are killed goes on, and tells everything once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import ppm
from tests.spark.killing import committed, run, running, wait_for_batches
from tests.spark.town_events import RISE, SCHEMA, certain, told, told_in, town_rows, write_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES = 8


def test_a_killed_stream_tells_what_a_batch_tells(spark: SparkSession, tmp_path: Path) -> None:
    rows = town_rows(1600)
    write_files(spark, tmp_path / "in", rows, files=FILES)
    for count in (2, 5):
        with running("stream_job", tmp_path) as job:
            wait_for_batches(job, tmp_path, count)
        assert len(committed(tmp_path)) < FILES
    run("stream_job", tmp_path)

    whole = ppm.detect(
        spark.createDataFrame(rows, SCHEMA), RISE, subject="who", time="ts", event_id="n"
    )
    expected = told(certain(whole, rows))
    assert len(expected) > 50
    assert told_in(spark, tmp_path) == expected
