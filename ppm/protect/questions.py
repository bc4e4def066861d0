"""The queries of one consumer, made ready to be answered where the rows are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from ppm.cep.columnar.columns import Layout
from ppm.cep.columnar.watch import CONTENT, TWIN, Watched
from ppm.cep.detection import meaning_of
from ppm.dp.filter import Filter
from ppm.dp.mechanism import Values
from ppm.dp.mechanisms.binary import BinaryResponse
from ppm.dp.mechanisms.laplace import DiscreteLaplace
from ppm.dp.purpose import Purpose
from ppm.protect.answer_noise import noise_of
from ppm.protect.open_slots import SUBJECT, TIME, Flags

EVENT_ID, IS_TOLD = "__ppm_id", "__ppm_is_told"
"""The id of a row, and whether the community sees the row."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One query, and how its answers are told."""

    name: str
    ask: str
    """matches, existence or count, as the consumer declares it."""
    epsilon: float | None = None
    """None for what costs nothing: rows that are told anyway, or that no private row can change."""
    purpose: Purpose | None = None
    """What its noise draws words for."""
    cap: int = 1
    """For a count: how many matches of one subject count in a slot."""
    cells: int = 2
    """For a count with noise: the numbers that it may come out as, from 0 on."""
    stop: Filter | None = None
    """The slots that the budget pays for; None for all of them."""

    @property
    def noise(self) -> BinaryResponse | DiscreteLaplace | None:
        """What its answers go through. Only parameters travel to workers: tables can be large."""
        if self.epsilon is None:
            return None
        return noise_of(self.ask, self.epsilon, self.cap, self.cells)


@dataclass(frozen=True, slots=True)
class StandIns:
    """Rows that are told of private types, as the community sees them."""

    rows: pa.Table = field(repr=False)
    """One for each private type, without subject and time."""
    ranks: tuple[int, ...]
    """For each of them, what it comes after in its slot: the order in which a query asks for them.

    Stand-ins of one slot have one time, so their order says nothing, and a query is answered as if
    it were the one that it asks for."""

    def of(self, subjects: pa.Array, times: Values, types: Values, side: Side) -> pa.Table:
        """The rows of some subjects, with their bits."""
        rows = self.rows.take(pa.array(types))
        rows = rows.append_column(side.subject, subjects)
        rows = rows.append_column(side.time, pa.array(times, pa.timestamp("us", "UTC")))
        ranks = np.array(self.ranks, np.int64)[types]
        rows = side.watched.with_bits(rows.append_column(CONTENT, pa.array(ranks)))
        return rows.append_column(TWIN, pa.array(np.zeros(len(types), np.int64)))


@dataclass(frozen=True)
class Side:
    """Queries that look at the same rows: those on the truth that pay, those that are free, or one
    on what is told."""

    watched: Watched
    """Their patterns, each under the name of its query."""
    numbers: tuple[int, ...]
    """For each of them, the place of its query among all."""
    subject: str
    time: str
    """What the stream calls them."""
    has_ids: bool
    """Whether rows of one moment are in the order of their ids."""
    is_told: bool = False
    """Whether it looks at what the community is told."""
    is_paid: bool = False
    """Whether private rows can change its answers: then no limit may stop it that they can reach.
    Its patterns are such that what they need grows with the number of rows, and not faster."""
    stand_ins: StandIns | None = field(default=None, repr=False)

    @property
    def layout(self) -> Layout:
        """Rows of one moment are in the order of their ids, and then of what they hold."""
        if self.has_ids:
            return Layout(self.subject, self.time, EVENT_ID, twin=CONTENT)
        return Layout(self.subject, self.time, CONTENT, twin=TWIN)

    @property
    def view(self) -> str:
        """Whose eyes it sees columns with: they may differ."""
        return "told" if self.is_told else "truth"

    @property
    def columns(self) -> dict[str, str]:
        """What conditions on earlier events read, and how it is called on its way."""
        read = [one for one in self.watched.columns if one not in (self.subject, self.time)]
        return {name: f"__ppm_{self.view}_of_{name}" for name in read}

    @property
    def bits(self) -> dict[str, str]:
        """The columns of bits, and how they are called on their way."""
        said = f"{self.view}_{self.numbers[0]}"
        return {one: f"__ppm_{said}{one[len('__ppm') :]}" for one in self.watched.bit_columns}

    @property
    def content(self) -> str:
        """How the hash of a whole row is called on its way."""
        return f"__ppm_{self.view}_content"

    @property
    def event_id(self) -> str:
        """How the id of a row is called on its way."""
        return f"__ppm_{self.view}_id"

    @property
    def travelling(self) -> dict[str, str]:
        """The columns that the engine takes, with those that they come in."""
        ids = {EVENT_ID: self.event_id} if self.has_ids else {}
        own = {self.subject: SUBJECT, self.time: TIME, **ids, CONTENT: self.content}
        return own | self.columns | self.bits

    def is_wanted(self, rows: pa.Table) -> Flags:
        """Which rows can matter to these queries."""
        wanted = np.full(rows.num_rows, self.watched.needs_every_event)
        for name in self.bits.values():
            wanted |= rows[name].to_numpy() != 0
        if self.is_told:
            wanted &= rows[IS_TOLD].to_numpy(zero_copy_only=False)
        return wanted

    def events(self, rows: pa.Table) -> pa.Table:
        """Those rows, as the engine takes them."""
        wanted = rows.filter(pa.array(self.is_wanted(rows)))
        if not self.is_told:
            wanted = wanted.filter(pa.array(self._is_new(wanted)))
        events = wanted.select([*self.travelling.values()]).rename_columns([*self.travelling])
        return events.append_column(TWIN, pa.array(np.zeros(events.num_rows, np.int64)))

    def invented(
        self, subjects: pa.Array, times: Values, types: Values, like: pa.Table
    ) -> pa.Table:
        """Stand-ins among the events of a slot."""
        assert self.stand_ins is not None
        rows = self.stand_ins.of(subjects, times, types, self)
        return rows.select(like.column_names).cast(like.schema)

    def _is_new(self, rows: pa.Table) -> Flags:
        """Whether a row is the first of its kind: one that comes twice changes nothing.

        Kinds are told apart by all bits and all that the queries read, besides the hash of the row,
        so that no other row, made up to have its hash, can take its place.
        """
        bits = [name for name in rows.column_names if pa.types.is_integer(rows[name].type)]
        bits = [name for name in bits if name.startswith("__ppm_")]
        keys = [*dict.fromkeys([*self.travelling.values(), *bits])]
        place = rows.select(keys).append_column("place", pa.array(np.arange(rows.num_rows)))
        first = place.group_by(keys).aggregate([("place", "min")])["place_min"].to_numpy()
        is_new = np.zeros(rows.num_rows, np.bool_)
        is_new[first] = True
        return is_new


@dataclass(frozen=True)
class Questions:
    """All queries of one consumer."""

    consumer: str
    asked: tuple[Asked, ...]
    sides: tuple[Side, ...]

    @property
    def of_told(self) -> bool:
        """Whether something is asked of what the community is told."""
        return any(side.is_told for side in self.sides)

    @property
    def counts(self) -> tuple[int, ...]:
        """The queries whose answers are sums over subjects."""
        return tuple(place for place, one in enumerate(self.asked) if one.ask == "count")

    @property
    def draws(self) -> int:
        """How many answers a subject-slot has."""
        return sum(one.ask == "existence" for one in self.asked)

    @cached_property
    def meaning(self) -> str:
        """A digest of all that decides what is answered."""
        said = repr((self.consumer, self.asked, [*self._parts()]))
        return hashlib.blake2b(said.encode(), digest_size=8).hexdigest()

    def _parts(self) -> Iterator[tuple[object, ...]]:
        for side in self.sides:
            meanings = [meaning_of(one) for one in side.watched.patterns]
            yield side.view, side.numbers, side.has_ids, meanings
