"""What runs: which bits are drawn together, for whom and in which slots.

Numbers, names and the *place* of the secret: it is sent to workers, and imports little.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ppm.cep.seal import Owner
from ppm.cep.step import BITS_IN_A_COLUMN
from ppm.dp.filter import Filter
from ppm.dp.mechanism import Values
from ppm.dp.nested.chain import Draw
from ppm.dp.nested.response import ResponseChain
from ppm.dp.nested.table import ChainOfBits
from ppm.dp.purpose import Purpose
from ppm.dp.secret import SecretRef
from ppm.dp.source import Seed, Source


@dataclass(frozen=True, slots=True)
class Reader:
    """A community that is told one release of a unit."""

    community: int
    """Its place among the program's communities."""
    release: int
    """Which release of the chain it is told."""
    stop: Filter | None
    """The slots that its budget pays for; None for all of them."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Existence bits that are drawn together, once for each subject and slot."""

    types: tuple[int, ...]
    """The places of its types among the program's: bit i of the vector is the i-th of them."""
    chain: ChainOfBits
    purposes: tuple[Purpose, ...]
    """What each stage of the chain draws its words for."""
    readers: tuple[Reader, ...]

    def shown(self, release: int) -> tuple[int, ...]:
        """The types that the bits of one release stand for."""
        if isinstance(self.chain, ResponseChain):
            return self.types
        return tuple(self.types[place] for place in self.chain.types[release])

    def release(self, truth: Values, draw: Draw) -> tuple[Values, ...]:
        """What each stage tells of these vectors."""
        return self.chain.release(truth, draw)


@dataclass(frozen=True)
class Program:
    """Everything that the step of a policy needs to know."""

    policy: str
    version: int
    meaning: str
    """A digest of all that the policy and its patterns say, but for what is for people."""
    types: tuple[str, ...]
    """The private types of the whole policy; each is a bit of every row."""
    communities: tuple[str, ...]
    """Who is told; the other communities of the policy have their part in chains only."""
    units: tuple[Unit, ...]
    slot: int
    start: int
    """Where slot 0 starts, in microseconds."""
    knows_subjects: bool
    """Whether subjects are declared; else one is known from the slot of its first public row on."""
    names_communities: bool
    """Whether what is told says to whom."""
    drops_nulls: bool
    noise: SecretRef | Seed
    columns: str
    """The stream's columns with their types."""
    shards: int
    allocation: str = ""
    """A digest of what queries and history made of the budgets; empty if they guide nothing."""

    @property
    def words(self) -> int:
        """How many whole numbers the bits of a row fill, at least one."""
        return max(1, -(-len(self.types) // BITS_IN_A_COLUMN))

    def first_open(self, watermark: int) -> int:
        """The first slot that a watermark leaves open."""
        return max(0, (watermark + 1 - self.start) // self.slot)

    def end_of(self, slot: int) -> int:
        """The last microsecond of a slot."""
        return self.start + (slot + 1) * self.slot - 1

    def owner(self, source: Source) -> Owner:
        """What a state belongs to: whatever would read it differently if it changed."""
        return self._owner | {"the secret": source.fingerprint}

    @cached_property
    def _owner(self) -> dict[str, str]:
        guided = {"the allocation by queries": self.allocation} if self.allocation else {}
        return guided | {
            f"the policy {self.policy}": self.meaning,
            "the version of the policy": str(self.version),
            "the set of communities": ",".join(self.communities),
            "the column community": str(self.names_communities),
            "the set of columns": self.columns,
            "the declaration of subjects": str(self.knows_subjects),
            "the number of shards": str(self.shards),
        }
