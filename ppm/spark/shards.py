"""The packed-shard operator: Spark's state and watermark, and few Python calls on whole columns.

Calling Python once per subject and batch is what makes stateful PySpark slow. Here rows are packed
into one Arrow blob per shard, so that the shuffle moves a few large binaries, and one pure `Step`
sees all subjects of a shard at once. Spark keeps state, watermark, checkpoints and exactly-once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from ppm.cep.step import Step
from ppm.errors import BindingError, InternalError, PpmError
from ppm.spec.values import Duration

END_OF_TIME = (1 << 63) - 1
"""The watermark of a batch: nothing comes after it."""
START_OF_TIME = -(1 << 62)
"""The watermark of a stream before Spark has one: nothing is late yet."""

STATE = "blob"
"""What Spark calls the state of a shard."""
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_PACKED = T.StructType(
    [T.StructField("shard", T.IntegerType(), False), T.StructField("blob", T.BinaryType(), False)]
)
_SHARD = "__ppm_shard"
_ROWS_AT_ONCE = 200_000
_BYTES_AT_ONCE = 64 << 20
"""How many rows, or bytes of them, are packed together: a blob for each shard of so many."""

_NO_MORE = object()

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Shards:
    """How rows are spread over shards: all rows of a subject go to one.

    The number of shards is part of a checkpoint: a stream keeps the one that it started with.
    """

    subject: str
    time: str
    lateness: Duration
    number: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= 32_767:
            raise BindingError(f"shards is {self.number}; it must be from 1 to 32767")

    def packed(self, rows: DataFrame, step: Step | None = None) -> DataFrame:
        """Rows as few large binaries, with the number of their shard; a step may gather them."""
        shard = F.pmod(F.xxhash64(F.col(quoted(self.subject))), F.lit(self.number)).cast("int")
        schema = to_arrow_schema(rows.schema, timezone="UTC")
        # Spark's mapInArrow reads dots and backticks in names.
        plain = rows.withColumn(_SHARD, shard).toDF(
            *(f"c{at}" for at in range(len(rows.columns))), _SHARD
        )
        return plain.mapInArrow(_Packing(schema, step), _PACKED)


def run_in_shards(
    rows: DataFrame,
    step: Step,
    *,
    shards: Shards,
    output: T.StructType,
    seeds: DataFrame | None = None,
    end: DataFrame | None = None,
    then: Callable[[DataFrame], DataFrame] | None = None,
) -> DataFrame:
    """The rows that a step releases, batch or streaming.

    `seeds` are rows with the subject's column that each shard begins with. A batch ends at the one
    moment that `end` holds, in microseconds, or at the end of time. `then` changes the blobs that
    shards have released, before they are unpacked.
    """
    marked = with_watermark(rows, shards.time, shards.lateness)
    packed = shards.packed(marked, step)
    schema = step.packed_schema(to_arrow_schema(rows.schema, timezone="UTC"))
    planted = None if seeds is None else shards.packed(seeds)
    if rows.isStreaming:
        blobs = _stateful(packed, step, schema, shards.number, planted)
    else:
        blobs = _whole(packed, step, schema, shards.number, planted, end)
    if then is not None:
        blobs = then(blobs)
    return unpacked(blobs, output)


def finish_shards(
    states: DataFrame, step: Step, *, rows: pa.Schema, end: int, output: T.StructType
) -> DataFrame:
    """The rows that a step still releases from the states of shards, if nothing comes any more."""

    def finished(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for state in batch.column("blob").to_pylist():
                for blob in guarded_each(released, state):
                    column = pa.array([blob], pa.binary())
                    yield pa.RecordBatch.from_arrays([column], ["blob"])

    def released(state: bytes) -> Iterator[bytes]:
        return blobs_of(step.finish(state, rows.empty_table(), end))

    return unpacked(states.select("blob").mapInArrow(finished, "blob binary"), output)


def unpacked(blobs: DataFrame, output: T.StructType) -> DataFrame:
    """Blobs as the rows that they hold."""
    return blobs.mapInArrow(_Unpacking(to_arrow_schema(output, timezone="UTC")), output)


def quoted(column: str) -> str:
    """A column's name as SQL takes it, whatever characters it has."""
    return f"`{column.replace('`', '``')}`"


def delay_of(lateness: Duration) -> int:
    """A lateness in milliseconds, as Spark counts its watermark."""
    return -(-lateness.microseconds // 1000)


def with_watermark(rows: DataFrame, time: str, lateness: Duration) -> DataFrame:
    """A stream's watermark: it stands before rows are left out or packed, so that all move it."""
    if not rows.isStreaming:
        return rows
    given = rows.schema[time].metadata.get("spark.watermarkDelayMs")
    wanted = delay_of(lateness)
    if given is None:
        return rows.withWatermark(quoted(time), f"{wanted} milliseconds")
    if int(given) != wanted:
        raise BindingError(
            f"the column {time} has a watermark of {given} ms already, and lateness is {lateness}; "
            "make them equal, or leave the watermark out"
        )
    return rows


def _stateful(
    packed: DataFrame, step: Step, schema: pa.Schema, shards: int, planted: DataFrame | None
) -> DataFrame:
    session = packed.sparkSession
    _use_rocksdb(session)
    # Every shard is seeded, so that shards without rows get their timers too.
    every = session.range(shards).select(F.col("id").cast("int").alias("shard"))
    seeds = every if planted is None else every.join(_one_for_each(planted), "shard", "left")
    return packed.groupBy("shard").transformWithStateInPandas(
        statefulProcessor=_Processor(step, schema),
        outputStructType="blob binary",
        outputMode="Append",
        timeMode="EventTime",
        initialState=seeds.groupBy("shard"),
    )


def _one_for_each(packed: DataFrame) -> DataFrame:
    """All blobs of a shard as one."""

    def joined(blobs: pa.Table) -> pa.Table:
        whole = pa.concat_tables(map(from_blob, blobs["blob"].to_pylist()))
        return pa.table({"shard": blobs["shard"][:1], "blob": [to_blob(whole.combine_chunks())]})

    return packed.groupBy("shard").applyInArrow(lambda blobs: guarded(joined, blobs), _PACKED)


def _whole(
    packed: DataFrame,
    step: Step,
    schema: pa.Schema,
    shards: int,
    planted: DataFrame | None,
    end: DataFrame | None,
) -> DataFrame:
    """A batch frame is one call for each shard, with rows and seeds side by side."""
    # Shards without rows are called as well: whether there are any must not show in what is told.
    empty = packed.sparkSession.range(shards).select(
        F.col("id").cast("int").alias("shard"), F.lit(None).cast("binary").alias("blob")
    )
    every = packed.unionByName(empty).withColumn("is_seed", F.lit(False))
    if planted is not None:
        every = every.unionByName(planted.withColumn("is_seed", F.lit(True)))
    last = F.lit(END_OF_TIME) if end is None else F.col("end")
    every = every if end is None else every.crossJoin(F.broadcast(end.toDF("end")))
    return (
        every.withColumn("end", F.coalesce(last, F.lit(START_OF_TIME)))
        .groupBy("shard")
        .applyInArrow(_finished(step, schema), "blob binary")
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


def blobs_of(released: Iterable[pa.Table]) -> Iterator[bytes]:
    """Rows as blobs that are none too large for a row."""
    for piece in released:
        size = max(1, piece.num_rows * _BYTES_AT_ONCE // max(1, piece.nbytes))
        for at in range(0, piece.num_rows, size):
            yield to_blob(piece.slice(at, size))


def from_blob(blob: bytes) -> pa.Table:
    """The table that `to_blob` wrote."""
    return pa.ipc.open_stream(blob).read_all()


@dataclass(frozen=True)
class _Packing:
    """Arrow batches into one row per shard; runs in a worker."""

    schema: pa.Schema
    step: Step | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for several in _several(batches):
            yield from guarded(self._packed, several)

    def _packed(self, batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
        table = pa.Table.from_batches(batches)
        # 16 bits are enough for a shard, and are sorted by counting.
        shard = table[_SHARD].to_numpy().astype(np.int16)
        rows = table.drop_columns([_SHARD]).rename_columns(self.schema.names)
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


def _finished(step: Step, schema: pa.Schema) -> Callable[[pa.Table], pa.Table]:
    """A whole shard of a batch frame at once; runs in a worker."""

    def released(packed: pa.Table) -> pa.Table:
        is_seed = packed["is_seed"]
        seeds = [from_blob(one) for one in packed.filter(is_seed)["blob"].to_pylist()]
        blobs = pc.drop_null(packed.filter(pc.invert(is_seed))["blob"]).to_pylist()
        rows = pa.concat_tables([schema.empty_table(), *map(from_blob, blobs)])
        state = step.begin(pa.concat_tables(seeds) if seeds else None)
        found = step.finish(state, rows, packed["end"][0].as_py())
        return pa.table({"blob": pa.array([*blobs_of(found)], pa.binary())})

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
        self._state = handle.getValueState(STATE, "blob binary")

    # The arguments are Spark's: it hands them over by name, needed or not.

    def handleInitialState(
        self,
        key: Any,  # noqa: ARG002
        initialState: pd.DataFrame,
        timerValues: Any,
    ) -> None:
        # A first call with no rows: the step says when it wants to be woken.
        guarded(self._begin, initialState, timerValues)

    def handleInputRows(
        self,
        key: Any,  # noqa: ARG002
        rows: Iterator[pd.DataFrame],
        timerValues: Any,
    ) -> Iterator[pd.DataFrame]:
        blobs = [blob for frame in rows for blob in frame["blob"]]
        yield from guarded_each(self._turn, blobs, timerValues)

    def handleExpiredTimer(
        self,
        key: Any,  # noqa: ARG002
        timerValues: Any,
        expiredTimerInfo: Any,  # noqa: ARG002
    ) -> Iterator[pd.DataFrame]:
        yield from guarded_each(self._turn, [], timerValues)

    def close(self) -> None:
        pass

    def _begin(self, seeds: pd.DataFrame, timers: Any) -> None:
        planted = [blob for blob in seeds["blob"] if blob is not None] if "blob" in seeds else []
        state = self._step.begin(pa.concat_tables(map(from_blob, planted)) if planted else None)
        if state is not None:
            self._state.update((state,))
        self._turn([], timers)

    def _turn(self, blobs: list[bytes], timers: Any) -> Iterator[pd.DataFrame]:
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
        return (pd.DataFrame({"blob": [blob]}) for blob in blobs_of(turn.released))

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


def guarded_each(body: Callable[..., Iterator[Any]], *arguments: Any) -> Iterator[Any]:
    """The same for a body whose results are made one by one."""
    results = guarded(body, *arguments)
    while (result := guarded(next, results, _NO_MORE)) is not _NO_MORE:
        yield result
