"""Detection without Spark: rows cut into batches and shards, and what is told in one form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa

from ppm.cep.columnar.columns import Layout
from ppm.cep.columnar.tables import FOREVER, compile_pattern
from ppm.cep.columnar.watch import CONTENT, TWIN, watch
from ppm.cep.detection import Detection
from ppm.cep.measure import measure
from ppm.cep.step import Turn
from ppm.spec.pattern import Pattern
from tests.cep.columnar_tables import COLUMNS

Told = dict[str, Any]


def detection(
    patterns: Iterable[Pattern],
    *,
    timed_out: bool = False,
    measures: dict[str, str] | None = None,
    has_ids: bool = True,
    **settings: Any,
) -> Detection:
    """Patterns over the columns of `columnar_tables.table_of`."""
    compiled = [
        compile_pattern(one, types=COLUMNS, zones={}, timezone="UTC", timed_out=timed_out)
        for one in patterns
    ]
    watched = watch(compiled)
    ignores = "duplicates_within" in settings
    order = "id" if has_ids else CONTENT
    twin = CONTENT if ignores else (None if has_ids else TWIN)
    names = [CONTENT] if CONTENT in (order, twin) else []
    names += [TWIN] if twin == TWIN else []
    # As Spark has them: what is computed can never be null.
    hidden = [pa.field(name, pa.int64(), False) for name in (*names, *watched.bit_columns)]
    own = [("subject", pa.string()), ("time", pa.int64()), ("id", pa.int64())]
    own += [("kind", pa.string()), ("price", pa.float64())]
    return Detection(
        watched,
        Layout("subject", "time", order, twin),
        pa.schema([*own, *hidden]),
        measures=tuple(
            tuple(
                measure(name, text, stages=one.stages, types=COLUMNS, zones={}, timezone="UTC")
                for name, text in (measures or {}).items()
            )
            for one in compiled
        ),
        **settings,
    )


def rows_of(looked_for: Detection, table: pa.Table) -> pa.Table:
    """A table as Spark hands it over."""
    for name in (CONTENT, TWIN):
        if name in looked_for.rows.names:
            content = [crc32(str(row).encode()) for row in table.to_pylist()]
            numbers = content if name == CONTENT else [0] * table.num_rows
            table = table.append_column(name, pa.array(numbers, pa.int64()))
    rows = looked_for.watched.with_bits(table).select(looked_for.rows.names)
    return rows.cast(looked_for.rows)


def by_batches(
    looked_for: Detection,
    table: pa.Table,
    cuts: Sequence[int],
    *,
    ahead: int = 0,
    shards: int = 1,
    seed: int = 0,
) -> list[Told]:
    """All that is told when rows come in batches, some of them long before the watermark does."""
    random = Random(seed)
    whose = np.array([sum(name.encode()) % shards for name in table["subject"].to_pylist()])
    told: list[Told] = []
    for shard in range(shards):
        own = rows_of(looked_for, table.filter(pa.array(whose == shard)))
        times, state = own["time"].to_numpy(), None
        is_in = np.zeros(len(times), np.bool_)
        reached = [-FOREVER, *sorted(cuts), FOREVER]
        for watermark, following in zip(reached, [*reached[1:], FOREVER], strict=True):
            is_due = (times <= following + ahead) & ~is_in
            is_in |= is_due
            places = np.flatnonzero(is_due).tolist()
            random.shuffle(places)
            done = looked_for.step(state, own.take(pa.array(places, pa.int64())), watermark)
            state = done.state
            told += told_by(done)
    return sorted(told, key=lambda row: (row["match_id"] or "", str(row)))


def told_by(turn: Turn) -> list[Told]:
    """The rows that a step has released."""
    return [row for piece in turn.released for row in piece.to_pylist()]


def at_once(looked_for: Detection, table: pa.Table) -> list[Told]:
    """All that is told of a whole table."""
    return by_batches(looked_for, table, [])
