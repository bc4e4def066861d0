"""The chains that a plan uses, so that communities which compare notes pay the largest epsilon."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from functools import partial

import numpy as np

from ppm.dp.certificate import Certificate
from ppm.dp.mechanism import Values, Words
from ppm.dp.nested.decoy import DecoyChain
from ppm.dp.nested.response import ResponseChain
from ppm.dp.nested.table import ChainOfBits
from ppm.errors import Fault, SpecError, listed
from ppm.protect.nesting import Nested, groups_in_chains, nested_terms, sharing_terms
from ppm.protect.plan import Plan
from ppm.protect.release import Draw, Release
from ppm.protect.spending import spending_of
from ppm.protect.terms import Terms
from ppm.spec.document import Path


@dataclass(frozen=True, slots=True)
class Bits:
    """What all communities of a chain of responses are told, side by side."""

    chain: ChainOfBits

    @property
    def words(self) -> int:
        return len(self.chain.epsilons)

    def release(self, values: Values, words: Words) -> Values:
        told = self.chain.release(values, lambda stage, _: words[:, stage : stage + 1])
        return np.stack(told, axis=1)

    def certificate(self) -> Certificate:
        return self.chain.certificate(0)

    def certificate_of(self, number: int) -> Certificate:
        """What one of them learns."""
        return self.chain.certificate(number)


@dataclass(frozen=True, slots=True)
class Withheld:
    """Which communities of a chain of decoys a slot is withheld from."""

    chain: DecoyChain

    @property
    def words(self) -> int:
        return 1

    def release(self, values: Values, words: Words) -> Values:
        return np.stack(self.chain.release(values, words), axis=1)

    def certificate(self) -> Certificate:
        return self.chain.certificate(range(len(self.chain.epsilons)))

    def certificate_of(self, number: int) -> Certificate:
        """What one of them learns."""
        return self.chain.certificate([number])


@dataclass(frozen=True, slots=True)
class OneOf:
    """What one community of a chain is told, drawn as the whole chain draws it."""

    all: Bits | Withheld
    number: int

    @property
    def words(self) -> int:
        return self.all.words

    def release(self, values: Values, words: Words) -> Values:
        return np.ascontiguousarray(self.all.release(values, words)[:, self.number])

    def certificate(self) -> Certificate:
        return self.all.certificate_of(self.number)


@dataclass(frozen=True, slots=True)
class Member:
    """A community in a chain: what it is told of there, and by which release."""

    terms: Terms
    of: frozenset[str]
    epsilon: float
    number: int


@dataclass(frozen=True, slots=True)
class Chain:
    """Releases of one thing to some communities, each derived from the one before; not yet built.

    A community that shares with nobody has a chain of one release.
    """

    mechanism: str
    names: tuple[str, ...]
    """What is drawn: event types in the order of their bits, or patterns behind decoys."""
    epsilons: tuple[float, ...]
    members: tuple[Member, ...]
    build: Callable[[], Bits | Withheld]
    worlds: tuple[tuple[int, ...], tuple[int, ...]]
    place: Path
    """Where the policy asks for it."""

    @property
    def is_shared(self) -> bool:
        """Whether something is derived at all."""
        return len(self.epsilons) > 1

    @property
    def together(self) -> Release:
        """What all of its communities are told, if they compare notes."""
        community = listed(list(dict.fromkeys(one.terms.community for one in self.members)))
        of = tuple(sorted(frozenset().union(*(one.of for one in self.members))))
        claim = max(one.epsilon for one in self.members)
        draw = Draw(self.build(), self.worlds)
        return Release(community, of, self.mechanism, "a slot", claim, (draw,))


def chains_of(plan: Plan) -> tuple[Release, ...]:
    """What communities that say `collusion: nested` are told together, chain by chain.

    Where communities do not share a chain, their epsilons add up, and nothing has to be shown. A
    chain that cannot be built is a `SpecError`.
    """
    releases: list[Release] = []
    faults: list[Fault] = []
    for chain in _shared(plan):
        try:
            releases.append(chain.together)
        except ValueError as error:
            faults.append(plan.declared.fault(chain.place, f"cannot be nested: {error}"))
    if faults:
        raise SpecError(faults)
    return tuple(releases)


def draw_in_chain(plan: Plan, terms: Terms, mechanism: str, of: Set[str]) -> Draw | None:
    """What the chain of a type, group or set of patterns tells one community, if it is in one."""
    for chain in _shared(plan):
        for one in chain.members:
            if (one.terms, chain.mechanism, one.of) == (terms, mechanism, of):
                return Draw(OneOf(chain.build(), one.number), chain.worlds)
    return None


def chains_of_bits(plan: Plan) -> Iterator[Chain]:
    """Everything that is drawn of existence bits, for all communities of a plan."""
    for sharing in sharing_terms(plan):
        yield from _of_types(plan, sharing)
        yield from _of_groups(plan, sharing)


def _shared(plan: Plan) -> Iterator[Chain]:
    nested = nested_terms(plan)
    every = (*_of_types(plan, nested), *_of_groups(plan, nested), *_of_decoys(plan, nested))
    yield from (chain for chain in every if chain.is_shared)


def _of_types(plan: Plan, sharing: tuple[Terms, ...]) -> Iterator[Chain]:
    told: dict[frozenset[str], list[tuple[Terms, float]]] = {}
    for terms in sharing:
        for name, share in sorted(spending_of(plan, terms).shares.items()):
            told.setdefault(frozenset({name}), []).append((terms, share))
    for types, shares in told.items():
        members, epsilons = _numbered(types, shares)
        yield Chain(
            "response",
            tuple(types),
            epsilons,
            members,
            partial(_bits, epsilons),
            ((0,), (1,)),
            _place(plan, members[-1].terms, "response", types),
        )


def _of_groups(plan: Plan, sharing: tuple[Terms, ...]) -> Iterator[Chain]:
    for nested in groups_in_chains(plan, sharing):
        chain = nested.chain
        if chain is not None:
            members = _of_nested(nested)
            last = members[-1]
            yield Chain(
                "joint-response",
                nested.names,
                chain.epsilons,
                members,
                partial(Bits, chain),
                ((0,), ((1 << len(nested.names)) - 1,)),
                _place(plan, last.terms, "joint-response", last.of),
            )


def _of_nested(nested: Nested) -> tuple[Member, ...]:
    return tuple(
        Member(terms, group.types, group.epsilon, nested.release_of(group))
        for terms, group in nested.members
    )


def _of_decoys(plan: Plan, sharing: tuple[Terms, ...]) -> Iterator[Chain]:
    told: dict[frozenset[str], list[tuple[Terms, float]]] = {}
    for terms in sharing:
        decoys = spending_of(plan, terms).decoys
        if decoys is not None:
            told.setdefault(decoys.patterns, []).append((terms, decoys.epsilon))
    for patterns, shares in told.items():
        members, epsilons = _numbered(patterns, shares)
        yield Chain(
            "decoy-windows",
            tuple(sorted(patterns)),
            epsilons,
            members,
            partial(_withheld, epsilons),
            ((1,), (0,)),
            members[-1].terms.guarded[min(patterns)].place,
        )


def _bits(epsilons: tuple[float, ...]) -> Bits:
    return Bits(ResponseChain(epsilons))


def _withheld(epsilons: tuple[float, ...]) -> Withheld:
    return Withheld(DecoyChain(epsilons))


def _numbered(
    of: frozenset[str], shares: list[tuple[Terms, float]]
) -> tuple[tuple[Member, ...], tuple[float, ...]]:
    """The members of a chain and its epsilons; communities with equal ones share one release."""
    epsilons = tuple(sorted({epsilon for _, epsilon in shares}, reverse=True))
    members = [Member(terms, of, epsilon, epsilons.index(epsilon)) for terms, epsilon in shares]
    return tuple(members), epsilons


def _place(plan: Plan, terms: Terms, mechanism: str, types: frozenset[str]) -> Path:
    """Where a community's policy protects a pattern with one of these types."""
    return next(
        one.place
        for name, one in terms.by(mechanism).items()
        if not types.isdisjoint(plan.pattern(name).types)
    )
