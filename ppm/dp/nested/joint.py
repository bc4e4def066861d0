"""Chains of joint responses, where later communities may be told of fewer types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

import numpy as np

from ppm.dp.certificate import Certificate
from ppm.dp.exact import WORD
from ppm.dp.mechanism import Values
from ppm.dp.mechanisms.joint import JointResponse
from ppm.dp.mechanisms.kary import Swap
from ppm.dp.nested.chain import Draw
from ppm.dp.nested.response import SwapLaw


@dataclass(frozen=True, slots=True)
class JointChain:
    """One joint response for each of several communities.

    A response on b of the m types can be derived from one on all m of them only up to epsilon
    ln(1+(e^eps-1)/2^(m-b)), which is what the larger one already says about those types.

    >>> chain = JointChain((2.0, 1.0), types=((0, 1, 2), (0, 2)))
    >>> [round(float(law.kept), 3) for law in chain.laws]
    [0.514, 0.475]
    """

    epsilons: tuple[float, ...]
    types: tuple[tuple[int, ...], ...]
    """Which types each community is told of; all of them are among those of the one before."""
    stages: tuple[Swap, ...] = field(init=False, repr=False, compare=False)
    laws: tuple[SwapLaw, ...] = field(init=False, repr=False, compare=False)
    """The law of each release, the stages before it included."""

    def __post_init__(self) -> None:
        _check(self.epsilons, self.types)
        bits = len(self.types[0])
        stages = [JointResponse(self.epsilons[0], bits).table]
        laws = [SwapLaw(1 << bits, Fraction(stages[0].swaps, WORD))]
        for epsilon, types in zip(self.epsilons[1:], self.types[1:], strict=True):
            law = laws[-1].of_fewer(bits - len(types))
            bits = len(types)
            stages.append(law.stage_to(epsilon))
            laws.append(law.then(stages[-1]))
        object.__setattr__(self, "stages", tuple(stages))
        object.__setattr__(self, "laws", tuple(laws))
        for number in range(len(laws)):
            self.certificate(number)

    def with_next(self, epsilon: float, types: tuple[int, ...]) -> JointChain | None:
        """The chain with one more release; None if the last one tells too little for it.

        >>> JointChain((2.0,), types=((0, 1, 2),)).with_next(1.5, (0, 1)) is None
        True
        """
        before = set(self.types[-1])
        if not types or not set(types) <= before:
            return None
        if set(types) == before and epsilon >= self.epsilons[-1]:
            return None
        if not self.laws[-1].of_fewer(len(before) - len(types)).reaches(epsilon):
            return None
        return JointChain((*self.epsilons, epsilon), (*self.types, types))

    def release(self, values: Values, draw: Draw) -> tuple[Values, ...]:
        """What each community is told, as the number of the vector of its own types."""
        released: list[Values] = []
        state, types = values, self.types[0]
        for number, (stage, wanted) in enumerate(zip(self.stages, self.types, strict=True)):
            state, types = narrowed(state, types, wanted), wanted
            state = stage.release(state, draw(number, values))
            released.append(state)
        return tuple(released)

    def certificate(self, number: int) -> Certificate:
        """What one community learns, alone or together with all that come after it."""
        return self.laws[number].certificate(self.epsilons[number]).checked("a chain")


def narrowed(vectors: Values, types: Sequence[int], wanted: Sequence[int]) -> Values:
    """Vectors of some types as vectors of fewer of them.

    >>> narrowed(np.array([0b100, 0b011]), (0, 1, 2), (1, 2))
    array([2, 1])
    """
    if tuple(types) == tuple(wanted):
        return vectors
    found = np.zeros_like(vectors)
    for place, name in enumerate(wanted):
        found |= (vectors >> types.index(name) & 1) << place
    return found


def _check(epsilons: Sequence[float], types: Sequence[Sequence[int]]) -> None:
    if not epsilons or len(epsilons) != len(types):
        raise ValueError("a chain has at least one release, each with an epsilon and its types")
    for (one, before), (other, after) in pairwise(zip(epsilons, types, strict=True)):
        if not after or not set(after) <= set(before):
            raise ValueError("the types of a release must be among those of the release before it")
        if set(after) == set(before) and other >= one:
            raise ValueError("releases of the same types have falling epsilons in a chain")
