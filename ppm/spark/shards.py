"""The packed-shard operator: Spark's state and watermark, and few Python calls on whole columns.

Calling Python once per subject and batch is what makes stateful PySpark slow. Here rows are packed
into one Arrow blob per shard, so that the shuffle moves a few large binaries, and one pure `Step`
sees all subjects of a shard at once. Spark keeps state, watermark, checkpoints and exactly-once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from ppm.errors import BindingError, InternalError, PpmError
from ppm.spec.values import Duration

END_OF_TIME = (1 << 63) - 1
"""The watermark of a batch: nothing comes after it."""
START_OF_TIME = -(1 << 62)
"""The watermark of a stream before Spark has one: nothing is late yet."""

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_PACKED = T.StructType(
    [T.StructField("shard", T.IntegerType(), False), T.StructField("blob", T.BinaryType(), False)]
)
_SHARD = "__ppm_shard"
_ROWS_AT_ONCE = 200_000
_BYTES_AT_ONCE = 64 << 20
"""How many rows, or bytes of them, are packed together: a blob for each shard of so many."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Turn:
    """What one call of a step gives back; rows are left out of `repr`."""

    state: bytes | None = field(repr=False)
    """What the next call of this shard needs; None for nothing."""
    released: pa.Table | None = field(default=None, repr=False)
    """Rows of the output schema."""
    wake_at: int | None = None
    """When the step wants to be called without new rows: once the watermark, in microseconds, has
    passed this."""


class Step(Protocol):
    """One pure function on the columns of a shard. It is pickled, so it holds no secret."""

    def __call__(self, state: bytes | None, rows: pa.Table, watermark: int) -> Turn:
        """Take new rows in; `watermark` is in microseconds, and no row is dropped before this."""
        ...


def run_in_shards(
    rows: DataFrame,
    step: Step,
    *,
    subject: str,
    time: str,
    lateness: Duration,
    shards: int,
    output: T.StructType,
) -> DataFrame:
    """The rows that a step releases, batch or streaming, with all rows of a subject in one shard.

    The number of shards is part of a checkpoint: a stream keeps the one that it started with.
    """
    if not 1 <= shards <= 32_767:
        raise BindingError(f"shards is {shards}; it must be from 1 to 32767")
    sharded = with_watermark(rows, time, lateness).withColumn(
        _SHARD, F.pmod(F.xxhash64(F.col(quoted(subject))), F.lit(shards)).cast("int")
    )
    schema = to_arrow_schema(rows.schema, timezone="UTC")
    # Spark's mapInArrow reads dots and backticks in names.
    plain = sharded.toDF(*(f"c{at}" for at in range(len(rows.columns))), _SHARD)
    packed = plain.mapInArrow(_Packing(schema), _PACKED)
    blobs = (
        _stateful(packed, step, schema, shards)
        if rows.isStreaming
        else packed.groupBy("shard").applyInArrow(_whole(step, schema), "blob binary")
    )
    return blobs.mapInArrow(_Unpacking(to_arrow_schema(output, timezone="UTC")), output)


def quoted(column: str) -> str:
    """A column's name as SQL takes it, whatever characters it has."""
    return f"`{column.replace('`', '``')}`"


def with_watermark(rows: DataFrame, time: str, lateness: Duration) -> DataFrame:
    """A stream's watermark: it stands before rows are left out or packed, so that all move it."""
    if not rows.isStreaming:
        return rows
    given = rows.schema[time].metadata.get("spark.watermarkDelayMs")
    wanted = -(-lateness.microseconds // 1000)
    if given is None:
        return rows.withWatermark(quoted(time), f"{wanted} milliseconds")
    if int(given) != wanted:
        raise BindingError(
            f"the column {time} has a watermark of {given} ms already, and lateness is {lateness}; "
            "make them equal, or leave the watermark out"
        )
    return rows


def _stateful(packed: DataFrame, step: Step, schema: pa.Schema, shards: int) -> DataFrame:
    session = packed.sparkSession
    _use_rocksdb(session)
    # Every shard is seeded, so that shards without rows get their timers too.
    seeds = session.range(shards).select(F.col("id").cast("int").alias("shard"))
    return packed.groupBy("shard").transformWithStateInPandas(
        statefulProcessor=_Processor(step, schema),
        outputStructType="blob binary",
        outputMode="Append",
        timeMode="EventTime",
        initialState=seeds.groupBy("shard"),
    )


def _use_rocksdb(session: SparkSession) -> None:
    """Timers need the RocksDB state store; a session that chose another one is told so."""
    chosen = session.conf.get(_PROVIDER, None)
    if chosen is None:
        session.conf.set(_PROVIDER, _ROCKSDB)
        log.info("ppm set %s to RocksDB, which timers need", _PROVIDER)
    elif not chosen.endswith("RocksDBStateStoreProvider"):
        name = chosen.rpartition(".")[2]
        raise BindingError(f"{_PROVIDER} is {name}; set it to {_ROCKSDB}, which timers need")


def to_blob(table: pa.Table) -> bytes:
    """A table as Arrow IPC, not compressed: Spark does that to all that it shuffles."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _blobs(released: pa.Table | None) -> list[bytes]:
    """Rows as blobs that are none too large for a row."""
    if released is None or not released.num_rows:
        return []
    size = max(1, released.num_rows * _BYTES_AT_ONCE // max(1, released.nbytes))
    return [to_blob(released.slice(at, size)) for at in range(0, released.num_rows, size)]


def from_blob(blob: bytes) -> pa.Table:
    """The table that `to_blob` wrote."""
    return pa.ipc.open_stream(blob).read_all()


@dataclass(frozen=True)
class _Packing:
    """Arrow batches into one row per shard; runs in a worker."""

    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for several in _gathered(batches):
            yield from guarded(self._packed, several)

    def _packed(self, batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
        table = pa.Table.from_batches(batches)
        # 16 bits are enough for a shard, and are sorted by counting.
        shard = table[_SHARD].to_numpy().astype(np.int16)
        order = np.argsort(shard, kind="stable")
        rows = table.drop_columns([_SHARD]).combine_chunks().take(pa.array(order))
        rows = rows.rename_columns(self.schema.names)
        rows = rows if rows.schema.equals(self.schema) else rows.cast(self.schema)
        numbers, starts = np.unique(shard[order], return_index=True)
        ends = [*starts[1:], len(shard)]
        blobs = [
            to_blob(rows.slice(start, end - start)) for start, end in zip(starts, ends, strict=True)
        ]
        columns = [pa.array(numbers, pa.int32()), pa.array(blobs, pa.binary())]
        return [pa.RecordBatch.from_arrays(columns, ["shard", "blob"])]


def _gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
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


def _whole(step: Step, schema: pa.Schema) -> Callable[[pa.Table], pa.Table]:
    """A whole shard of a batch frame at once; runs in a worker."""

    def released(packed: pa.Table) -> pa.Table:
        rows = pa.concat_tables([schema.empty_table(), *map(from_blob, packed["blob"].to_pylist())])
        turn = step(None, rows, END_OF_TIME)
        return pa.table({"blob": pa.array(_blobs(turn.released), pa.binary())})

    # A function and not an object: Spark counts the arguments, and would take self for the key.
    return lambda packed: guarded(released, packed)


@dataclass(frozen=True)
class _Unpacking:
    """Blobs into rows of the output; runs in a worker."""

    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for blob in batch.column("blob").to_pylist():
                yield from guarded(lambda one: from_blob(one).cast(self.schema).to_batches(), blob)


class _Processor(StatefulProcessor):
    """One shard of a stream; Spark calls it with few rows, each a blob."""

    def __init__(self, step: Step, schema: pa.Schema) -> None:
        self._step = step
        self._schema = schema

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._state = handle.getValueState("blob", "blob binary")

    # The arguments are Spark's: it hands them over by name, needed or not.

    def handleInitialState(
        self,
        key: Any,  # noqa: ARG002
        initialState: pd.DataFrame,  # noqa: ARG002
        timerValues: Any,
    ) -> None:
        # A first call with no rows: the step says when it wants to be woken.
        guarded(self._turn, [], timerValues)

    def handleInputRows(
        self,
        key: Any,  # noqa: ARG002
        rows: Iterator[pd.DataFrame],
        timerValues: Any,
    ) -> Iterator[pd.DataFrame]:
        blobs = [blob for frame in rows for blob in frame["blob"]]
        yield from guarded(self._turn, blobs, timerValues)

    def handleExpiredTimer(
        self,
        key: Any,  # noqa: ARG002
        timerValues: Any,
        expiredTimerInfo: Any,  # noqa: ARG002
    ) -> Iterator[pd.DataFrame]:
        yield from guarded(self._turn, [], timerValues)

    def close(self) -> None:
        pass

    def _turn(self, blobs: list[bytes], timers: Any) -> list[pd.DataFrame]:
        known = self._state.get()
        rows = pa.concat_tables([self._schema.empty_table(), *map(from_blob, blobs)])
        # A row at Spark's watermark is as late as allowed, so time has not passed it yet; and
        # Spark's 0 means that there is none, not the year 1970.
        passed = timers.getCurrentWatermarkInMs()
        watermark = passed * 1000 - 1 if passed > 0 else START_OF_TIME
        turn = self._step(None if known is None else bytes(known[0]), rows, watermark)
        if turn.state is not None:
            self._state.update((turn.state,))
        elif known is not None:
            self._state.clear()
        self._wake_at(turn.wake_at, passed)
        return [pd.DataFrame({"blob": [blob]}) for blob in _blobs(turn.released)]

    def _wake_at(self, moment: int | None, passed: int) -> None:
        """Set the one timer of the shard; each call of Spark's costs a round trip."""
        # Spark counts milliseconds, and fires once its watermark has reached the timer.
        wanted = [] if moment is None else [max(moment // 1000 + 1, passed + 1)]
        known = list(self._handle.listTimers())
        for timer in known:
            if timer not in wanted:
                self._handle.deleteTimer(timer)
        for timer in wanted:
            if timer not in known:
                self._handle.registerTimer(timer)


def guarded(body: Any, *arguments: Any) -> Any:
    """Run a worker's body; what goes wrong is told by kind and place, never with a row's value."""
    try:
        return body(*arguments)
    except PpmError:
        raise
    except Exception as error:
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        where = "" if place is None else f" in {place.tb_frame.f_code.co_name}"
        said = f"a worker failed: {type(error).__name__}{where}; please report it"
    raise InternalError(said) from None
