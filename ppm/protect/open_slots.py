"""Which private types occurred, by subject and slot: all that is kept of rows until they are told.

Existence bits only: a row that comes twice, or in another order, changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ppm.dp.mechanism import Values
from ppm.errors import BindingError, counted
from ppm.protect.program import Program

SUBJECT, TIME, SLOT, ROWS, IS_PUBLIC = (
    "__ppm_subject",
    "__ppm_time",
    "__ppm_slot",
    "__ppm_rows",
    "__ppm_public",
)
Flags = npt.NDArray[np.bool_]
_FAR = 1 << 61
_NEAR = 1 << 40
"""How far apart whole numbers may lie that stand for themselves: slots need the other bits."""


def bit_names(words: int) -> list[str]:
    """The columns that hold a row's bits."""
    return [f"__ppm_bits_{number}" for number in range(words)]


@dataclass(frozen=True, slots=True)
class Slots:
    """What happened in some slots of some subjects, each pair once, sorted by subject and slot."""

    subject: Values = field(repr=False)
    """Numbers that stand for subjects."""
    slot: Values = field(repr=False)
    bits: Values = field(repr=False)
    """One row for each pair, one column for each word of bits."""
    rows: Values = field(repr=False)
    """How many private rows there were; told to nobody, but counted if they get lost."""
    is_public: Flags = field(repr=False)
    """Whether some row was of no private type."""

    def __len__(self) -> int:
        return len(self.slot)

    def where(self, is_wanted: Flags) -> Slots:
        """Some of the pairs."""
        return Slots(
            self.subject[is_wanted],
            self.slot[is_wanted],
            self.bits[is_wanted],
            self.rows[is_wanted],
            self.is_public[is_wanted],
        )

    def renumbered(self, numbers: Values) -> Slots:
        """The same pairs with other numbers for subjects."""
        return Slots(numbers[self.subject], self.slot, self.bits, self.rows, self.is_public)

    def with_others(self, others: Slots) -> Slots:
        """Both, with pairs that come several times made one."""
        if not len(others):
            return self
        joined, _ = merged(
            np.concatenate([self.subject, others.subject]),
            np.concatenate([self.slot, others.slot]),
            np.concatenate([self.bits, others.bits]),
            np.concatenate([self.rows, others.rows]),
            np.concatenate([self.is_public, others.is_public]),
        )
        return joined


def no_slots(words: int) -> Slots:
    """Nothing happened."""
    none = np.zeros(0, np.int64)
    return Slots(none, none, np.zeros((0, words), np.int64), none, np.zeros(0, np.bool_))


def merged(
    subject: Values, slot: Values, bits: Values, rows: Values, is_public: Flags
) -> tuple[Slots, Values]:
    """Each pair of subject and slot once, with the place of one entry of each pair."""
    order = _order(subject, slot)
    subject, slot = subject[order], slot[order]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = (subject[1:] != subject[:-1]) | (slot[1:] != slot[:-1])
    first = np.flatnonzero(is_first)
    if not len(first):
        return no_slots(bits.shape[1]), first
    found = Slots(
        subject[first],
        slot[first],
        np.bitwise_or.reduceat(bits[order], first, axis=0),
        np.add.reduceat(rows[order], first),
        np.logical_or.reduceat(is_public[order], first),
    )
    return found, order[first]


def _order(subject: Values, slot: Values) -> Values:
    """By subject, then slot; one key is sorted faster than two."""
    if not len(slot):
        return np.zeros(0, np.int64)
    least = int(slot.min())
    width = int(slot.max()) - least + 1
    if (int(subject.max()) + 1) * width < _FAR:
        return np.argsort(subject * width + (slot - least))
    return np.lexsort([slot, subject])


def gather(program: Program, rows: pa.Table) -> tuple[pa.Table, Values]:
    """Rows as they come from Spark, made as few as they can be before they travel.

    Gives a table in the form of `gathered_schema`, and for each of its rows the place of a row of
    the same subject. Rows without subject or time become one row that only counts them.
    """
    whole, lost = _without_nulls(rows)
    subject, names = _numbered(whole[SUBJECT])
    bits = np.stack([whole[name].to_numpy() for name in bit_names(program.words)], axis=1)
    is_private = (bits != 0).any(axis=1)
    slots, place = merged(
        subject,
        _slots_of(program, whole),
        bits,
        is_private.astype(np.int64),
        ~is_private,
    )
    table = table_of(slots, names(slots.subject))
    if not lost.num_rows:
        return table, place
    kept = np.flatnonzero(_is_whole(rows))
    counted = table_of(
        Slots(
            np.zeros(1, np.int64),
            np.zeros(1, np.int64),
            np.zeros((1, program.words), np.int64),
            np.array([lost.num_rows]),
            np.zeros(1, np.bool_),
        ),
        pa.nulls(1, rows.schema.field(SUBJECT).type),
    )
    where = np.flatnonzero(~_is_whole(rows))[:1]
    return pa.concat_tables([table, counted]), np.concatenate([kept[place], where])


def _numbered(subjects: pa.ChunkedArray) -> tuple[Values, Callable[[Values], pa.Array]]:
    """Numbers that stand for subjects, and the way back; whole numbers stand for themselves."""
    kind = subjects.type
    if pa.types.is_integer(kind) and len(subjects):
        values = subjects.to_numpy().astype(np.int64)
        least = int(values.min())
        if int(values.max()) - least < _NEAR:
            return values - least, lambda numbers: pa.array(numbers + least, kind)
    coded = subjects.combine_chunks().dictionary_encode()
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    numbers = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers, lambda places: coded.dictionary.take(pa.array(places))


def _is_whole(rows: pa.Table) -> Flags:
    both = pc.and_(pc.is_valid(rows[SUBJECT]), pc.is_valid(rows[TIME]))
    return np.asarray(both.to_numpy(zero_copy_only=False))


def _without_nulls(rows: pa.Table) -> tuple[pa.Table, pa.Table]:
    if not rows[SUBJECT].null_count and not rows[TIME].null_count:
        return rows, rows.slice(0, 0)
    is_whole = _is_whole(rows)
    return rows.filter(pa.array(is_whole)), rows.filter(pa.array(~is_whole))


def _slots_of(program: Program, rows: pa.Table) -> Values:
    """The slots of rows, without overflow however far away a time is."""
    times = pc.cast(rows[TIME], pa.int64()).to_numpy()
    far = int(np.count_nonzero((times <= -_FAR) | (times >= _FAR)))
    if far:
        raise BindingError(
            f"{counted(far, 'row')} with a time some 70,000 years away; filter them out before "
            "protect"
        )
    return np.asarray((times - program.start) // program.slot)


def gathered_schema(program: Program, subject: pa.DataType) -> pa.Schema:
    """The columns that a step takes in."""
    return pa.schema(
        [
            pa.field(SUBJECT, subject),
            pa.field(SLOT, pa.int64()),
            pa.field(ROWS, pa.int64()),
            pa.field(IS_PUBLIC, pa.bool_()),
            *(pa.field(name, pa.int64()) for name in bit_names(program.words)),
        ]
    )


def table_of(slots: Slots, subjects: pa.Array) -> pa.Table:
    """Slots as a table, with the subject of each."""
    named = zip(bit_names(slots.bits.shape[1]), slots.bits.T, strict=True)
    return pa.table(
        {
            SUBJECT: subjects,
            SLOT: pa.array(slots.slot),
            ROWS: pa.array(slots.rows),
            IS_PUBLIC: pa.array(slots.is_public),
            **{name: pa.array(np.ascontiguousarray(word)) for name, word in named},
        }
    )


def slots_in(table: pa.Table, subject: Values) -> Slots:
    """What `table_of` wrote, with these numbers for its subjects."""
    names = [name for name in table.column_names if name.startswith("__ppm_bits_")]
    return Slots(
        subject,
        table[SLOT].to_numpy(),
        np.stack([table[name].to_numpy() for name in names], axis=1),
        table[ROWS].to_numpy(),
        table[IS_PUBLIC].to_numpy(),
    )
