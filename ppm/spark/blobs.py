"""Rows as few large binaries: what is packed before a shuffle, and unpacked in the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ppm.cep.step import Step
from ppm.spark.workers import guarded

SHARD = "__ppm_shard"
"""The column that says where a row goes, while it is packed."""
_ROWS_AT_ONCE = 200_000
_BYTES_AT_ONCE = 64 << 20
"""How many rows, or bytes of them, are packed together: a blob for each shard of so many."""


def to_blob(table: pa.Table) -> bytes:
    """A table as Arrow IPC, not compressed: Spark does that to all that it shuffles."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def from_blob(blob: bytes) -> pa.Table:
    """The table that `to_blob` wrote."""
    return pa.ipc.open_stream(blob).read_all()


def blobs_of(released: Iterable[pa.Table]) -> Iterator[bytes]:
    """Rows as blobs that are none too large for a row."""
    for piece in released:
        size = max(1, piece.num_rows * _BYTES_AT_ONCE // max(1, piece.nbytes))
        for at in range(0, piece.num_rows, size):
            yield to_blob(piece.slice(at, size))


@dataclass(frozen=True)
class Packing:
    """Arrow batches into one row per shard; runs in a worker."""

    schema: pa.Schema
    step: Step | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for several in _several(batches):
            yield from guarded(self._packed, several)

    def _packed(self, batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
        table = pa.Table.from_batches(batches)
        # 16 bits are enough for a shard, and are sorted by counting.
        shard = table[SHARD].to_numpy().astype(np.int16)
        rows = table.drop_columns([SHARD]).rename_columns(self.schema.names)
        rows = rows if rows.schema.equals(self.schema) else rows.cast(self.schema)
        rows, places = (rows, None) if self.step is None else self.step.gather(rows)
        shard = shard if places is None else shard[places]
        order = np.argsort(shard, kind="stable")
        rows = rows.combine_chunks().take(pa.array(order))
        numbers, starts = np.unique(shard[order], return_index=True)
        ends = [*starts[1:], len(shard)]
        blobs = [
            to_blob(rows.slice(start, end - start)) for start, end in zip(starts, ends, strict=True)
        ]
        columns = [pa.array(numbers, pa.int32()), pa.array(blobs, pa.binary())]
        return [pa.RecordBatch.from_arrays(columns, ["shard", "blob"])]


def _several(batches: Iterator[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """Batches, several at a time: a session's own size of them is made for other work."""
    several: list[pa.RecordBatch] = []
    for batch in batches:
        if batch.num_rows:
            several.append(batch)
        if (
            sum(one.num_rows for one in several) >= _ROWS_AT_ONCE
            or sum(one.nbytes for one in several) >= _BYTES_AT_ONCE
        ):
            yield several
            several = []
    if several:
        yield several


@dataclass(frozen=True)
class Unpacking:
    """Blobs into rows of the output; runs in a worker."""

    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for blob in batch.column("blob").to_pylist():
                yield from guarded(lambda one: from_blob(one).cast(self.schema).to_batches(), blob)
