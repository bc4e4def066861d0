"""Where one community's budget goes: the epsilon of every bit, group, decoy and answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from ppm.dp.allocation.adaptive import NO_BETTER, adaptive
from ppm.dp.allocation.joint import better_channel
from ppm.dp.allocation.need import Need, needed, worth
from ppm.dp.allocation.optimal import optimal
from ppm.dp.allocation.uniform import uniform
from ppm.dp.composition import change_cost, decoy_cost, groups_by_shared_types
from ppm.dp.exact import WORD
from ppm.dp.joint import all_shown
from ppm.dp.mechanisms.channel import Channel as Table
from ppm.dp.prior import Prior
from ppm.dp.response import fabricated_rows
from ppm.dp.utility import Channel, Joint, Response, Tabled
from ppm.errors import listed
from ppm.protect.needs import needs_in
from ppm.protect.overlap import private_types_of_rows, reached
from ppm.protect.plan import Plan, Question
from ppm.protect.prior import prior_of
from ppm.protect.spans import sees_every_row, slots_spanned
from ppm.protect.terms import Terms
from ppm.spec.policy import Allocation


@dataclass(frozen=True, slots=True)
class Group:
    """Patterns that share types, released by one draw on all their bits."""

    patterns: frozenset[str]
    types: frozenset[str]
    """The types that are released; a change of any others is not seen."""
    epsilon: float
    table: Table | None = None
    """The channel that was made for consumers' queries; None for the plain joint response."""

    @property
    def order(self) -> tuple[str, ...]:
        """Bit i of the group's vectors is the i-th of these types."""
        return tuple(sorted(self.types))

    @property
    def channel(self) -> Channel:
        """What happens to its types, as closed forms need it."""
        if self.table is None:
            return Joint(self.types, self.epsilon)
        return Tabled.of(self.order, self.table)

    @property
    def invented_rows(self) -> float:
        """The stand-ins that a slot gets on average, if nothing happened."""
        if self.table is None:
            size = len(self.types)
            return size * all_shown(self.epsilon, size, asked=1, all_present=False)
        counts = enumerate(self.table.counts(0))
        return math.fsum(vector.bit_count() * count / WORD for vector, count in counts)


@dataclass(frozen=True, slots=True)
class Decoys:
    """The one draw per slot that all decoy patterns of a community share."""

    patterns: frozenset[str]
    epsilon: float


@dataclass(frozen=True, slots=True)
class Answer:
    """A registered query that is answered on the truth, and pays for it."""

    question: Question
    patterns: frozenset[str]
    """The private patterns that it can tell something about."""
    slots: int
    """In how many of its answers a row counts."""
    epsilon: float
    """The budget of each answer."""


@dataclass(frozen=True, slots=True)
class Spending:
    """The split of a community's budgets, as it is spent."""

    shares: Mapping[str, float]
    """The epsilon of each type that is released under `response`."""
    budgets: Mapping[str, float]
    """The epsilon of each pattern under `response`."""
    groups: tuple[Group, ...]
    decoys: Decoys | None
    answers: tuple[Answer, ...]
    changed: Mapping[str, frozenset[str]]
    """For each pattern, the private types that may change with rows of its types."""
    types: Mapping[str, frozenset[str]]
    """The types of each pattern."""

    def bits_of(self, name: str) -> float:
        """What the bits of `response` that a pattern's rows may change cost together."""
        return change_cost(self.shares, self.changed[name])

    def groups_of(self, name: str) -> list[Group]:
        """The joint draws that a pattern's rows may change."""
        return [group for group in self.groups if not self.changed[name].isdisjoint(group.types)]

    def of(self, name: str) -> float:
        """What a change of one slot costs, in rows of a pattern's types."""
        decoys = self.decoys.epsilon if self.decoys and name in self.decoys.patterns else 0.0
        answers = [a.slots * a.epsilon for a in self.answers if name in a.patterns]
        joint = [group.epsilon for group in self.groups_of(name)]
        return math.fsum([self.bits_of(name), *joint, decoys, *answers])

    @property
    def invented_rows(self) -> float:
        """The stand-ins that a slot of a known subject gets on average, if nothing happened."""
        joint = (group.invented_rows for group in self.groups)
        return math.fsum([fabricated_rows(self.shares.values()), *joint])

    @property
    def channels(self) -> list[Channel]:
        """What happens to the types that are released, as closed forms need it."""
        return _channels(self.shares, self.groups)

    @property
    def released(self) -> frozenset[str]:
        """The private types of which rows are released."""
        return frozenset(self.shares).union(*(group.types for group in self.groups))

    @property
    def of_all(self) -> float:
        """What a change of one slot costs, in rows of any private type; decoys are apart."""
        return math.fsum(
            [
                *self.shares.values(),
                *(group.epsilon for group in self.groups),
                *(answer.slots * answer.epsilon for answer in self.answers),
            ]
        )


def spending_of(plan: Plan, terms: Terms) -> Spending:
    """How a community's budgets are split over what is released to it."""
    guarded = terms.by("response", "joint-response").values()
    is_guided = any(one.allocation != "uniform" for one in guarded)
    return spending_serving(plan, terms, needs_in(plan, terms) if is_guided else ())


@lru_cache(maxsize=4096)
def spending_serving(
    plan: Plan, terms: Terms, needs: tuple[Need, ...], *, allocation: Allocation | None = None
) -> Spending:
    """How budgets would be split if these were all the needs, or under another allocation.

    What cannot guide is refused before anything runs; until then such budgets are split evenly.
    """
    response = terms.by("response")
    decoys = terms.by("decoy-windows")
    shares = _shares(plan, terms, needs, allocation)
    return Spending(
        shares=shares,
        budgets={name: one.epsilon for name, one in response.items()},
        groups=_settled(plan, needs, shares, _groups(plan, terms, needs, allocation)),
        decoys=Decoys(frozenset(decoys), decoy_cost(one.epsilon for one in decoys.values()))
        if decoys
        else None,
        answers=_answers(plan, terms),
        changed={name: private_types_of_rows(plan, terms, name) for name in terms.guarded},
        types={name: frozenset(plan.pattern(name).types) for name in terms.guarded},
    )


def _shares(
    plan: Plan, terms: Terms, needs: tuple[Need, ...], wished: Allocation | None
) -> Mapping[str, float]:
    response = terms.by("response")
    budgets = {name: (plan.pattern(name).types, one.epsilon) for name, one in response.items()}
    prior = _guide(plan, needs)
    match wished or allocation_of(terms, "response"):
        case "adaptive" if prior is not None:
            return adaptive(budgets, needs, prior)
        case "optimal" if prior is not None:
            return optimal(budgets, needs, prior)
        case _:
            return uniform(budgets)


def _groups(
    plan: Plan, terms: Terms, needs: tuple[Need, ...], wished: Allocation | None
) -> tuple[Group, ...]:
    joint = terms.by("joint-response")
    types = {name: frozenset(plan.pattern(name).types) for name in joint}
    allocation = wished or allocation_of(terms, "joint-response")
    prior = _guide(plan, needs) if allocation != "uniform" else None
    if prior is not None:
        asked = needed(needs)
        types = {name: own & asked for name, own in types.items() if own & asked}
    groups = []
    for names in groups_by_shared_types(types):
        union = frozenset().union(*(types[name] for name in names))
        group = Group(names, union, min(joint[name].epsilon for name in names))
        if prior is not None:
            group = replace(group, table=better_channel(group.order, group.epsilon, needs, prior))
        groups.append(group)
    return tuple(groups)


def _settled(
    plan: Plan, needs: tuple[Need, ...], shares: Mapping[str, float], groups: tuple[Group, ...]
) -> tuple[Group, ...]:
    """The groups with their tables, if these are better for queries that read several groups too.

    A table is made for one group, as if all else were exact.
    """
    plain = tuple(replace(group, table=None) for group in groups)
    prior = _guide(plan, needs)
    if groups == plain or prior is None:
        return groups
    made, without = (worth(needs, _channels(shares, each), prior) for each in (groups, plain))
    return groups if made > without + NO_BETTER else plain


def _channels(shares: Mapping[str, float], groups: tuple[Group, ...]) -> list[Channel]:
    bits: list[Channel] = [Response.spending(shares)] if shares else []
    return [*bits, *(group.channel for group in groups)]


def _guide(plan: Plan, needs: tuple[Need, ...]) -> Prior | None:
    """The history that needs are served by; None if there is none, or no need."""
    asked = needed(needs)
    known = prior_of(plan, asked) if needs else None
    if known is None and needs and not any(need.alpha for need in needs):
        return Prior.independent(dict.fromkeys(sorted(asked), 0.5))  # recall is the same for all
    return known


def allocation_of(terms: Terms, mechanism: str) -> Allocation:
    """How the budgets of a community under one mechanism are split; all of them alike."""
    return next((one.allocation for one in terms.by(mechanism).values()), "uniform")


def declared_allocation(terms: Terms) -> str:
    """How the budgets of a community are split, in a word or two."""
    guarded = terms.by("response", "joint-response").values()
    return listed(list(dict.fromkeys(one.allocation for one in guarded))) or "uniform"


def _answers(plan: Plan, terms: Terms) -> tuple[Answer, ...]:
    """Every charged answer with an equal part of the budget of each pattern that it touches."""
    touched: list[tuple[Question, frozenset[str], int]] = []
    for question in plan.asked_in(terms.community):
        patterns = frozenset(patterns_told_by(plan, terms, question)) & set(terms.by("answers"))
        slots = slots_spanned(question.pattern, plan.slot)
        if question.is_answered_on_truth and patterns and slots is not None:
            touched.append((question, patterns, slots))
    rivals = {name: sum(name in patterns for _, patterns, _ in touched) for name in terms.guarded}
    return tuple(
        Answer(
            question,
            patterns,
            slots,
            min(terms.guarded[name].epsilon / (rivals[name] * slots) for name in patterns),
        )
        for question, patterns, slots in touched
    )


@lru_cache(maxsize=4096)
def patterns_told_by(plan: Plan, terms: Terms, question: Question) -> tuple[str, ...]:
    """The private patterns of a community that an answer on the truth tells something about.

    It tells nothing only if no row of a private type can change it: its types never hold of such a
    row, and it neither counts rows nor asks for neighbours. Decoys withhold whole slots, so there
    any row tells.
    """
    sees_all = sees_every_row(question.pattern)
    return tuple(
        name
        for name, one in terms.guarded.items()
        if one.mechanism == "decoy-windows"
        or sees_all
        or reached(plan, question.pattern.events, plan.pattern(name).events)
    )
