"""A policy's promise in words and numbers, ready to be shown to people or machines."""

from __future__ import annotations

from dataclasses import dataclass

from ppm.dp.utility import Quality
from ppm.errors import PpmError, did_you_mean
from ppm.protect.guarantee import Guarantee, guarantees
from ppm.protect.plan import Plan
from ppm.protect.prediction import predict
from ppm.protect.prior import reading_of_prior, source_of_prior
from ppm.protect.spending import spending_of
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
    """The allocation that the numbers stand for."""
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
        allocation="uniform",
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
        columns=tuple(column_promise(term) for term in terms.columns if terms.releases_rows),
        horizon=None if terms.horizon is None else str(terms.horizon.over),
        delay=delay(plan, terms),
        uses=_uses(plan, terms),
        not_covered=tuple(not_covered(terms)),
    )


def _uses(plan: Plan, terms: Terms) -> tuple[Use, ...]:
    found = []
    for question in plan.asked_in(terms.community):
        prediction = predict(plan, question)
        found.append(
            Use(
                consumer=question.consumer.spec.name,
                model=question.consumer.spec.model,
                query=question.query.name,
                asks=question.query.ask,
                quality=prediction.quality,
                deviation=prediction.deviation,
                reason=prediction.reason,
                minimum=_least(question.query.minimum),
                reaches_minimum=prediction.reaches_minimum,
            )
        )
    return tuple(found)


def _least(minimum: Minimum | None) -> str | None:
    if minimum is None:
        return None
    sides = {"recall": minimum.recall, "precision": minimum.precision, "Q": minimum.q}
    return ", ".join(f"{name} {side:.0%}" for name, side in sides.items() if side is not None)


def _one_line(text: str) -> str:
    return " ".join(text.split())
