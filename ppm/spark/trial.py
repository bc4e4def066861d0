"""A protected stream tried out: made-up rows go in, and what readers receive of them comes out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.query import StreamingQuery

from ppm.dp.source import Seed
from ppm.errors import BindingError, InternalError, listed
from ppm.protect.compile import program_of
from ppm.protect.compile_answers import asked_by
from ppm.protect.open_slots import SUBJECT
from ppm.protect.plan import Plan
from ppm.protect.program import Program
from ppm.protect.runnable import refuse_what_does_not_run
from ppm.protect.step import LOSSES
from ppm.spark.answer import Answers
from ppm.spark.files import in_plain_words
from ppm.spark.guard import ANSWER_METRICS, METRICS, SHARDS
from ppm.spark.parameters import COMMUNITY
from ppm.spark.protect import Pipeline
from ppm.spark.session import local_session
from ppm.spark.streams import binding_faults, plain_schema
from ppm.spec.expression.kinds import ColumnType

Row = tuple[Any, ...]
"""The values of a row in the order of the stream's columns; times are microseconds since 1970."""
Received = tuple[str, int, Row]
"""Who received a row, in which micro-batch, and the row."""
Answered = tuple[int, str | int | None, int, str, int]
"""In which micro-batch an answer came, whose it is, the start of its slot in microseconds, the
query, and the answer."""
Make = Callable[[Plan, Program, str], Pipeline]

_ARROW = {
    ColumnType.STRING: pa.string(),
    ColumnType.INTEGER: pa.int64(),
    ColumnType.DOUBLE: pa.float64(),
    ColumnType.BOOLEAN: pa.bool_(),
    ColumnType.TIMESTAMP: pa.timestamp("us", "UTC"),
    ColumnType.LOCAL_TIMESTAMP: pa.timestamp("us"),
}


def try_stream(
    plan: Plan,
    communities: Sequence[str],
    *,
    columns: Mapping[str, ColumnType],
    files: Sequence[Sequence[Row]],
    subjects: Sequence[str | int] | None,
    noise: Seed,
    make: Make = Pipeline,
) -> Iterator[Received]:
    """Every row that communities receive of a stream, in the order in which they receive it.

    Each file is a micro-batch of the one job that protects the stream for all of them. `subjects`
    are those that are declared; None if they become known by their rows. A private row that gets
    lost on the way is an `InternalError`: a trial of rows that never arrive would prove nothing.
    """
    refuse_what_does_not_run(plan, communities)

    def safe(rows: DataFrame, program: Program, known: DataFrame | None) -> DataFrame:
        return make(plan, program, METRICS).protected(rows, subjects=known, until=None)

    named = [*columns]
    for batch, table in _tried(plan, communities, columns, files, subjects, noise, safe, METRICS):
        values = (_plain(table[name]).to_pylist() for name in named)
        for community, *row in zip(table[COMMUNITY].to_pylist(), *values, strict=True):
            yield community, batch, tuple(row)


def try_answers(
    plan: Plan,
    consumer: str,
    *,
    columns: Mapping[str, ColumnType],
    files: Sequence[Sequence[Row]],
    subjects: Sequence[str | int] | None,
    noise: Seed,
    alter: Callable[[Answers], Answers] = lambda answers: answers,
) -> Iterator[Answered]:
    """Every answer that a consumer receives of a stream, in the order in which it receives them."""
    asked = asked_by(plan, consumer)

    def answers(rows: DataFrame, program: Program, known: DataFrame | None) -> DataFrame:
        pipeline = Pipeline(plan, program, ANSWER_METRICS)
        given = alter(Answers(pipeline, asked, ANSWER_METRICS))
        return given.answered(rows, subjects=known, until=None)

    names = [plan.policy.stream.subject, "slot", "query", "answer"]
    told = _tried(
        plan, [asked[0].community], columns, files, subjects, noise, answers, ANSWER_METRICS
    )
    for batch, table in told:
        values = (_plain(table[name]).to_pylist() for name in names)
        for subject, slot, query, answer in zip(*values, strict=True):
            yield batch, subject, slot, query, answer


def _tried(
    plan: Plan,
    communities: Sequence[str],
    columns: Mapping[str, ColumnType],
    files: Sequence[Sequence[Row]],
    subjects: Sequence[str | int] | None,
    noise: Seed,
    told: Callable[[DataFrame, Program, DataFrame | None], DataFrame],
    metrics: str,
) -> Iterator[tuple[int, pa.Table]]:
    """What a stream of files becomes, micro-batch by micro-batch and part by part."""
    with TemporaryDirectory(prefix="ppm-") as scratch:
        folder = Path(scratch)
        # Spark is gone before rows are handed out, whatever becomes of whoever takes them.
        with in_plain_words(Path("a made-up stream")), local_session() as session:
            rows = _stream(session, folder / "in", columns, files)
            faults = [*binding_faults(rows, plan, taken=[COMMUNITY])]
            if faults:
                raise BindingError("\n".join(faults))
            program = program_of(
                plan,
                communities,
                noise=noise,
                columns=plain_schema(rows).json(),
                shards=SHARDS,
                knows_subjects=subjects is not None,
                names_communities=True,
            )
            known = None if subjects is None else _declared(session, plan, rows, subjects)
            _written(told(rows, program, known), folder, metrics)
        for path in sorted((folder / "out").glob("*/part-*.parquet")):
            yield (
                int(path.parent.name),
                pq.read_table(path, partitioning=None, coerce_int96_timestamp_unit="us"),
            )


def _stream(
    session: SparkSession,
    folder: Path,
    columns: Mapping[str, ColumnType],
    files: Sequence[Sequence[Row]],
) -> DataFrame:
    """Rows as a stream that comes file by file."""
    schema = pa.schema([pa.field(name, _ARROW[kind]) for name, kind in columns.items()])
    folder.mkdir()
    for number, rows in enumerate(files):
        values = zip(*rows, strict=True) if rows else ([] for _ in schema)
        arrays = [pa.array(one, field.type) for one, field in zip(values, schema, strict=True)]
        path = folder / f"{number:05}.parquet"
        pq.write_table(pa.Table.from_arrays(arrays, schema=schema), path)
        os.utime(path, (number, number))  # Spark reads files in the order of their times
    source = session.readStream.schema(from_arrow_schema(schema))
    return source.option("maxFilesPerTrigger", 1).parquet(str(folder))


def _declared(
    session: SparkSession, plan: Plan, rows: DataFrame, subjects: Sequence[str | int]
) -> DataFrame:
    kind = rows.schema[plan.policy.stream.subject].dataType
    schema = T.StructType([T.StructField(SUBJECT, kind)])
    return session.createDataFrame([(one,) for one in subjects], schema)


def _written(safe: DataFrame, scratch: Path, metrics: str) -> None:
    """Run the stream to its end; each micro-batch leaves a folder."""

    def write(batch: DataFrame, number: int) -> None:
        batch.write.mode("overwrite").parquet(str(scratch / "out" / f"{number:05}"))

    query = (
        safe.writeStream.foreachBatch(write)
        .option("checkpointLocation", str(scratch / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    finally:
        query.stop()
    refuse_losses(query, metrics)


def refuse_losses(query: StreamingQuery, metrics: str = METRICS) -> None:
    """An `InternalError` if a query has lost private rows."""
    batches = {one["batchId"]: one["observedMetrics"] for one in query.recentProgress}
    told = [one[metrics] for one in batches.values() if one]
    counts = {name: sum(one[name] for one in told) for name in LOSSES}
    lost = [f"{count} {name}" for name, count in counts.items() if count]
    if lost:
        raise InternalError(f"a made-up stream lost private rows: {listed(lost)}")


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
