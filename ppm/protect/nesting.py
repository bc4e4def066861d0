"""Which joint groups are derived from which: what is promised, built and audited follows this."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ppm.dp.mechanisms.joint import MOST_BITS
from ppm.dp.nested.joint import JointChain
from ppm.dp.nested.table import TableChain
from ppm.protect.plan import Plan
from ppm.protect.spending import Group, spending_of
from ppm.protect.terms import Terms


@dataclass(frozen=True, slots=True)
class Nested:
    """Joint groups of different communities, each derived from the one before or equal to it."""

    members: tuple[tuple[Terms, Group], ...]
    chain: JointChain | TableChain | None
    """Their releases; None for a group of too many types, which has no mechanism."""

    @property
    def names(self) -> tuple[str, ...]:
        """The types of the first group, in the order of the bits of its vectors."""
        return tuple(sorted(self.members[0][1].types))

    def release_of(self, group: Group) -> int:
        """The number of the release that a member is told."""
        if not isinstance(self.chain, JointChain):
            return 0
        told = [*zip(self.chain.epsilons, map(set, self.chain.types), strict=True)]
        return told.index((group.epsilon, set(self._bits(group))))

    def with_next(self, terms: Terms, group: Group) -> Nested | None:
        """The chain with one more member, if its response can be derived from the last one."""
        _, last = self.members[-1]
        members = (*self.members, (terms, group))
        if (group.types, group.epsilon, group.table) == (last.types, last.epsilon, last.table):
            return Nested(members, self.chain)
        # Nothing is derived from a table but that table, nor a table from anything.
        if not isinstance(self.chain, JointChain) or group.table is not None:
            return None
        if not group.types <= last.types:
            return None
        longer = self.chain.with_next(group.epsilon, self._bits(group))
        return None if longer is None else Nested(members, longer)

    def _bits(self, group: Group) -> tuple[int, ...]:
        return tuple(map(self.names.index, sorted(group.types)))


def nested_terms(plan: Plan) -> tuple[Terms, ...]:
    """The communities whose less precise releases are derived from more precise ones."""
    return tuple(terms for terms in plan.terms.values() if terms.collusion == "nested")


def sharing_terms(plan: Plan) -> tuple[tuple[Terms, ...], ...]:
    """Who shares chains with whom: all nested communities, and each independent one with nobody."""
    alone = [(terms,) for terms in plan.terms.values() if terms.collusion == "independent"]
    return tuple(each for each in (nested_terms(plan), *alone) if each)


def sharing_with(plan: Plan, community: str) -> list[str]:
    """The other communities that are told of a pattern which a nested community is told of."""
    own = plan.terms[community]
    return [
        terms.community
        for terms in (nested_terms(plan) if own.collusion == "nested" else ())
        if terms is not own and not terms.guarded.keys().isdisjoint(own.guarded)
    ]


@lru_cache(maxsize=256)
def groups_in_chains(plan: Plan, sharing: tuple[Terms, ...]) -> tuple[Nested, ...]:
    """The joint groups of communities that share, in chains; a chain costs its first group."""
    told = [(terms, group) for terms in sharing for group in spending_of(plan, terms).groups]
    chains: list[Nested] = []
    for terms, group in sorted(told, key=lambda one: (-len(one[1].types), -one[1].epsilon)):
        for place, chain in enumerate(chains):
            longer = chain.with_next(terms, group)
            if longer is not None:
                chains[place] = longer
                break
        else:
            chains.append(Nested(((terms, group),), _first(group)))
    return tuple(chains)


def _first(group: Group) -> JointChain | TableChain | None:
    if group.table is not None:
        return TableChain(group.table)
    size = len(group.types)
    return None if size > MOST_BITS else JointChain((group.epsilon,), types=(tuple(range(size)),))
