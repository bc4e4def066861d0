"""What holds in one community once defaults and `extends` are followed to their end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ppm.errors import Fault, did_you_mean
from ppm.spec.columns import Category, Drop, Geo, Laplace, Snap, columns_of_rule
from ppm.spec.document import Path
from ppm.spec.load import Declared
from ppm.spec.policy import Allocation, Collusion, Community, Defaults, Horizon, Policy, Protection

Rule = Drop | Snap | Laplace | Category | Geo


@dataclass(frozen=True, slots=True)
class Guarded:
    """How one pattern is protected, with everything that was inherited filled in."""

    mechanism: str
    epsilon: float
    allocation: Allocation
    place: Path
    """Where the policy says so; the community's own words come before inherited ones."""


@dataclass(frozen=True, slots=True)
class ColumnTerm:
    """A column rule and where it stands."""

    rule: Rule
    place: Path


@dataclass(frozen=True, eq=False)
class Terms:
    """The whole contract with one community."""

    community: str
    doc: str
    guarded: Mapping[str, Guarded]
    """The protected patterns, by name."""
    columns: tuple[ColumnTerm, ...]
    collusion: Collusion
    horizon: Horizon | None
    releases_rows: bool
    place: Path

    def by(self, *mechanisms: str) -> dict[str, Guarded]:
        """The patterns that are protected by one of these mechanisms."""
        return {name: one for name, one in self.guarded.items() if one.mechanism in mechanisms}

    def rules_on(self, column: str) -> list[ColumnTerm]:
        """The rules that change a column."""
        return [term for term in self.columns if column in columns_of_rule(term.rule)]


def terms_of(policy: Declared[Policy]) -> tuple[dict[str, Terms], list[Fault]]:
    """The terms of every community of a policy, and what is wrong with how they inherit."""
    faults: list[Fault] = []
    terms: dict[str, Terms] = {}
    for name in policy.spec.communities:
        chain = _ancestors(policy, name, faults)
        if chain is not None:
            terms[name] = _merge(policy, name, chain, faults)
    return terms, faults


def _ancestors(
    policy: Declared[Policy], name: str, faults: list[Fault]
) -> list[tuple[Path, Community | Defaults]] | None:
    """The sources of a community's rules, its own last; None if there is no such chain."""
    communities = policy.spec.communities
    chain: list[tuple[Path, Community | Defaults]] = []
    seen: list[str] = []
    current: str | None = name
    while current is not None:
        seen.append(current)
        place: Path = ("communities", current)
        chain.insert(0, (place, communities[current]))
        parent = communities[current].extends
        if parent is not None and parent not in communities:
            if current == name:
                hint = did_you_mean(parent, [one for one in communities if one != name])
                faults.append(
                    policy.fault((*place, "extends"), f"is {parent}, not a community{hint}")
                )
            return None
        if parent in seen:
            # Every member of a circle finds it; one of them tells.
            if parent == name == min(seen):
                circle = " -> ".join([*seen, parent])
                faults.append(
                    policy.fault((*place, "extends"), f"goes round in a circle: {circle}")
                )
            return None
        current = parent
    return [(("defaults",), policy.spec.defaults), *chain]


def _merge(
    policy: Declared[Policy],
    name: str,
    chain: list[tuple[Path, Community | Defaults]],
    faults: list[Fault],
) -> Terms:
    protections: dict[str, list[tuple[Path, Protection]]] = {}
    columns: tuple[ColumnTerm, ...] = ()
    for place, source in chain:
        for pattern, protection in source.protect.items():
            here = ((*place, "protect", pattern), protection)
            protections.setdefault(pattern, []).insert(0, here)
        own = tuple(
            ColumnTerm(rule, (*place, "columns", position))
            for position, rule in enumerate(source.columns)
        )
        given = {column for term in own for column in columns_of_rule(term.rule)}
        for term in columns:
            left = sorted(set(columns_of_rule(term.rule)) - given)
            if left and len(left) < len(columns_of_rule(term.rule)):
                faults.append(
                    policy.fault(
                        (*place, "columns"),
                        f"replace a part of an inherited {term.rule.rule} rule, and {left[0]} "
                        "would pass as it is; give a rule for it too",
                    )
                )
        kept = [term for term in columns if given.isdisjoint(columns_of_rule(term.rule))]
        columns = (*kept, *own)
    collusion = [source.collusion for _, source in chain if source.collusion is not None]
    horizons = [source.horizon for _, source in chain if source.horizon is not None]
    own_words = [source for _, source in chain if isinstance(source, Community)]
    rows = [source.rows for source in own_words if source.rows is not None]
    guarded = {
        pattern: settled
        for pattern, sources in protections.items()
        if (settled := _settle(policy, name, sources, faults)) is not None
    }
    return Terms(
        community=name,
        doc=own_words[-1].doc,
        guarded=guarded,
        columns=columns,
        collusion=collusion[-1] if collusion else "nested",
        horizon=horizons[-1] if horizons else None,
        releases_rows=not rows or rows[-1] == "released",
        place=("communities", name),
    )


def _settle(
    policy: Declared[Policy],
    community: str,
    sources: list[tuple[Path, Protection]],
    faults: list[Fault],
) -> Guarded | None:
    """The nearest word on each key; None if the pattern is not protected, or cannot be."""
    mechanism = next((one.mechanism for _, one in sources if one.mechanism is not None), None)
    epsilon = next((one.epsilon for _, one in sources if one.epsilon is not None), None)
    allocation = next((one.allocation for _, one in sources if one.allocation is not None), None)
    place = sources[0][0]
    if mechanism == "none":
        lifted = next(at for at, (_, one) in enumerate(sources) if one.mechanism is not None)
        if any(one.epsilon is not None for _, one in sources[: lifted + 1]):
            faults.append(
                policy.fault(place, f"has an epsilon, but mechanism: none holds in {community}")
            )
        return None
    if mechanism is not None and epsilon is not None:
        return Guarded(mechanism, epsilon, allocation or "uniform", place)
    given = {"mechanism": mechanism, "epsilon": epsilon}
    missing = " and ".join(key for key, value in given.items() if value is None)
    faults.append(policy.fault(place, f"needs {missing}, here or in what {community} inherits"))
    return None
