"""What is published of a draw on bits: how likely each vector becomes each other one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ppm.dp.exact import WORD
from ppm.dp.mechanisms.binary import BinaryResponse
from ppm.dp.mechanisms.channel import Channel
from ppm.dp.nested.response import SwapLaw

EXACT = SwapLaw(2, Fraction(0))
"""The law of a bit that is told as it is."""


@dataclass(frozen=True, slots=True)
class TableLaw:
    """Any law on vectors of bits: for each true vector, how many words give each released one."""

    rows: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        sums, lengths = {sum(row) for row in self.rows}, {len(row) for row in self.rows}
        if not self.rows or len(sums) > 1 or len(lengths) > 1 or sums == {0}:
            raise ValueError("a law has rows of one length and one sum, which is more than 0")
        if min(map(min, self.rows)) < 0:
            raise ValueError("a law has no counts below 0")
        bits_of(self)

    @classmethod
    def of(cls, channel: Channel) -> TableLaw:
        """The law of a channel on vectors."""
        return cls(channel.rows)

    @property
    def values(self) -> int:
        """How many true vectors there are."""
        return len(self.rows)

    @property
    def total(self) -> int:
        """How many words there are: 2^64, or more if stages follow each other."""
        return sum(self.rows[0])


Law = SwapLaw | TableLaw
"""A response, alone or as the end of a chain, or a table."""


def bits_of(law: Law) -> int:
    """How many bits a vector has.

    >>> bits_of(SwapLaw(8, Fraction(1, 10)))
    3
    """
    bits = law.values.bit_length() - 1
    if law.values < 2 or law.values != 1 << bits:
        raise ValueError(f"the law is of {law.values} values; vectors of bits have 2, 4, 8 and on")
    return bits


def law_of_bit(response: BinaryResponse) -> SwapLaw:
    """The law of a bit that flips."""
    return SwapLaw(2, Fraction(response.flips, WORD))
