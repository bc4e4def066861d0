"""Batch after batch: what a pattern still needs of the past is carried along as a few arrays.

Carried are the rows that an open run or a held match leads back to, the rows that the watermark
has not reached, and the runs themselves; nothing else of a subject is remembered.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ppm.cep.columnar.columns import (
    Layout,
    Rows,
    Sorted,
    cells_of,
    masks_of,
    micros,
    select_columns,
    sort_rows,
)
from ppm.cep.columnar.conditions import Ints
from ppm.cep.columnar.engine import (
    MOST_MATCHES,
    MOST_RUNS,
    Matches,
    listed,
    nothing_open,
    refuse_excess,
)
from ppm.cep.columnar.kernels import Open, scan
from ppm.cep.columnar.tables import FOREVER, Compiled
from ppm.errors import BindingError


def _none() -> Ints:
    return np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class State:
    """All that is remembered between two batches; rows are left out of `repr`."""

    rows: pa.Table | None = field(default=None, repr=False)
    """Rows that are still needed, sorted by subject, time and tie-break."""
    position: Ints = field(default_factory=_none)
    """For each row, its number among the rows of its subject; -1 if it still waits."""
    processed: Ints = field(default_factory=_none)
    """For each subject of these rows, ascending, how many rows were processed."""
    open: Open = field(default_factory=nothing_open)
    """The runs of these subjects; their nodes name rows by their place in `rows`."""
    watermark: int | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """What a batch led to."""

    state: State
    matches: Matches
    """Their events are rows of `rows`."""
    rows: pa.Table = field(repr=False)
    """The rows of the state before, then those of the batch that were not late."""
    late: Ints
    """Rows of the batch at or before the watermark, which came too late to count (R14)."""


def advance(
    compiled: Compiled,
    state: State,
    batch: pa.Table | pa.RecordBatch,
    watermark: int | None,
    *,
    layout: Layout | None = None,
    max_runs: int = MOST_RUNS,
    max_matches: int = MOST_MATCHES,
) -> Progress:
    """Take in a batch in any order, and go on to a watermark; None is the end of the stream.

    However a stream is cut into batches, the same matches are found, subject by subject in the
    same order.
    """
    layout, reached = layout or Layout(), state.watermark
    horizon = FOREVER - 1 if watermark is None else min(watermark, FOREVER - 1)
    horizon = horizon if reached is None else max(horizon, reached)

    arrived = select_columns(batch, compiled, layout)
    is_late = micros(arrived, layout.time) <= (-FOREVER if reached is None else reached)
    rows = _joined(state.rows, arrived.filter(pa.array(~is_late)))
    ordered = sort_rows(rows, layout)
    known = np.full(rows.num_rows, -1, np.int64)
    known[: len(state.position)] = state.position
    position = known[ordered.order]
    processed = _spread(state, ordered)

    # New rows are counted on from what was processed before.
    is_new = (position < 0) & (ordered.times <= horizon)
    counts = np.bincount(ordered.codes[is_new], minlength=len(ordered.subjects))
    before = np.cumsum(counts) - counts
    new_codes = ordered.codes[is_new]
    position[is_new] = np.arange(len(new_codes)) + (processed - before)[new_codes]

    masks = masks_of(compiled, rows)[ordered.order]
    cells, constants = cells_of(compiled, rows)
    is_kept = position >= 0
    if not compiled.needs_every_event:
        is_kept &= ~is_new | (masks != 0)
    chosen = np.flatnonzero(is_kept)
    origin = ordered.order[chosen]
    kept_from = np.searchsorted(ordered.codes[chosen], np.arange(len(ordered.subjects) + 1))
    old = np.bincount(ordered.codes[chosen][~is_new[chosen]], minlength=len(ordered.subjects))
    found = scan(
        compiled.tables,
        compiled.programs,
        constants,
        Rows(
            ordered.times[chosen],
            masks[chosen],
            np.ascontiguousarray(cells[origin]),
            position[chosen],
            kept_from.astype(np.int64),
        ),
        (kept_from[:-1] + old).astype(np.int64),
        horizon,
        _reopened(state, ordered, origin),
        True,
        max_runs,
        max_matches,
    )
    refuse_excess(compiled, found, max_runs, max_matches)

    is_needed = ordered.times > horizon
    is_needed[chosen[found.open.node_event]] = True
    return Progress(
        state=State(
            rows=rows.take(pa.array(ordered.order[is_needed])),
            position=position[is_needed],
            processed=(processed + counts)[np.unique(ordered.codes[is_needed])],
            open=_kept_open(found.open, ordered.codes, is_needed, chosen),
            watermark=horizon,
        ),
        matches=listed(found, origin, ordered.subjects),
        rows=rows,
        late=np.flatnonzero(is_late),
    )


def _joined(before: pa.Table | None, arrived: pa.Table) -> pa.Table:
    if before is None:
        return arrived
    if before.schema.types != arrived.schema.types:
        raise BindingError(
            "the columns of a batch are of other types than those of the batch before; "
            "a stream must keep its schema"
        )
    return pa.concat_tables([before, arrived]).combine_chunks()


def _codes_of(state: State, ordered: Sorted) -> Ints:
    """The subjects of a state, by their places among all subjects of the batch."""
    count = 0 if state.rows is None else state.rows.num_rows
    place = np.empty(len(ordered.order), np.int64)
    place[ordered.order] = np.arange(len(ordered.order))
    return np.unique(ordered.codes[place[:count]])


def _spread(state: State, ordered: Sorted) -> Ints:
    processed = np.zeros(len(ordered.subjects), np.int64)
    processed[_codes_of(state, ordered)] = state.processed
    return processed


def _reopened(state: State, ordered: Sorted, origin: Ints) -> Open:
    """What a state left open, for all subjects of a batch and its sorted rows."""
    before, codes = state.open, _codes_of(state, ordered)
    place = np.full(len(ordered.order), -1, np.int64)
    place[origin] = np.arange(len(origin))

    def spread(starts: Ints) -> Ints:
        counts = np.zeros(len(ordered.subjects), np.int64)
        counts[codes] = np.diff(starts)
        return _starts(counts)

    return before._replace(
        node_from=spread(before.node_from),
        node_event=place[before.node_event],
        run_from=spread(before.run_from),
        held_from=spread(before.held_from),
    )


def _kept_open(still: Open, codes: Ints, is_needed: npt.NDArray[np.bool_], chosen: Ints) -> Open:
    """What a kernel left open, for the subjects and rows that a state keeps."""
    subjects, place = np.unique(codes[is_needed]), np.cumsum(is_needed) - 1
    return still._replace(
        node_from=_starts(np.diff(still.node_from)[subjects]),
        node_event=place[chosen[still.node_event]],
        run_from=_starts(np.diff(still.run_from)[subjects]),
        held_from=_starts(np.diff(still.held_from)[subjects]),
    )


def _starts(counts: Ints) -> Ints:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])
