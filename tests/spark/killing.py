"""Streams in processes of their own, which tests kill in the middle of things.

A job is a module of this folder with a `main` that takes a folder. It reads from `in`, writes to
`out`, and keeps its checkpoint in `checkpoint`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS: dict[str, bool | float | int | str | None] = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "OFF",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""What a small Spark needs; anything else stays as Spark has it."""

_PROGRAM = """
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

# Tests are no package, and a library that they use installs its own under this name.
sys.modules["tests"] = tests = ModuleType("tests")
tests.__path__ = [sys.argv[1]]
import_module(f"tests.spark.{sys.argv[2]}").main(Path(sys.argv[3]))
"""
_SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A JVM that lives for seconds need not make its code quick, which takes longer than its work."""
_PATIENCE = 600
"""Seconds without what a test waits for, after which something is wrong."""


def small_session(folder: Path) -> SparkSession:
    """The Spark of a job."""
    from pyspark.sql import SparkSession

    settings = {**SETTINGS, "spark.sql.warehouse.dir": str(folder / "warehouse")}
    return SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()


@contextmanager
def running(job: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A job at work; it is killed when the block is left."""
    with (folder / "said.txt").open("ab") as said:
        process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(Path(__file__).parents[1]), job, str(folder)],
            env={**os.environ, "PYSPARK_PYTHON": sys.executable, "JDK_JAVA_OPTIONS": _SHORT_LIVED},
            cwd=folder,
            # A process group of its own, with the JVM; Python workers end when the JVM is gone.
            start_new_session=True,
            stdout=said,
            stderr=said,
        )
    try:
        yield process
    finally:
        _kill(process)


def run(job: str, folder: Path) -> None:
    """Let a job end by itself."""
    with running(job, folder) as process:
        assert process.wait(_PATIENCE) == 0, _said(folder)


def committed(folder: Path) -> set[int]:
    """The numbers of the batches that a stream is done with."""
    return _numbers(folder / "checkpoint" / "commits")


def written(folder: Path) -> set[int]:
    """The numbers of the batches that the sink has taken."""
    return _numbers(folder / "out" / "_spark_metadata")


def wait_for_batches(process: subprocess.Popen[bytes], folder: Path, count: int) -> None:
    """Until so many batches are committed."""
    _wait_until(lambda: len(committed(folder)) >= count, process, folder)


def kill_between_write_and_commit(process: subprocess.Popen[bytes], folder: Path) -> int:
    """Kill a job when its sink has a batch that the checkpoint has not; gives its number."""
    while True:
        _wait_until(lambda: bool(written(folder) - committed(folder)), process, folder)
        # Time stands still while we look: what is not committed now will never be.
        _send(process, signal.SIGSTOP)
        time.sleep(0.1)
        caught = written(folder) - committed(folder)
        if caught:
            _kill(process)
            return max(caught)
        _send(process, signal.SIGCONT)


def _wait_until(is_so: Callable[[], bool], process: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not is_so():
        assert process.poll() is None, f"the stream ended by itself: {_said(folder)}"
        assert time.monotonic() < deadline, "the stream does not get on"
        time.sleep(0.001)


def _numbers(log: Path) -> set[int]:
    # Every tenth file of a sink's log is called 9.compact, 19.compact and so on.
    with suppress(FileNotFoundError):
        stems = (name.partition(".")[0] for name in os.listdir(log))
        return {int(stem) for stem in stems if stem.isdigit()}
    return set()


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        _send(process, signal.SIGKILL)
        process.wait()


def _send(process: subprocess.Popen[bytes], what: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, what)


def _said(folder: Path) -> str:
    return (folder / "said.txt").read_text("utf-8", "replace")[-2000:]
