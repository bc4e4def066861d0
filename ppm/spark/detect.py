"""Complex events in a keyed DataFrame, batch or streaming: a DataFrame in, a DataFrame out."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema

from ppm.cep.columnar.columns import Layout
from ppm.cep.columnar.engine import MOST_MATCHES, MOST_RUNS
from ppm.cep.columnar.tables import Compiled, compile_pattern
from ppm.cep.columnar.watch import CONTENT, TWIN, Watched, watch
from ppm.cep.detection import Detection, OnNull
from ppm.cep.measure import Measure, measure
from ppm.cep.report import COUNTS, LOSSES, MATCH
from ppm.cep.support import refuse_unsupported
from ppm.errors import BindingError
from ppm.spark.binding import (
    arrow_schema,
    bit_words,
    column_names,
    content_hash,
    need_columns,
    never,
    refuse_types,
)
from ppm.spark.predicate import column_type
from ppm.spark.shards import Shards, quoted, run_in_shards, with_watermark
from ppm.spec.expression.kinds import ColumnType
from ppm.spec.expression.lower import bind
from ppm.spec.load import parse
from ppm.spec.pattern import Pattern
from ppm.spec.values import Duration
from ppm.spec.zone import Zone

Measures = Mapping[str, str] | Mapping[str, Mapping[str, str]]

SHARDS = 16
"""A fixed number, because a stream must keep it when it goes on elsewhere."""
METRICS = "ppm.detect"
"""The name of the query's observed metrics."""
log = logging.getLogger(__name__)

_OUTPUT = ("pattern", "kind", "match_id", "start", "end", "at", "stages")


def detect(
    rows: DataFrame,
    patterns: Pattern | str | Path | Iterable[Pattern | str | Path],
    *,
    subject: str,
    time: str,
    event_id: str | None = None,
    lateness: str | Duration | None = None,
    columns: Iterable[str] = (),
    measures: Measures | None = None,
    timed_out: bool = False,
    late: bool = False,
    on_null: OnNull = "refuse",
    ignore_duplicates: str | Duration | None = None,
    zones: Mapping[str, Zone] | None = None,
    timezone: str = "UTC",
    shards: int = SHARDS,
    metrics: str | Observation = METRICS,
    max_runs: int = MOST_RUNS,
    max_matches: int = MOST_MATCHES,
) -> DataFrame:
    """Find patterns among the rows of each subject, and give one row for each match.

    `patterns` are patterns or paths of their YAML files. A match has its subject, `pattern`,
    `kind`, `match_id` (the same whenever the stream is replayed), `start` and `end` (the times of
    its first and last event), `at` (when it was certain), `stages` (what each stage took: time,
    id and the asked `columns`), and one column for each measure, such as
    `{"rise": "last(b.price) - first(a.price)"}`; with several patterns, measures of their own may
    be given by pattern: `{"door": {"rise": ...}}`.

    On a stream, rows may come up to `lateness` later than newer ones. Those that come later are
    dropped and counted; `late` lists them, too, and `timed_out` lists partial matches whose time
    ran out. The query's metrics, under the name `metrics` or in an `Observation`, count matches,
    late rows, rows without subject, time or id, and duplicates. `ignore_duplicates` drops a row if
    one of its subject and id came less than that before it, in event time.

    The result ends at a sink: Spark gives no rows if another watermark follows. Subject, patterns,
    columns and `shards` belong to a checkpoint and must stay the same.
    """
    if on_null not in ("refuse", "drop"):
        raise BindingError(f"on_null is {on_null}; it must be refuse or drop")
    names = column_names(rows)
    asked = tuple(dict.fromkeys(columns))
    roles = [("subject", subject), ("time", time), ("event_id", event_id)]
    need_columns(names, [*roles, *(("columns", name) for name in asked)])
    refuse_types(rows.schema, subject=subject, time=time, event_id=event_id)
    compiled = _compiled(
        _patterns(patterns), rows.schema, zones=zones or {}, timezone=timezone, timed_out=timed_out
    )
    values = _measures(measures, compiled)
    _refuse_names(subject, values, asked)
    watched = watch(compiled)
    if rows.isStreaming:
        _warn_of_growth(watched)
    window = _duration("ignore_duplicates", ignore_duplicates) if ignore_duplicates else None
    layout = _layout(subject, time, event_id, ignores_duplicates=window is not None)
    delay = _lateness(rows, time, lateness)
    marked = with_watermark(rows, time, delay)
    measured = sorted({name for each in values for one in each for name in one.columns})
    wanted = _wanted(marked, watched, layout, [*asked, *measured])
    detection = Detection(
        watched,
        layout,
        arrow_schema(wanted),
        told_apart_by=_types_of(rows) if CONTENT in (layout.order, layout.twin) else (),
        columns=asked,
        measures=values,
        tells_late=late,
        on_null=on_null,
        duplicates_within=None if window is None else window.microseconds,
        shards=shards,
        max_runs=max_runs,
        max_matches=max_matches,
    )
    found = run_in_shards(
        wanted,
        detection,
        shards=Shards(subject, time, delay, shards),
        output=from_arrow_schema(detection.report.schema),
    )
    return _counted(found, metrics).where(F.col("kind") != LOSSES).drop(*COUNTS)


def _warn_of_growth(watched: Watched) -> None:
    for one in watched.patterns:
        if one.pattern.within is None:
            log.warning(
                "the pattern %s has no within: its runs are kept for ever, and state grows with "
                "the stream",
                one.pattern.name,
            )


def _counted(found: DataFrame, name: str | Observation) -> DataFrame:
    """The same rows; the query's metrics count matches and losses."""
    matches = F.count_if(F.col("kind") == MATCH).alias("matches")
    losses = [
        F.coalesce(F.sum(count), F.lit(0)).alias(count.removeprefix("__ppm_")) for count in COUNTS
    ]
    return found.observe(name, matches, *losses)


def _types_of(rows: DataFrame) -> tuple[str, ...]:
    return tuple(f"{one.name} {one.dataType.simpleString()}" for one in rows.schema)


def _patterns(given: Pattern | str | Path | Iterable[Pattern | str | Path]) -> list[Pattern]:
    several = [given] if isinstance(given, Pattern | str | Path) else list(given)
    return [one if isinstance(one, Pattern) else _read(Path(one)) for one in several]


def _read(path: Path) -> Pattern:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise BindingError(f"{path} cannot be read: {error.strerror}") from None
    return parse(text, Pattern, file=str(path)).spec


def _compiled(
    patterns: list[Pattern],
    schema: T.StructType,
    *,
    zones: Mapping[str, Zone],
    timezone: str,
    timed_out: bool,
) -> list[Compiled]:
    """Patterns bound to the columns of a stream; every fault at once."""
    given = [(field.name, column_type(field.dataType)) for field in schema]
    types = {name: found for name, found in given if isinstance(found, ColumnType)}
    compiled, faults = [], []
    for pattern in patterns:
        refuse_unsupported(pattern)
        try:
            for event in pattern.events.values():
                bind(event.where.tree, given)
            compiled.append(
                compile_pattern(
                    pattern, types=types, zones=zones, timezone=timezone, timed_out=timed_out
                )
            )
        except BindingError as error:
            faults.append(f"{pattern.name}: {error}")
    if faults:
        raise BindingError("\n".join(faults))
    return compiled


def _measures(given: Measures | None, compiled: list[Compiled]) -> tuple[tuple[Measure, ...], ...]:
    """For each pattern its measures, all of the same names and kinds."""
    names = {one.pattern.name for one in compiled}
    written = given or {}
    is_by_pattern = any(not isinstance(value, str) for value in written.values())
    if is_by_pattern and set(written) != names:
        raise BindingError(
            "measures by pattern need an entry for each pattern: "
            f"{', '.join(sorted(names ^ set(written)))} is missing or unknown"
        )
    values = []
    for one in compiled:
        own = written[one.pattern.name] if is_by_pattern else written
        assert isinstance(own, Mapping)
        values.append(
            tuple(
                measure(
                    name,
                    str(text),
                    stages=one.stages,
                    types=one.types,
                    zones=one.zones,
                    timezone=one.timezone,
                )
                for name, text in own.items()
            )
        )
    kinds = {tuple((one.name, one.kind) for one in each) for each in values}
    if len(kinds) > 1:
        raise BindingError("measures of all patterns must have the same names and kinds, in order")
    return tuple(values)


def _refuse_names(
    subject: str, measures: tuple[tuple[Measure, ...], ...], columns: tuple[str, ...]
) -> None:
    """Names that would stand twice in the output."""
    taken = set(_OUTPUT)
    named = [("the subject column is called", subject)]
    named += [("a measure is called", one.name) for one in measures[0]]
    for what, name in named:
        if name.casefold() in taken or name.casefold().startswith("__ppm_"):
            raise BindingError(f"{what} {name}, like a column of the output; rename it")
        taken.add(name.casefold())
    for name in columns:
        if name.casefold() in ("time", "id"):
            raise BindingError(f"columns has {name}, like what is told of each event; rename it")


def _layout(subject: str, time: str, event_id: str | None, *, ignores_duplicates: bool) -> Layout:
    if ignores_duplicates:
        return Layout(subject, time, event_id or CONTENT, twin=CONTENT)
    return Layout(subject, time, event_id or CONTENT, twin=None if event_id else TWIN)


def _lateness(rows: DataFrame, time: str, given: str | Duration | None) -> Duration:
    if given is not None:
        # In policies it must be more than nothing; a stream that comes in order may say 0 s.
        return Duration(0) if given == "0 s" else _duration("lateness", given)
    known = rows.schema[time].metadata.get("spark.watermarkDelayMs")
    if rows.isStreaming and known is None:
        raise BindingError(
            "say how much later than newer rows a row may come, such as lateness='10 min'; "
            "later ones are dropped and counted"
        )
    return Duration(1000 * int(known or 0))


def _duration(role: str, given: str | Duration) -> Duration:
    try:
        return given if isinstance(given, Duration) else Duration.parse(given)
    except ValueError as error:
        raise BindingError(f"{role} is {given}; {error}") from None


def _wanted(rows: DataFrame, watched: Watched, layout: Layout, asked: Iterable[str]) -> DataFrame:
    """The rows and columns that patterns need, with their bits; others never leave the JVM."""
    kept = [layout.subject, layout.time, layout.order, *watched.columns, *asked]
    own = [name for name in dict.fromkeys(kept) if name != CONTENT]
    first = watched.patterns[0]
    hidden = dict(
        zip(
            watched.bit_columns,
            bit_words(watched.predicates, rows.schema, zones=first.zones, timezone=first.timezone),
            strict=True,
        )
    )
    if CONTENT in (layout.order, layout.twin):
        hidden[CONTENT] = content_hash(
            rows, instead="name a column that tells them apart as event_id, or drop it"
        )
    if layout.twin == TWIN:
        hidden[TWIN] = F.lit(0).cast("long")
    selected = rows.select(
        *(F.col(quoted(name)) for name in own if name is not None),
        *(column.alias(name) for name, column in hidden.items()),
    )
    if watched.needs_every_event:
        return selected
    is_wanted = F.col(quoted(layout.subject)).isNull() | F.col(quoted(layout.time)).isNull()
    for name in watched.bit_columns:
        is_wanted |= F.col(name) != 0
    return selected.where(is_wanted | never(layout.time))
