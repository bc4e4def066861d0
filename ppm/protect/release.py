"""What is told with noise: mechanisms, what they are for, and the worlds they must keep alike."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Protocol

from ppm.dp.certificate import Certificate
from ppm.dp.mechanism import Values, Words

_UP = Context(prec=60, rounding=ROUND_CEILING)


class Sampler(Protocol):
    """What a draw needs of a mechanism, or of a chain of mechanisms."""

    @property
    def words(self) -> int:
        """How many 64-bit words one value needs."""
        ...

    def release(self, values: Values, words: Words) -> Values:
        """What is told instead of these values."""
        ...

    def certificate(self) -> Certificate:
        """The exact largest log-ratio, for any two values or for two neighbouring steps."""
        ...


@dataclass(frozen=True, slots=True)
class Draw:
    """One mechanism, and two true values that must look alike after it."""

    mechanism: Sampler
    values: tuple[tuple[int, ...], tuple[int, ...]]
    """One number each, or two for positions. A one-sided mechanism hides the first."""
    steps: int = 1
    """How many steps of the mechanism lie between the two."""


@dataclass(frozen=True, slots=True)
class Release:
    """What a community is told of one thing, as the mechanisms that tell it."""

    community: str
    """Who is told; for a chain, all of its communities."""
    of: tuple[str, ...]
    """What is told: patterns, types, a query or columns."""
    mechanism: str
    """The mechanism or rule, as the policy calls it."""
    per: str
    """What the claim is for: a slot, an answer, a row, or places so far apart."""
    claim: float
    """The epsilon that the policy allows."""
    draws: tuple[Draw, ...]
    """Mechanisms with words of their own, which all see the change."""
    has_guarantee: bool = True
    """Whether what is drawn is all that tells; not so where rows are chosen by what is hidden."""

    @property
    def exact(self) -> Decimal:
        """What the certificates of all draws add up to, rounded up."""
        total = Decimal(0)
        for draw in self.draws:
            cost = _UP.multiply(draw.mechanism.certificate().bound, Decimal(draw.steps))
            total = _UP.add(total, cost)
        return total

    @property
    def is_kept(self) -> bool:
        """Whether the certificates prove the claim, decided without rounding."""
        return self.exact.is_finite() and Fraction(self.exact) <= Fraction(self.claim)

    @property
    def is_one_sided(self) -> bool:
        """Whether only the first of two worlds is hidden."""
        return any(draw.mechanism.certificate().one_sided for draw in self.draws)
