"""A stream in which patterns are found, in a process of its own, so that a test can kill it."""

from __future__ import annotations

from pathlib import Path

import ppm
from tests.spark.killing import small_session
from tests.spark.town_events import LATENESS, RISE, run_to_the_end, stream_of


def main(folder: Path) -> None:
    found = ppm.detect(
        stream_of(small_session(folder), folder / "in"),
        RISE,
        subject="who",
        time="ts",
        event_id="n",
        lateness=LATENESS,
        shards=4,
    )
    run_to_the_end(found, folder)
