"""Batch after batch: what patterns still need of the past is carried along as a few arrays.

Carried are the rows that an open run or a held match leads back to, the rows that the watermark
has not reached, and the runs themselves; nothing else of a subject is remembered. The rows are
there once, however many patterns need them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ppm.cep.columnar.columns import Layout, Rows, Sorted, cells_of, micros, sort_rows
from ppm.cep.columnar.conditions import Ints
from ppm.cep.columnar.duplicates import ignore_duplicates
from ppm.cep.columnar.engine import (
    MOST_MATCHES,
    MOST_RUNS,
    Matches,
    listed,
    nothing_open,
    refuse_excess,
)
from ppm.cep.columnar.kernels import Open, scan
from ppm.cep.columnar.tables import FOREVER, Masks
from ppm.cep.columnar.watch import Watched
from ppm.errors import BindingError

Flags = npt.NDArray[np.bool_]


def _none() -> Ints:
    return np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Carried:
    """What one pattern remembers between two batches."""

    open: Open = field(default_factory=nothing_open)
    """The runs of each subject of the state; their nodes name rows by their place in it."""
    position: Ints = field(default_factory=_none)
    """For each node, the number of its row among the rows of its subject that a stage wants."""
    relevant: Ints = field(default_factory=_none)
    """For each subject of the state, how many rows that a stage wants were processed."""


@dataclass(frozen=True, slots=True)
class State:
    """All that is remembered between two batches; rows are left out of `repr`."""

    rows: pa.Table | None = field(default=None, repr=False)
    """Rows that are still needed, sorted by subject, time and tie-break."""
    carried: tuple[Carried, ...] = ()
    """For each pattern; none before the first batch."""
    watermark: int | None = None
    seen: pa.Table | None = field(default=None, repr=False)
    """Subjects, times and ids of rows that a duplicate could still follow."""

    @property
    def is_idle(self) -> bool:
        """Whether time alone cannot change anything."""
        return (self.rows is None or not self.rows.num_rows) and (
            self.seen is None or not self.seen.num_rows
        )


@dataclass(frozen=True, slots=True)
class Progress:
    """What a batch led to."""

    state: State
    matches: tuple[Matches, ...]
    """For each pattern; their events are rows of `rows`."""
    rows: pa.Table = field(repr=False)
    """The rows of the state before, then those of the batch that were not late."""
    late: Ints
    """Rows of the batch at or before the watermark, which came too late to count (R14)."""
    duplicates: int
    """How many rows were ignored as duplicates."""


def advance(
    watched: Watched,
    state: State,
    batch: pa.Table,
    watermark: int | None,
    *,
    layout: Layout | None = None,
    duplicates_within: int | None = None,
    max_runs: int = MOST_RUNS,
    max_matches: int = MOST_MATCHES,
) -> Progress:
    """Take in a batch in any order, and go on to a watermark; None is the end of the stream.

    The batch has its bits (`Watched.with_bits`). However a stream is cut into batches, the same
    matches are found, subject by subject in the same order.
    """
    layout, reached = layout or Layout(), state.watermark
    horizon = FOREVER - 1 if watermark is None else min(watermark, FOREVER - 1)
    horizon = horizon if reached is None else max(horizon, reached)

    is_late = micros(batch, layout.time) <= (-FOREVER if reached is None else reached)
    rows = _joined(state.rows, batch.filter(pa.array(~is_late)) if is_late.any() else batch)
    ordered = sort_rows(rows, layout)
    is_new = (ordered.times > (-FOREVER if reached is None else reached)) & (
        ordered.times <= horizon
    )
    seen, duplicates = state.seen, 0
    if duplicates_within is not None:
        # Among rows that some stage wants, as those are all that may have come here.
        ready = np.flatnonzero(is_new)
        ready = ready[watched.is_wanted(rows)[ordered.order[ready]]]
        is_duplicate, seen = ignore_duplicates(
            rows.take(pa.array(ordered.order[ready])),
            seen,
            layout=layout,
            window=duplicates_within,
            horizon=horizon,
        )
        is_new[ready[is_duplicate]] = False
        duplicates = int(is_duplicate.sum())
    elif layout.twin is not None:
        rows = _with_numbered_twins(rows, ordered, is_new, layout.twin)

    step = _Step(watched, state, rows, ordered, np.flatnonzero(is_new), horizon)
    is_needed = ordered.times > horizon
    taken = []
    for which in range(len(watched.patterns)):
        one = step.of_pattern(which, max_runs, max_matches)
        is_needed[one.row[one.open.node_event]] = True
        taken.append(one)
    return Progress(
        state=State(
            rows=rows.take(pa.array(ordered.order[is_needed])),
            carried=tuple(_carried(one, ordered.codes, is_needed) for one in taken),
            watermark=horizon,
            seen=seen,
        ),
        matches=tuple(one.matches for one in taken),
        rows=rows,
        late=np.flatnonzero(is_late),
        duplicates=duplicates,
    )


def _joined(before: pa.Table | None, arrived: pa.Table) -> pa.Table:
    if before is None:
        return arrived
    if before.schema.types != arrived.schema.types or before.schema.names != arrived.schema.names:
        raise BindingError(
            "the columns of a batch are not those of the batch before; a stream must keep its "
            "schema"
        )
    return pa.concat_tables([before, arrived]).combine_chunks()


def _with_numbered_twins(rows: pa.Table, ordered: Sorted, is_new: Flags, twin: str) -> pa.Table:
    """Rows that nothing tells apart get numbers, so that each is an event of its own.

    They have one time, so they are processed at once: the numbers do not depend on batches.
    """
    if not (ordered.is_twin & is_new).any():
        return rows
    place = np.arange(len(ordered.order))
    first = np.maximum.accumulate(np.where(ordered.is_twin, 0, place))
    numbers = rows[twin].to_numpy().copy()
    numbers[ordered.order[is_new]] = (place - first)[is_new]
    at = rows.schema.get_field_index(twin)
    field = rows.schema.field(at)  # a name alone would make it nullable, and another schema
    return rows.set_column(at, field, pa.array(numbers, field.type))


@dataclass(frozen=True, slots=True)
class _Taken:
    """What a batch led to for one pattern."""

    matches: Matches
    open: Open
    row: Ints
    """For each row that the kernel saw, its place among all sorted rows."""
    position: Ints
    """For each of these rows."""
    relevant: Ints
    """For each subject of the batch."""


class _Step:
    """One batch: sorted rows, of which the new ones are offered to each pattern."""

    def __init__(
        self,
        watched: Watched,
        state: State,
        rows: pa.Table,
        ordered: Sorted,
        new: Ints,
        horizon: int,
    ) -> None:
        self._watched = watched
        self._rows = rows
        self._ordered = ordered
        self._new = new
        self._horizon = horizon
        self._bits = [
            rows[name].take(pa.array(ordered.order[new])).to_numpy() for name in watched.bit_columns
        ]
        # Rows of the state come first in `rows`.
        count = 0 if state.rows is None else state.rows.num_rows
        place = np.empty(len(ordered.order), np.int64)
        place[ordered.order] = np.arange(len(ordered.order))
        self._old = place[:count]
        self._known = np.unique(ordered.codes[self._old])
        self._carried = state.carried or tuple(Carried() for _ in watched.patterns)

    def of_pattern(self, which: int, max_runs: int, max_matches: int) -> _Taken:
        compiled, carried = self._watched.patterns[which], self._carried[which]
        ordered, subjects = self._ordered, len(self._ordered.subjects)
        masks = self._watched.stage_masks(which, self._bits, len(self._new))
        nodes = self._old[carried.open.node_event]
        old = np.unique(nodes)
        new = self._new if compiled.needs_every_event else self._new[masks != 0]
        chosen = np.union1d(old, new)
        origin = ordered.order[chosen]
        subject_from = np.searchsorted(ordered.codes[chosen], np.arange(subjects + 1))
        before = np.bincount(ordered.codes[old], minlength=subjects)
        position, relevant = self._positions(masks, carried, nodes)
        cells, constants = cells_of(compiled, self._rows.take(pa.array(origin)))
        found = scan(
            compiled.tables,
            compiled.programs,
            constants,
            Rows(
                ordered.times[chosen],
                self._spread(masks)[chosen],
                np.ascontiguousarray(cells),
                position[chosen],
                subject_from.astype(np.int64),
            ),
            (subject_from[:-1] + before).astype(np.int64),
            self._horizon,
            self._reopened(carried, nodes, chosen),
            True,
            max_runs,
            max_matches,
        )
        refuse_excess(compiled, found, max_runs, max_matches)
        matches = listed(found, origin, ordered.subjects)
        return _Taken(matches, found.open, chosen, position[chosen], relevant)

    def _spread(self, masks: Masks) -> Masks:
        wide = np.zeros(len(self._ordered.order), np.uint64)
        wide[self._new] = masks
        return wide

    def _positions(self, masks: Masks, carried: Carried, nodes: Ints) -> tuple[Ints, Ints]:
        """The number of each row among those of its subject that a stage wants, and how many."""
        codes, subjects = self._ordered.codes[self._new], len(self._ordered.subjects)
        processed = np.zeros(subjects, np.int64)
        processed[self._known] = carried.relevant if len(carried.relevant) else 0
        is_relevant = masks != 0
        counts = np.bincount(codes[is_relevant], minlength=subjects)
        running = np.cumsum(is_relevant) - is_relevant
        position = np.zeros(len(self._ordered.order), np.int64)
        position[self._new] = running + (processed - (np.cumsum(counts) - counts))[codes]
        position[nodes] = carried.position
        return position, processed + counts

    def _reopened(self, carried: Carried, nodes: Ints, chosen: Ints) -> Open:
        """What a state left open, for all subjects of the batch and its chosen rows."""
        before = carried.open
        place = np.full(len(self._ordered.order), -1, np.int64)
        place[chosen] = np.arange(len(chosen))

        def spread(starts: Ints) -> Ints:
            counts = np.zeros(len(self._ordered.subjects), np.int64)
            counts[self._known] = np.diff(starts) if len(starts) > 1 else 0
            return _starts(counts)

        return before._replace(
            node_from=spread(before.node_from),
            node_event=place[nodes],
            run_from=spread(before.run_from),
            held_from=spread(before.held_from),
        )


def _carried(one: _Taken, codes: Ints, is_needed: Flags) -> Carried:
    """What a pattern left open, for the subjects and rows that the state keeps."""
    subjects, place = np.unique(codes[is_needed]), np.cumsum(is_needed) - 1
    still = one.open
    return Carried(
        still._replace(
            node_from=_starts(np.diff(still.node_from)[subjects]),
            node_event=place[one.row[still.node_event]],
            run_from=_starts(np.diff(still.run_from)[subjects]),
            held_from=_starts(np.diff(still.held_from)[subjects]),
        ),
        one.position[still.node_event],
        one.relevant[subjects],
    )


def _starts(counts: Ints) -> Ints:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])
