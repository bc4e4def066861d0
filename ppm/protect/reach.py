"""What a query could reach if budgets were spent for it alone, and what it costs to serve it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from ppm.errors import Fault
from ppm.protect.needs import need_of, needs_of
from ppm.protect.plan import Plan, Question
from ppm.protect.prediction import Prediction, predict, predict_under, share_text
from ppm.protect.spending import spending_of, spending_serving
from ppm.spec.policy import Allocation

_ALPHAS = {"recall": 0.0, "precision": 1.0}


@dataclass(frozen=True, slots=True)
class Possible:
    """The most that is found to be possible of one side of a query's quality."""

    value: float
    allocation: Allocation
    """The allocation that reaches it, serving this query alone."""


def served_alone(plan: Plan, question: Question) -> Prediction | None:
    """The quality of a query if the declared allocation served its consumer alone.

    None where no other consumer takes anything: nobody guides the allocation but this one, or
    nobody can.
    """
    terms = plan.terms[question.community]
    mine = [one for one in plan.asked_in(question.community) if one.consumer is question.consumer]
    needs = needs_of(plan, terms, [one for one in mine if not one.is_answered_on_truth])
    allocations = {one.allocation for one in terms.by("response", "joint-response").values()}
    if question.consumer.spec.model == "opaque" or question.is_answered_on_truth:
        return None
    if not needs or allocations <= {"uniform"}:
        return None
    return predict_under(plan, question, spending_serving(plan, terms, needs))


@lru_cache(maxsize=4096)
def possible(plan: Plan, question: Question, side: str) -> Possible | None:
    """The most recall, precision or q that the declared budgets and mechanisms can give a query.

    Every allocation is tried with this query alone in mind, which for recall means recall only.
    None if it is not the allocation that decides, or nothing is predicted.
    """
    terms = plan.terms[question.community]
    need = None if question.is_answered_on_truth else need_of(plan, terms, question)
    if need is None:
        return None
    alone = replace(need, weight=1.0, alpha=_ALPHAS.get(side, need.alpha))
    best: Possible | None = None
    allocations: tuple[Allocation, ...] = ("uniform", "optimal")  # never worse than adaptive
    for allocation in allocations:
        spending = spending_serving(plan, terms, (alone,), allocation=allocation)
        found = predict_under(plan, question, spending).quality
        value = None if found is None else getattr(found, side)
        if value is not None and (best is None or value > best.value + 1e-9):
            best = Possible(value, allocation)
    return best


def beyond_reach(plan: Plan) -> Iterator[Fault]:
    """Every minimum that no allocation of the declared budgets reaches."""
    for question in plan.questions:
        for side, least, _ in predict(plan, question).shortfalls:
            most = possible(plan, question, side)
            if most is not None and most.value < least:
                yield question.consumer.fault(
                    (*question.place, "minimum", side),
                    f"is {share_text(least)}, but no allocation of the budgets of "
                    f"{question.community} gives more than {most.value:.1%}; ask for less, or "
                    "have epsilon raised",
                )


def price(plan: Plan, question: Question) -> float:
    """The epsilon a slot of all releases that a query reads."""
    terms = plan.terms[question.community]
    spending = spending_of(plan, terms)
    if question.is_answered_on_truth:
        return math.fsum(
            answer.slots * answer.epsilon
            for answer in spending.answers
            if answer.question is question
        )
    need = need_of(plan, terms, question)
    types = frozenset[str]() if need is None else need.types
    return math.fsum(
        [
            *(share for name, share in spending.shares.items() if name in types),
            *(group.epsilon for group in spending.groups if group.types & types),
            spending.decoys.epsilon if spending.decoys else 0.0,
        ]
    )
