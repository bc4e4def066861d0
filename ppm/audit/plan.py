"""An audit of the mechanisms that a plan uses, each in two worlds that it must keep alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ppm.audit.symbols import Outputs
from ppm.audit.worlds import Bound, lower_bound
from ppm.dp.mechanism import Words
from ppm.dp.purpose import Purpose
from ppm.dp.source import Seed, Source
from ppm.protect.release import Draw, Release


@dataclass(frozen=True, slots=True)
class Audited:
    """A release with the lower bound that runs of its mechanisms gave."""

    release: Release
    bound: Bound

    @property
    def holds(self) -> bool:
        """Whether neither the exact value nor the bound exceeds the claim."""
        return self.release.is_kept and self.bound.epsilon <= self.release.claim


def audit(
    releases: Iterable[Release], *, runs: int = 20_000, alpha: float = 1e-6, seed: int
) -> tuple[Audited, ...]:
    """Run the mechanisms of every release in both worlds, and bound what they tell from below.

    Words come from the keyed source, with a seed in place of the secret. A right release is blamed
    with chance alpha at most.
    """
    source = Seed(seed).open()
    return tuple(
        Audited(one, _bound(one, _Words(source, place, runs), alpha))
        for place, one in enumerate(releases)
    )


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of one release: a slot for each run, a purpose for each world and draw."""

    source: Source
    place: int
    runs: int

    def of(self, world: int, number: int, draw: Draw) -> Words:
        names = f"release {self.place}", f"world {world}", f"draw {number}"
        stream = self.source.stream(Purpose("audit", 1, "audit", names))
        one_subject = np.zeros(self.runs, np.intp)
        return stream.words(
            self.source.tags([0]),
            np.arange(self.runs),
            count=draw.mechanism.words,
            rows=one_subject,
        )


def _bound(release: Release, words: _Words, alpha: float) -> Bound:
    first, second = (_outputs(release, world, words) for world in (0, 1))
    return lower_bound(first, second, alpha=alpha, one_sided=release.is_one_sided)


def _outputs(release: Release, world: int, words: _Words) -> Outputs:
    """What all draws of a release give together, one row per run."""
    columns = []
    for number, draw in enumerate(release.draws):
        value = np.tile(np.array(draw.values[world], np.int64), (words.runs, 1))
        released = draw.mechanism.release(
            value if value.shape[1] > 1 else value[:, 0], words.of(world, number, draw)
        )
        columns.append(released.reshape(words.runs, -1))
    return np.concatenate(columns, axis=1)
