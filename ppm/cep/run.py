"""One run of a pattern and one event: rules R2 to R11 and R13, close to their text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from ppm.cep.machine import Absence, Machine, Step, Wanted
from ppm.cep.match import Event
from ppm.cep.note import Cause, Note, Observer, What
from ppm.cep.rowwise import Row

END_OF_TIME = 2**127
"""Later than any event and any deadline."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """An event, and where it stands among those of the subject."""

    event: Event
    position: int
    """How many events came before it, in the order of R14: this tells it from all others."""
    relevant: int
    """How many events came before it that the pattern wants (`Machine.is_relevant`)."""


@dataclass(frozen=True, slots=True)
class Taken:
    """An event in the hands of a run."""

    step: int
    """Which step of the pattern took it."""
    event: Event
    position: int
    """Its number among the events of the subject, in the order of R14."""
    relevant: int
    """Its number among those events of the subject that the pattern wants."""


@dataclass(frozen=True, slots=True)
class Run:
    """A match in the making (R1): the place it waits at, and what it has taken."""

    step: int
    """The step it waits for; after the last one, the end of the pattern."""
    count: int = 0
    """How many events that step has taken."""
    taken: tuple[Taken, ...] = ()
    not_next: tuple[Absence, ...] = ()
    """What the very next event must not be (R9)."""
    never: tuple[Absence, ...] = ()
    """What no event may be while the run waits here (R10, R11)."""

    @property
    def start(self) -> int:
        """The position of its first event."""
        return self.taken[0].position


def starts(machine: Machine) -> tuple[Run, ...]:
    """The places that a fresh start may wait at: the first step, and what optional ones leave."""
    return tuple(_arrive(machine, Run(step=0)))


def begin(machine: Machine, run: Run, arrival: Arrival, *, tell: Observer) -> Iterator[Run]:
    """The runs that an event starts; a start takes its event or is none (R3)."""
    if _satisfies(machine, run, machine.steps[run.step].wanted, arrival.event):
        forks = list(_take(machine, run, arrival))
        tell(_taken(machine, run, arrival.event, forks))
        yield from forks


def offer(machine: Machine, run: Run, arrival: Arrival, *, tell: Observer) -> Iterator[Run]:
    """What becomes of a run at an event: nothing, one run, or several (R2)."""
    event = arrival.event
    note = partial(note_on, machine, run, time=event.time, event=event)
    absent = _broken(machine, run, run.not_next, event)
    if absent is not None:
        tell(note(What.KILLED, stage=absent.name, cause=Cause.NOT_NEXT))
        return
    absent = _broken(machine, run, run.never, event)
    waiting_on = replace(run, not_next=())

    if run.step == len(machine.steps):
        if absent is None:
            tell(note(What.IGNORED))
            yield waiting_on
        else:
            tell(note(What.KILLED, stage=absent.name, cause=Cause.NOT_FOLLOWED_BY))
        return

    step = machine.steps[run.step]
    # Later, until: such an event is not taken, nor ignored by a loop that has begun (R2, R3, R8).
    fits = _satisfies(machine, run, step.wanted, event)
    # An event that comes too early for the gap does not satisfy the stage yet: whoever may ignore
    # other events may ignore this one.
    is_early = fits and event.time - run.taken[-1].event.time < step.least_gap
    takes = fits and not is_early
    forks = list(_take(machine, run, arrival)) if takes else []
    if absent is not None:
        # R10: a match that this very event completes is told all the same.
        forks = [fork for fork in forks if is_complete(machine, fork, event.time)]
    if forks:
        tell(_taken(machine, run, event, forks))
    yield from forks
    if absent is not None:
        tell(note(What.KILLED, stage=absent.name, cause=Cause.NOT_FOLLOWED_BY))
        return
    early = Cause.TOO_EARLY if is_early else None
    if _may_ignore(step, run, takes):
        tell(note(What.FORKED if takes else What.IGNORED, cause=early))
        yield waiting_on
    elif not takes:
        tell(note(What.KILLED, cause=early or Cause.STRICT))


def _may_ignore(step: Step, run: Run, takes: bool) -> bool:
    """R3: how a stage's first event follows the stage before, and further ones each other."""
    if run.count == 0:
        # Later, groups: from the second round on, the group's loop decides here.
        return {"next": False, "followed_by": not takes, "followed_by_any": True}[step.contiguity]
    return {"consecutive": False, "relaxed": not takes, "combinations": True}[step.loop]


def _take(machine: Machine, run: Run, arrival: Arrival) -> Iterator[Run]:
    """R4: having taken enough, a run forks into one that loops on and one that moves on."""
    one = Taken(run.step, arrival.event, arrival.position, arrival.relevant)
    taken = (*run.taken, one)
    step, count = machine.steps[run.step], run.count + 1
    if step.most is None or count < step.most:
        following = machine.absences_before(run.step + 1)
        yield Run(
            step=run.step,
            count=count,
            taken=taken,
            # R9: an event that stops the fork that moved on stops this one too.
            not_next=tuple(x for x in following if x.is_next and count >= step.fewest),
            # R10: a loop that has begun is stopped as well, whether it has taken enough or not.
            never=tuple(x for x in following if not x.is_next),
        )
    if count >= step.fewest:
        # Later, greedy: what is reached from here is guarded by the loop's condition (R7).
        yield from _arrive(machine, Run(step=run.step + 1, taken=taken))


def _arrive(machine: Machine, run: Run) -> Iterator[Run]:
    """R4: before an optional stage, a run forks into one that waits and one that goes past.

    Absences go along past optional stages, until one of these takes an event (R10).
    """
    here = machine.absences_before(run.step)
    run = replace(
        run,
        not_next=(*run.not_next, *(x for x in here if x.is_next)),
        never=(*run.never, *(x for x in here if not x.is_next)),
    )
    yield run
    if run.step < len(machine.steps) and machine.steps[run.step].optional:
        yield from _arrive(machine, replace(run, step=run.step + 1))


def is_complete(machine: Machine, run: Run, time: int) -> bool:
    """Whether a run is a match by now: at the end, and with every absence decided (R5, R9, R11)."""
    at_end = run.step == len(machine.steps)
    return at_end and not run.not_next and (not run.never or release(machine, run) <= time)


def release(machine: Machine, run: Run) -> int:
    """When the last absence of a run at the end of the pattern is certain (R11)."""
    last, window = run.taken[-1].event.time, window_end(machine, run)
    return max(window if x.lasting is None else last + x.lasting for x in run.never)


def window_end(machine: Machine, run: Run) -> int:
    """When a run's window ends; an event at that very time is outside (R13)."""
    return END_OF_TIME if machine.within is None else run.taken[0].event.time + machine.within


def gap_end(machine: Machine, run: Run) -> int:
    """When it is too late for the stage that a run waits for (R13)."""
    longest = machine.steps[run.step].longest_gap if run.step < len(machine.steps) else None
    return END_OF_TIME if longest is None else run.taken[-1].event.time + longest


def next_moment(machine: Machine, run: Run) -> int:
    """When time alone next does something to a run: it becomes a match, or is over."""
    over = min(window_end(machine, run), gap_end(machine, run))
    is_pending = run.step == len(machine.steps) and run.never and not run.not_next
    return min(over, release(machine, run)) if is_pending else over


def note_on(
    machine: Machine,
    run: Run,
    what: What,
    *,
    time: int,
    event: Event | None,
    stage: str | None = None,
    cause: Cause | None = None,
    then: tuple[str | None, ...] = (),
) -> Note:
    """What happened to a run, for whoever watches."""
    taken = tuple((machine.steps[one.step].name, one.event.id) for one in run.taken)
    waits_for = _name(machine, run.step)
    return Note(what, time, event.id if event else None, taken, waits_for, stage, cause, then)


def _taken(machine: Machine, run: Run, event: Event, forks: list[Run]) -> Note:
    stage, then = _name(machine, run.step), tuple(_name(machine, fork.step) for fork in forks)
    return note_on(machine, run, What.TAKEN, time=event.time, event=event, stage=stage, then=then)


def _name(machine: Machine, step: int) -> str | None:
    return machine.steps[step].name if step < len(machine.steps) else None


def _broken(
    machine: Machine, run: Run, absences: tuple[Absence, ...], event: Event
) -> Absence | None:
    """The first of some absences that an event breaks."""
    for absence in absences:
        waited = event.time - run.taken[-1].event.time
        is_over = absence.lasting is not None and waited >= absence.lasting
        if not is_over and _satisfies(machine, run, absence.wanted, event):
            return absence
    return None


def _satisfies(machine: Machine, run: Run, wanted: Wanted, event: Event) -> bool:
    """R6: a condition sees what this run has taken, stage by stage, before the event."""
    taken: dict[str, list[Row]] = {step.name: [] for step in machine.steps}
    for one in run.taken:
        taken[machine.steps[one.step].name].append(one.event.row)
    return wanted.is_met(event.row, taken)
