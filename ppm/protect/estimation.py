"""Types that are asked for together, and how their stand-ins become an estimate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ppm.cep.step import BITS_IN_A_COLUMN
from ppm.dp.estimate.law import TableLaw
from ppm.dp.estimate.matches import Matches
from ppm.dp.estimate.score import Score, score_of
from ppm.dp.filter import Filter
from ppm.dp.mechanism import Values
from ppm.dp.nested.response import SwapLaw
from ppm.errors import PpmError, counted, did_you_mean, listed
from ppm.protect.parameters import Parameters, StandIn, UnitParameters


@dataclass(frozen=True, slots=True)
class Part:
    """What one unit adds to a question."""

    score: Score
    types: tuple[str, ...]
    """The types whose bits its score reads."""
    first: int
    """Which bit of a pattern is its first one."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question for all of some types, in one slot of one subject.

    What a subject-slot shows of them is one whole number, its pattern: a bit for each of `types`.
    """

    parts: tuple[Part, ...]
    open: tuple[Filter, ...]
    """The slots that are told of are those that all of these leave open."""

    @property
    def types(self) -> tuple[str, ...]:
        """The types to look for; the i-th is bit i of a pattern."""
        return tuple(name for part in self.parts for name in part.types)

    @property
    def matches(self) -> Matches:
        """The estimator."""
        return Matches(tuple(part.score for part in self.parts))

    def vectors(self, patterns: Values) -> list[Values]:
        """What each unit tells, from the patterns of subject-slots."""
        return [patterns >> part.first & (1 << len(part.types)) - 1 for part in self.parts]


def asked_of(parameters: Parameters, types: Sequence[str]) -> Asked:
    """The question for all of some types; an error says why it cannot be answered."""
    faults = [*_faults(parameters, types)]
    if faults:
        raise PpmError("\n".join(faults))
    parts: list[Part] = []
    units = [unit for unit in parameters.units if not set(types).isdisjoint(unit.types)]
    for unit in units:
        parts.append(_part(unit, types, sum(len(part.types) for part in parts)))
    if sum(len(part.types) for part in parts) > BITS_IN_A_COLUMN:
        raise PpmError(f"at most {BITS_IN_A_COLUMN} types can be asked for together")
    return Asked(tuple(parts), tuple(unit.open for unit in units if unit.open is not None))


def _part(unit: UnitParameters, types: Sequence[str], first: int) -> Part:
    asked = [place for place, name in enumerate(unit.types) if name in types]
    law, names = unit.law, unit.types
    if isinstance(law, SwapLaw):  # what is shown of the other bits says nothing
        names = tuple(unit.types[place] for place in asked)
        law, asked = law.of_fewer(len(unit.types) - len(asked)), [*range(len(asked))]
    try:
        return Part(score_of(law, sum(1 << place for place in asked)), names, first)
    except ValueError as error:
        raise PpmError(f"{listed(names)} cannot be estimated: {error}") from None


def _faults(parameters: Parameters, types: Sequence[str]) -> Iterator[str]:
    told = parameters.types
    if isinstance(types, str):
        yield f"types is {types}, one text; give a list of types"
        return
    if not types:
        yield "no types are asked for; name one at least"
    if len(set(types)) < len(types):
        yield "types names one twice; once is enough"
    for name in dict.fromkeys(types):
        if name not in told:
            hint = did_you_mean(name, sorted(told)) or "; it is told of none"
            yield f"{name} is no private type that {parameters.community} is told of{hint}"
    for name in _looked_for(parameters, types):
        if parameters.stand_ins[name] is None:
            yield (
                f"stand-ins of {name} cannot be told from other rows by {parameters.community}: a "
                "column rule changes a column that the type is known by"
            )
        else:
            alike = [other for other in told if other != name and _alike(parameters, name, other)]
            if alike:
                noun = counted(len(alike), "other type")
                yield f"stand-ins of {name} look like those of {noun}, {listed(alike)}"


def _looked_for(parameters: Parameters, types: Sequence[str]) -> list[str]:
    """The types whose stand-ins count: those that are asked, and all that a table ties to them."""
    return [
        name
        for unit in parameters.units
        for name in unit.types
        if name in types
        or (isinstance(unit.law, TableLaw) and not set(types).isdisjoint(unit.types))
    ]


def _alike(parameters: Parameters, name: str, other: str) -> bool:
    one, another = parameters.stand_ins[name], parameters.stand_ins[other]
    if one is None or another is None:
        return False  # it is known by columns that the other type does not read
    return _passes_for(one, another) or _passes_for(another, one)


def _passes_for(row: StandIn, other: StandIn) -> bool:
    return all(row.get(column) == value for column, value in other.items())
