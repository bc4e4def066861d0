"""Measures: values computed of each match, such as last(b.price) - first(a.price)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ppm.cep.columnar.columns import Doubles
from ppm.cep.columnar.conditions import Ints
from ppm.cep.columnar.engine import Matches
from ppm.cep.predicate import values_of
from ppm.errors import BindingError, did_you_mean
from ppm.spec.expression.functions import Kind
from ppm.spec.expression.kinds import ColumnType, ExpressionError, kind_of
from ppm.spec.expression.nodes import (
    Column,
    Node,
    StageValue,
    columns_of,
    rebuilt,
    stage_values_of,
)
from ppm.spec.expression.parse import parse
from ppm.spec.zone import Zone

ARROW_TYPES = {
    Kind.NUMBER: pa.float64(),
    Kind.INTEGER: pa.int64(),
    Kind.TEXT: pa.string(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.TIME: pa.timestamp("us", "UTC"),
    Kind.LOCAL_TIME: pa.timestamp("us"),
}


@dataclass(frozen=True, slots=True)
class Measure:
    """One value of each match of a pattern."""

    name: str
    tree: Node
    kind: Kind
    stages: Mapping[str, int]
    """Where each stage stands in the pattern."""
    zones: Mapping[str, Zone]
    timezone: str

    @property
    def columns(self) -> frozenset[str]:
        """The columns of events that it reads."""
        return frozenset(one.column for one in stage_values_of(self.tree) if one.column)

    def of(self, matches: Matches, rows: pa.Table) -> pa.Array:
        """The value of each match; `rows` are those that the events of matches name."""
        asked = list(dict.fromkeys(stage_values_of(self.tree)))
        table = pa.table(
            {
                "#": pa.nulls(len(matches), pa.int64()),  # so that the table has rows
                **{f"#{at}": self._taken(one, matches, rows) for at, one in enumerate(asked)},
            }
        )
        named = {one: Column(f"#{at}") for at, one in enumerate(asked)}
        tree = _with_columns(self.tree, named)
        values = values_of(tree, table, zones=self.zones, timezone=self.timezone)
        return values.cast(ARROW_TYPES[self.kind])

    def _taken(self, asked: StageValue, matches: Matches, rows: pa.Table) -> pa.Array:
        """What a stage took, match by match."""
        is_of_stage = matches.stage == self.stages[asked.stage]
        match, event = matches.match[is_of_stage], matches.event[is_of_stage]
        if asked.column is None:
            return pa.array(np.bincount(match, minlength=len(matches)))
        column = rows[asked.column]
        if asked.function in ("first", "last"):
            return _one_of_each(column, match, event, len(matches), last=asked.function == "last")
        numbers = column.cast(pa.float64(), safe=False).take(pa.array(event))
        values = numbers.to_numpy(zero_copy_only=False)
        is_known = ~np.isnan(values)
        return _combined(asked.function, match[is_known], values[is_known], len(matches))


def _one_of_each(
    column: pa.ChunkedArray,
    match: Ints,
    event: Ints,
    count: int,
    *,
    last: bool,
) -> pa.Array:
    """The first or the last event of each match; null where there is none."""
    row = np.full(count, -1, np.int64)
    # Of several assignments to one place the last one stays.
    row[match if last else match[::-1]] = event if last else event[::-1]
    return column.take(pa.array(row, mask=row < 0)).combine_chunks()


def _combined(
    function: str,
    match: Ints,
    values: Doubles,
    count: int,
) -> pa.Array:
    """The sum, mean, least or greatest of each match's values, added up in order of events."""
    counts = np.bincount(match, minlength=count)
    if function in ("sum", "avg"):
        totals = np.bincount(match, values, minlength=count).astype(np.float64)
        if function == "sum":
            return pa.array(totals)
        return pa.array(totals / np.maximum(counts, 1), mask=counts == 0)
    extremes = np.full(count, np.nan)
    (np.fmin if function == "min" else np.fmax).at(extremes, match, values)
    return pa.array(extremes, mask=counts == 0)


def measure(
    name: str,
    text: str,
    *,
    stages: Sequence[str],
    types: Mapping[str, ColumnType],
    zones: Mapping[str, Zone],
    timezone: str,
) -> Measure:
    """Read a measure, or a `BindingError` that says what does not fit."""
    try:
        tree = parse(text)
        for column in sorted(columns_of(tree)):
            raise ExpressionError(
                f"reads {column} without saying of which events; write last(stage.{column})"
            )
        for one in stage_values_of(tree):
            if one.stage not in stages:
                hint = did_you_mean(one.stage, list(stages))
                raise ExpressionError(f"asks about the stage {one.stage}, which there is not{hint}")
        kind = kind_of(tree, types)
        if kind not in ARROW_TYPES:
            raise ExpressionError("has no kind of its own; put a column of a stage into it")
    except ExpressionError as error:
        raise BindingError(f"the measure {name} {error}") from None
    places = {stage: at for at, stage in enumerate(stages)}
    return Measure(name, tree, kind, places, dict(zones), timezone)


def _with_columns(node: Node, named: Mapping[StageValue, Column]) -> Node:
    if isinstance(node, StageValue):
        return named[node]
    return rebuilt(node, lambda part: _with_columns(part, named))
