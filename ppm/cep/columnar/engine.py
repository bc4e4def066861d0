"""Find a pattern in a batch: columns in, columns out."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ppm.cep.columnar.columns import Layout, Rows, Sorted, cells_of, masks_of, sort_rows
from ppm.cep.columnar.conditions import Ints
from ppm.cep.columnar.kernels import DONE, TOO_MANY_RUNS, Found, Open, scan
from ppm.cep.columnar.tables import FOREVER, Compiled
from ppm.errors import PpmError

MOST_RUNS = 100_000
MOST_MATCHES = 10_000_000


class TooManyError(PpmError):
    """A pattern keeps more runs or finds more matches than the engine was allowed to."""


@dataclass(frozen=True, slots=True)
class Matches:
    """Matches as columns; those of a subject in the order in which they are told.

    Time-outs of a moment come before the matches that this moment completes or frees.
    """

    subjects: pa.Array = field(repr=False)
    """The different subjects of the batch, ascending."""
    subject: Ints
    """For each match, whose it is: a place in `subjects`."""
    first: Ints
    last: Ints
    """For each match, the rows of its first and its last event."""
    at: Ints = field(repr=False)
    """For each match, when it was certain."""
    is_timed_out: npt.NDArray[np.bool_]
    """For each match, whether it is a partial one whose time ran out."""
    match: Ints
    """For each event of a match, the match, by its place in the columns above."""
    stage: Ints
    """For each event of a match, the stage that took it, by its position in the pattern."""
    event: Ints
    """For each event of a match, its row in the batch."""

    def __len__(self) -> int:
        return len(self.subject)


def find_columns(
    compiled: Compiled,
    batch: pa.Table | pa.RecordBatch,
    *,
    layout: Layout | None = None,
    watermark: int | None = None,
    max_runs: int = MOST_RUNS,
    max_matches: int = MOST_MATCHES,
) -> Matches:
    """All matches of a pattern in a batch; the rows may stand in any order.

    Only rows up to the watermark count, and time goes on to it; without one, to the end of time.
    A subject with more than `max_runs` runs and held matches at a time, or with more than
    `max_matches` matches and time-outs, is a `TooManyError`: memory is never eaten up in silence.

    >>> from ppm.cep.columnar.tables import compile_pattern
    >>> from ppm.spec.build import pattern
    >>> from ppm.spec.expression.kinds import ColumnType
    >>> door = (
    ...     pattern("door").event("opens", "is_open").event("shuts", "NOT is_open")
    ...     .begin("opens").followed_by("shuts").within("5 s").build()
    ... )
    >>> compiled = compile_pattern(
    ...     door, types={"is_open": ColumnType.BOOLEAN}, zones={}, timezone="UTC"
    ... )
    >>> rows = pa.table({
    ...     "subject": ["x", "y", "x"], "id": [1, 1, 2],
    ...     "time": [0, 1, 4_000_000], "is_open": [True, True, False],
    ... })
    >>> found = find_columns(compiled, rows)
    >>> len(found), found.first.tolist(), found.last.tolist(), found.event.tolist()
    (1, [0], [2], [0, 2])
    """
    ordered = sort_rows(batch, layout or Layout())
    horizon = FOREVER - 1 if watermark is None else min(watermark, FOREVER - 1)
    rows, origin, constants = relevant_rows(compiled, batch, ordered, horizon)
    found = scan(
        compiled.tables,
        compiled.programs,
        constants,
        rows,
        rows.subject_from[:-1],
        horizon,
        nothing_open(),
        False,
        max_runs,
        max_matches,
    )
    refuse_excess(compiled, found, max_runs, max_matches)
    return listed(found, origin, ordered.subjects)


def relevant_rows(
    compiled: Compiled, batch: pa.Table | pa.RecordBatch, ordered: Sorted, horizon: int
) -> tuple[Rows, Ints, npt.NDArray[np.float64]]:
    """The rows that can matter to a pattern, where in the batch each stands, and constants."""
    masks = masks_of(compiled, batch)[ordered.order]
    cells, constants = cells_of(compiled, batch)
    keep = ordered.times <= horizon
    if not compiled.needs_every_event:
        keep &= masks != 0
    chosen = np.flatnonzero(keep)
    codes, chosen_masks = ordered.codes[chosen], masks[chosen]
    is_relevant = chosen_masks != 0
    subject_from = np.searchsorted(codes, np.arange(len(ordered.subjects) + 1))
    origin = ordered.order[chosen]
    rows = Rows(
        ordered.times[chosen],
        chosen_masks,
        np.ascontiguousarray(cells[origin]),
        np.cumsum(is_relevant) - is_relevant,
        subject_from.astype(np.int64),
    )
    return rows, origin, constants


def nothing_open() -> Open:
    """The state before the first batch."""
    return Open(
        **{name: np.zeros(1 if name.endswith("_from") else 0, np.int64) for name in Open._fields}
    )


def refuse_excess(compiled: Compiled, found: Found, max_runs: int, max_matches: int) -> None:
    """A `TooManyError` if the kernel had to stop."""
    if found.status == DONE:
        return
    name = compiled.pattern.name
    if found.status == TOO_MANY_RUNS:
        raise TooManyError(
            f"{name}: one subject has more than {max_runs} runs at a time; "
            "shorten within, use followed_by in place of followed_by_any, or raise max_runs"
        )
    raise TooManyError(
        f"{name}: one subject has more than {max_matches} matches; "
        "use a preset such as first or non-overlapping, or raise max_matches"
    )


def listed(found: Found, origin: Ints, subjects: pa.Array) -> Matches:
    """What a kernel found, in the order in which it is told, with rows of the batch."""
    begin, size = found.match_from[found.told], found.match_size[found.told]
    match = np.repeat(np.arange(len(size)), size)
    before = np.cumsum(size) - size
    at = np.arange(len(match)) + np.repeat(begin - before, size)
    event = origin[found.event[at]]
    return Matches(
        subjects=subjects,
        subject=found.match_subject[found.told],
        first=event[before],
        last=event[before + size - 1],
        at=found.match_at[found.told],
        is_timed_out=found.match_is_timed_out[found.told],
        match=match,
        stage=found.stage[at],
        event=event,
    )
