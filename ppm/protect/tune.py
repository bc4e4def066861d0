"""The reverse of a prediction: which budget makes a consumer's queries as good as they must be."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from ppm.dp.utility import Quality
from ppm.errors import PpmError, did_you_mean, listed
from ppm.protect.plan import Plan, Question
from ppm.protect.prediction import Prediction, predict
from ppm.protect.spending import patterns_told_by
from ppm.protect.terms import Terms

Side = Literal["recall", "precision", "q"]
SIDES: tuple[Side, ...] = ("recall", "precision", "q")

EPSILONS = (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0)
"""The budgets that are tried: below and above them, noise hides all or nothing."""
_HALVINGS = 12
_DIGITS = 3
_ATTEMPTS = 30


@dataclass(frozen=True, slots=True)
class Point:
    """What a query can expect of one budget."""

    epsilon: float
    """The largest budget of the patterns that concern the query; the others keep their share."""
    quality: Quality | None
    deviation: float | None
    """The standard deviation of a count."""


@dataclass(frozen=True, slots=True)
class Aim:
    """How large budgets must be for one side of a query's quality."""

    side: Side
    least: float
    epsilons: Mapping[str, float] | None
    """The budget of each pattern that concerns the query; None if none that is tried is enough."""
    possible: float | None
    """The best that any of the tried budgets reaches; None where that side is not predicted."""


@dataclass(frozen=True, slots=True)
class Tuned:
    """One query under other budgets than the declared ones."""

    query: str
    asks: str
    declared: Mapping[str, float]
    """The budgets of the patterns that concern the query; empty if none does."""
    now: Quality | None
    deviation: float | None
    reason: str
    curve: tuple[Point, ...]
    aims: tuple[Aim, ...]


@dataclass(frozen=True, slots=True)
class Cost:
    """What the protection of one pattern costs a consumer."""

    pattern: str
    epsilon: float
    lost: float | None
    """How much better its queries were on average, by their weights, if this pattern were not
    protected: Q, or recall where no prior tells Q. None where that is not predicted."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """The reverse questions of one consumer, answered."""

    consumer: str
    community: str
    queries: tuple[Tuned, ...]
    costs: tuple[Cost, ...]
    """The dearest pattern first."""


def tune(plan: Plan, consumer: str, *, wanted: Mapping[Side, float] | None = None) -> Tuning:
    """Which budgets a consumer needs, and which private pattern costs it most.

    `wanted` is what each query should reach; without it, the minimum that the query declares, or
    a recall of 90 %.
    """
    asked = [one for one in plan.questions if one.consumer.spec.name == consumer]
    if not asked:
        names = sorted({one.consumer.spec.name for one in plan.questions})
        hint = did_you_mean(consumer, names)
        known = f"; there are {listed(names)}" if names and not hint else ""
        raise PpmError(f"{consumer} asks nothing of {plan.policy.name}{hint or known}")
    terms = plan.terms[asked[0].community]
    return Tuning(
        consumer=consumer,
        community=terms.community,
        queries=tuple(_tuned(plan, terms, one, wanted) for one in asked),
        costs=tuple(_costs(plan, terms, asked)),
    )


def _tuned(
    plan: Plan, terms: Terms, question: Question, wanted: Mapping[Side, float] | None
) -> Tuned:
    now = predict(plan, question)
    declared = {name: terms.guarded[name].epsilon for name in _concerning(plan, terms, question)}
    tried = sorted({*EPSILONS, max(declared.values())}) if declared else []
    curve = [_point(plan, terms, question, declared, epsilon) for epsilon in tried]
    aims = (
        _aim(plan, terms, question, declared, curve, side, least)
        for side, least in _wanted(question, wanted)
    )
    return Tuned(
        query=question.query.name,
        asks=question.query.ask,
        declared=declared,
        now=now.quality,
        deviation=now.deviation,
        reason=now.reason,
        curve=tuple(curve) if declared else (),
        aims=tuple(aims) if declared else (),
    )


def _concerning(plan: Plan, terms: Terms, question: Question) -> list[str]:
    """The private patterns whose rows a query reads."""
    return [*patterns_told_by(plan, terms, question)]


def _wanted(
    question: Question, wanted: Mapping[Side, float] | None
) -> Iterator[tuple[Side, float]]:
    least = question.query.minimum
    for side in SIDES:
        given = wanted.get(side) if wanted else getattr(least, side, None)
        if given is not None:
            yield side, given
    if not wanted and least is None and question.query.ask != "count":
        yield "recall", 0.9


def _point(
    plan: Plan, terms: Terms, question: Question, declared: Mapping[str, float], epsilon: float
) -> Point:
    found = _predicted(plan, terms, question, _scaled(declared, epsilon))
    return Point(epsilon, found.quality, found.deviation)


def _scaled(declared: Mapping[str, float], epsilon: float) -> dict[str, float]:
    """All budgets times one factor, so that the largest is epsilon."""
    largest = max(declared.values(), default=1.0)
    return {name: own * epsilon / largest for name, own in declared.items()}


def _predicted(
    plan: Plan, terms: Terms, question: Question, budgets: Mapping[str, float]
) -> Prediction:
    guarded = dict(terms.guarded)
    for name, epsilon in budgets.items():
        guarded[name] = replace(guarded[name], epsilon=epsilon)
    return predict(_with_terms(plan, replace(terms, guarded=guarded)), question)


def _with_terms(plan: Plan, terms: Terms) -> Plan:
    return replace(plan, terms={**plan.terms, terms.community: terms})


def _aim(
    plan: Plan,
    terms: Terms,
    question: Question,
    declared: Mapping[str, float],
    curve: list[Point],
    side: Side,
    least: float,
) -> Aim:
    values = [(one.epsilon, _value(one.quality, side)) for one in curve]
    known = [value for _, value in values if value is not None]
    possible = max(known, default=None)
    enough = next(
        (epsilon for epsilon, value in values if value is not None and value >= least), None
    )
    if enough is None:
        return Aim(side, least, None, possible)
    below = max((epsilon for epsilon, _ in values if epsilon < enough), default=0.0)
    for _ in range(_HALVINGS):
        middle = (below + enough) / 2
        found = _value(_point(plan, terms, question, declared, middle).quality, side)
        if found is not None and found >= least:
            enough = middle
        else:
            below = middle
    for _ in range(_ATTEMPTS):
        budgets = {name: _upward(own) for name, own in _scaled(declared, enough).items()}
        found = _value(_predicted(plan, terms, question, budgets).quality, side)
        if found is not None and found >= least:
            return Aim(side, least, budgets, possible)
        enough *= 1 + 0.1**_DIGITS  # a table made for queries may lose by a little more budget
    return Aim(side, least, None, possible)


def _upward(epsilon: float) -> float:
    """A number of few digits that is not below: a little more budget is enough, too.

    >>> _upward(1.23456), _upward(12.0)
    (1.24, 12.0)
    """
    step = 10.0 ** (math.floor(math.log10(epsilon)) + 1 - _DIGITS)
    return float(f"{math.ceil(epsilon / step - 1e-9) * step:.{_DIGITS}g}")


def _value(quality: Quality | None, side: Side) -> float | None:
    return None if quality is None else getattr(quality, side)


def _costs(plan: Plan, terms: Terms, asked: list[Question]) -> list[Cost]:
    concerned = dict.fromkeys(name for one in asked for name in _concerning(plan, terms, one))
    costs = []
    for name in concerned:
        others = {other: one for other, one in terms.guarded.items() if other != name}
        bare = _with_terms(plan, replace(terms, guarded=others))
        mine = [one for one in asked if name in _concerning(plan, terms, one)]
        is_known = all(predict(one, two).quality for one in (plan, bare) for two in mine)
        lost = _lost(plan, bare, asked) if is_known else None
        costs.append(Cost(name, terms.guarded[name].epsilon, lost))
    return sorted(costs, key=lambda one: -1.0 if one.lost is None else -one.lost)


def _lost(plan: Plan, bare: Plan, asked: list[Question]) -> float | None:
    """How much better queries are in another plan, on average by their weights."""
    weights, gains = [], []
    for question in asked:
        with_it, without = predict(plan, question).quality, predict(bare, question).quality
        if with_it is None or without is None:
            continue
        side: Side = "recall" if with_it.q is None or without.q is None else "q"
        more, less = _value(without, side), _value(with_it, side)
        assert more is not None
        assert less is not None
        weights.append(question.query.weight)
        gains.append(question.query.weight * (more - less))
    return math.fsum(gains) / math.fsum(weights) if weights else None
