"""A chain of one release: a table that was made for one community's queries."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from ppm.dp.certificate import Certificate
from ppm.dp.mechanism import Values
from ppm.dp.mechanisms.channel import Channel
from ppm.dp.nested.chain import Draw
from ppm.dp.nested.joint import JointChain
from ppm.dp.nested.response import ResponseChain


@dataclass(frozen=True, slots=True)
class TableChain:
    """A table on the vectors of some types. Nothing is derived from it, nor it from anything.

    >>> quarter = 2**62
    >>> TableChain(Channel(1.2, ((3 * quarter, quarter), (quarter, 3 * quarter)))).types
    ((0,),)
    """

    table: Channel

    def __post_init__(self) -> None:
        size = self.table.inputs
        if size != self.table.outputs or size & (size - 1) or size < 2:
            raise ValueError("the table is not one of vectors of bits")

    @property
    def epsilons(self) -> tuple[float, ...]:
        """The epsilon of its only release."""
        return (self.table.epsilon,)

    @property
    def types(self) -> tuple[tuple[int, ...], ...]:
        """The types that the bits of its only release stand for: all of them."""
        return (tuple(range(self.table.inputs.bit_length() - 1)),)

    @property
    def stages(self) -> tuple[Channel, ...]:
        """The table."""
        return (self.table,)

    @property
    def digest(self) -> str:
        """What tells this table from every other one, as a short text."""
        return hashlib.blake2b(repr(self.table.rows).encode(), digest_size=16).hexdigest()

    def release(self, values: Values, draw: Draw) -> tuple[Values, ...]:
        """What the community is told, as the number of a vector."""
        return (self.table.release(values, draw(0, values)),)

    def certificate(self, number: int) -> Certificate:
        """What the community learns."""
        if number:
            raise IndexError(f"a table has one release, and none with the number {number}")
        return self.table.certificate()


ChainOfBits = ResponseChain | JointChain | TableChain
"""Everything that existence bits are released by."""
