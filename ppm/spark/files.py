"""Rows out of files, as a batch or as a stream, and matches into files."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, TimeoutError
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.streaming.query import StreamingQuery

from ppm.errors import BindingError, InternalError, PpmError, did_you_mean, listed
from ppm.spark.detect import METRICS
from ppm.spark.shards import quoted

Format = Literal["parquet", "json", "csv"]
SUFFIXES: dict[str, Format] = {
    ".parquet": "parquet",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".csv": "csv",
}
_COMPRESSED = {".gz", ".bz2", ".zst"}
# A line that does not fit is an error and not a row of nulls; columns go by name, not by place.
_OPTIONS: dict[Format, dict[str, str]] = {
    "parquet": {},
    "json": {"inferTimestamp": "true", "mode": "FAILFAST"},
    "csv": {"header": "true", "inferSchema": "true", "enforceSchema": "false", "mode": "FAILFAST"},
}
_POLL_SECONDS = 0.2


def format_of(path: Path) -> Format:
    """What the files of a path hold, by their suffixes."""
    if not path.exists():
        hint = did_you_mean(path.name, _names_near(path))
        raise PpmError(f"there is no {path}{hint if 'did you mean' in hint else ''}")
    files = _data_files(path) if path.is_dir() else [path]
    if not files:
        raise PpmError(f"{path} holds no files")
    found = {SUFFIXES.get(_suffix(file)) for file in files}
    known = sorted(one for one in found if one is not None)
    if len(found) == len(known) == 1:
        return known[0]
    what = f"holds {listed(known)}" if len(known) > 1 else "has files of another kind"
    raise PpmError(f"{path} {what}; say which to read: --format parquet, json or csv")


def _names_near(path: Path) -> list[str]:
    return sorted(one.name for one in path.parent.iterdir()) if path.parent.is_dir() else []


def _data_files(folder: Path) -> list[Path]:
    """The files that Spark reads: those of the folder, and of partitions such as day=1/."""
    files = []
    for one in sorted(folder.iterdir()):
        if one.is_dir() and "=" in one.name:
            files += _data_files(one)
        elif one.is_file() and not one.name.startswith((".", "_")):
            files.append(one)
    return files


def _suffix(file: Path) -> str:
    return (file.with_suffix("") if file.suffix in _COMPRESSED else file).suffix.lower()


def read_files(
    session: SparkSession, path: Path, form: Format, *, time: str, stream: bool
) -> DataFrame:
    """The rows of a file or folder; those of a stream come file by file, and new ones later."""
    place = re.sub(r"([*?\[\]{}\\])", r"\\\1", str(path.absolute()))
    options = _OPTIONS[form]
    rows = session.read.format(form).options(**options).load(place)
    if stream:
        schema = rows.schema
        rows = session.readStream.schema(schema).format(form).options(**options).load(place)
    if time in rows.columns:
        return _with_instants(rows, time, path)
    return rows


def _with_instants(rows: DataFrame, time: str, path: Path) -> DataFrame:
    """Times without a zone are those of the session's; what is no time at all is refused."""
    match rows.schema[time].dataType:
        case T.TimestampType():
            return rows
        case T.TimestampNTZType():
            return rows.withColumn(time, F.col(quoted(time)).cast("timestamp"))
        case T.StringType():
            what = "text, at least in some rows"
        case other:
            what = other.simpleString()
    raise BindingError(
        f"time is {time}, which {path} has as {what}; write times like 2026-03-02T07:00:00Z in "
        "every row, or store a timestamp column as parquet"
    )


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is."""

    done: int
    total: int | None
    """None where nobody knows."""
    unit: str


@dataclass(frozen=True, slots=True)
class Written:
    """What a run has left, and what it has left out."""

    matches: DataFrame
    counts: dict[tuple[str, str | None], int]
    """How many rows there are of each kind and pattern."""
    losses: dict[str, int]
    """Late rows, rows without subject, time or id, and duplicates: how many."""
    watermark: str | None
    """A stream has told what was certain by then."""


Watch = Callable[[Progress], None]
Result = TypeVar("Result")


def metrics_of(rows: DataFrame) -> str | Observation:
    """What counts a run's losses: a name for a stream, an `Observation` for a batch."""
    return METRICS if rows.isStreaming else Observation(METRICS)


def write_matches(
    found: DataFrame,
    folder: Path,
    *,
    metrics: str | Observation,
    checkpoint: Path,
    watch: Watch | None,
) -> Written:
    """Find all matches and leave them in a new folder; `watch` is told how far it is.

    A stream runs up to the last file that is there, and goes on from its checkpoint the next time.
    """
    if folder.exists():
        raise PpmError(f"{folder} exists already; name a folder that does not")
    if isinstance(metrics, Observation):
        _write_batch(found, folder, watch)
        counts, watermark = metrics.get, None
    else:
        counts, watermark = _write_stream(found, folder, metrics, checkpoint, watch)
    session = found.sparkSession
    matches = (
        session.read.schema(found.schema).parquet(str(folder.absolute()))
        if folder.exists()  # a stream without news writes none
        else session.createDataFrame([], found.schema)
    )
    by_kind = matches.groupBy("kind", "pattern").count().collect()
    return Written(
        matches,
        {(row["kind"], row["pattern"]): row["count"] for row in by_kind},
        {name: int(count) for name, count in counts.items() if name != "matches"},
        watermark,
    )


def as_json_lines(matches: DataFrame, *, limit: int | None) -> Iterator[str]:
    """One JSON object for each match, by time; times are ISO 8601 in UTC."""
    subject = matches.columns[0]
    by_time = matches.orderBy("start", quoted(subject), "pattern", "match_id")
    shown = by_time if limit is None else by_time.limit(limit)
    options = {
        "timeZone": "UTC",
        "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'",
        "ignoreNullFields": "false",
    }
    whole = F.struct(*(F.col(quoted(name)) for name in matches.columns))
    lines = shown.select(F.to_json(whole, options).alias("line"))
    return (row["line"] for row in lines.toLocalIterator())


def _write_batch(found: DataFrame, folder: Path, watch: Watch | None) -> None:
    def write() -> None:
        try:
            found.write.parquet(str(folder.absolute()))
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)  # half of the matches would look like all
            raise

    watched(found.sparkSession, write, watch)


def watched(session: SparkSession, job: Callable[[], Result], watch: Watch | None) -> Result:
    """What a job of Spark gives; `watch` is told how far it is."""
    if watch is None:
        return job()
    context = session.sparkContext
    earlier = set(context.statusTracker().getJobIdsForGroup())
    with ThreadPoolExecutor(1) as thread:
        work = thread.submit(job)
        while True:
            try:
                return work.result(timeout=_POLL_SECONDS)
            except TimeoutError:
                watch(_tasks(context, earlier))


def _tasks(context: SparkContext, earlier: set[int]) -> Progress:
    """Tasks of the jobs that are known so far; later ones may come on top."""
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in set(tracker.getJobIdsForGroup()) - earlier]
    stages = {stage for job in jobs if job is not None for stage in job.stageIds}
    known = [one for one in map(tracker.getStageInfo, stages) if one is not None]
    done = sum(one.numCompletedTasks for one in known)
    return Progress(done, sum(one.numTasks for one in known) or None, "tasks")


def _write_stream(
    found: DataFrame, folder: Path, metrics: str, checkpoint: Path, watch: Watch | None
) -> tuple[dict[str, int], str | None]:
    # Spark's own file sink keeps a log in its folder, which a second folder of the same checkpoint
    # would lack the beginning of; plain files can be read by everybody.
    def write(batch: DataFrame, _number: int) -> None:
        batch.write.mode("append").parquet(str(folder.absolute()))

    query = (
        found.writeStream.foreachBatch(write)
        .option("checkpointLocation", str(checkpoint.absolute()))
        .trigger(availableNow=True)
        .start()
    )
    try:
        while not query.awaitTermination(1):
            if watch is not None:
                watch(_rows(query))
    finally:
        query.stop()
    return _counts(query, metrics)


def _rows(query: StreamingQuery) -> Progress:
    return Progress(sum(one["numInputRows"] for one in query.recentProgress), None, "rows")


def _counts(query: StreamingQuery, metrics: str) -> tuple[dict[str, int], str | None]:
    batches = {one["batchId"]: one for one in query.recentProgress}
    told = [one["observedMetrics"][metrics] for one in batches.values() if one["observedMetrics"]]
    names = told[0].asDict() if told else {}
    last = max(batches, default=None)
    watermark = None if last is None else batches[last]["eventTime"].get("watermark")
    return {name: sum(one[name] for one in told) for name in names}, watermark


_STACK = re.compile(
    r"\n\s*(?:\n|at |\.\.\. \d+ more|Driver stacktrace|JVM stacktrace|===)|\s+SQLSTATE: "
)


@contextmanager
def in_plain_words(path: Path) -> Iterator[None]:
    """Errors of Spark as a sentence without a row's value, and ours as if no Spark were there."""
    try:
        yield
    except Exception as error:
        # What Spark has no class for comes as an error of py4j, which carries its calls to Java.
        if not isinstance(error, PySparkException) and type(error).__module__ != "py4j.protocol":
            raise
        raise _plain(str(error), path) from error  # the cause is shown under PPM_DEBUG=1 only


def _plain(text: str, path: Path) -> Exception:
    # Workers raise nothing of ppm's but PpmErrors and InternalErrors, and those tell no values.
    ours = re.search(r"\bppm(?:\.\w+)+\.(\w+Error): ", text)
    if ours:
        sentence = _STACK.split(text[ours.end() :], 1)[0].strip()
        return InternalError(sentence) if ours[1] == "InternalError" else BindingError(sentence)
    conditions = re.findall(r"\[([A-Z][A-Z0-9_.]{3,})\]", text)
    if any(one.startswith("MALFORMED_RECORD") for one in conditions):
        return PpmError(f"{path} has lines that do not fit its columns; mend or remove them")
    if any(one.startswith("UNABLE_TO_INFER_SCHEMA") for one in conditions):
        return PpmError(f"{path} holds no rows")
    if "PARQUET_TYPE_ILLEGAL" in conditions:
        return PpmError(
            f"{path} has a column that Spark cannot read, such as times in nanoseconds; write them "
            "in microseconds, with pandas by to_parquet(..., coerce_timestamps='us')"
        )
    reason = f" ({conditions[0]})" if conditions else ""
    return PpmError(
        f"Spark cannot go on with {path}{reason}; the same command under PPM_DEBUG=1 shows why, "
        "maybe with values of rows"
    )
