"""A plan made ready to run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from ppm.dp.filter import Filter
from ppm.dp.nested.joint import JointChain
from ppm.dp.nested.response import ResponseChain
from ppm.dp.purpose import Purpose
from ppm.dp.secret import SecretRef
from ppm.dp.source import Seed
from ppm.protect.chains import Bits, Chain, chains_of_bits
from ppm.protect.horizon import hard_stop
from ppm.protect.plan import Plan
from ppm.protect.program import Program, Reader, Unit
from ppm.protect.terms import Terms
from ppm.spec.instant import microseconds_since_1970
from ppm.spec.pattern import EventType
from ppm.spec.write import to_yaml


def program_of(
    plan: Plan,
    communities: Sequence[str],
    *,
    noise: SecretRef | Seed,
    columns: str,
    shards: int,
    knows_subjects: bool,
    names_communities: bool,
) -> Program:
    """The program that tells some communities of a plan what they may know."""
    types = tuple(private_types(plan))
    return Program(
        policy=plan.policy.name,
        version=plan.policy.version,
        meaning=_meaning(plan),
        types=types,
        communities=tuple(communities),
        units=tuple(_units(plan, types, communities)),
        slot=plan.slot,
        start=microseconds_since_1970(plan.policy.stream.from_),
        knows_subjects=knows_subjects,
        names_communities=names_communities,
        drops_nulls=plan.policy.stream.on_null == "drop",
        noise=noise,
        columns=columns,
        shards=shards,
    )


def private_types(plan: Plan) -> dict[str, EventType]:
    """The types that some community of a policy is kept from, in a fixed order."""
    found: dict[str, EventType] = {}
    for terms in plan.terms.values():
        for name, event in plan.types(terms).items():
            if name not in found or found[name].stand_in is None:
                found[name] = event
    return dict(sorted(found.items()))


def _units(plan: Plan, types: tuple[str, ...], communities: Sequence[str]) -> Iterator[Unit]:
    for chain in chains_of_bits(plan):
        readers = tuple(
            Reader(
                communities.index(one.terms.community),
                one.number,
                _stop(plan, one.terms, chain.mechanism, one.of),
            )
            for one in chain.members
            if one.terms.community in communities
        )
        if readers:
            # Later stages than these readers' are nobody's.
            count = 1 + max(one.release for one in readers)
            built = chain.build()
            assert isinstance(built, Bits)
            yield Unit(
                tuple(map(types.index, chain.names)),
                _first_stages(built.chain, count),
                _purposes(plan, chain)[:count],
                readers,
            )


def _first_stages(chain: ResponseChain | JointChain, count: int) -> ResponseChain | JointChain:
    if isinstance(chain, JointChain):
        return JointChain(chain.epsilons[:count], chain.types[:count])
    return ResponseChain(chain.epsilons[:count])


def _purposes(plan: Plan, chain: Chain) -> tuple[Purpose, ...]:
    """What each stage of a chain draws for; whatever differs here draws other words."""
    members, start = chain.members, microseconds_since_1970(plan.policy.stream.from_)
    grid = f"{plan.slot} us from {start}"
    alone = members[0].terms.collusion == "independent"
    owner = (f"for {members[0].terms.community} alone",) if alone else ()
    purpose = Purpose(
        plan.policy.name, plan.policy.version, chain.mechanism, chain.names, grid, owner
    )
    found = []
    for number, epsilon in enumerate(chain.epsilons):
        told = next(one.of for one in members if one.number == number)
        purpose = purpose.then(f"epsilon {epsilon!r} of {','.join(sorted(told))}")
        found.append(purpose)
    return tuple(found)


def _stop(plan: Plan, terms: Terms, mechanism: str, types: frozenset[str]) -> Filter | None:
    """The filter of a draw: of the patterns that it tells of, the first to stop."""
    stops = [
        hard_stop(plan, terms, name)
        for name in terms.by(mechanism)
        if not types.isdisjoint(plan.pattern(name).types)
    ]
    found = [stop for stop in stops if stop is not None]
    return min(found, default=None, key=lambda stop: stop.paid)


def _meaning(plan: Plan) -> str:
    """A digest of a policy and its patterns, without what is for people or predictions."""
    policy = plan.policy.model_copy(
        update={
            "doc": "",
            "prior": None,
            "communities": type(plan.policy.communities)(
                (name, one.model_copy(update={"doc": ""}))
                for name, one in plan.policy.communities.items()
            ),
        }
    )
    patterns = [home.spec.model_copy(update={"doc": ""}) for home in plan.patterns.values()]
    texts = [to_yaml(policy), *sorted(map(to_yaml, patterns))]
    return hashlib.blake2b("\n---\n".join(texts).encode(), digest_size=8).hexdigest()
