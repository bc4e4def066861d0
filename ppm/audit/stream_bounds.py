"""What a run of the stream proves that readers were told, from below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ppm.audit.canaries import CanaryBound
from ppm.audit.observation import FEATURES, Seen
from ppm.audit.one_run import one_run_bound
from ppm.audit.worlds import Bound, lower_bound


@dataclass(frozen=True, slots=True)
class Measured:
    """What rows or answers told some readers of a pattern's slot, and what they may tell."""

    communities: tuple[str, ...]
    """One community, or several that compare notes."""
    pattern: str
    claim: float | None
    """None if one of them sees the pattern as it is: there is no claim to exceed."""
    worlds: Bound | None
    """From the planted canaries against the others; None without a claim."""
    one_run: CanaryBound | None
    """From guesses which of them were planted; None without a claim."""
    consumer: str | None = None
    """Who received answers; None for what rows told."""

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
