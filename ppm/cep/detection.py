"""Patterns looked for in a keyed stream: one pure step from rows to matches.

It knows neither Spark nor where its state is kept. Rows come with their bits
(`Watched.with_bits`), and leave as rows of one schema, whatever the pattern.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ppm.cep.columnar.advance import Progress, State, advance
from ppm.cep.columnar.columns import Layout, micros
from ppm.cep.columnar.engine import MOST_MATCHES, MOST_RUNS
from ppm.cep.columnar.remember import from_bytes, to_bytes
from ppm.cep.columnar.tables import FOREVER, Compiled
from ppm.cep.columnar.watch import CONTENT, Watched
from ppm.cep.measure import Measure
from ppm.cep.report import Report
from ppm.cep.step import Step, Turn
from ppm.errors import BindingError, counted, listed
from ppm.spec.write import to_yaml

OnNull = Literal["refuse", "drop"]


@dataclass(frozen=True)
class Detection(Step):
    """What is looked for, in which columns, and what is told of it; can be sent to a worker."""

    watched: Watched
    layout: Layout
    """How rows are told apart; `CONTENT` orders them where no id does."""
    rows: pa.Schema
    """The columns that come in."""
    told_apart_by: tuple[str, ...] = ()
    """What `CONTENT` is a hash of: all columns of the stream, with their types."""
    columns: tuple[str, ...] = ()
    """What is told of each event besides its time and id."""
    measures: tuple[tuple[Measure, ...], ...] = ()
    """For each pattern, all of the same names and kinds."""
    tells_late: bool = False
    on_null: OnNull = "refuse"
    duplicates_within: int | None = None
    shards: int = 1
    max_runs: int = MOST_RUNS
    max_matches: int = MOST_MATCHES

    @cached_property
    def report(self) -> Report:
        """How what is found is told."""
        return Report(self.watched, self.layout, self.rows, self.columns, self.measures)

    @cached_property
    def owner(self) -> dict[str, str]:
        """What a state belongs to: whatever would read it differently if it changed."""
        digests = {
            f"the pattern {one.pattern.name}": hashlib.blake2b(
                meaning_of(one).encode(), digest_size=8
            ).hexdigest()
            for one in self.watched.patterns
        }
        return {
            **digests,
            "the order of patterns": ",".join(one.pattern.name for one in self.watched.patterns),
            "the set of columns": str([(one.name, str(one.type)) for one in self.rows]),
            "what tells rows apart": json.dumps([*astuple(self.layout), *self.told_apart_by]),
            "the number of shards": str(self.shards),
            "ignore_duplicates": str(self.duplicates_within),
        }

    def __call__(self, state: bytes | None, rows: pa.Table, watermark: int) -> Turn:
        return self.step(state, rows, watermark)

    def step(self, state: bytes | None, rows: pa.Table, watermark: int) -> Turn:
        """Take rows in, and tell all that is certain.

        The watermark, in microseconds, was reached before these rows came; at the end of time,
        they are all there are.
        """
        known = State() if state is None else from_bytes(state, self.owner)
        whole, nulls = self._without_nulls(rows)
        is_end = watermark >= FOREVER - 1
        before = -FOREVER if known.watermark is None else known.watermark
        reached = max(before, -FOREVER if is_end else watermark)
        is_late = pa.array(micros(whole, self.layout.time) <= reached)
        progress = advance(
            self.watched,
            known,
            whole.filter(pc.invert(is_late)),
            None if is_end else watermark,
            layout=self.layout,
            duplicates_within=self.duplicates_within,
            max_runs=self.max_runs,
            max_matches=self.max_matches,
        )
        released = self._released(progress, whole.filter(is_late), nulls)
        if is_end:
            return Turn(None, [released], None)
        after = progress.state
        return Turn(
            to_bytes(after, self.owner),
            [released],
            None if after.is_idle or after.watermark is None else after.watermark + 1,
        )

    def _without_nulls(self, rows: pa.Table) -> tuple[pa.Table, int]:
        layout = self.layout
        named = [layout.order] if layout.order not in (None, CONTENT) else []
        names = [layout.subject, layout.time, *named]
        if not any(rows[name].null_count for name in names):
            return rows, 0
        is_whole = np.logical_and.reduce(
            [pc.is_valid(rows[name]).to_numpy(zero_copy_only=False) for name in names]
        )
        missing = int((~is_whole).sum())
        if self.on_null == "refuse":
            raise BindingError(
                f"{counted(missing, 'row')} without {listed(names, 'or')}; fill these columns, or "
                "drop and count such rows with on_null='drop'"
            )
        return rows.filter(pa.array(is_whole)), missing

    def _released(self, progress: Progress, late: pa.Table, nulls: int) -> pa.Table:
        report = self.report
        parts = [
            report.of_matches(which, matches, progress.rows)
            for which, matches in enumerate(progress.matches)
            if len(matches)
        ]
        if self.tells_late and late.num_rows:
            parts.append(report.of_late(late))
        if late.num_rows or nulls or progress.duplicates:
            parts.append(report.of_losses(late.num_rows, nulls, progress.duplicates))
        return pa.concat_tables([report.schema.empty_table(), *parts])


def meaning_of(compiled: Compiled) -> str:
    """All that decides what a pattern finds, as one text."""
    # What it is for, and the order of its event types, play no part.
    declared = compiled.pattern
    events = type(declared.events)(sorted(declared.events.items()))
    pattern = declared.model_copy(update={"doc": "", "events": events})
    zones = {name for event in pattern.events.values() for name in event.where.zones}
    zones |= {n for stage in pattern.all_stages if stage.where for n in stage.where.zones}
    return json.dumps(
        {
            "pattern": to_yaml(pattern),
            "types": {name: str(compiled.types[name]) for name in compiled.columns},
            "zones": {n: compiled.zones[n].model_dump(mode="json") for n in sorted(zones)},
            "timezone": compiled.timezone,
            "timed out": compiled.tables.tells_time_outs,
        },
        sort_keys=True,
    )
