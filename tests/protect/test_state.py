"""What a shard remembers, as bytes: read tomorrow as it was written yesterday."""

from __future__ import annotations

from base64 import b64decode, b64encode
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ppm.dp.source import Seed
from ppm.errors import CheckpointError
from ppm.protect.state import NEVER, SEAL, State, from_bytes, new_state, to_bytes
from ppm.protect.step import Protection
from tests.protect.running import NEIGHBOURS, SEEN, Event, Town, town_program

GOLDEN = Path(__file__).parent / "golden" / "protect-state-1.b64"
CANARY = "canary-7f3a"
OPEN: list[Event] = [
    ("ada", 5.0, "clinic"),
    ("ada", 6.0, "park"),
    ("bo", 7.0, "shop"),
    ("bo", 2000.0, "home"),
    ("eve", 1900.0, "post"),
]


def town_with_open_slots(root: Path) -> Town:
    """Ada is known, Bo will be, Eve is not, and all have something open."""
    town = Town(Protection(town_program(root, NEIGHBOURS, SEEN)))
    town.batch([OPEN], town.step.program.start)
    return town


def is_equal(one: State, other: State) -> bool:
    return (
        one.opened == other.opened
        and one.subjects.equals(other.subjects)
        and np.array_equal(one.tags, other.tags)
        and np.array_equal(one.since, other.since)
        and all(
            np.array_equal(getattr(one.open, name), getattr(other.open, name))
            for name in ("subject", "slot", "bits", "rows", "is_public")
        )
    )


def test_a_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    town = town_with_open_slots(tmp_path)
    owner = town.step.program.owner(town.step.source)
    state = from_bytes(town.states[0] or b"", owner)
    assert state.subjects.to_pylist() == ["ada", "bo", "eve"]
    assert state.since.tolist() == [0, 2, NEVER]
    assert state.open.slot.tolist() == [0, 0, 2]
    assert is_equal(from_bytes(to_bytes(state, owner), owner), state)


def test_yesterdays_checkpoint_is_read(tmp_path: Path) -> None:
    """If this fails, checkpoints of users fail: raise VERSION, and write a new golden file."""
    town = town_with_open_slots(tmp_path)
    owner = town.step.program.owner(town.step.source)
    kept = b64decode(GOLDEN.read_text())
    assert SEAL.owner_of(kept) == owner
    assert is_equal(from_bytes(kept, owner), from_bytes(town.states[0] or b"", owner))
    released = town.step.finish(kept, town.no_rows, town.step.program.end_of(2))
    town.finish([], town.step.program.end_of(2))
    rows = sum(piece.num_rows for piece in released)
    assert rows == len(town.told) + sum(n > 0 for n in town.lost.values())


def test_another_version_or_kind_is_refused(tmp_path: Path) -> None:
    town = town_with_open_slots(tmp_path)
    owner = town.step.program.owner(town.step.source)
    blob = bytearray(town.states[0] or b"")
    blob[len(b"ppm protect") + 1] += 1
    with pytest.raises(CheckpointError, match="state of version 2, and this ppm reads version 1"):
        from_bytes(bytes(blob), owner)
    with pytest.raises(CheckpointError, match="is not one of ppm protect"):
        from_bytes(b"ppm detect", owner)


def test_a_state_holds_no_more_than_open_slots_and_known_subjects(tmp_path: Path) -> None:
    program = town_program(tmp_path, NEIGHBOURS)
    town = Town(Protection(program))
    sizes = []
    for slot in range(200):
        events: list[Event] = [
            (who, 900.0 * slot + at, place)
            for who in ("ada", "bo")
            for at, place in ((1, "clinic"), (2, "shop"), (3, "park"))
        ]
        town.batch([events], program.end_of(slot - 1))
        sizes.append(len(town.states[0] or b""))
    assert max(sizes[1:]) <= 1.01 * sizes[0]


def test_no_state_nor_step_shows_what_it_holds(tmp_path: Path) -> None:
    source = Seed(7).open()
    state = new_state(pa.string(), 1).with_subjects(pa.array([CANARY]), source, since=424_242)
    town = town_with_open_slots(tmp_path)
    turn = town.step(town.states[0], town.no_rows, town.step.program.end_of(3))
    for value in (state, state.open, town.step, town.step.program, turn):
        assert not {CANARY, "424242", "ada", "b'ppm"} & {*repr(value).split("'")}
        assert CANARY not in repr(value)
        assert "ada" not in repr(value)


if __name__ == "__main__":  # writes the golden file of a new version
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        GOLDEN.parent.mkdir(exist_ok=True)
        blob = town_with_open_slots(Path(folder)).states[0]
        GOLDEN.write_text(b64encode(blob or b"").decode() + "\n")
