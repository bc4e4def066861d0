"""An audit of the protected stream end to end: canaries go in, and only what is received counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ppm.audit.answers import (
    RunAnswers,
    answers_on_spark,
    measure_answers,
    patterns_asked_of,
    who_asks,
)
from ppm.audit.claims import claim_of, readers_of
from ppm.audit.coverage import communities_that_run, patterns_that_can_be_planted
from ppm.audit.observation import Observer, Received, together
from ppm.audit.planting import Planting, plant
from ppm.audit.stream_bounds import Measured, bounds
from ppm.dp.source import Seed
from ppm.protect.plan import Plan

FEWEST = 100
"""With fewer canaries there is too little to choose an event on, and to test it."""


@dataclass(frozen=True, slots=True)
class AuditedStream:
    """A whole run."""

    canaries: int
    """How many there were of each pattern."""
    patterns: tuple[str, ...]
    communities: tuple[str, ...]
    measured: tuple[Measured, ...]
    left_out: tuple[str, ...]
    """What could not be run, one sentence each."""

    @property
    def claims(self) -> tuple[Measured, ...]:
        """Everything that was promised."""
        return tuple(one for one in self.measured if not one.is_void)

    @property
    def holds(self) -> bool:
        """Whether no claim was exceeded."""
        return all(one.holds for one in self.measured)


class Run(Protocol):
    """Protects a planted stream for some communities, and gives back all that they receive."""

    def __call__(
        self, plan: Plan, communities: Sequence[str], planting: Planting, noise: Seed, /
    ) -> Iterable[Received]: ...


def on_spark(
    plan: Plan, communities: Sequence[str], planting: Planting, noise: Seed
) -> Iterable[Received]:
    """The real job: a stream over files, with state, watermark and micro-batches."""
    from ppm.spark.trial import try_stream

    return try_stream(
        plan,
        communities,
        columns=planting.columns,
        files=planting.files,
        subjects=planting.subjects,
        noise=noise,
    )


def audit_stream(
    plan: Plan,
    communities: Sequence[str] | None = None,
    *,
    canaries: int = 2_000,
    alpha: float = 1e-6,
    seed: int,
    run: Run = on_spark,
    run_answers: RunAnswers = answers_on_spark,
) -> AuditedStream:
    """Protect a made-up stream as users do, and bound from below what its readers learn.

    Each canary is a subject-slot of one pattern, into which a match was planted or not by a fair
    coin. A right policy is blamed with chance 2 alpha at most for each claim: once by the bound
    from two worlds, once by that from one run.
    """
    if canaries < FEWEST:
        raise ValueError(f"there are {canaries} canaries of each pattern; give at least {FEWEST}")
    chosen = [*plan.terms] if communities is None else communities
    names, left_out = communities_that_run(plan, chosen)
    patterns, unmade = patterns_that_can_be_planted(plan, names)
    measured: list[Measured] = []
    if patterns:
        planting = plant(plan, patterns, canaries=canaries, rng=np.random.default_rng(seed))
        observer = Observer(plan, planting, run(plan, names, planting, Seed(seed)))
        measured = [*measure(plan, names, planting, observer, alpha=alpha)]
    asking, unasked = who_asks(plan, chosen)
    asked_of, unplanted = patterns_asked_of(plan, asking)
    if asked_of:
        planting = plant(plan, asked_of, canaries=canaries, rng=np.random.default_rng(seed))
        for one in asking:
            answered = run_answers(plan, one.consumer, planting, Seed(seed))
            measured += measure_answers(one, planting, answered, alpha=alpha)
    return AuditedStream(
        canaries,
        tuple(dict.fromkeys([*patterns, *asked_of])),
        tuple(names),
        tuple(measured),
        tuple(dict.fromkeys([*left_out, *unmade, *unasked, *unplanted])),
    )


def measure(
    plan: Plan, communities: Sequence[str], planting: Planting, observer: Observer, *, alpha: float
) -> Iterator[Measured]:
    """The bounds for every community, for pairs of them and for all, pattern by pattern."""
    views = {
        (name, pattern): observer.seen(name, pattern)
        for name in communities
        for pattern in planting.canaries
    }
    for readers in readers_of(communities):
        for pattern, canaries in planting.canaries.items():
            if not any(pattern in plan.terms[name].guarded for name in readers):
                continue
            claim = claim_of(plan, readers, pattern)
            if claim is None:
                if len(readers) > 1:
                    yield Measured(readers, pattern, None, None, None)
                continue
            seen = together([views[name, pattern] for name in readers])
            planted = np.array([canary.is_planted for canary in canaries])
            yield Measured(readers, pattern, claim, *bounds(seen, planted, alpha=alpha))
