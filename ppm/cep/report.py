"""What is told of matches: one row each, of one schema for all patterns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ppm.cep.columnar.columns import Layout, micros
from ppm.cep.columnar.conditions import Ints
from ppm.cep.columnar.engine import Matches
from ppm.cep.columnar.identity import match_names
from ppm.cep.columnar.watch import CONTENT, TWIN, Watched
from ppm.cep.measure import ARROW_TYPES, Measure

MATCH, TIMED_OUT, LATE, LOSSES = "match", "timed_out", "late", "losses"
"""Kinds of rows. The last one only counts what got lost, and is never shown."""
COUNTS = ("__ppm_late", "__ppm_nulls", "__ppm_duplicates")
_TIME = pa.timestamp("us", "UTC")


@dataclass(frozen=True)
class Report:
    """Turns what was found into rows."""

    watched: Watched
    layout: Layout
    rows: pa.Schema
    columns: tuple[str, ...]
    measures: tuple[tuple[Measure, ...], ...]

    @cached_property
    def event(self) -> pa.StructType:
        """What is told of an event."""
        named = [pa.field("time", _TIME)]
        if self._event_id is not None:
            named.append(pa.field("id", self.rows.field(self._event_id).type))
        return pa.struct([*named, *(self.rows.field(name) for name in self.columns)])

    @property
    def _event_id(self) -> str | None:
        return None if self.layout.order == CONTENT else self.layout.order

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of what is told, and those that count losses."""
        stages = pa.map_(pa.string(), pa.field("value", pa.list_(self.event)))
        measures = self.measures[0] if self.measures else ()
        return pa.schema(
            [
                pa.field(self.layout.subject, self.rows.field(self.layout.subject).type),
                pa.field("pattern", pa.string()),
                pa.field("kind", pa.string()),
                pa.field("match_id", pa.string()),
                pa.field("start", _TIME),
                pa.field("end", _TIME),
                pa.field("at", _TIME),
                pa.field("stages", stages),
                *(pa.field(one.name, ARROW_TYPES[one.kind]) for one in measures),
                *(pa.field(name, pa.int64()) for name in COUNTS),
            ]
        )

    def of_matches(self, which: int, matches: Matches, rows: pa.Table) -> pa.Table:
        """One row for each match of a pattern."""
        compiled, layout = self.watched.patterns[which], self.layout
        times = pc.cast(rows[layout.time], pa.int64()).combine_chunks()
        told = {
            layout.subject: matches.subjects.take(pa.array(matches.subject)),
            "pattern": pa.repeat(compiled.pattern.name, len(matches)),
            "kind": pa.array(np.where(matches.is_timed_out, TIMED_OUT, MATCH)),
            "match_id": self._names(which, matches, rows),
            "start": times.take(pa.array(matches.first)),
            "end": times.take(pa.array(matches.last)),
            "at": pa.array(matches.at),
            "stages": self._stages(compiled.stages, matches, self._events(rows, matches.event)),
        }
        for one in self.measures[which] if self.measures else ():
            told[one.name] = one.of(matches, rows)
        return self._filled(told, len(matches))

    def of_late(self, rows: pa.Table) -> pa.Table:
        """One row for each event that came too late."""
        layout, count = self.layout, rows.num_rows
        times = pc.cast(rows[layout.time], pa.int64())
        each = np.arange(count + 1)
        entries = pa.StructArray.from_arrays(
            [
                pa.repeat(LATE, count),
                pa.ListArray.from_arrays(
                    pa.array(each, pa.int32()), self._events(rows, np.arange(count))
                ),
            ],
            names=["key", "value"],
        )
        return self._filled(
            {
                layout.subject: rows[layout.subject].combine_chunks(),
                "kind": pa.repeat(LATE, count),
                "start": times,
                "end": times,
                "at": times,
                "stages": _map_of(each, entries),
            },
            count,
        )

    def of_losses(self, late: int, nulls: int, duplicates: int) -> pa.Table:
        """One row that counts events which were left out."""
        counts = zip(COUNTS, (late, nulls, duplicates), strict=True)
        return self._filled({"kind": [LOSSES], **{name: [n] for name, n in counts}}, 1)

    def _filled(self, told: dict[str, object], count: int) -> pa.Table:
        """Columns in order, with null where nothing is told."""
        return pa.table(
            {
                field.name: _as_type(told[field.name], field.type)
                if field.name in told
                else pa.nulls(count, field.type)
                for field in self.schema
            }
        )

    def _events(self, rows: pa.Table, places: Ints) -> pa.StructArray:
        named = [] if self._event_id is None else [self._event_id]
        sources = [self.layout.time, *named, *self.columns]
        taken = rows.select(list(dict.fromkeys(sources))).take(pa.array(places))
        columns = [
            _as_type(taken[source].combine_chunks(), field.type)
            for source, field in zip(sources, self.event, strict=True)
        ]
        return pa.StructArray.from_arrays(columns, fields=list(self.event))

    def _stages(self, names: tuple[str, ...], matches: Matches, events: pa.StructArray) -> pa.Array:
        """For each match, each stage that took something and what it took."""
        match, stage = matches.match, matches.stage
        is_first = np.ones(len(match), np.bool_)
        is_first[1:] = (match[1:] != match[:-1]) | (stage[1:] != stage[:-1])
        first = np.flatnonzero(is_first)
        lists = pa.ListArray.from_arrays(pa.array(np.append(first, len(match)), pa.int32()), events)
        keys = pa.array(names).take(pa.array(stage[first]))
        entries = pa.StructArray.from_arrays([keys, lists], names=["key", "value"])
        return _map_of(np.searchsorted(match[first], np.arange(len(matches) + 1)), entries)

    def _names(self, which: int, matches: Matches, rows: pa.Table) -> pa.Array:
        compiled, layout = self.watched.patterns[which], self.layout
        assert layout.order is not None
        is_numbered = layout.twin == TWIN
        twins = rows[TWIN].to_numpy() if is_numbered else np.zeros(rows.num_rows, np.int64)
        return match_names(
            compiled.pattern.name,
            compiled.stages,
            subjects=matches.subjects,
            subject=matches.subject,
            match=matches.match,
            stage=matches.stage,
            times=micros(rows, layout.time)[matches.event],
            events=rows[layout.order].take(pa.array(matches.event)).combine_chunks(),
            twins=twins[matches.event],
        )


def _map_of(starts: Ints, entries: pa.StructArray) -> pa.MapArray:
    return pa.MapArray.from_arrays(pa.array(starts, pa.int32()), entries.field(0), entries.field(1))


def _as_type(values: object, wanted: pa.DataType) -> pa.Array:
    array = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
    return array if array.type == wanted else array.cast(wanted)
