"""A protected stream in a process of its own, so that a test can kill it."""

from __future__ import annotations

from pathlib import Path

import ppm
from tests.spark.house_events import POLICY, run_to_the_end, stream_of
from tests.spark.killing import small_session


def main(folder: Path) -> None:
    spark = small_session(folder)
    guard = ppm.load(POLICY, secret=folder / "secret")
    run_to_the_end(guard.protect_all(stream_of(spark, folder / "in"), shards=4), folder)
