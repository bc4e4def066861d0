"""Answers to registered queries: the patterns of a consumer, looked for inside the operator.

Two kinds, never mixed: on the rows that a community is told (post-processing, which costs nothing),
and on the truth, where what is told is an answer with noise. Both look at closed slots only, and a
match counts in the slot in which it became certain: so a row can change the answers of its own slot
and of those that `within` reaches from there, and of no slot before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ppm.cep.columnar.advance import State as Looking
from ppm.cep.columnar.advance import advance
from ppm.cep.columnar.remember import from_bytes as looking_from
from ppm.cep.columnar.remember import to_bytes as looking_bytes
from ppm.cep.seal import Owner, Seal, table_bytes
from ppm.cep.step import Step, Turn
from ppm.dp.mechanism import Values
from ppm.dp.source import Source, source_of
from ppm.protect.found import Found, answer_schema, answers_to
from ppm.protect.open_slots import SLOT, SUBJECT, TIME, Flags, bit_names, gather
from ppm.protect.program import Program
from ppm.protect.questions import Questions, Side
from ppm.protect.state import State, to_bytes
from ppm.protect.step import TOLD, Advanced, Protection, numbered_losses, refuse_too_many
from ppm.protect.stretch import stretches

VERSION = 1
SEAL = Seal("answer", VERSION)
_UNLIMITED = 1 << 60


@dataclass(frozen=True)
class Answering(Step):
    """The step that answers the queries of one consumer."""

    program: Program
    """Whose slots and subjects these are, and what their community is told."""
    questions: Questions

    @property
    def source(self) -> Source:
        """Where words come from: the secret is read in the process that draws."""
        return source_of(self.program.noise)

    @cached_property
    def protection(self) -> Protection:
        """Who is known, and what the community is told, if something is asked of that."""
        units = self.program.units if self.questions.of_told else ()
        return Protection(replace(self.program, units=units))

    @property
    def owner(self) -> Owner:
        """What a state belongs to."""
        return owner_of(self.program, self.questions, self.source)

    def gather(self, rows: pa.Table) -> tuple[pa.Table, Values]:
        """Of rows that only make their subject known, one for each of its slots."""
        is_plain = ~self._is_asked_for(rows) & (_private_bits(self.program, rows) == 0)
        is_plain &= _is_whole(rows)
        plain = np.flatnonzero(is_plain)
        _, first = gather(self.program, rows.take(pa.array(plain)))
        kept = np.union1d(np.flatnonzero(~is_plain), plain[first])
        return rows.take(pa.array(kept)), kept

    def begin(self, seeds: pa.Table | None) -> bytes | None:
        known = self.protection.begin(seeds)
        return None if known is None else self._closed(_Remembered(known))

    def __call__(self, state: bytes | None, rows: pa.Table, watermark: int) -> Turn:
        done, after, answers = self._advanced(state, rows, watermark, is_end=False)
        # Every slot of every shard is told of, whether anybody is known: counts wait for all.
        wake_at = self.program.end_of(done.after.opened)
        return Turn(self._closed(after), answers, wake_at)

    def finish(self, state: bytes | None, rows: pa.Table, end: int) -> Iterator[pa.Table]:
        return self._advanced(state, rows, end, is_end=True)[2]

    def _advanced(
        self, blob: bytes | None, rows: pa.Table, watermark: int, *, is_end: bool
    ) -> tuple[Advanced, _Remembered, Iterator[pa.Table]]:
        before = _Remembered() if blob is None else self._opened(blob)
        gathered, _ = gather(self.program, rows)
        done = self.protection.advance(before.known, gathered, watermark, is_end=is_end)
        refuse_too_many(done.before, done.closing, draws=self.questions.draws)
        arrived = self._arrived(rows, done, first=done.before.opened if is_end else done.closing)
        rows = arrived if before.rows is None else pa.concat_tables([before.rows, arrived])
        is_closed = self._slots(rows) < done.closing
        found, looking = self._looked(before.looking, rows.filter(pa.array(is_closed)), done)
        known = to_bytes(done.after, self.program.owner(self.protection.source))
        after = _Remembered(known, rows.filter(pa.array(~is_closed)), looking)
        subject = rows.schema.field(SUBJECT).type
        answers = answers_to(self.questions, self.source, done, found, subject)
        return done, after, chain(_losses(done.lost, subject), answers)

    def _arrived(self, rows: pa.Table, done: Advanced, *, first: int) -> pa.Table:
        """The new rows that can still matter; public ones that come too late are counted.

        Private ones are counted already.
        """
        rows = rows.filter(pa.array(_is_whole(rows) & self._is_asked_for(rows)))
        slots, is_public = self._slots(rows), _private_bits(self.program, rows) == 0
        done.lost["before"] += int((is_public & (slots < 0)).sum())
        done.lost["late"] += int((is_public & (slots >= 0) & (slots < first)).sum())
        is_open = slots >= max(0, first)
        if self.program.knows_subjects:
            # Nobody else will ever be known, and has a part in what is told alone.
            is_known = done.before.places_of(rows[SUBJECT]) >= 0
            is_open &= is_known | self._is_asked_for(rows, of_told=True)
        return rows.filter(pa.array(is_open))

    def _is_asked_for(self, rows: pa.Table, *, of_told: bool = False) -> Flags:
        """Which rows some query can want; or some query of what is told."""
        asked = np.zeros(rows.num_rows, np.bool_)
        for side in self.questions.sides:
            if side.is_told or not of_told:
                asked |= side.is_wanted(rows)
        return asked

    def _slots(self, rows: pa.Table) -> Values:
        times = pc.cast(rows[TIME], pa.int64()).to_numpy()
        return np.asarray((times - self.program.start) // self.program.slot)

    def _looked(
        self, looking: Sequence[bytes], rows: pa.Table, done: Advanced
    ) -> tuple[list[Found], tuple[bytes, ...]]:
        """All matches that are certain by the end of the last closed slot."""
        found: list[Found] = []
        if done.closing == done.before.opened:
            return found, tuple(looking)
        owner = self.owner
        sides = self.questions.sides
        states = [looking_from(one, owner) for one in looking] or [Looking() for _ in sides]
        slots, first = self._slots(rows), done.before.opened
        is_known = _is_known(done.before, rows, slots)
        for last, told in self._pieces(done):
            inside = (slots >= first) & (slots < last)
            known, every = (rows.filter(pa.array(inside & one)) for one in (is_known, True))
            for place, side in enumerate(sides):
                events = self._events(side, every if side.is_told else known, told)
                end = self.program.end_of(last - 1)
                progress = advance(
                    side.watched, states[place], events, end, layout=side.layout, **_limits(side)
                )
                states[place] = progress.state
                found += [
                    Found.of(self.program, number, matches, first)
                    for number, matches in zip(side.numbers, progress.matches, strict=True)
                ]
            first = last
        return found, tuple(looking_bytes(one, owner) for one in states)

    def _pieces(self, done: Advanced) -> Iterator[tuple[int, pa.Table | None]]:
        """Closed slots, some at a time: the slot after the last, and what the community is told."""
        told, last = done.told, done.before.opened
        if self.protection.program.units:
            for stretch, piece in zip(stretches(done.before, done.closing), told, strict=True):
                last = stretch.last
                yield last, piece
        if last < done.closing:
            yield done.closing, None

    def _events(self, side: Side, rows: pa.Table, told: pa.Table | None) -> pa.Table:
        events = side.events(rows)
        if side.is_told and told is not None and told.num_rows:
            times = self.program.start + told[SLOT].to_numpy() * self.program.slot
            types = told[TOLD].to_numpy().astype(np.int64)  # there is one community
            subjects = told[SUBJECT].combine_chunks()
            invented = side.invented(subjects, times, types, like=events)
            events = pa.concat_tables([events, invented])
        return events.combine_chunks()

    def _opened(self, state: bytes) -> _Remembered:
        [parts] = SEAL.open(state, self.owner).to_pylist()
        rows = None if parts["rows"] is None else pa.ipc.open_stream(parts["rows"]).read_all()
        return _Remembered(parts["known"], rows, tuple(parts["looking"]))

    def _closed(self, after: _Remembered) -> bytes:
        rows = None if after.rows is None else table_bytes(after.rows)
        columns = {
            "known": pa.array([after.known], pa.large_binary()),
            "rows": pa.array([rows], pa.large_binary()),
            "looking": pa.array([[*after.looking]], pa.list_(pa.large_binary())),
        }
        return SEAL.close(pa.table(columns), self.owner)


def _limits(side: Side) -> dict[str, int]:
    """No limit where private rows could reach it; such queries need memory for each row only."""
    return {"max_runs": _UNLIMITED, "max_matches": _UNLIMITED} if side.is_paid else {}


def owner_of(program: Program, questions: Questions, source: Source) -> Owner:
    """What a state of answers belongs to."""
    return dict(program.owner(source)) | {f"the consumer {questions.consumer}": questions.meaning}


@dataclass(frozen=True, slots=True)
class _Remembered:
    """All that is remembered of a shard."""

    known: bytes | None = field(default=None, repr=False)
    """Its subjects, and what happened in open slots."""
    rows: pa.Table | None = field(default=None, repr=False)
    """The rows of open slots that some query wants."""
    looking: tuple[bytes, ...] = field(default=(), repr=False)
    """For each side, what its patterns need of closed slots."""


def _is_whole(rows: pa.Table) -> Flags:
    both = pc.and_(pc.is_valid(rows[SUBJECT]), pc.is_valid(rows[TIME]))
    return np.asarray(both.to_numpy(zero_copy_only=False))


def _private_bits(program: Program, rows: pa.Table) -> Values:
    """0 where a row is of no private type."""
    bits = np.zeros(rows.num_rows, np.int64)
    for name in bit_names(program.words):
        bits |= rows[name].to_numpy()
    return bits


def _is_known(state: State, rows: pa.Table, slots: Values) -> Flags:
    """Whether the subject of each row was known in its slot."""
    place = state.places_of(rows[SUBJECT])
    is_known = place >= 0
    is_known[is_known] = state.since[place[is_known]] <= slots[is_known]
    return np.asarray(is_known)


def _losses(lost: dict[str, int], subject: pa.DataType) -> Iterator[pa.Table]:
    """One row for each kind of loss that there was."""
    kinds, counts = numbered_losses(lost)
    if len(kinds):
        none = pa.nulls(len(kinds), subject), pa.nulls(len(kinds), pa.int64())
        columns = [*none, pa.array(kinds, pa.int32()), pa.array(counts)]
        yield pa.Table.from_arrays(columns, schema=answer_schema(subject))
