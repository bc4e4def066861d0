"""Where one community's budget goes: the epsilon of every bit, group, decoy and answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from ppm.dp.allocation.uniform import uniform
from ppm.dp.composition import change_cost, decoy_cost, groups_by_shared_types
from ppm.dp.decoy import slots_of_match
from ppm.dp.joint import all_shown
from ppm.dp.response import fabricated_rows
from ppm.protect.overlap import private_types_of_rows, reached
from ppm.protect.plan import Plan, Question
from ppm.protect.terms import Terms
from ppm.spec.pattern import Pattern


@dataclass(frozen=True, slots=True)
class Group:
    """Patterns that share types, released by one draw on all their bits."""

    patterns: frozenset[str]
    types: frozenset[str]
    epsilon: float


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
    """The split of a community's budgets, under the uniform allocation."""

    shares: Mapping[str, float]
    """The epsilon of each type under `response`."""
    budgets: Mapping[str, float]
    """The epsilon of each pattern under `response`."""
    is_uniform: bool
    """Whether `shares` is what will be spent; if not, only `budgets` bounds it."""
    groups: tuple[Group, ...]
    decoys: Decoys | None
    answers: tuple[Answer, ...]
    changed: Mapping[str, frozenset[str]]
    """For each pattern, the private types that may change with rows of its types."""
    types: Mapping[str, frozenset[str]]
    """The types of each pattern."""

    def bits_of(self, name: str) -> float:
        """What the bits of `response` that a pattern's rows may change cost together."""
        changed = self.changed[name]
        if self.is_uniform:
            return change_cost(self.shares, changed)
        # Whatever the allocation, the types of a pattern stay within its budget.
        return math.fsum(
            epsilon
            for pattern, epsilon in self.budgets.items()
            if pattern == name or not changed.isdisjoint(self.types[pattern] - self.types[name])
        )

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
        joint = (
            len(one.types) * all_shown(one.epsilon, len(one.types), asked=1, all_present=False)
            for one in self.groups
        )
        return math.fsum([fabricated_rows(self.shares.values()), *joint])

    @property
    def of_all(self) -> float:
        """What a change of one slot costs, in rows of any private type; decoys are apart."""
        bits = self.shares if self.is_uniform else self.budgets
        return math.fsum(
            [
                *bits.values(),
                *(group.epsilon for group in self.groups),
                *(answer.slots * answer.epsilon for answer in self.answers),
            ]
        )


@lru_cache(maxsize=4096)
def spending_of(plan: Plan, terms: Terms) -> Spending:
    """How a community's budgets are split over what is released to it."""
    response = terms.by("response")
    decoys = terms.by("decoy-windows")
    return Spending(
        shares=uniform(
            {name: (plan.pattern(name).types, one.epsilon) for name, one in response.items()}
        ),
        budgets={name: one.epsilon for name, one in response.items()},
        is_uniform=all(one.allocation == "uniform" for one in response.values()),
        groups=_groups(plan, terms),
        decoys=Decoys(frozenset(decoys), decoy_cost(one.epsilon for one in decoys.values()))
        if decoys
        else None,
        answers=_answers(plan, terms),
        changed={name: private_types_of_rows(plan, terms, name) for name in terms.guarded},
        types={name: frozenset(plan.pattern(name).types) for name in terms.guarded},
    )


def _groups(plan: Plan, terms: Terms) -> tuple[Group, ...]:
    joint = terms.by("joint-response")
    return tuple(
        Group(
            names,
            frozenset(one for name in names for one in plan.pattern(name).types),
            min(joint[name].epsilon for name in names),
        )
        for names in groups_by_shared_types({name: plan.pattern(name).types for name in joint})
    )


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


def sees_every_row(pattern: Pattern) -> bool:
    """Whether rows of other types can change its matches: strict order, until, most windows."""
    return any(
        stage.contiguity in ("next", "not_next")
        or stage.loop == "consecutive"
        or stage.until is not None
        for stage in pattern.all_stages
    ) or (pattern.window is not None and pattern.window.kind != "time")


def slots_spanned(pattern: Pattern, slot: int) -> int | None:
    """The most slots that one match touches; None if nothing bounds it."""
    stages, window = pattern.all_stages, pattern.window
    if window is not None and window.kind == "time" and window.slide is not None:
        return slots_of_match(window.size.microseconds, slot)  # a row lies in many windows
    if len(stages) == 1 and not stages[0].is_loop:
        return 1
    if pattern.within is not None:
        return slots_of_match(pattern.within.microseconds, slot)
    if window is not None and window.kind == "time":
        return slots_of_match(window.size.microseconds, slot)
    return None
