"""The events that every engine reads: parquet files in order of arrival, and one binary for Flink.

Keys, labels and the small disorder are random with a fixed seed. Times of a key differ, because
engines order equal times in their own ways. The last event comes an hour after all others, in a
file of its own, so that a stream's watermark passes everything.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

WITHIN = "10 min"
WITHIN_MS = 600_000
LATENESS = "30 s"
LATENESS_MS = 30_000
DISORDER_MS = 20_000
START_MS = 1_767_225_600_000  # 2026-01-01
LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
SCHEMA = "subject bigint, ts timestamp, id bigint, label string"
FILES_PER_BATCH = 2


@dataclass(frozen=True)
class Events:
    """A set of events, by what it is drawn from."""

    number: int
    keys: int = 20_000
    window: int = 20
    """How many events of one key fall into the pattern's window, on average."""
    labels: int = 8
    batches: int = 10
    """How many micro-batches a stream of them has."""

    def folder(self, cache: Path) -> Path:
        """Where the events stand; they are made at the first call."""
        name = f"{self.number}-{self.keys}-{self.window}-{self.labels}-{self.batches}"
        folder = cache / "events" / name
        if not (folder / "done").exists():
            (folder / "parquet").mkdir(parents=True, exist_ok=True)
            keys, times, labels = self._drawn()
            _write_binary(folder / "binary", keys, times, labels)
            _write_files(folder / "parquet", keys, times, labels, self.batches * FILES_PER_BATCH)
            (folder / "done").touch()
        return folder

    def _drawn(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        random = np.random.default_rng(7)
        size = self.number - 1
        keys = random.integers(0, self.keys, size)
        step = WITHIN_MS / self.window / self.keys
        times = (np.arange(size) * step).astype(np.int64) + random.integers(0, DISORDER_MS, size)
        times = START_MS + _told_apart(keys, times)
        letters = np.frombuffer(LABELS.encode(), np.uint8)
        labels = letters[random.integers(0, self.labels, size)]
        return (
            np.append(keys, self.keys),
            np.append(times, times.max() + 3_600_000),
            np.append(labels, letters[0]),
        )


def _told_apart(keys: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The same times, where equal ones of a key are moved on by a millisecond each."""
    order = np.lexsort((times, keys))
    far, rank = 1 << 40, np.arange(len(keys))
    moved = np.maximum.accumulate(keys[order] * far + times[order] - rank) + rank
    result = np.empty_like(times)
    result[order] = moved - keys[order] * far
    return result


def _write_binary(file: Path, keys: np.ndarray, times: np.ndarray, labels: np.ndarray) -> None:
    file.write_bytes(keys.tobytes() + times.tobytes() + labels.tobytes())


def _write_files(
    folder: Path, keys: np.ndarray, times: np.ndarray, labels: np.ndarray, files: int
) -> None:
    letters = pa.array(labels.view("S1").astype("U1"))
    rows = pa.table(
        {
            "subject": keys,
            "ts": pa.array(times * 1000, pa.timestamp("us", tz="UTC")),
            "id": np.arange(len(keys)),
            "label": letters,
        }
    )
    last = len(keys) - 1
    borders = [*np.linspace(0, last, files + 1).astype(int), last + 1]
    for place, (start, end) in enumerate(pairwise(borders)):
        file = folder / f"{place:04}.parquet"
        pq.write_table(rows.slice(start, end - start), file)
        os.utime(file, (START_MS // 1000 + place,) * 2)  # a stream reads files by their age
