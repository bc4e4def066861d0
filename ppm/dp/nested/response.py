"""Chains of responses: bits, values of a list, and vectors of bits.

A response on k values that swaps to each other value with probability c, followed by a stage that
swaps with probability s, is a response that swaps with probability c + s*(1 - k*c). So the stage
from c1 to c2 has s = (c2-c1)/(1-k*c1). For bits that is the extra flip (p2-p1)/(1-2*p1), and for
k values it is to keep the value with probability (k*P2-1)/(k*P1-1), else to draw one of all k.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from ppm.dp.certificate import Certificate
from ppm.dp.exact import WORD, ceiling
from ppm.dp.mechanism import Values
from ppm.dp.mechanisms.kary import KaryResponse, Swap, certified
from ppm.dp.nested.chain import Draw, falling


@dataclass(frozen=True, slots=True)
class SwapLaw:
    """The exact law of a response after any number of stages."""

    values: int
    swapped: Fraction
    """The probability of each value that is not the true one."""

    @property
    def kept(self) -> Fraction:
        """The probability of the true value."""
        return 1 - (self.values - 1) * self.swapped

    def then(self, stage: Swap) -> SwapLaw:
        """The law after one more stage."""
        swapped = self.swapped + Fraction(stage.swaps, WORD) * (self.kept - self.swapped)
        return SwapLaw(self.values, swapped)

    def of_fewer(self, bits: int) -> SwapLaw:
        """The law of the other bits of a vector, where so many bits are left out."""
        return SwapLaw(self.values >> bits, self.swapped * (1 << bits))

    def stage_to(self, epsilon: float) -> Swap:
        """The stage that makes this law the response of a smaller epsilon."""
        if not self.reaches(epsilon):
            raise ValueError(
                f"a response of epsilon {epsilon} on {self.values} values cannot be derived: "
                "the release before it tells less already"
            )
        missing = self._target(epsilon) - self.swapped
        return Swap(self.values, ceiling(WORD * missing / (self.kept - self.swapped)))

    def reaches(self, epsilon: float) -> bool:
        """Whether some stage makes this law the response of an epsilon, decided exactly."""
        return self.swapped <= self._target(epsilon) and self.swapped < self.kept

    def certificate(self, claim: float) -> Certificate:
        """The exact certificate of the law as it is."""
        bottom = self.swapped.denominator
        return certified(claim, int(self.kept * bottom), int(self.swapped * bottom))

    def _target(self, epsilon: float) -> Fraction:
        return Fraction(KaryResponse(epsilon, self.values).table.swaps, WORD)


@dataclass(frozen=True, slots=True)
class ResponseChain:
    """One response for each of several communities, on a bit or on k values.

    >>> chain = ResponseChain((2.0, 1.0), values=2)
    >>> [round(float(law.swapped), 4) for law in chain.laws]
    [0.1192, 0.2689]
    >>> round(chain.stages[1].swaps / 2**64, 4)
    0.1966
    """

    epsilons: tuple[float, ...]
    values: int = 2
    stages: tuple[Swap, ...] = field(init=False, repr=False, compare=False)
    laws: tuple[SwapLaw, ...] = field(init=False, repr=False, compare=False)
    """The law of each release, the stages before it included."""

    def __post_init__(self) -> None:
        first, *rest = falling(self.epsilons)
        stages = [KaryResponse(first, self.values).table]
        laws = [SwapLaw(self.values, Fraction(stages[0].swaps, WORD))]
        for epsilon in rest:
            stages.append(laws[-1].stage_to(epsilon))
            laws.append(laws[-1].then(stages[-1]))
        object.__setattr__(self, "stages", tuple(stages))
        object.__setattr__(self, "laws", tuple(laws))
        for number in range(len(laws)):
            self.certificate(number)

    def release(self, values: Values, draw: Draw) -> tuple[Values, ...]:
        """What each community is told, in the order of the epsilons."""
        released: list[Values] = []
        for number, stage in enumerate(self.stages):
            before = released[-1] if released else values
            released.append(stage.release(before, draw(number, values)))
        return tuple(released)

    def certificate(self, number: int) -> Certificate:
        """What one community learns; and what it learns together with all that come after it.

        Later releases are made from its own one without another look at the truth.
        """
        return self.laws[number].certificate(self.epsilons[number]).checked("a chain")
