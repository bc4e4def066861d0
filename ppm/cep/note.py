"""What the interpreter tells an observer while it works; no value of a row is ever in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from ppm.cep.match import EventId


class What(StrEnum):
    """What happened to a run."""

    TAKEN = "taken"
    IGNORED = "ignored"
    FORKED = "forked"
    KILLED = "killed"
    COMPLETED = "completed"
    HELD = "held"
    EMITTED = "emitted"
    DROPPED = "dropped"


class Cause(StrEnum):
    """Why a run was killed, or an event of its type was not taken."""

    STRICT = "strict contiguity"
    TOO_EARLY = "gap not reached"
    NOT_NEXT = "not_next"
    NOT_FOLLOWED_BY = "not_followed_by"
    WINDOW = "window ended"
    GAP = "gap exceeded"


@dataclass(frozen=True, slots=True)
class Note:
    """One thing that happened to one run at one moment."""

    what: What
    time: int
    """In microseconds."""
    event: EventId | None
    """The event it happened at; None if time alone made it happen."""
    run: tuple[tuple[str, EventId], ...]
    """What the run had taken before: stages and events."""
    waits_for: str | None
    """The stage that the run was waiting for; None at the end of the pattern."""
    stage: str | None = None
    """The stage that took the event, or the absence that was broken."""
    cause: Cause | None = None
    then: tuple[str | None, ...] = ()
    """Where the run stands after a take: one stage for each fork, None for the end."""


Observer: TypeAlias = Callable[[Note], None]


def unobserved(_note: Note) -> None:
    """Nobody looks."""
