"""A stream with canaries: subject-slots into which a private match was planted, or not, by a coin.

Both worlds are in one stream. What is not a canary's is the same in both, and known to an attacker.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ppm.audit.invented import Inventor, Subject
from ppm.audit.rows import Columns, Row, columns_of
from ppm.protect.plan import Plan
from ppm.protect.spans import slots_spanned
from ppm.spec.instant import microseconds_since_1970
from ppm.spec.pattern import Pattern

FILES = 3
"""Into how many micro-batches a stream is cut."""
_MOST_EACH = 4
"""How many canaries a subject has at most."""
_SLOTS = 24
"""How many slots the canaries of one subject may take; else it has a single one."""
_FIRST = 2
"""The first slot of a canary: in slot 0 subjects become known, and slot 1 is its neighbour."""
_ROUNDS = 2
"""How many rows of each type are planted at most."""


@dataclass(frozen=True, slots=True)
class Canary:
    """One subject-slot, and on which side its coin fell."""

    subject: Subject
    slot: int
    is_planted: bool


@dataclass(frozen=True)
class Grid:
    """Where rows stand: whose, in which slot, and how many microseconds after its start."""

    subject: int
    """The place of the subject's column."""
    time: int
    """The place of the time's column."""
    start: int
    """Where slot 0 starts, in microseconds since 1970."""
    slot: int
    """How long a slot is, in microseconds."""

    def place_of(self, row: Row) -> tuple[Subject, int, int]:
        """Where a row stands."""
        subject, time = row[self.subject], row[self.time]
        assert isinstance(subject, str | int)
        assert isinstance(time, int)
        return subject, *divmod(time - self.start, self.slot)

    def values_of(self, row: Row) -> Row:
        """All that a row holds besides."""
        return tuple(one for at, one in enumerate(row) if at not in (self.subject, self.time))

    def moment(self, slot: int, offset: int) -> int:
        """A time in microseconds since 1970."""
        return self.start + slot * self.slot + offset


@dataclass(frozen=True)
class Planting:
    """A stream that never happened, and what is known of it."""

    columns: Columns
    grid: Grid
    files: tuple[tuple[Row, ...], ...] = field(repr=False)
    """Its rows by time, one file for each micro-batch."""
    ends: tuple[int, ...]
    """The slot after the last one of each file."""
    canaries: Mapping[str, tuple[Canary, ...]] = field(repr=False)
    """Those of each pattern, in the order in which coins were thrown."""
    subjects: tuple[Subject, ...] | None = field(repr=False)
    """The declared subjects; None if each becomes known by its first row, which is public."""
    public: frozenset[tuple[Subject, int, int]] = field(repr=False)
    """Where public rows stand; no private row and no stand-in stands there."""

    def file_of(self, slot: int) -> int:
        """The file that holds the rows of a slot."""
        return int(np.searchsorted(self.ends, slot, side="right"))


@dataclass(frozen=True, slots=True)
class Layout:
    """Where canaries lie: so far apart that no match reaches from one to the next."""

    spacing: int
    each: int
    """How many canaries a subject has."""

    @classmethod
    def of(cls, plan: Plan, patterns: Sequence[str]) -> Layout:
        """The layout for some patterns of a plan."""
        spans = [slots_spanned(plan.pattern(name), plan.slot) for name in patterns]
        longest = max(_SLOTS if span is None else span for span in spans)
        # The slots before and after are looked at as well, and must be of one canary alone.
        spacing = max(3, longest + 1)
        each = min(_MOST_EACH, _SLOTS // spacing)
        return cls(spacing, each) if each > 1 else cls(3, 1)

    @property
    def slots(self) -> int:
        """How many slots there are in all."""
        return _FIRST + self.spacing * self.each + 1

    def subjects(self, canaries: int) -> int:
        """How many subjects it takes."""
        return -(-canaries // self.each)

    def places(self, canaries: int, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
        """For so many canaries: the number of the subject, and the slot."""
        shift = rng.integers(self.spacing, size=self.subjects(canaries))
        for place in range(canaries):
            subject, turn = divmod(place, self.each)
            yield subject, _FIRST + turn * self.spacing + int(shift[subject])


def plant(
    plan: Plan, patterns: Sequence[str], *, canaries: int, rng: np.random.Generator
) -> Planting:
    """A stream with so many canaries of each pattern, each pattern with subjects of its own."""
    stream, columns = plan.policy.stream, columns_of(plan)
    names, start = [*columns], microseconds_since_1970(stream.from_)
    grid = Grid(names.index(stream.subject), names.index(stream.time), start, plan.slot)
    inventor = Inventor(plan, columns, rng)
    layout, planter = Layout.of(plan, patterns), _Planter(inventor, grid, rng)
    found: dict[str, tuple[Canary, ...]] = {}
    subjects = [inventor.subject(0)]  # its rows are the stream's clock
    for name in patterns:
        first = len(subjects)
        subjects += [inventor.subject(first + one) for one in range(layout.subjects(canaries))]
        coins = rng.random(canaries) < 0.5
        found[name] = tuple(
            Canary(subjects[first + number], slot, bool(coin))
            for (number, slot), coin in zip(layout.places(canaries, rng), coins, strict=True)
        )
        planter.plant(plan.pattern(name), found[name])
    greeted = [planter.greet(one) for one in subjects if stream.subjects == "seen"]
    ends = tuple(layout.slots * (number + 1) // FILES for number in range(FILES))
    return Planting(
        columns=columns,
        grid=grid,
        files=planter.files(ends, subjects[0], lateness=stream.lateness.microseconds),
        ends=ends,
        canaries=found,
        subjects=None if greeted and all(greeted) else tuple(subjects),
        public=frozenset(planter.public),
    )


class _Planter:
    """Rows by slot, while a stream is made."""

    def __init__(self, inventor: Inventor, grid: Grid, rng: np.random.Generator) -> None:
        self._inventor, self._grid, self._rng = inventor, grid, rng
        self._rows: dict[int, list[Row]] = {}
        self.public: set[tuple[Subject, int, int]] = set()

    def plant(self, pattern: Pattern, canaries: Sequence[Canary]) -> None:
        """Rows of every type where the coin says so, and public rows whatever it says."""
        stages = [stage.event for stage in pattern.all_stages if stage.event is not None]
        order = [*dict.fromkeys([*stages, *pattern.events])]
        for canary in canaries:
            if self._rng.random() < 0.5:
                self.greet(canary.subject, canary.slot)
            types = order * int(self._rng.integers(1, _ROUNDS + 1))
            times = sorted(self._grid.moment(canary.slot, self._offset()) for _ in types)
            if canary.is_planted:
                self._rows.setdefault(canary.slot, []).extend(
                    self._inventor.private(type_, canary.subject, time)
                    for type_, time in zip(types, times, strict=True)
                )

    def greet(self, subject: Subject, slot: int = 0) -> bool:
        """A public row, from which on a subject is known; whether there is one."""
        offset = self._offset() + 1  # at an odd microsecond, where no private row is
        row = self._inventor.public(subject, self._grid.moment(slot, offset))
        if row is not None:
            self._rows.setdefault(slot, []).append(row)
            self.public.add((subject, slot, offset))
        return row is not None

    def files(
        self, ends: Sequence[int], clock: Subject, *, lateness: int
    ) -> tuple[tuple[Row, ...], ...]:
        """All rows; the last one of each file moves the watermark, whatever canaries do."""
        found, first = [], 0
        for end in ends:
            rows = [row for slot in range(first, end) for row in self._rows.get(slot, ())]
            moments = [self._grid.moment(end, -1)]
            if end == ends[-1]:  # and the last of all closes every slot
                moments.append(self._grid.moment(end + 1, lateness + 1_000))
            rows += [self._inventor.any(clock, moment) for moment in moments]
            found.append(tuple(sorted(rows, key=lambda row: self._grid.place_of(row)[1:])))
            first = end
        return tuple(found)

    def _offset(self) -> int:
        """An even number of microseconds after a slot's start, and never 0."""
        return 2 * int(self._rng.integers(1, self._grid.slot // 2))
