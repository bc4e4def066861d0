"""Decoys for several communities: one uniform, compared with each community's own threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ppm.dp.certificate import Certificate, certify
from ppm.dp.exact import WORD
from ppm.dp.mechanism import Values, Words
from ppm.dp.mechanisms.decoy import DecoyDecision
from ppm.dp.nested.chain import falling


@dataclass(frozen=True, slots=True)
class DecoyChain:
    """Decisions of communities that hide the same patterns, all made from one word.

    Whoever has the smaller epsilon also withholds every slot that the others withhold.

    >>> chain = DecoyChain((2.0, 1.0))
    >>> [round(p, 3) for p in chain.joint_law()]
    [0.135, 0.233, 0.632]
    """

    epsilons: tuple[float, ...]
    decisions: tuple[DecoyDecision, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        decisions = tuple(map(DecoyDecision, falling(self.epsilons)))
        object.__setattr__(self, "decisions", decisions)

    def release(self, values: Values, words: Words) -> tuple[Values, ...]:
        """What each community is told (1 is withheld), all by the same words."""
        return tuple(decision.release(values, words) for decision in self.decisions)

    def joint_counts(self, members: Sequence[int] | None = None) -> list[int]:
        """How many words withhold a clean slot from all of these communities, from all but the
        first, from all but the first two, and so on; no other combination can occur.
        """
        chosen = range(len(self.decisions)) if members is None else sorted(members)
        edges = [0, *(self.decisions[i].decoys for i in chosen), WORD]
        return [high - low for low, high in pairwise(edges)]

    def joint_law(self) -> list[float]:
        """The same as probabilities."""
        return [count / WORD for count in self.joint_counts()]

    def certificate(self, members: Sequence[int]) -> Certificate:
        """What communities learn together, from their joint law: the largest of their epsilons."""
        clean = self.joint_counts(members)
        touched = [WORD] + [0] * (len(clean) - 1)
        claim = max(self.epsilons[i] for i in members)
        found = certify(claim, [clean, touched], neighbours=[(1, 0)], one_sided=True)
        return found.checked("a chain of decoys")
