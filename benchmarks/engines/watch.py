"""What a piece of work costs: time, time of all cores, and memory of Spark's Python workers."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

_TICKS, _PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")


class Watch:
    """Runs as long as it is entered, and looks at all processes five times a second."""

    seconds = 0.0
    cpu_seconds = 0.0
    most_bytes = 0

    def __enter__(self) -> Self:
        self._before = {one: _ticks(one) for one in _descendants()}
        self._latest = dict(self._before)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._began = time.perf_counter()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.seconds = time.perf_counter() - self._began
        self._stop.set()
        self._thread.join()
        self._look()
        # Process by process, because one that has ended is in no other's account.
        used = sum(ticks - self._before.get(one, 0) for one, ticks in self._latest.items())
        self.cpu_seconds = used / _TICKS

    def _watch(self) -> None:
        while not self._stop.wait(0.2):
            self._look()

    def _look(self) -> None:
        alive = _descendants()
        self._latest |= {one: max(_ticks(one), self._latest.get(one, 0)) for one in alive}
        # Spark keeps the workers of earlier queries for a while: only the busy ones count.
        busy = [one for one in alive if self._latest[one] != self._before.get(one)]
        workers = [one for one in busy if b"pyspark.daemon" in _told(one, "cmdline")]
        self.most_bytes = max(self.most_bytes, sum(map(_resident, workers)))


def _descendants() -> list[int]:
    """All processes that this one has started, and those that they have."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (said := _stat(int(entry.name))):
            parents[int(entry.name)] = int(said[1])
    found = {os.getpid()}
    while new := {one for one, parent in parents.items() if parent in found} - found:
        found |= new
    return sorted(found - {os.getpid()})


def _ticks(process: int) -> int:
    """What a process has used of all cores."""
    return sum(map(int, _stat(process)[11:13]))


def _resident(process: int) -> int:
    pages = _told(process, "statm").split()
    return int(pages[1]) * _PAGE if pages else 0


def _stat(process: int) -> list[bytes]:
    """State, parent and the rest; the name before them may have blanks."""
    return _told(process, "stat").rpartition(b")")[2].split()


def _told(process: int, file: str) -> bytes:
    """What the kernel says of a process; nothing once it has ended."""
    try:
        return Path(f"/proc/{process}/{file}").read_bytes()
    except OSError:
        return b""
