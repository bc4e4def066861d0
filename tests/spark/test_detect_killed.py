"""A stream whose driver, JVM and workers are killed goes on, and tells everything once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import ppm
from tests.spark.town_events import RISE, SCHEMA, certain, told, told_in, town_rows, write_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOB = Path(__file__).with_name("stream_job.py")
FILES = 8


def start(folder: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    return subprocess.Popen(
        [sys.executable, str(JOB), str(folder)],
        env=environment,
        start_new_session=True,  # a process group of its own, the JVM and all workers in it
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def batches(folder: Path) -> int:
    commits = folder / "checkpoint" / "commits"
    return len([one for one in commits.glob("*") if one.name.isdigit()]) if commits.exists() else 0


def kill_after(job: subprocess.Popen[bytes], folder: Path, count: int) -> None:
    deadline = time.monotonic() + 300
    while batches(folder) < count:
        assert job.poll() is None, "the stream ended by itself"
        assert time.monotonic() < deadline, "the stream does not get on"
        time.sleep(0.02)
    os.killpg(job.pid, signal.SIGKILL)
    job.wait()


def test_a_killed_stream_tells_what_a_batch_tells(spark: SparkSession, tmp_path: Path) -> None:
    rows = town_rows(1600)
    write_files(spark, tmp_path / "in", rows, files=FILES)
    for count in (2, 5):
        kill_after(start(tmp_path), tmp_path, count)
        assert batches(tmp_path) < FILES
    assert start(tmp_path).wait() == 0

    whole = ppm.detect(
        spark.createDataFrame(rows, SCHEMA), RISE, subject="who", time="ts", event_id="n"
    )
    expected = told(certain(whole, rows))
    assert len(expected) > 50
    assert told_in(spark, tmp_path) == expected
