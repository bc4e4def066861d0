"""What readers receive of each canary: nothing else of a run is looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from ppm.audit.features import Feature
from ppm.audit.invented import Subject
from ppm.audit.planting import Canary, Planting
from ppm.audit.rows import Kinds, Row
from ppm.audit.symbols import Outputs
from ppm.protect.compile import private_types
from ppm.protect.overlap import reached
from ppm.protect.plan import Plan

Received = tuple[str, int, Row]
"""Who received a row, in which micro-batch, and the row."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What is seen of one canary; two of them are equal if the pattern's rows are."""

    own: Hashable = field(repr=False)
    """The rows of its slot that may be the pattern's, in order: when in the slot, and columns."""
    every: Hashable = field(repr=False, compare=False)
    """The same with rows of other private types."""
    number: Hashable = field(repr=False, compare=False)
    """How many there are of all."""
    around: Hashable = field(repr=False, compare=False)
    """The pattern's rows in the slots before and after."""
    delays: Hashable = field(repr=False, compare=False)
    """How many micro-batches after those of its slot the pattern's rows came."""
    lost: Hashable = field(repr=False, compare=False)
    """How many public rows of the slot did not come."""


def together(views: Sequence[Sequence[Seen]]) -> list[Seen]:
    """What readers who compare notes see of each canary; the view of one reader as it is."""
    if len(views) == 1:
        return [*views[0]]
    names = Seen.__slots__
    return [
        Seen(*(tuple(getattr(one, name) for one in seen) for name in names))
        for seen in zip(*views, strict=True)
    ]


def _look_at(name: str) -> Feature:
    def feature(outputs: Outputs) -> Outputs:
        return [getattr(one, name) for one in outputs]

    return feature


FEATURES: Mapping[str, Feature] = {
    "rows of all types": _look_at("every"),
    "number of rows": _look_at("number"),
    "slots before and after": _look_at("around"),
    "delay": _look_at("delays"),
    "public rows": _look_at("lost"),
}
"""What is looked at besides the pattern's rows."""


@dataclass(frozen=True, slots=True)
class _Told:
    """A row that came."""

    batch: int
    offset: int = field(repr=False)
    """How long after the start of its slot it is, in microseconds."""
    values: Row = field(repr=False)
    """All other columns."""


class Observer:
    """Everything that was received, by who received it, whose it is and in which slot."""

    def __init__(self, plan: Plan, planting: Planting, received: Iterable[Received]) -> None:
        stream = plan.policy.stream
        self._plan, self._planting = plan, planting
        self._rows: dict[tuple[str, Subject, int], list[_Told]] = {}
        self._public: Counter[tuple[str, Subject, int]] = Counter()
        self._types: dict[Row, frozenset[str]] = {}
        # Which types a row is of is told by what it holds, the same at any time.
        kinds = Kinds(plan, planting.columns, but_for={stream.subject, stream.time})
        watched = {
            (canary.subject, canary.slot + step)
            for canaries in planting.canaries.values()
            for canary in canaries
            for step in (-1, 0, 1)
        }
        for community, batch, row in received:
            subject, slot, offset = planting.grid.place_of(row)
            if (subject, slot) not in watched:
                continue
            if (subject, slot, offset) in planting.public:
                self._public[community, subject, slot] += 1
                continue
            told = _Told(batch, offset, planting.grid.values_of(row))
            self._rows.setdefault((community, subject, slot), []).append(told)
            if told.values not in self._types:
                self._types[told.values] = kinds.of(row)
        self._expected = Counter((subject, slot) for subject, slot, _ in planting.public)

    def seen(self, community: str, pattern: str) -> list[Seen]:
        """What one community sees of every canary of a pattern."""
        own = reached(self._plan, self._plan.pattern(pattern).events, private_types(self._plan))
        others = {row for row, types in self._types.items() if types and types.isdisjoint(own)}
        canaries = self._planting.canaries[pattern]
        return [self._seen(community, canary, others) for canary in canaries]

    def _seen(self, community: str, canary: Canary, others: Set[Row]) -> Seen:
        before, inside, after = (
            self._rows.get((community, canary.subject, canary.slot + step), [])
            for step in (-1, 0, 1)
        )
        own = [one for one in inside if one.values not in others]
        around = [[one for one in near if one.values not in others] for near in (before, after)]
        place = canary.subject, canary.slot
        return Seen(
            own=_symbols(own),
            every=_symbols(inside),
            number=len(inside),
            around=tuple(map(_symbols, around)),
            delays=tuple(one.batch - self._planting.file_of(canary.slot) for one in own),
            lost=self._expected[place] - self._public[community, *place],
        )


def _symbols(told: Iterable[_Told]) -> tuple[tuple[int, Row], ...]:
    return tuple((one.offset, one.values) for one in told)
