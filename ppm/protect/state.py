"""What a shard remembers between two batches: its subjects, and what happened in open slots."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ppm.cep.seal import Owner, Seal, table_bytes
from ppm.dp.mechanism import Values
from ppm.dp.source import Source, Tags
from ppm.protect.open_slots import SUBJECT, Slots, no_slots, slots_in, table_of

VERSION = 1
SEAL = Seal("protect", VERSION)
NEVER = 1 << 62
"""The slot since which an unknown subject is known."""


@dataclass(frozen=True, slots=True)
class State:
    """All that is remembered of a shard; nothing of it is in `repr`."""

    opened: int
    """The first slot that was not released yet."""
    subjects: pa.Array = field(repr=False)
    """Ascending, so that what is released has one order, whoever came first."""
    tags: Tags = field(repr=False)
    """Their keyed hashes, which are dear to compute."""
    since: Values = field(repr=False)
    """The slot from which on each is known."""
    open: Slots = field(repr=False)
    """What happened in slots that are not released yet; subjects are places in `subjects`."""

    @property
    def is_idle(self) -> bool:
        """Whether time alone leads to nothing."""
        return not len(self.subjects)

    def places_of(self, subjects: pa.Array | pa.ChunkedArray) -> Values:
        """Where subjects stand; -1 for those that do not."""
        if not len(self.subjects) or not len(subjects):
            return np.full(len(subjects), -1, np.int64)
        if pa.types.is_integer(self.subjects.type):
            return _places_in_order(self.subjects.to_numpy(), np.asarray(subjects.to_numpy()))
        # The few subjects of a batch are looked for among the many that are known, not vice versa.
        asked = subjects.combine_chunks() if isinstance(subjects, pa.ChunkedArray) else subjects
        coded = asked.dictionary_encode()
        number = pc.fill_null(pc.index_in(self.subjects, value_set=coded.dictionary), -1)
        number = number.to_numpy(zero_copy_only=False)
        places = np.full(len(coded.dictionary), -1, np.int64)
        places[number[number >= 0]] = np.flatnonzero(number >= 0)
        return np.asarray(places[coded.indices.to_numpy(zero_copy_only=False)])

    def with_subjects(self, new: pa.Array, source: Source, *, since: int) -> State:
        """The state with some subjects more, none of which it has already."""
        if not len(new):
            return self
        joined = pa.concat_arrays([self.subjects, new])
        order = pc.sort_indices(joined).to_numpy().astype(np.int64)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        return State(
            self.opened,
            joined.take(pa.array(order)),
            np.concatenate([self.tags, source.tags(_raw(new).to_pylist())])[order],
            np.concatenate([self.since, np.full(len(new), since)])[order],
            self.open.renumbered(place),
        )

    def with_public(self, places: Values, slots: Values) -> State:
        """The state after public rows of these subjects in these slots."""
        since = self.since.copy()
        np.minimum.at(since, places, slots)
        return replace(self, since=since)

    def without(self, is_gone: npt.NDArray[np.bool_]) -> State:
        """The state without subjects that nothing is open of."""
        if not is_gone.any():
            return self
        place = np.cumsum(~is_gone) - 1
        return State(
            self.opened,
            self.subjects.filter(pa.array(~is_gone)),
            self.tags[~is_gone],
            self.since[~is_gone],
            self.open.renumbered(place),
        )


def _places_in_order(known: Values, asked: Values) -> Values:
    """Where whole numbers stand among ascending ones; -1 for those that do not."""
    place = np.minimum(np.searchsorted(known, asked), len(known) - 1)
    return np.where(known[place] == asked, place, -1)


def _raw(subjects: pa.Array) -> pa.Array:
    """Texts as their bytes: what Spark calls a text need not be one that Python can read."""
    return subjects if pa.types.is_integer(subjects.type) else subjects.cast(pa.binary())


def new_state(subject: pa.DataType, words: int) -> State:
    """Nothing has come, and nobody is known."""
    nobody = np.zeros(0, np.int64)
    return State(0, pa.array([], subject), np.zeros((0, 2), np.uint64), nobody, no_slots(words))


def to_bytes(state: State, owner: Owner) -> bytes:
    """All of a state."""
    known = pa.table(
        {
            SUBJECT: state.subjects,
            "tag_low": pa.array(state.tags[:, 0]),
            "tag_high": pa.array(state.tags[:, 1].astype(np.uint32)),
            "since": pa.array(state.since),
        }
    )
    slots = table_of(state.open, pa.array(state.open.subject))
    whole = pa.table(
        {
            "opened": pa.array([state.opened], pa.int64()),
            "known": pa.array([table_bytes(known)], pa.large_binary()),
            "open": pa.array([table_bytes(slots)], pa.large_binary()),
        }
    )
    return SEAL.close(whole, owner)


def from_bytes(blob: bytes, owner: Owner) -> State:
    """What `to_bytes` wrote, or a `CheckpointError` that says why it cannot be used."""
    whole = SEAL.open(blob, owner)
    known, slots = _tables(whole)
    low, high = (known[name].to_numpy().astype(np.uint64) for name in ("tag_low", "tag_high"))
    return State(
        whole["opened"][0].as_py(),
        known[SUBJECT].combine_chunks(),
        np.stack([low, high], axis=1),
        known["since"].to_numpy(),
        slots_in(slots, slots[SUBJECT].to_numpy()),
    )


def _tables(whole: pa.Table) -> Iterator[pa.Table]:
    for name in ("known", "open"):
        yield pa.ipc.open_stream(whole[name][0].as_buffer()).read_all().combine_chunks()
