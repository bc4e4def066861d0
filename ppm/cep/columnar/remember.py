"""The state between two batches as bytes: what a checkpoint holds, and when it is refused.

A name, a version, what the state belongs to as JSON, then Arrow IPC. Whoever changes what is
written raises `VERSION`, or yesterday's checkpoints are read wrongly.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from ppm.cep.columnar.advance import Carried, State
from ppm.cep.columnar.kernels import Open
from ppm.errors import CheckpointError, listed

VERSION = 1
_NAME = b"ppm detect"
_NUMBERS = pa.list_(pa.list_(pa.int64()))
_NEW_FOLDER = "go on with what it was written for, or start over with a new checkpoint folder"

Owner = Mapping[str, str]
"""What a state belongs to: each setting or pattern with what it is, or a digest of it."""


def to_bytes(state: State, owner: Owner) -> bytes:
    """All of a state."""
    arrays = [a for one in state.carried for a in (*one.open, one.position, one.relevant)]
    whole = pa.table(
        {
            "watermark": pa.array([state.watermark], pa.int64()),
            "rows": pa.array([_table_bytes(state.rows)], pa.large_binary()),
            "seen": pa.array([_table_bytes(state.seen)], pa.large_binary()),
            "numbers": pa.array([[np.asarray(a, np.int64) for a in arrays]], _NUMBERS),
        }
    )
    said = json.dumps(dict(owner), sort_keys=True).encode()
    head = _NAME + VERSION.to_bytes(2, "big") + len(said).to_bytes(4, "big") + said
    return head + (_table_bytes(whole) or b"")


def from_bytes(blob: bytes, owner: Owner) -> State:
    """What `to_bytes` wrote, or a `CheckpointError` that says why it cannot be used."""
    at = len(_NAME)
    if blob[:at] != _NAME:
        raise CheckpointError(f"the checkpoint is not one of detection; {_NEW_FOLDER}")
    version = int.from_bytes(blob[at : at + 2], "big")
    if version != VERSION:
        raise CheckpointError(
            f"the checkpoint has state of version {version}, and this ppm reads version {VERSION}; "
            "finish the stream with the ppm that wrote it, or start over with a new checkpoint "
            "folder"
        )
    size = int.from_bytes(blob[at + 2 : at + 6], "big")
    _refuse_another(json.loads(blob[at + 6 : at + 6 + size]), owner)
    [whole] = pa.ipc.open_stream(blob[at + 6 + size :]).read_all().to_pylist()
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


def _refuse_another(found: Owner, wanted: Owner) -> None:
    changes = [f"{name} is new" for name in sorted(set(wanted) - set(found))]
    changes += [f"{name} is gone" for name in sorted(set(found) - set(wanted))]
    changes += [f"{n} is another" for n in sorted(wanted) if found.get(n, wanted[n]) != wanted[n]]
    if changes:
        raise CheckpointError(
            f"the checkpoint was written for another query: {listed(changes)}; {_NEW_FOLDER}"
        )


def _table_bytes(table: pa.Table | None) -> bytes | None:
    if table is None:
        return None
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue())


def _table(blob: bytes | None) -> pa.Table | None:
    return None if blob is None else pa.ipc.open_stream(blob).read_all()
