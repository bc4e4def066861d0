"""The reference interpreter: what a pattern means, in plain Python, event by event.

It is slow and meant to be read. Whatever runs fast is tested against it. The rules R1 to R14 that
comments cite are explained in docs/patterns.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ppm.cep.machine import Machine, machine_of
from ppm.cep.match import Event, EventId, Match
from ppm.cep.note import Cause, Observer, What, unobserved
from ppm.cep.run import (
    END_OF_TIME,
    Arrival,
    Run,
    begin,
    gap_end,
    is_complete,
    next_moment,
    note_on,
    offer,
    starts,
    window_end,
)
from ppm.cep.skip import Finished, settle
from ppm.spec.expression.kinds import ColumnType
from ppm.spec.pattern import Pattern
from ppm.spec.zone import Zone


@dataclass(frozen=True, slots=True)
class State:
    """All that is remembered of one subject between two batches."""

    waiting: tuple[Event, ...] = ()
    """Events that the watermark has not reached."""
    watermark: int | None = None
    processed: int = 0
    """How many events were processed."""
    relevant: int = 0
    """How many of them the pattern wants."""
    runs: tuple[Run, ...] = ()
    held: tuple[Finished, ...] = ()
    """Matches that a run with an earlier start may still drop."""
    ended: frozenset[tuple[tuple[int, int], ...]] = frozenset()
    """The events of live runs that were a match already, so that they are no time-out later."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What a batch led to."""

    state: State
    completed: tuple[Finished, ...]
    """Matches, in the order in which they are told."""
    timed_out: tuple[Finished, ...]
    late: tuple[Event, ...]
    """Events at or before the watermark, which came too late to count (R14)."""


def find(
    pattern: Pattern,
    events: Iterable[Event],
    *,
    zones: Mapping[str, Zone],
    timezone: str,
    watermark: int | None = None,
    subject: str = "",
    timed_out: bool = False,
    types: Mapping[str, ColumnType] | None = None,
    tell: Observer = unobserved,
) -> list[Match]:
    """All matches of a pattern in the events of one subject.

    Only events up to the watermark count, and time goes on to it; without one, to the end of time.
    With `timed_out`, partial matches whose time ran out are listed, too.

    >>> from ppm.spec.build import pattern
    >>> door = (
    ...     pattern("door").event("opens", "is_open").event("shuts", "NOT is_open")
    ...     .begin("opens").followed_by("shuts").within("5 s").build()
    ... )
    >>> rows = [Event(1, 0, {"is_open": True}), Event(2, 4_000_000, {"is_open": False})]
    >>> [match] = find(door, rows, zones={}, timezone="UTC")
    >>> match.first.id, match.last.id
    (1, 2)
    """
    machine = machine_of(pattern, zones=zones, timezone=timezone, types=types)
    until = END_OF_TIME if watermark is None else watermark
    progress = process(machine, State(), events, watermark=until, tell=tell)
    return matches_of(machine, progress, subject=subject, timed_out=timed_out)


def process(
    machine: Machine,
    state: State,
    arrivals: Iterable[Event],
    *,
    watermark: int,
    tell: Observer = unobserved,
) -> Progress:
    """Take in events in any order, and go on to a watermark (R14)."""
    arrived = list(arrivals)
    reached = state.watermark
    late = [event for event in arrived if reached is not None and event.time <= reached]
    in_time = [event for event in arrived if reached is None or event.time > reached]
    waiting = sorted([*state.waiting, *in_time], key=lambda event: event.order)
    _refuse_twins(waiting)
    step = _Step(machine, tell)
    state = replace(state, waiting=tuple(event for event in waiting if event.time > watermark))
    for event in waiting:
        if event.time <= watermark:
            # R13: time goes first, so what expires at the event's time never sees the event.
            state = step.at_event(step.to_time(state, event.time), event)
    # R14: then to the watermark itself, so that time-outs need no further event (Q6).
    state = step.to_time(state, watermark)
    state = replace(state, watermark=watermark if reached is None else max(watermark, reached))
    return Progress(state, tuple(step.completed), tuple(step.timed_out), tuple(late))


def matches_of(
    machine: Machine, progress: Progress, *, subject: str = "", timed_out: bool = False
) -> list[Match]:
    """What a batch led to, as matches of a subject; those that timed out come last."""
    matches = [_match(machine, one, subject) for one in progress.completed]
    if timed_out:
        partial = (_match(machine, one, subject) for one in progress.timed_out)
        matches += [replace(match, kind="timed_out") for match in partial]
    return matches


class _Step:
    """Moves a state by one event or to a time, and collects what comes of it."""

    def __init__(self, machine: Machine, tell: Observer) -> None:
        self._machine = machine
        self._tell = tell
        self.completed: list[Finished] = []
        self.timed_out: list[Finished] = []

    def at_event(self, state: State, event: Event) -> State:
        """Offer an event to every run, and to a fresh start (R1, R2)."""
        machine = self._machine
        arrival = Arrival(event, state.processed, state.relevant)
        forks = [
            fork for run in state.runs for fork in offer(machine, run, arrival, tell=self._tell)
        ]
        for place in starts(machine):
            forks += begin(machine, place, arrival, tell=self._tell)
        finished = tuple(f for f in forks if is_complete(machine, f, event.time))
        alive = tuple(f for f in forks if not is_complete(machine, f, event.time))
        state = replace(
            state,
            processed=state.processed + 1,
            relevant=state.relevant + machine.is_relevant(event.row),
            runs=alive,
        )
        return self._settled(state, finished, event.time, event)

    def to_time(self, state: State, time: int) -> State:
        """Let time pass: absences become certain, and windows and gaps end, one after another."""
        machine = self._machine
        while state.runs:
            now = min(next_moment(machine, run) for run in state.runs)
            if now > time or now == END_OF_TIME:
                break
            due = [run for run in state.runs if next_moment(machine, run) == now]
            finished = tuple(run for run in due if is_complete(machine, run, now))
            over = [run for run in due if not is_complete(machine, run, now)]
            alive = tuple(run for run in state.runs if next_moment(machine, run) != now)
            state = replace(state, runs=alive)
            self._time_out(state, over, finished, now)
            state = self._settled(state, finished, now, None)
        return state

    def _settled(
        self, state: State, finished: tuple[Run, ...], now: int, event: Event | None
    ) -> State:
        """Tell the matches that can be told now."""
        fresh = tuple(Finished(run, now) for run in finished)
        for one in fresh:
            self._note(one.run, What.COMPLETED, now, event)
        settled = settle(self._machine, state.runs, (*state.held, *fresh))
        for one in settled.told:
            if one in state.held:
                self._note(one.run, What.EMITTED, now, event)
        for one in settled.held:
            if one not in state.held:
                self._note(one.run, What.HELD, now, event)
        for run in settled.dropped:
            self._note(run, What.DROPPED, now, event)
        self.completed += settled.told
        ended = state.ended | {_events(run) for run in finished}
        # No run can come to have the events of another one: only those that live can end once more.
        ended &= {_events(run) for run in settled.runs}
        return replace(state, runs=settled.runs, held=settled.held, ended=ended)

    def _time_out(self, state: State, over: list[Run], finished: tuple[Run, ...], now: int) -> None:
        """Runs whose time is up are told once, unless their events live on in another run.

        Those of one moment are told by rank, as matches are.
        """
        for run in over:
            is_gap = gap_end(self._machine, run) < window_end(self._machine, run)
            self._note(run, What.KILLED, now, None, Cause.GAP if is_gap else Cause.WINDOW)
        told = state.ended | {_events(run) for run in (*state.runs, *finished)}
        fresh = {_events(run): Finished(run, now) for run in over if _events(run) not in told}
        self.timed_out += sorted(fresh.values(), key=lambda one: one.rank)

    def _note(
        self, run: Run, what: What, now: int, event: Event | None, cause: Cause | None = None
    ) -> None:
        self._tell(note_on(self._machine, run, what, time=now, event=event, cause=cause))


def _events(run: Run) -> tuple[tuple[int, int], ...]:
    return tuple((one.step, one.position) for one in run.taken)


def _match(machine: Machine, finished: Finished, subject: str) -> Match:
    taken: dict[int, list[Event]] = {}
    for one in finished.run.taken:
        taken.setdefault(one.step, []).append(one.event)
    stages = tuple((machine.steps[step].name, tuple(events)) for step, events in taken.items())
    return Match(machine.pattern, subject, stages, finished.at)


def _refuse_twins(events: list[Event]) -> None:
    seen: set[EventId] = set()
    for event in events:
        if event.id in seen:
            raise ValueError("two events have one id; the ids of a subject must be unique")
        seen.add(event.id)
