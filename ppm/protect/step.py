"""The decision: what a slot tells each community, once it is closed. One pure function on columns.

Nothing here depends on a match, a clock or a batch border. A slot is released when the watermark
has passed its end, with a draw for every known subject, whether anything happened or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ppm.cep.step import BITS_IN_A_COLUMN, Step, Turn
from ppm.dp.mechanism import Values, Words
from ppm.dp.source import Source, Stream, source_of
from ppm.errors import BindingError, BudgetError, counted
from ppm.protect.open_slots import (
    ROWS,
    SLOT,
    SUBJECT,
    Slots,
    gather,
    gathered_schema,
    slots_in,
)
from ppm.protect.program import Program, Reader, Unit
from ppm.protect.state import NEVER, State, from_bytes, new_state, to_bytes
from ppm.protect.stretch import Stretch, stretches

TOLD = "__ppm_told"
"""What a released row tells: the number of a type and a community; below 0, a loss."""
LOSSES = ("late", "nulls", "unknown", "before", "after")
"""What gets lost, each with a number below 0: rows of slots that were released already, rows
without subject or time, private rows of unknown subjects, private rows from before the policy's
start, and private rows from after the end of a batch."""
MOST_BITS = 1 << 32
"""A step that would have to draw more at once has a wrong start, or a row from the future."""


@dataclass(frozen=True)
class Protection(Step):
    """The step of a program, as the operator calls it; sent to workers without the secret."""

    program: Program

    @property
    def source(self) -> Source:
        """Where words come from: the secret is read in the process that draws."""
        return source_of(self.program.noise)

    def packed_schema(self, rows: pa.Schema) -> pa.Schema:
        return gathered_schema(self.program, rows.field(SUBJECT).type)

    def gather(self, rows: pa.Table) -> tuple[pa.Table, Values]:
        return gather(self.program, rows)

    def begin(self, seeds: pa.Table | None) -> bytes | None:
        """The state of a shard with the declared subjects that belong to it."""
        if seeds is None:
            return None
        subjects = pc.unique(pc.drop_null(seeds[SUBJECT]))
        known = new_state(subjects.type, self.program.words)
        known = known.with_subjects(subjects, self.source, since=0)
        return to_bytes(known, self.program.owner(self.source))

    def __call__(self, state: bytes | None, rows: pa.Table, watermark: int) -> Turn:
        """Take gathered rows in, and release every slot that the watermark has closed."""
        done = self.advance(state, rows, watermark, is_end=False)
        wake_at = None if done.after.is_idle else self.program.end_of(done.after.opened)
        released = chain(done.losses(rows.schema), done.told)
        return Turn(to_bytes(done.after, self.program.owner(self.source)), released, wake_at)

    def finish(self, state: bytes | None, rows: pa.Table, end: int) -> Iterator[pa.Table]:
        """Release every slot up to an end, after which nothing will be told."""
        done = self.advance(state, rows, end, is_end=True)
        return chain(done.losses(rows.schema), done.told)

    def advance(
        self, blob: bytes | None, rows: pa.Table, watermark: int, *, is_end: bool
    ) -> Advanced:
        """Take gathered rows in; a watermark was reached before they came, an end after them."""
        program, subject_type = self.program, rows.schema.field(SUBJECT).type
        state = (
            new_state(subject_type, program.words)
            if blob is None
            else from_bytes(blob, program.owner(self.source))
        )
        closing = max(state.opened, program.first_open(watermark))
        first = state.opened if is_end else closing
        state, lost = _taken_in(program, self.source, state, rows, first)
        is_closed = state.open.slot < closing
        closed = state.open.where(is_closed)
        is_known = state.since[closed.subject] <= closed.slot
        lost["unknown"] += int(closed.rows[~is_known].sum())
        bits = sum(len(unit.types) for unit in program.units)
        refuse_too_many(state, closing, draws=bits)
        told = _released(program, self.source, state, closed.where(is_known), closing)
        after = replace(state, opened=closing, open=state.open.where(~is_closed))
        if is_end:
            lost["after"] = int(after.open.rows.sum())
        has_open = np.zeros(len(after.subjects), np.bool_)
        has_open[after.open.subject] = True
        nobody = (after.since == NEVER) & ~has_open
        return Advanced(state, closing, after.without(nobody), lost, told)


@dataclass(frozen=True, slots=True)
class Advanced:
    """What some rows and a watermark led to."""

    before: State
    """With the rows taken in, and with no slot told yet."""
    closing: int
    """The slot up to which all are told now."""
    after: State
    lost: dict[str, int]
    """How much of each kind of loss there was."""
    told: Iterator[pa.Table] = field(repr=False)
    """What is told, piece by piece as it is asked for."""

    def losses(self, rows: pa.Schema) -> Iterator[pa.Table]:
        """One row for each kind of loss that there was."""
        subject = rows.field(SUBJECT).type
        kinds, counts = numbered_losses(self.lost)
        if len(kinds):
            columns = [pa.nulls(len(kinds), subject), pa.array(counts), pa.array(kinds, pa.int32())]
            yield pa.Table.from_arrays(columns, schema=released_schema(subject))


def numbered_losses(lost: dict[str, int]) -> tuple[Values, Values]:
    """Each kind of loss that there was as a number below 0, and how much of it."""
    found = [(-1 - LOSSES.index(name), count) for name, count in lost.items() if count]
    kinds, counts = np.array(found, np.int64).reshape(-1, 2).T
    return kinds, counts


def released_schema(subject: pa.DataType) -> pa.Schema:
    """The columns that a step gives out: whose, which slot, and what is told."""
    return pa.schema(
        [pa.field(SUBJECT, subject), pa.field(SLOT, pa.int64()), pa.field(TOLD, pa.int32())]
    )


def _taken_in(
    program: Program, source: Source, state: State, rows: pa.Table, first_open: int
) -> tuple[State, dict[str, int]]:
    """The state with new rows; what cannot be told any more is counted."""
    losses = dict.fromkeys(LOSSES, 0)
    if not rows.num_rows:
        return state, losses
    is_null = pc.is_null(rows[SUBJECT]).to_numpy(zero_copy_only=False)
    losses["nulls"] = int(rows[ROWS].to_numpy()[is_null].sum())
    if losses["nulls"] and not program.drops_nulls:
        raise BindingError(
            f"{counted(losses['nulls'], 'row')} without subject or time; fill these columns, or "
            "drop and count such rows with on_null: drop in the policy's stream"
        )
    rows = rows.filter(pa.array(~is_null)) if is_null.any() else rows
    if not program.knows_subjects:
        state = state.with_subjects(_strangers(state, rows), source, since=NEVER)
    slots = slots_in(rows, state.places_of(rows[SUBJECT]))
    is_before = slots.slot < 0
    losses["before"] = int(slots.rows[is_before].sum())
    is_late = slots.slot < first_open
    losses["late"] = int(slots.rows[is_late & ~is_before].sum())
    is_stranger = slots.subject < 0
    losses["unknown"] = int(slots.rows[is_stranger & ~is_late & ~is_before].sum())
    if not program.knows_subjects:
        # One from before the start, or a late one, counts from the first slot that is open.
        since = np.maximum(slots.slot, first_open)[slots.is_public]
        state = state.with_public(slots.subject[slots.is_public], since)
    is_kept = ~is_late & ~is_before & ~is_stranger & (slots.rows > 0)
    return replace(state, open=state.open.with_others(slots.where(is_kept))), losses


def _strangers(state: State, rows: pa.Table) -> pa.Array:
    """The subjects of rows that a state does not have."""
    named = pc.unique(rows[SUBJECT])
    return named.filter(pa.array(state.places_of(named) < 0))


def refuse_too_many(state: State, closing: int, *, draws: int) -> None:
    """A `BudgetError` if closed slots, each with so many draws, are too many at once."""
    known = state.since[state.since < closing]
    slots = closing - np.maximum(known, state.opened)
    bits = float(slots.sum(dtype=np.float64)) * draws
    if bits > MOST_BITS:
        raise BudgetError(
            f"up to {counted(int(slots.max()), 'slot')} of {counted(len(known), 'subject')} would "
            f"be released at once in one shard, {bits:,.0f} bits: from: lies too long before the "
            "data, or a row from the far future has closed every slot before it; filter such rows "
            "out before protect, set from: to a slot near the data, and start over with a new "
            "checkpoint folder"
        )


def _released(
    program: Program, source: Source, state: State, closed: Slots, closing: int
) -> Iterator[pa.Table]:
    """What closed slots of all known subjects tell, in order of slot, subject and kind.

    Some slots at a time, so that a long backlog leaves in pieces that fit into memory.
    """
    if not program.units:
        return
    streams = [[source.stream(purpose) for purpose in unit.purposes] for unit in program.units]
    kinds = len(program.types) * len(program.communities)
    for stretch in stretches(state, closing):
        truth = closed.where(stretch.has(closed.slot))
        place = stretch.places(truth.subject, truth.slot)
        found = [
            told
            for unit, words in zip(program.units, streams, strict=True)
            for told in _told(program, unit, words, stretch, truth, place)
        ]
        whose, slots, told = (np.concatenate(parts) for parts in zip(*found, strict=True))
        order = stretch.order(whose, slots, told, kinds)
        columns = [
            stretch.subjects.take(pa.array(whose[order])),
            pa.array(slots[order]),
            pa.array(told[order], pa.int32()),
        ]
        yield pa.Table.from_arrays(columns, schema=released_schema(stretch.subjects.type))


def _told(
    program: Program,
    unit: Unit,
    streams: list[Stream],
    stretch: Stretch,
    truth: Slots,
    place: Values,
) -> Iterator[tuple[Values, Values, Values]]:
    """For each reader and type of a unit: whose, in which slot, and what is told."""
    vectors = np.zeros(len(stretch), np.int64)
    vectors[place] = _vectors(unit, truth)

    def draw(stage: int, values: Values) -> Words:
        return stretch.words(streams[stage], values)

    releases = unit.release(vectors, draw)
    for reader in unit.readers:
        for type_, shown in _shown(unit, reader, releases[reader.release], stretch.slots):
            number = type_ * len(program.communities) + reader.community
            yield stretch.whose[shown], stretch.slots[shown], np.full(len(shown), number)


def _vectors(unit: Unit, truth: Slots) -> Values:
    """The true bits of a unit's types as one number."""
    vectors = np.zeros(len(truth), np.int64)
    for bit, type_ in enumerate(unit.types):
        word, place = divmod(type_, BITS_IN_A_COLUMN)
        vectors |= (truth.bits[:, word] >> place & 1) << bit
    return vectors


def _shown(
    unit: Unit, reader: Reader, vectors: Values, slots: Values
) -> Iterator[tuple[int, Values]]:
    """Each type that a reader may see, with the places where it is shown."""
    is_open = None if reader.stop is None else reader.stop.is_open(slots)
    for bit, type_ in enumerate(unit.shown(reader.release)):
        is_shown = (vectors >> bit & 1).astype(np.bool_)
        if is_open is not None:
            is_shown &= is_open
        yield type_, np.flatnonzero(is_shown)
