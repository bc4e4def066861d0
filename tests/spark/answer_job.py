"""A stream of answers in a process of its own, so that a test can kill it."""

from __future__ import annotations

from pathlib import Path

import ppm
from tests.spark.house_events import stream_of
from tests.spark.killing import small_session
from tests.spark.town_events import run_to_the_end


def main(folder: Path) -> None:
    spark = small_session(folder)
    policy = folder / "project" / "policies" / "quiet-house.yaml"
    guard = ppm.load(policy, secret=folder / "secret")
    run_to_the_end(guard.answer(stream_of(spark, folder / "in"), "board", shards=4), folder)
