"""Programs and pipelines with a known bug, which an audit of the stream must catch.

Each bug changes one unit of a program, so that one run can have several. They are classes of the
tests: nothing that is shipped can be switched to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from ppm.dp.mechanism import Values
from ppm.dp.mechanisms.channel import Channel
from ppm.dp.mechanisms.kary import KaryResponse
from ppm.dp.nested.chain import Draw
from ppm.dp.nested.joint import JointChain
from ppm.dp.nested.response import ResponseChain
from ppm.dp.nested.table import TableChain
from ppm.protect.program import Program, Unit

Bug = Callable[[Unit], Unit]


@dataclass(frozen=True, slots=True)
class OnlyMatches(Unit):
    """Noise where the match completed, the truth elsewhere."""

    def release(self, truth: Values, draw: Draw) -> tuple[Values, ...]:
        is_match = truth == (1 << len(self.types)) - 1
        return tuple(np.where(is_match, one, truth) for one in self.chain.release(truth, draw))


@dataclass(frozen=True, slots=True)
class OncePrefix(Unit):
    """Noise once the first type was seen, the truth before that."""

    def release(self, truth: Values, draw: Draw) -> tuple[Values, ...]:
        is_begun = (truth & 1).astype(np.bool_)
        return tuple(np.where(is_begun, one, truth) for one in self.chain.release(truth, draw))


@dataclass(frozen=True, slots=True)
class EmptyLeftAlone(Unit):
    """No stand-in is made up where nothing happened."""

    def release(self, truth: Values, draw: Draw) -> tuple[Values, ...]:
        return tuple(np.where(truth == 0, 0, one) for one in self.chain.release(truth, draw))


@dataclass(frozen=True, slots=True)
class ApartForEach(Unit):
    """Noise of its own for every community, where each should be derived from the one before."""

    def release(self, truth: Values, draw: Draw) -> tuple[Values, ...]:
        return tuple(
            KaryResponse(epsilon, 2).release(truth, draw(stage, truth))
            for stage, epsilon in enumerate(self.chain.epsilons)
        )


@dataclass(frozen=True, slots=True)
class FirstForAll(Unit):
    """Every community is told what the best informed one may know."""

    def release(self, truth: Values, draw: Draw) -> tuple[Values, ...]:
        released = self.chain.release(truth, draw)
        return (released[0],) * len(released)


def as_a(kind: type[Unit]) -> Bug:
    """A unit that does something else with the same parameters."""
    return lambda unit: kind(*(getattr(unit, one.name) for one in fields(unit)))


def times(factor: float) -> Bug:
    """A unit with so many times the epsilon that the policy allows."""

    def changed(unit: Unit) -> Unit:
        chain = unit.chain
        if isinstance(chain, TableChain):
            sharper = np.array(chain.table.rows, np.float64) ** factor
            law = sharper / sharper.sum(axis=1, keepdims=True)
            wide = 2 * factor * chain.table.epsilon  # so that no noise is added for its sake
            return replace(unit, chain=TableChain(Channel.rounded(wide, law)))
        epsilons = tuple(factor * epsilon for epsilon in chain.epsilons)
        if isinstance(chain, JointChain):
            return replace(unit, chain=JointChain(epsilons, chain.types))
        return replace(unit, chain=ResponseChain(epsilons))

    return changed


def one_word(unit: Unit) -> Unit:
    """All stages of a chain draw by the word of the first."""
    return replace(unit, purposes=unit.purposes[:1] * len(unit.purposes))


def with_bugs(bugs: Mapping[tuple[str, ...], Bug]) -> Callable[[Program], Program]:
    """A program whose units for some types have a bug; types under a joint draw go together."""

    def altered(program: Program) -> Program:
        units = (_altered(program, unit, bugs) for unit in program.units)
        return replace(program, units=tuple(units))

    return altered


def _altered(program: Program, unit: Unit, bugs: Mapping[tuple[str, ...], Bug]) -> Unit:
    names = tuple(program.types[place] for place in unit.types)
    return bugs[names](unit) if names in bugs else unit


def to_types(bug: Bug, names: Sequence[str]) -> dict[tuple[str, ...], Bug]:
    """The same bug in the units of several types."""
    return {(name,): bug for name in names}
