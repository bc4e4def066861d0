"""What a shard that answers remembers, as bytes: read tomorrow as it was written yesterday."""

from __future__ import annotations

from base64 import b64decode, b64encode
from pathlib import Path

import pyarrow as pa
import pytest

from ppm.cep.seal import Seal
from ppm.errors import CheckpointError
from ppm.protect import answering, tally
from ppm.protect.found import answer_schema
from ppm.protect.tally import Tally
from tests.protect.asking import EVERY_KIND, STROLLED, Asking, asks, town_answering
from tests.protect.running import SEEN, Event, town_plan

GOLDEN = Path(__file__).parent / "golden" / "answer-state-1.b64"
GOLDEN_TALLY = Path(__file__).parent / "golden" / "tally-state-1.b64"
CLOSED: list[Event] = [
    ("ada", 5.0, "clinic"),
    ("ada", 890.0, "park"),
    ("bo", 880.0, "home"),
    ("bo", 890.0, "post"),
]
OPEN: list[Event] = [("ada", 905.0, "pharmacy"), ("bo", 2000.0, "home"), ("eve", 1900.0, "post")]


def half_way(root: Path) -> Asking:
    """Slot 0 is answered; runs go on from it, and rows of open slots wait."""
    edits = (*EVERY_KIND, SEEN)
    asking = Asking(town_answering(root, *edits, shards=2), town_plan(root, *edits))
    asking.batch([CLOSED], asking.step.program.start)
    asking.batch([OPEN], asking.step.program.end_of(0))
    return asking


def parts_of(asking: Asking) -> bytes:
    """What is remembered of a count that one of two shards has reported."""
    end = asking.step.program.end_of(1)
    turn = asking.step(None, asking._rows([CLOSED]), end)
    [parts] = [
        rows for piece in turn.released for key, rows in asking.tally.split(piece) if key == 1
    ]
    return asking.tally(None, parts, 0).state or b""


def test_yesterdays_checkpoint_is_read(tmp_path: Path) -> None:
    """If this fails, checkpoints of users fail: raise VERSION, and write new golden files."""
    asking = half_way(tmp_path)
    end = asking.step.program.end_of(3)
    rows = asking._rows([])
    kept = b64decode(GOLDEN.read_text())
    then = pa.concat_tables(asking.step.finish(kept, rows, end))
    now = pa.concat_tables(asking.step.finish(asking.states[0], rows, end))
    assert then.num_rows > 10
    assert then.equals(now)


def test_yesterdays_sums_are_read(tmp_path: Path) -> None:
    asking = half_way(tmp_path)
    kept = b64decode(GOLDEN_TALLY.read_text())
    parts = asking.step(None, asking._rows([]), asking.step.program.end_of(1))
    pieces = [
        rows for piece in parts.released for key, rows in asking.tally.split(piece) if key == 1
    ]
    told = [asking.tally(state, pieces[0], 0) for state in (kept, parts_of(asking))]
    one, other = (pa.concat_tables(turn.released) for turn in told)
    assert one.num_rows == 2
    assert one.equals(other)
    assert [turn.state for turn in told] == [None, None]


def test_a_slot_waits_for_all_shards_and_is_then_forgotten(tmp_path: Path) -> None:
    asking = half_way(tmp_path)
    kept = parts_of(asking)
    assert len(kept) > 0
    assert not any(asking.tallied.values())
    assert {slot for who, slot, *_ in asking.answers if who is None} == {0}


@pytest.mark.parametrize(
    ("version", "seal"), [(answering.VERSION, answering.SEAL), (tally.VERSION, tally.SEAL)]
)
def test_another_version_or_kind_is_refused(tmp_path: Path, version: int, seal: Seal) -> None:
    asking = half_way(tmp_path)
    kept = bytearray((asking.states[0] or b"") if seal is answering.SEAL else parts_of(asking))
    owner = asking.step.owner
    seal.open(bytes(kept), owner)
    kept[len(b"ppm ") + len(seal.kind) + 1] += 1
    said = f"state of version {version + 1}, and this ppm reads version {version}"
    with pytest.raises(CheckpointError, match=said):
        seal.open(bytes(kept), owner)
    with pytest.raises(CheckpointError, match=f"is not one of ppm {seal.kind}"):
        seal.open(b"ppm protect", owner)


def test_another_consumer_s_state_is_refused(tmp_path: Path) -> None:
    asking = half_way(tmp_path / "one")
    edits = (*EVERY_KIND[:2], asks(STROLLED), SEEN)
    other = town_answering(tmp_path / "other", *edits, shards=2)
    with pytest.raises(CheckpointError, match="the consumer app is another"):
        other(asking.states[0], asking._rows([]), 0)
    with pytest.raises(CheckpointError, match="the consumer app is another"):
        Tally(other.program, other.questions)(
            parts_of(asking), answer_schema(pa.string()).empty_table(), 0
        )


def test_a_state_holds_no_more_than_open_slots_and_runs(tmp_path: Path) -> None:
    asking = Asking(town_answering(tmp_path, *EVERY_KIND), town_plan(tmp_path, *EVERY_KIND))
    sizes = []
    for slot in range(60):
        events: list[Event] = [
            (who, 900.0 * slot + at, place)
            for who in ("ada", "bo", "cy")
            for at, place in ((1, "clinic"), (2, "shop"), (3, "park"), (4, "home"))
        ]
        asking.batch([events], asking.step.program.end_of(slot - 1))
        sizes.append(len(asking.states[0] or b""))
    assert max(sizes[10:]) <= 1.2 * min(sizes[10:])


if __name__ == "__main__":  # writes the golden files of a new version
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        asking = half_way(Path(folder))
        GOLDEN.write_text(b64encode(asking.states[0] or b"").decode() + "\n")
        GOLDEN_TALLY.write_text(b64encode(parts_of(asking)).decode() + "\n")
