"""An audit of answers end to end: canaries go in, and only what a consumer receives counts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ppm.audit.coverage import patterns_that_can_be_planted
from ppm.audit.invented import Subject
from ppm.audit.observation import Seen
from ppm.audit.planting import Canary, Planting
from ppm.audit.stream_bounds import Measured, bounds
from ppm.dp.source import Seed
from ppm.errors import SpecError
from ppm.protect.compile_answers import asked_by
from ppm.protect.plan import Plan
from ppm.protect.spending import Answer, spending_of

Answered = tuple[int, Subject | None, int, str, int]
"""In which micro-batch an answer came, whose it is, the start of its slot in microseconds, the
query, and the answer."""


class RunAnswers(Protocol):
    """Answers a consumer's queries over a planted stream, and gives back all that it receives."""

    def __call__(
        self, plan: Plan, consumer: str, planting: Planting, noise: Seed, /
    ) -> Iterable[Answered]: ...


def answers_on_spark(
    plan: Plan, consumer: str, planting: Planting, noise: Seed
) -> Iterable[Answered]:
    """The real job: a stream over files, with state, watermark and micro-batches."""
    from ppm.spark.trial import try_answers

    return try_answers(
        plan,
        consumer,
        columns=planting.columns,
        files=planting.files,
        subjects=planting.subjects,
        noise=noise,
    )


@dataclass(frozen=True)
class Asking:
    """A consumer with answers on existence that cost."""

    consumer: str
    community: str
    answers: tuple[Answer, ...]

    def of(self, pattern: str) -> tuple[Answer, ...]:
        """Those that tell something about a pattern."""
        return tuple(one for one in self.answers if pattern in one.patterns)

    def claim(self, pattern: str) -> float:
        """What they may tell of rows of one slot."""
        return math.fsum(one.slots * one.epsilon for one in self.of(pattern))


def who_asks(plan: Plan, communities: Sequence[str]) -> tuple[list[Asking], list[str]]:
    """The consumers whose answers can be audited, and why others' cannot.

    A count is of no subject, so canaries do not show in it; its mechanism is audited by itself.
    """
    found, why = [], []
    for name in communities:
        charged: dict[str, list[Answer]] = {}
        for answer in spending_of(plan, plan.terms[name]).answers:
            if answer.question.query.ask == "existence":
                consumer = answer.question.consumer.spec.name
                charged.setdefault(consumer, []).append(answer)
        for consumer, answers in charged.items():
            try:
                asked_by(plan, consumer)
            except SpecError as error:
                why.append(f"{consumer} is left out: {error.faults[0].message}")
            else:
                found.append(Asking(consumer, name, tuple(answers)))
    return found, why


def patterns_asked_of(plan: Plan, asking: Sequence[Asking]) -> tuple[list[str], list[str]]:
    """The patterns that they tell something about, and why some cannot be planted."""
    found, why = [], []
    for one in asking:
        possible, unmade = patterns_that_can_be_planted(plan, [one.community])
        found += [name for name in possible if one.of(name)]
        why += unmade
    return [*dict.fromkeys(found)], why


def measure_answers(
    asking: Asking, planting: Planting, answered: Iterable[Answered], *, alpha: float
) -> Iterator[Measured]:
    """The bounds for one consumer, pattern by pattern."""
    received = Answers.of(planting, answered)
    for pattern, canaries in planting.canaries.items():
        told = asking.of(pattern)
        if not told:
            continue
        slots = max(one.slots for one in told)
        names = frozenset(one.question.query.name for one in told)
        seen = [received.seen(planting, canary, names, slots) for canary in canaries]
        planted = np.array([canary.is_planted for canary in canaries])
        yield Measured(
            (asking.community,),
            pattern,
            asking.claim(pattern),
            *bounds(seen, planted, alpha=alpha),
            consumer=asking.consumer,
        )


@dataclass(frozen=True)
class Answers:
    """Everything that was received, by whose it is and in which slot."""

    by_place: Mapping[tuple[Subject, int], list[tuple[str, int, int]]] = field(repr=False)
    """For each subject and slot: the query, the answer, and the micro-batch."""

    @classmethod
    def of(cls, planting: Planting, answered: Iterable[Answered]) -> Answers:
        """Answers by their places; counts are left out."""
        found: dict[tuple[Subject, int], list[tuple[str, int, int]]] = {}
        for batch, subject, since, query, answer in answered:
            if subject is not None:
                slot = (since - planting.grid.start) // planting.grid.slot
                found.setdefault((subject, slot), []).append((query, answer, batch))
        return cls(found)

    def seen(self, planting: Planting, canary: Canary, queries: frozenset[str], slots: int) -> Seen:
        """What the answers to some queries show of one canary, in all slots that it can reach."""
        places = range(canary.slot, canary.slot + slots)
        inside = [self.by_place.get((canary.subject, slot), []) for slot in places]
        before = self.by_place.get((canary.subject, canary.slot - 1), [])
        own = tuple(_told(one, queries) for one in inside)
        return Seen(
            own=own[:2],  # what can come out of more slots is too much to learn from canaries
            every=own,
            number=sum(map(len, inside)),
            around=_told(before, queries),
            delays=tuple(
                batch - planting.file_of(slot)
                for slot, one in zip(places, inside, strict=True)
                for _, _, batch in one
            ),
            lost=0,
        )


def _told(answers: Iterable[tuple[str, int, int]], queries: frozenset[str]) -> object:
    return tuple((query, answer) for query, answer, _ in answers if query in queries)
