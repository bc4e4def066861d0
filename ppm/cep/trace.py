"""Why did it match, or why not? A run of the reference interpreter, told step by step.

The trace comes from the interpreter itself, which an observer listens to. It names stages, events
and times, and never a value of a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby

from ppm.cep.match import Event, EventId, Match
from ppm.cep.note import Cause, Note, What
from ppm.cep.reference import find
from ppm.errors import listed
from ppm.spec.expression.kinds import ColumnType
from ppm.spec.pattern import Pattern
from ppm.spec.zone import Zone

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_KILLED = {
    Cause.STRICT: "dies: the very next event had to be {waits_for}",
    Cause.TOO_EARLY: "dies: it came before the gap of {waits_for} was over",
    Cause.NOT_NEXT: "dies: the next event must not be {stage}",
    Cause.NOT_FOLLOWED_BY: "dies: {stage} must not come",
    Cause.WINDOW: "dies: the window ended",
    Cause.GAP: "dies: the longest gap before {waits_for} was exceeded",
}
_SAID = {
    What.FORKED: "also goes on without it, as a second run",
    What.COMPLETED: "is a match",
    What.HELD: "is held: a run with an earlier start is alive",
    What.EMITTED: "is told: no run with an earlier start is left",
    What.DROPPED: "is dropped: a match was told",
}


@dataclass(frozen=True, slots=True)
class Trace:
    """The story of a pattern on some events, as records; `str` tells it in words."""

    notes: tuple[Note, ...]
    matches: tuple[Match, ...]
    events: tuple[tuple[EventId, int], ...]
    """Every event that was processed, and its time, in order."""

    def __str__(self) -> str:
        lines: list[str] = []
        told = {
            moment: list(notes)
            for moment, notes in groupby(self.notes, key=lambda note: (note.event, note.time))
        }
        # Events at which nothing happened are listed as well: that is an answer, too.
        moments = [*told, *(moment for moment in self.events if moment not in told)]
        order = {event: place for place, (event, _) in enumerate(self.events)}
        moments.sort(key=lambda moment: (moment[1], order.get(moment[0], -1)))
        for event, time in moments:
            lines.append(f"{_clock(time)} {'time passes' if event is None else event}")
            lines += [f"  {sentence(note)}" for note in told.get((event, time), [])]
            if (event, time) not in told:
                lines.append("  nothing waits for it, and it starts nothing")
        return "\n".join(lines)


def trace(
    pattern: Pattern,
    events: Iterable[Event],
    *,
    zones: Mapping[str, Zone],
    timezone: str,
    watermark: int | None = None,
    types: Mapping[str, ColumnType] | None = None,
) -> Trace:
    """What every event did to every run of a pattern, in the events of one subject."""
    given = sorted(events, key=lambda event: event.order)
    notes: list[Note] = []
    matches = find(
        pattern,
        given,
        zones=zones,
        timezone=timezone,
        watermark=watermark,
        types=types,
        tell=notes.append,
    )
    processed = (e for e in given if watermark is None or e.time <= watermark)
    return Trace(tuple(notes), tuple(matches), tuple((e.id, e.time) for e in processed))


def sentence(note: Note) -> str:
    """What happened to a run, in words.

    >>> sentence(Note(What.IGNORED, 0, "c", (("a", "a1"),), "b"))
    '[a1], waiting for b, goes on without it'
    """
    return f"{_run(note)} {_said(note)}"


def _run(note: Note) -> str:
    if not note.run:
        return "a new run"
    taken = f"[{' '.join(str(event) for _, event in note.run)}]"
    if note.what in (What.COMPLETED, What.HELD, What.EMITTED):
        return taken
    another = "another " if note.waits_for == note.run[-1][0] else ""
    return f"{taken}, waiting for {another}{note.waits_for or 'the end'},"


def _said(note: Note) -> str:
    match note.what:
        case What.TAKEN:
            then = listed([stage or "the end" for stage in note.then])
            return f"takes it as {note.stage} and goes on to {then}"
        case What.IGNORED:
            early = f": too early for {note.waits_for}" if note.cause is Cause.TOO_EARLY else ""
            return f"goes on without it{early}"
        case What.KILLED if note.cause is not None:
            return _KILLED[note.cause].format(stage=note.stage, waits_for=note.waits_for)
    return _SAID[note.what]


def _clock(micros: int) -> str:
    """A time in UTC; what no calendar holds stays a number of microseconds."""
    try:
        moment = _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return str(micros)
    return moment.replace(tzinfo=None).isoformat() + "Z"
