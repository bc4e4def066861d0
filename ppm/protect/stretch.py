"""Closed slots of all known subjects, some at a time: what every draw is made for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ppm.dp.mechanism import Values, Words
from ppm.dp.source import Stream, Tags
from ppm.protect.state import State

_AT_ONCE = 1 << 18
"""How many subject-slots are drawn together, so that what is told of them fits into memory."""
_BYTES_AT_ONCE = 1 << 26
"""How many bytes of subjects are written out together, for each thing that is told."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some slots of all known subjects, laid out one after the other."""

    first: int
    last: int
    """The slot after the last one."""
    subjects: pa.Array = field(repr=False)
    """The known ones."""
    tags: Tags = field(repr=False)
    whose: Values = field(repr=False)
    """For each subject-slot, the place of its subject among the known ones."""
    slots: Values = field(repr=False)
    number: Values = field(repr=False)
    """For each subject of the state, its place among the known ones."""
    starts: Values = field(repr=False)
    """For each known subject, the first slot that is laid out."""
    ahead: Values = field(repr=False)
    """For each known subject, where its slots begin."""

    def __len__(self) -> int:
        return len(self.whose)

    def has(self, slots: Values) -> npt.NDArray[np.bool_]:
        """Whether slots are among those of this stretch."""
        return (slots >= self.first) & (slots < self.last)

    def places(self, subject: Values, slot: Values) -> Values:
        """Where slots of known subjects lie; subjects are places in the state."""
        known = self.number[subject]
        return self.ahead[known] + slot - self.starts[known]

    def words(self, stream: Stream, values: Values) -> Words:
        """One word for each subject-slot."""
        return stream.words(self.tags, self.slots, values, rows=self.whose)

    def order(self, whose: Values, slots: Values, kind: Values, kinds: int) -> Values:
        """By slot, then subject, then kind."""
        # One key is sorted faster than three; so few slots and subjects never fill it.
        return np.argsort(((slots - self.first) * len(self.subjects) + whose) * kinds + kind)


def stretches(state: State, closing: int) -> Iterator[Stretch]:
    """The slots of known subjects from the first that was not told up to one that stays open."""
    known = np.flatnonzero(state.since < closing)
    if not len(known) or closing <= state.opened:
        return
    tags, since, subjects = state.tags[known], state.since[known], state.subjects.take(known)
    number = np.zeros(len(state.subjects), np.int64)
    number[known] = np.arange(len(known))
    at_once = max(1, min(_AT_ONCE // len(known), _BYTES_AT_ONCE // max(1, subjects.nbytes)))
    for first in range(max(state.opened, int(since.min())), closing, at_once):
        last = min(first + at_once, closing)
        starts = np.clip(since, first, last)
        counts = last - starts
        whose = np.repeat(np.arange(len(counts)), counts)
        ahead = np.cumsum(counts) - counts
        slots = np.arange(len(whose)) - (ahead - starts)[whose]
        yield Stretch(first, last, subjects, tags, whose, slots, number, starts, ahead)
