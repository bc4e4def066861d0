"""A second step over what all shards have released, key by key: sums over subjects need all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol
from zlib import crc32

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from ppm.cep.step import Turn
from ppm.spark.blobs import blobs_of, from_blob, to_blob
from ppm.spark.shards import END_OF_TIME, START_OF_TIME, STATE
from ppm.spark.workers import guarded, guarded_each

_KEYED = T.StructType(
    [T.StructField("key", T.LongType(), False), T.StructField("blob", T.BinaryType(), False)]
)


class Gathering(Protocol):
    """A step over what all shards have released, key by key."""

    def split(self, released: pa.Table, /) -> Iterable[tuple[int, pa.Table]]:
        """Rows under the keys that they are gathered by; below 0, those that pass as they are."""
        ...

    def __call__(self, state: bytes | None, rows: pa.Table, watermark: int, /) -> Turn: ...

    def finish(self, state: bytes | None, rows: pa.Table, end: int, /) -> Iterable[pa.Table]: ...


def gathered(blobs: DataFrame, then: Gathering) -> DataFrame:
    """What all shards have released, after a second step."""
    keyed = blobs.mapInArrow(_Splitting(then), _KEYED).groupBy("key")
    if not blobs.isStreaming:
        return keyed.applyInArrow(_gathered_at_once(then), "blob binary")
    # Its state needs no time: a sum is told in the batch that brings its last part.
    return keyed.transformWithStateInPandas(
        statefulProcessor=_Gatherer(then),
        outputStructType="blob binary",
        outputMode="Append",
        timeMode="None",
    )


@dataclass(frozen=True)
class _Splitting:
    """Blobs into blobs with keys; runs in a worker."""

    then: Gathering

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for blob in batch.column("blob").to_pylist():
                yield guarded(self._split, blob)

    def _split(self, blob: bytes) -> pa.RecordBatch:
        # What passes has keys of its own, so that it is spread over partitions.
        parts = [(key, to_blob(rows)) for key, rows in self.then.split(from_blob(blob))]
        keys = [key if key >= 0 else -1 - crc32(part) for key, part in parts]
        columns = [pa.array(keys, pa.int64()), pa.array([part for _, part in parts], pa.binary())]
        return pa.RecordBatch.from_arrays(columns, ["key", "blob"])


def _gathered_at_once(then: Gathering) -> Callable[[pa.Table], pa.Table]:
    """All that a batch frame has under one key; runs in a worker."""

    def finished(keyed: pa.Table) -> pa.Table:
        if keyed["key"][0].as_py() < 0:
            return keyed.select(["blob"])
        rows = pa.concat_tables(map(from_blob, keyed["blob"].to_pylist()))
        return pa.table(
            {"blob": pa.array([*blobs_of(then.finish(None, rows, END_OF_TIME))], pa.binary())}
        )

    return lambda keyed: guarded(finished, keyed)


class _Gatherer(StatefulProcessor):
    """One key of what all shards of a stream have released."""

    def __init__(self, then: Gathering) -> None:
        self._then = then

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = handle.getValueState(STATE, "blob binary")

    def handleInputRows(
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: ARG002
    ) -> Iterator[pd.DataFrame]:
        if key[0] < 0:
            yield from (frame[["blob"]] for frame in rows)
        else:
            yield from guarded_each(self._turn, [blob for frame in rows for blob in frame["blob"]])

    def close(self) -> None:
        pass

    def _turn(self, blobs: list[bytes]) -> Iterator[pd.DataFrame]:
        known = self._state.get()
        rows = pa.concat_tables(map(from_blob, blobs))
        turn = self._then(None if known is None else bytes(known[0]), rows, START_OF_TIME)
        if turn.state is not None:
            self._state.update((turn.state,))
        elif known is not None:
            self._state.clear()
        return (pd.DataFrame({"blob": [blob]}) for blob in blobs_of(turn.released))
