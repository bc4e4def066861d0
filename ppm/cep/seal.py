"""State between two batches as bytes: what a checkpoint holds, and when it is refused.

A name, a version, what the state belongs to as JSON, then Arrow IPC. Whoever changes what is
written raises the version, or yesterday's checkpoints are read wrongly.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from ppm.errors import CheckpointError, listed

_NEW_FOLDER = "go on with what it was written for, or start over with a new checkpoint folder"

Owner = Mapping[str, str]
"""What a state belongs to: each setting or pattern with what it is, or a digest of it."""


@dataclass(frozen=True, slots=True)
class Seal:
    """The form of one kind of state.

    >>> form, owner = Seal("detect", 1), {"the number of shards": "4"}
    >>> form.open(form.close(pa.table({"n": [7]}), owner), owner)["n"].to_pylist()
    [7]
    """

    kind: str
    """Who writes it, in one word."""
    version: int

    def close(self, state: pa.Table, owner: Owner) -> bytes:
        """All of a state."""
        said = json.dumps(dict(owner), sort_keys=True).encode()
        return b"".join(
            [
                self._name,
                self.version.to_bytes(2, "big"),
                len(said).to_bytes(4, "big"),
                said,
                table_bytes(state),
            ]
        )

    def open(self, blob: bytes, owner: Owner) -> pa.Table:
        """What `close` wrote, or a `CheckpointError` that says why it cannot be used."""
        found, body = self._opened(blob)
        self.refuse_another(found, owner)
        return pa.ipc.open_stream(body).read_all()

    def owner_of(self, blob: bytes) -> Owner:
        """What a state belongs to, whoever asks."""
        return self._opened(blob)[0]

    @staticmethod
    def refuse_another(found: Owner, wanted: Owner) -> None:
        """A `CheckpointError` that names everything in which two owners differ."""
        changes = [f"{name} is new" for name in sorted(set(wanted) - set(found))]
        changes += [f"{name} is gone" for name in sorted(set(found) - set(wanted))]
        both = sorted(set(wanted) & set(found))
        changes += [f"{name} is another" for name in both if found[name] != wanted[name]]
        if changes:
            raise CheckpointError(
                f"the checkpoint was written for another query: {listed(changes)}; {_NEW_FOLDER}"
            )

    @property
    def _name(self) -> bytes:
        return b"ppm " + self.kind.encode()

    def _opened(self, blob: bytes) -> tuple[Owner, bytes]:
        at = len(self._name)
        if blob[:at] != self._name:
            raise CheckpointError(f"the checkpoint is not one of ppm {self.kind}; {_NEW_FOLDER}")
        version = int.from_bytes(blob[at : at + 2], "big")
        if version != self.version:
            raise CheckpointError(
                f"the checkpoint has state of version {version}, and this ppm reads version "
                f"{self.version}; finish the stream with the ppm that wrote it, or start over with "
                "a new checkpoint folder"
            )
        end = at + 6 + int.from_bytes(blob[at + 2 : at + 6], "big")
        owner: Owner = json.loads(blob[at + 6 : end])
        return owner, blob[end:]


def table_bytes(table: pa.Table) -> bytes:
    """A table as Arrow IPC, compressed."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue())
