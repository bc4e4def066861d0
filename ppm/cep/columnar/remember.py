"""The state of a detection between two batches as bytes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ppm.cep.columnar.advance import Carried, State
from ppm.cep.columnar.kernels import Open
from ppm.cep.seal import Owner, Seal, table_bytes

VERSION = 1
_SEAL = Seal("detect", VERSION)
_NUMBERS = pa.list_(pa.list_(pa.int64()))


def to_bytes(state: State, owner: Owner) -> bytes:
    """All of a state."""
    arrays = [a for one in state.carried for a in (*one.open, one.position, one.relevant)]
    whole = pa.table(
        {
            "watermark": pa.array([state.watermark], pa.int64()),
            "rows": pa.array([_bytes(state.rows)], pa.large_binary()),
            "seen": pa.array([_bytes(state.seen)], pa.large_binary()),
            "numbers": pa.array([[np.asarray(a, np.int64) for a in arrays]], _NUMBERS),
        }
    )
    return _SEAL.close(whole, owner)


def from_bytes(blob: bytes, owner: Owner) -> State:
    """What `to_bytes` wrote, or a `CheckpointError` that says why it cannot be used."""
    [whole] = _SEAL.open(blob, owner).to_pylist()
    numbers = [np.asarray(one, np.int64) for one in whole["numbers"]]
    each = len(Open._fields) + 2
    return State(
        rows=_table(whole["rows"]),
        carried=tuple(
            Carried(Open(*numbers[first : first + each - 2]), *numbers[first + each - 2 :][:2])
            for first in range(0, len(numbers), each)
        ),
        watermark=whole["watermark"],
        seen=_table(whole["seen"]),
    )


def _bytes(table: pa.Table | None) -> bytes | None:
    return None if table is None else table_bytes(table)


def _table(blob: bytes | None) -> pa.Table | None:
    return None if blob is None else pa.ipc.open_stream(blob).read_all()
