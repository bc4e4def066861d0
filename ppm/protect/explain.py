"""A policy's promise in words and numbers, ready to be shown to people or machines."""

from __future__ import annotations

from dataclasses import dataclass

from ppm.dp.utility import Quality
from ppm.errors import PpmError, did_you_mean, listed
from ppm.protect.guarantee import Guarantee, guarantees
from ppm.protect.plan import Plan
from ppm.protect.prediction import predict, share_text
from ppm.protect.prior import reading_of_prior, source_of_prior
from ppm.protect.reach import price, served_alone
from ppm.protect.spending import declared_allocation, spending_of
from ppm.protect.terms import Terms
from ppm.protect.words import at_once, column_promise, delay, not_covered, promise
from ppm.spec.consumer import Quality as Minimum


@dataclass(frozen=True, slots=True)
class PatternPromise:
    """What a community may learn of one pattern."""

    pattern: str
    meaning: str
    sequence: str
    numbers: Guarantee
    words: str


@dataclass(frozen=True, slots=True)
class Spent:
    """What one private type, or a group of them, gets of the budget of a slot."""

    types: tuple[str, ...]
    epsilon: float
    """0 for types that no consumer needs, where these guide the allocation."""
    how: str
    """independent, joint, table (made for the queries), or not released."""


@dataclass(frozen=True, slots=True)
class Use:
    """What a consumer may expect of one query."""

    consumer: str
    model: str
    query: str
    asks: str
    """matches on the released rows; existence or count, answered on the truth."""
    quality: Quality | None
    deviation: float | None
    reason: str
    alone: Quality | None
    """What it could reach if the allocation served this consumer alone; None if it cannot."""
    price: float
    """The epsilon a slot of all releases that it reads."""
    minimum: str | None
    """What the consumer needs at least."""
    reaches_minimum: bool | None
    """None if no minimum was declared, or nothing is predicted."""


@dataclass(frozen=True, slots=True)
class CommunityPromise:
    """The contract with one community."""

    community: str
    meaning: str
    releases_rows: bool
    patterns: tuple[PatternPromise, ...]
    at_once: str
    """What a change of all private types costs in one slot."""
    allocation: str
    """How its budgets are split over private types."""
    spent: tuple[Spent, ...]
    columns: tuple[str, ...]
    horizon: str | None
    """The time over which a budget is declared, if there is one."""
    delay: str
    uses: tuple[Use, ...]
    not_covered: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything that a policy promises, community by community."""

    policy: str
    version: int
    meaning: str
    allocation: str
    """The allocations that are declared, and that the numbers stand for."""
    prior: str | None
    """Where the prior behind the precisions comes from."""
    prior_reading: str | None
    """How it takes types to come together."""
    communities: tuple[CommunityPromise, ...]


def explain(plan: Plan, *, community: str | None = None) -> Explanation:
    """The promise of a policy, or of one of its communities."""
    if community is not None and community not in plan.terms:
        hint = did_you_mean(community, sorted(plan.terms))
        raise PpmError(f"{community} is not a community of {plan.policy.name}{hint}")
    chosen = [terms for name, terms in plan.terms.items() if community in (None, name)]
    return Explanation(
        policy=plan.policy.name,
        version=plan.policy.version,
        meaning=_one_line(plan.policy.doc),
        allocation=_allocations(chosen),
        prior=source_of_prior(plan),
        prior_reading=reading_of_prior(plan),
        communities=tuple(_community(plan, terms) for terms in chosen),
    )


def _community(plan: Plan, terms: Terms) -> CommunityPromise:
    return CommunityPromise(
        community=terms.community,
        meaning=_one_line(terms.doc),
        releases_rows=terms.releases_rows,
        patterns=tuple(
            PatternPromise(
                pattern=one.pattern,
                meaning=_one_line(plan.pattern(one.pattern).doc),
                sequence=plan.pattern(one.pattern).text,
                numbers=one,
                words=promise(plan, terms, one),
            )
            for one in guarantees(plan, terms)
        ),
        at_once=at_once(spending_of(plan, terms)),
        allocation=declared_allocation(terms),
        spent=_spent(plan, terms),
        columns=tuple(column_promise(term) for term in terms.columns if terms.releases_rows),
        horizon=None if terms.horizon is None else str(terms.horizon.over),
        delay=delay(plan, terms),
        uses=_uses(plan, terms),
        not_covered=tuple(not_covered(terms)),
    )


def _allocations(chosen: list[Terms]) -> str:
    """The allocations of communities whose budgets are split over types at all."""
    split = [terms for terms in chosen if terms.by("response", "joint-response")]
    return listed(list(dict.fromkeys(map(declared_allocation, split)))) or "uniform"


def _spent(plan: Plan, terms: Terms) -> tuple[Spent, ...]:
    spending = spending_of(plan, terms)
    found = [
        Spent((name,), share, "independent") for name, share in sorted(spending.shares.items())
    ]
    found += [
        Spent(group.order, group.epsilon, "joint" if group.table is None else "table")
        for group in spending.groups
    ]
    kept = plan.types(terms, "response", "joint-response").keys() - spending.released
    return (*found, *(Spent((name,), 0.0, "not released") for name in sorted(kept)))


def _uses(plan: Plan, terms: Terms) -> tuple[Use, ...]:
    found = []
    for question in plan.asked_in(terms.community):
        prediction = predict(plan, question)
        alone = served_alone(plan, question)
        found.append(
            Use(
                consumer=question.consumer.spec.name,
                model=question.consumer.spec.model,
                query=question.query.name,
                asks=question.query.ask,
                quality=prediction.quality,
                deviation=prediction.deviation,
                reason=prediction.reason,
                alone=None if alone is None else alone.quality,
                price=price(plan, question),
                minimum=_least(question.query.minimum),
                reaches_minimum=prediction.reaches_minimum,
            )
        )
    return tuple(found)


def _least(minimum: Minimum | None) -> str | None:
    if minimum is None:
        return None
    sides = {"recall": minimum.recall, "precision": minimum.precision, "Q": minimum.q}
    said = (f"{name} {share_text(side)}" for name, side in sides.items() if side is not None)
    return ", ".join(said)


def _one_line(text: str) -> str:
    return " ".join(text.split())
