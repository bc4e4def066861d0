"""An audit of the protected stream end to end: canaries go in, and only what is received counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ppm.audit.canaries import CanaryBound
from ppm.audit.claims import claim_of, readers_of
from ppm.audit.coverage import communities_that_run, patterns_that_can_be_planted
from ppm.audit.observation import FEATURES, Observer, Received, Seen, together
from ppm.audit.one_run import one_run_bound
from ppm.audit.planting import Planting, plant
from ppm.audit.worlds import Bound, lower_bound
from ppm.dp.source import Seed
from ppm.protect.plan import Plan

FEWEST = 100
"""With fewer canaries there is too little to choose an event on, and to test it."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What the rows told some readers of a pattern's slot, and what they may tell."""

    communities: tuple[str, ...]
    """One community, or several that compare notes."""
    pattern: str
    claim: float | None
    """None if one of them sees the pattern as it is: there is no claim to exceed."""
    worlds: Bound | None
    """From the planted canaries against the others; None without a claim."""
    one_run: CanaryBound | None
    """From guesses which of them were planted; None without a claim."""

    @property
    def is_void(self) -> bool:
        """Whether nothing is promised."""
        return self.claim is None

    @property
    def holds(self) -> bool:
        """Whether no bound exceeds the claim."""
        if self.claim is None or self.worlds is None or self.one_run is None:
            return True
        return max(self.worlds.epsilon, self.one_run.epsilon) <= self.claim


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
) -> AuditedStream:
    """Protect a made-up stream as users do, and bound from below what its readers learn.

    Each canary is a subject-slot of one pattern, into which a match was planted or not by a fair
    coin. A right policy is blamed with chance 2 alpha at most for each claim: once by the bound
    from two worlds, once by that from one run.
    """
    if canaries < FEWEST:
        raise ValueError(f"there are {canaries} canaries of each pattern; give at least {FEWEST}")
    names, left_out = communities_that_run(
        plan, [*plan.terms] if communities is None else communities
    )
    patterns, unmade = patterns_that_can_be_planted(plan, names)
    measured: list[Measured] = []
    if patterns:
        planting = plant(plan, patterns, canaries=canaries, rng=np.random.default_rng(seed))
        observer = Observer(plan, planting, run(plan, names, planting, Seed(seed)))
        measured = [*measure(plan, names, planting, observer, alpha=alpha)]
    return AuditedStream(
        canaries, tuple(patterns), tuple(names), tuple(measured), (*left_out, *unmade)
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


def bounds(
    seen: Sequence[Seen], planted: npt.NDArray[np.bool_], *, alpha: float
) -> tuple[Bound, CanaryBound]:
    """From the canaries of both worlds, and from guesses about them."""
    worlds = [
        [one for one, is_planted in zip(seen, planted, strict=True) if is_planted == side]
        for side in (True, False)
    ]
    return (
        lower_bound(*worlds, alpha=alpha, features=FEATURES),
        one_run_bound(seen, planted, beta=alpha),
    )
