"""What is believed of a slot before looking at the stream: never learnt from the stream itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from ppm.errors import counted, did_you_mean
from ppm.spec.base import FROZEN, Declaration, Refusal, Spec
from ppm.spec.instant import microseconds_since_1970
from ppm.spec.values import Duration, Identifier, Instant, Share

MOST_SETS = 1_000
"""A longer list is hardly read by anybody, and shows ever smaller groups of people."""

Source = Annotated[str, Field(min_length=1, max_length=500)]
Types = Annotated[tuple[Identifier, ...], Field(strict=False, max_length=64)]
Found = Iterator[tuple[tuple[str | int, ...], str]]


class IndependentPrior(Spec):
    """How often each type occurs; which types come together is left to chance."""

    noun: ClassVar[str] = "independent prior"

    source: Source
    """Where it comes from: public or consented history."""
    rates: Annotated[dict[Identifier, Share], Field(min_length=1), FROZEN]
    """For each event type, the share of a subject's slots in which it occurs."""


class Together(Spec):
    """In how many slots exactly these types occurred."""

    noun: ClassVar[str] = "set of types"

    types: Types
    """The types that occurred in the slot, and no others; [] for none."""
    slots: Annotated[int, Field(ge=0, le=10**15)]
    """How many slots of all subjects there were of that kind."""


class Prior(Declaration):
    """Which types came together in the slots of public or consented history."""

    noun: ClassVar[str] = "prior"

    source: Source
    """Where it comes from: public or consented history."""
    subjects: Annotated[int, Field(ge=1, le=10**12)]
    """How many people it was counted on."""
    from_: Annotated[Instant, Field(alias="from")]
    """Where the first slot of the history starts."""
    until: Instant
    """Where its last slot ends."""
    slot: Duration
    """The length of the slots that were counted."""
    of: Annotated[Types, Field(min_length=1)]
    """The event types that were counted; one that is in no set never occurred."""
    together: Annotated[tuple[Together, ...], Field(strict=False, min_length=1)]
    """Each set of types that occurred in a slot, and in how many."""

    @model_validator(mode="after")
    def _is_coherent(self) -> Self:
        faults = [*_twice(self.of, ("of",)), *self._sets(), *self._numbers()]
        if faults:
            raise Refusal(faults)
        return self

    @property
    def slots(self) -> int:
        """How many slots were counted, over all subjects."""
        return sum(row.slots for row in self.together)

    def _sets(self) -> Found:
        if len(self.together) > MOST_SETS:
            found = f"has {len(self.together)} sets"
            yield ("together",), f"{found}; at most {MOST_SETS} can be: count fewer types"
            return
        seen: dict[frozenset[str], int] = {}
        for position, row in enumerate(self.together):
            place = ("together", position, "types")
            yield from _twice(row.types, place)
            for at, name in enumerate(row.types):
                if name not in self.of:
                    hint = did_you_mean(name, self.of)
                    yield (*place, at), f"is {name}, which of does not have{hint}"
            first = seen.setdefault(frozenset(row.types), position)
            if first != position:
                yield place, f"is the set of together[{first}]; add their slots up in one of them"

    def _numbers(self) -> Found:
        if self.until <= self.from_:
            yield ("until",), f"is {self.until.isoformat()}; it must be later than from"
            return
        if self.slots == 0:
            yield ("together",), "counts no slots at all"
        elif self.slots < self.subjects:
            had = f"{counted(self.slots, 'slot')}, fewer than subjects, {self.subjects}"
            yield ("together",), f"counts {had}; each of them has one at least"
        # The history may start and end inside a slot.
        span = microseconds_since_1970(self.until) - microseconds_since_1970(self.from_)
        most = self.subjects * (-(-span // self.slot.microseconds) + 1)
        if self.slots > most:
            whose = f"{counted(self.subjects, 'subject')} can have between from and until"
            yield ("together",), f"counts {self.slots} slots; {whose} {most} at most"


def _twice(names: tuple[str, ...], place: tuple[str | int, ...]) -> Found:
    for at, name in enumerate(names):
        if name in names[:at]:
            yield (*place, at), f"is {name}, which is there already"
