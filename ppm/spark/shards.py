"""The packed-shard operator: Spark's state and watermark, and few Python calls on whole columns.

Calling Python once per subject and batch is what makes stateful PySpark slow. Here rows are packed
into one Arrow blob per shard, so that the shuffle moves a few large binaries, and one pure `Step`
sees all subjects of a shard at once. Spark keeps state, watermark, checkpoints and exactly-once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from ppm.cep.step import Step
from ppm.errors import BindingError
from ppm.spark.blobs import SHARD, Packing, Unpacking, blobs_of, from_blob, to_blob
from ppm.spark.workers import guarded, guarded_each
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
        plain = rows.withColumn(SHARD, shard).toDF(
            *(f"c{at}" for at in range(len(rows.columns))), SHARD
        )
        return plain.mapInArrow(Packing(schema, step), _PACKED)


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
    return blobs.mapInArrow(Unpacking(to_arrow_schema(output, timezone="UTC")), output)


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
