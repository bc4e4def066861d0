"""What a checkpoint holds: yesterday's bytes are read, and those of another query refused."""

from __future__ import annotations

from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ppm.cep.columnar.advance import State
from ppm.cep.columnar.remember import VERSION, from_bytes, to_bytes
from ppm.cep.columnar.tables import FOREVER
from ppm.cep.detection import Detection
from ppm.errors import CheckpointError
from tests.cep.columnar_tables import table_of
from tests.cep.detections import detection, rows_of, told_by
from tests.cep.notation import MS, declare, events

OWNER = {"the pattern p": "1", "the number of shards": "2"}
GOLDEN = Path(__file__).parent / "golden" / f"detect-state-{VERSION}.b64"


def door(**settings: Any) -> Detection:
    """An open run, a held match, a row that waits, and rows that duplicates may follow."""
    dearer = {"where": "price > first(a.price)"}
    pattern = declare("a -> b within 9", skip="skip_past_last", b=dearer)
    return detection([pattern], timed_out=True, duplicates_within=20 * MS, **settings)


def state_of(looked_for: Detection) -> bytes:
    stream = table_of({"one": events("a(9)@1 a(2)@2 b(3)@3 a(4)@5 b(5)@30")}, ids="number")
    waits = looked_for.step(None, rows_of(looked_for, stream), -FOREVER).state
    state = looked_for.step(waits, rows_of(looked_for, stream.slice(0, 0)), 6 * MS).state
    assert state is not None
    return state


def is_equal(one: State, other: State) -> bool:
    arrays = [[*c.open, c.position, c.relevant] for s in (one, other) for c in s.carried]
    same = all(np.array_equal(a, b) for a, b in zip(arrays[0], arrays[1], strict=True))
    tables = (one.rows, one.seen, one.watermark) == (other.rows, other.seen, other.watermark)
    return same and tables and len(arrays) == 2


def test_what_was_written_is_read() -> None:
    blob = state_of(door())
    state = from_bytes(blob, door().owner)
    assert len(state.carried[0].open.held_at) == 1
    assert is_equal(state, from_bytes(to_bytes(state, OWNER), OWNER))
    assert state.rows is not None
    assert state.rows.num_rows > 0
    assert state.seen is not None
    assert state.seen.num_rows > 0


def test_yesterdays_checkpoint_is_read() -> None:
    """If this fails, checkpoints of users fail: raise VERSION, and write a new golden file."""
    kept = b64decode(GOLDEN.read_text())
    assert is_equal(from_bytes(kept, door().owner), from_bytes(state_of(door()), door().owner))
    looked_for = door()
    empty = rows_of(looked_for, table_of({}, ids="number"))
    told = told_by(looked_for.step(kept, empty, FOREVER))
    assert told == told_by(looked_for.step(state_of(looked_for), empty, FOREVER))
    assert sorted(one["kind"] for one in told) == ["match", "timed_out", "timed_out"]


def test_another_version_is_refused() -> None:
    blob = bytearray(to_bytes(State(), OWNER))
    blob[len(b"ppm detect") + 1] += 1
    with pytest.raises(CheckpointError, match="state of version 2, and this ppm reads version 1"):
        from_bytes(bytes(blob), OWNER)
    with pytest.raises(CheckpointError, match="is not one of ppm detect"):
        from_bytes(b"something else", OWNER)


@pytest.mark.parametrize(
    ("owner", "sentence"),
    [
        pytest.param({**OWNER, "the pattern p": "2"}, "the pattern p is another", id="changed"),
        pytest.param({**OWNER, "the pattern q": "1"}, "the pattern q is new", id="added"),
        pytest.param(
            {"the number of shards": "3"},
            "the pattern p is gone and the number of shards is another",
            id="two things",
        ),
    ],
)
def test_another_query_is_refused(owner: dict[str, str], sentence: str) -> None:
    with pytest.raises(CheckpointError, match=f"another query: {sentence}; go on with what it was"):
        from_bytes(to_bytes(State(), OWNER), owner)


def test_what_a_state_belongs_to_tells_apart_all_that_reads_it() -> None:
    owners = [
        looked_for.owner
        for looked_for in (
            door(),
            door(shards=3),
            detection([declare("a -> b within 9")]),
            detection([declare("a -> b within 8")]),
            detection([declare("a -> b within 9")], timed_out=True),
            detection([declare("a -> b within 9")], has_ids=False),
        )
    ]
    assert len({str(sorted(owner.items())) for owner in owners}) == len(owners)


def test_what_is_only_told_does_not_belong_to_a_state() -> None:
    pattern = declare("a -> b within 9")
    assert detection([pattern]).owner == detection([pattern], tells_late=True).owner


if __name__ == "__main__":  # writes the golden file of a new version
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_text(b64encode(state_of(door())).decode() + "\n")
