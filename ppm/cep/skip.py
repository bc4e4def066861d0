"""After a match: which finished matches are told, and which runs and matches are dropped for them.

Start order is the order of first events, and matches are resolved earliest start first. Of two
finished matches with the same start, the one that skipped fewer relevant events comes first, then
the longer one, then the one whose events come first; Flink leaves this open (Q4).

An event is relevant if its row alone, without what a run has taken, satisfies some stage of the
pattern, be it one that takes events or an absence. Others are not counted: so traffic that the
pattern does not speak of can never change which match wins, and need not be looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ppm.cep.machine import Machine
from ppm.cep.run import Run, Taken
from ppm.spec.stage import Skip


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that is a match, before it is decided whether it is told."""

    run: Run
    at: int
    """When it was certain."""

    @property
    def start(self) -> int:
        """The position of its first event."""
        return self.run.start

    @property
    def rank(self) -> tuple[object, ...]:
        """What comes first when several are finished."""
        taken = self.run.taken
        # What was taken is relevant, too.
        skipped = taken[-1].relevant - taken[0].relevant + 1 - len(taken)
        events = tuple((one.position, one.step) for one in taken)
        return self.start, skipped, -len(taken), events


@dataclass(frozen=True, slots=True)
class Settled:
    """What is left after matches were told."""

    runs: tuple[Run, ...]
    held: tuple[Finished, ...] = ()
    """Finished, but an earlier start may still come to drop them."""
    told: tuple[Finished, ...] = ()
    dropped: tuple[Run, ...] = ()


def settle(machine: Machine, runs: tuple[Run, ...], finished: tuple[Finished, ...]) -> Settled:
    """Tell what can be told, and drop what the strategy drops for it."""
    waiting = sorted(finished, key=lambda one: one.rank)
    if machine.skip is not None and machine.skip.strategy == "no_skip":
        return Settled(runs, told=tuple(waiting))
    told: list[Finished] = []
    dropped: list[Run] = []
    # The preset `first` looks at one start at a time, so nothing has to wait for another.
    is_held = machine.skip is not None
    while waiting and not (is_held and any(run.start < waiting[0].start for run in runs)):
        chosen = waiting.pop(0)
        told.append(chosen)
        drops = _drops(machine, chosen)
        dropped += [one.run for one in waiting if drops(one.start)]
        dropped += [run for run in runs if drops(run.start)]
        waiting = [one for one in waiting if not drops(one.start)]
        runs = tuple(run for run in runs if not drops(run.start))
    return Settled(runs, tuple(waiting), tuple(told), tuple(dropped))


def _drops(machine: Machine, told: Finished) -> Callable[[int], bool]:
    """Which starts are dropped once a match was told."""
    first, last = told.run.taken[0].position, told.run.taken[-1].position
    match machine.skip:
        case None:
            return lambda start: start == first
        case Skip(strategy="skip_to_next"):
            return lambda start: start <= first
        case Skip(strategy="skip_past_last"):
            return lambda start: start <= last
    aimed = [one for one in told.run.taken if machine.steps[one.step].name == machine.skip.stage]
    if not aimed:
        return lambda _start: False
    target: Taken = aimed[0] if machine.skip.strategy == "skip_to_first" else aimed[-1]
    return lambda start: start < target.position
