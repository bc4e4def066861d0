"""What a pattern is looked for in, and what is found: events of one subject, and matches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ppm.cep.identity import match_name

EventId: TypeAlias = int | str


@dataclass(frozen=True, slots=True)
class Event:
    """A row of one subject.

    Its values are left out of `repr`: whatever prints an event must not print a row.

    >>> Event("a1", time=5, row={"price": 3})
    Event(id='a1', time=5)
    """

    id: EventId
    """Unique among the subject's events; decides the order of events of equal time."""
    time: int
    """When it happened: microseconds since 1970-01-01T00:00Z."""
    row: Mapping[str, object] = field(default_factory=dict, repr=False, hash=False)
    """Its values by column. A time with a zone is an aware `datetime`, one without a naive one."""

    @property
    def order(self) -> tuple[int, int, str]:
        """Events are taken in this order (R14), whichever way they arrived."""
        return (self.time, 0, self.id) if isinstance(self.id, str) else (self.time, self.id, "")


@dataclass(frozen=True, slots=True)
class Match:
    """Events that make a pattern, or that would have, had the time not run out."""

    pattern: str
    """The pattern's name."""
    subject: str = field(repr=False)
    """Whose events they are."""
    stages: tuple[tuple[str, tuple[Event, ...]], ...]
    """What each stage took, in the pattern's order; a stage that took nothing is not listed."""
    at: int
    """When it was certain: the time of the completing event, or the end of a wait or window."""
    kind: Literal["match", "timed_out"] = "match"
    """A partial match whose time ran out is `timed_out`."""

    @property
    def events(self) -> tuple[Event, ...]:
        """All events in order."""
        return tuple(event for _, events in self.stages for event in events)

    @property
    def first(self) -> Event:
        """The event that the match starts with."""
        return self.events[0]

    @property
    def last(self) -> Event:
        """The last event that was taken; an absence after it takes none."""
        return self.events[-1]

    @property
    def id(self) -> str:
        """A name that stays the same when the stream is replayed, and that no other match has.

        >>> Match("p", "", (("a", (Event(1, 0),)),), at=0).id
        'bc3ebed3ebeb7ce0b59cba56271dcc7c'
        """
        taken = [(stage, e.time, e.id, 0) for stage, events in self.stages for e in events]
        return match_name(self.pattern, self.subject, taken)
