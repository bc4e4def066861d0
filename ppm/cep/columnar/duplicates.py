"""Rows that came before under the same id: at-least-once delivery, made exactly-once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ppm.cep.columnar.columns import Layout, micros, ranks_of
from ppm.cep.columnar.conditions import Ints
from ppm.cep.columnar.jit import kernel
from ppm.cep.columnar.watch import CONTENT

Flags = npt.NDArray[np.bool_]


@kernel
def repeated(whose: Ints, ids: Ints, times: Ints, is_known: Flags, window: int) -> Flags:
    """Which rows, sorted by subject, id and time, follow a row that counts by less than a window.

    A row that is ignored is no reason to ignore another one.
    """
    is_repeated = np.zeros(times.size, np.bool_)
    counted = -1
    for at in range(times.size):
        if counted >= 0 and (whose[at] != whose[counted] or ids[at] != ids[counted]):
            counted = -1
        if is_known[at] or counted < 0 or times[at] - times[counted] >= window:
            counted = at
        else:
            is_repeated[at] = True
    return is_repeated


def ignore_duplicates(
    rows: pa.Table, seen: pa.Table | None, *, layout: Layout, window: int, horizon: int
) -> tuple[Flags, pa.Table]:
    """Which of some rows, in order of time, are duplicates; and what must be remembered of them."""
    assert layout.order is not None
    new = rows.select([layout.subject, layout.time, layout.order])
    known = new.schema.empty_table() if seen is None else seen
    both = pa.concat_tables([known, new]).combine_chunks()
    whose, ids = (ranks_of(both[name]) for name in (layout.subject, layout.order))
    times = micros(both, layout.time)
    order = np.lexsort([np.arange(len(times)), times, ids, whose])
    is_known = np.arange(len(times)) < known.num_rows
    flags = np.zeros(len(times), np.bool_)
    flags[order] = repeated(whose[order], ids[order], times[order], is_known[order], window)
    # A hash of the whole row holds its time: what is equal comes at one time, or is late.
    is_kept = ~flags & (times > horizon - window) & (layout.order != CONTENT)
    still = both.filter(pa.array(is_kept))
    return flags[known.num_rows :], still
