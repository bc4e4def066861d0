"""What every step is: one pure function on the columns of a shard, called batch by batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

BITS_IN_A_COLUMN = 63
"""Predicates come as bits of whole numbers; Spark's have 64 bits, of which the sign stays clear."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What a step gives back; rows are left out of `repr`."""

    state: bytes | None = field(repr=False)
    """What the next call needs; None for nothing."""
    released: Iterable[pa.Table] = field(default=(), repr=False)
    """Rows of the step's output in pieces, which may be made only when they are asked for."""
    wake_at: int | None = None
    """When time alone can lead to something: once the watermark, in microseconds, has reached
    this, the step wants to be called without new rows."""


class Step(ABC):
    """One pure function on the columns of a shard. It is pickled, so it holds no secret."""

    @abstractmethod
    def __call__(self, state: bytes | None, rows: pa.Table, watermark: int) -> Turn:
        """Take new rows in; `watermark` is in microseconds, and no row is dropped before this."""

    def begin(self, seeds: pa.Table | None) -> bytes | None:  # noqa: ARG002
        """The state that a shard starts with, given the seeds that belong to it."""
        return None

    def finish(self, state: bytes | None, rows: pa.Table, end: int) -> Iterable[pa.Table]:
        """What a shard releases if nothing comes after these rows."""
        return self(state, rows, end).released

    def packed_schema(self, rows: pa.Schema) -> pa.Schema:
        """The columns that `gather` leaves of rows."""
        return rows

    def gather(self, rows: pa.Table) -> tuple[pa.Table, npt.NDArray[np.int64] | None]:
        """Fewer rows that say the same, before they travel; each with the place of a row of its
        subject, or None for the rows as they are."""
        return rows, None
