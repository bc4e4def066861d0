"""Joint response: one k-ary draw on a vector of m existence bits."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ppm.dp.certificate import Certificate
from ppm.dp.mechanism import Finite, Scores, Values, Words, check_values
from ppm.dp.mechanisms.kary import KaryResponse, Swap

MOST_BITS = 20
"""More types in one group keep next to nothing of the truth."""


@dataclass(frozen=True, slots=True)
class JointResponse(Finite):
    """The true vector with probability e^epsilon/(e^epsilon+2^m-1), others equally often.

    A vector is given by its number: bit i of the number is bit i of the vector.

    >>> slot = JointResponse(1.0, bits=3)
    >>> round(slot.counts(7)[7] / 2**64, 3)
    0.28
    """

    epsilon: float
    bits: int
    _response: KaryResponse = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 1 <= self.bits <= MOST_BITS:
            raise ValueError(f"there are {self.bits} bits; there must be 1 to {MOST_BITS}")
        object.__setattr__(self, "_response", KaryResponse(self.epsilon, 1 << self.bits))

    @property
    def inputs(self) -> int:
        return 1 << self.bits

    @property
    def outputs(self) -> int:
        return 1 << self.bits

    @property
    def table(self) -> Swap:
        """The bare table, as chains need it."""
        return self._response.table

    def counts(self, value: int) -> list[int]:
        return self._response.counts(value)

    def certificate(self) -> Certificate:
        return self._response.certificate()

    def release(self, values: Values, words: Words) -> Values:
        return self._response.release(values, words)

    def estimate(self, released: Values) -> Scores:
        return self._response.estimate(released)

    def estimate_all(self, released: Values, asked: int) -> Scores:
        """Unbiased for "all asked bits are ones", where `asked` has a one for each of them."""
        check_values(released, self.outputs)
        showing = 1 << (self.bits - (asked & (self.outputs - 1)).bit_count())
        return self._response.score((released & asked) == asked, share=showing)


def pack(bits: npt.NDArray[np.bool_]) -> Values:
    """The number of each vector, from one row of bits a vector.

    >>> pack(np.array([[True, False, True]]))
    array([5])
    """
    numbers: Values = bits @ (1 << np.arange(bits.shape[1]))
    return numbers


def unpack(vectors: Values, bits: int) -> npt.NDArray[np.bool_]:
    """The bits of each vector, from its number.

    >>> unpack(np.array([5]), 3)
    array([[ True, False,  True]])
    """
    return (vectors[:, None] >> np.arange(bits) & 1).astype(np.bool_)
