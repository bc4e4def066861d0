"""What a producer may well mean, but should not do unseen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ppm.dp.allocation.budgets import unspent
from ppm.errors import Fault, listed
from ppm.protect.collusion import sees_raw
from ppm.protect.needs import types_in_stages
from ppm.protect.plan import Plan, Question
from ppm.protect.prediction import predict, share_text
from ppm.protect.prior import prior_warnings
from ppm.protect.reach import possible
from ppm.protect.spending import allocation_of, declared_allocation, spending_of
from ppm.protect.terms import Terms
from ppm.spec.columns import Drop, NoisyRule, columns_of_rule

LARGE_EPSILON = 10.0
"""Above this a single slot hides next to nothing: e^10 is odds of 22,000 to 1."""


def warnings(plan: Plan) -> Iterator[Fault]:
    """Everything about a policy that weakens what a reader would take it to promise."""
    yield from _raw_access(plan)
    yield from _raw_columns(plan)
    yield from prior_warnings(plan)
    for terms in plan.terms.values():
        yield from _without_guarantee(plan, terms)
        yield from _sampled_source(plan, terms)
        yield from _large_budgets(plan, terms)
        yield from _released_ids(plan, terms)
        yield from _shared_types(plan, terms)
        yield from _skipped_matches(plan, terms)
        yield from _nothing_to_tell(plan, terms)
    yield from _questions(plan)


def warnings_of_all(plans: Iterable[Plan]) -> Iterator[Fault]:
    """What no policy shows by itself: a pattern that two of them protect is told of twice."""
    first: dict[str, Plan] = {}
    for plan in plans:
        for name in plan.patterns:
            other = first.setdefault(name, plan)
            if other is not plan:
                yield plan.declared.warning(
                    (),
                    f"protects {name}, as {other.policy.name} does: over one stream, what their "
                    "readers learn adds up",
                )


def _raw_access(plan: Plan) -> Iterator[Fault]:
    for terms in plan.terms.values():
        seen = [name for name in plan.patterns if sees_raw(plan, terms, name)]
        if seen:
            yield plan.declared.warning(
                terms.place,
                f"sees {listed(seen)} unprotected, which other communities are kept from; if "
                "readers compare notes, that protection is void",
            )


def _raw_columns(plan: Plan) -> Iterator[Fault]:
    noisy: dict[str, list[str]] = {}
    for terms in plan.terms.values():
        for term in terms.columns if terms.releases_rows else ():
            if isinstance(term.rule, NoisyRule):
                for column in columns_of_rule(term.rule):
                    noisy.setdefault(column, []).append(terms.community)
    for terms in plan.terms.values():
        seen = [
            column
            for column in noisy
            if terms.releases_rows
            and not any(isinstance(term.rule, NoisyRule | Drop) for term in terms.rules_on(column))
        ]
        if seen:
            others = sorted({name for column in seen for name in noisy[column]})
            verb = "gets" if len(others) == 1 else "get"
            yield plan.declared.warning(
                terms.place,
                f"sees {listed(seen)} without the noise that {listed(others)} {verb}; if readers "
                "compare notes, that noise is void",
            )


def _without_guarantee(plan: Plan, terms: Terms) -> Iterator[Fault]:
    for term in terms.columns if terms.releases_rows else ():
        if term.rule.guarantee == "none":
            sentence = f"says guarantee: none; what it does in {terms.community} is not proven"
            yield plan.declared.warning(term.place, sentence)


def _sampled_source(plan: Plan, terms: Terms) -> Iterator[Fault]:
    if plan.policy.stream.sampled_every is None or not terms.releases_rows:
        return
    for one in terms.by("response", "joint-response", "answers").values():
        yield plan.declared.warning(
            one.place,
            f"is protected by {one.mechanism} on a source that is sampled every "
            f"{plan.policy.stream.sampled_every}: a row held back leaves a gap, and the gap tells; "
            "use decoy-windows, or a geo rule on all rows",
        )


def _large_budgets(plan: Plan, terms: Terms) -> Iterator[Fault]:
    yield from _large_columns(plan, terms)
    for one in terms.guarded.values():
        if one.epsilon > LARGE_EPSILON:
            yield plan.declared.warning(
                (*one.place, "epsilon"),
                f"is {one.epsilon:g}; above {LARGE_EPSILON:g} a slot hides next to nothing",
            )


def _large_columns(plan: Plan, terms: Terms) -> Iterator[Fault]:
    for term in terms.columns:
        for key in ("epsilon", "level"):
            value = getattr(term.rule, key, 0.0)
            if value > LARGE_EPSILON:
                yield plan.declared.warning(
                    (*term.place, key),
                    f"is {value:g}; above {LARGE_EPSILON:g} a value hides next to nothing",
                )


def _released_ids(plan: Plan, terms: Terms) -> Iterator[Fault]:
    column = plan.policy.stream.event_id
    if column is None or not (terms.guarded and terms.releases_rows):
        return
    if not any(isinstance(term.rule, Drop) for term in terms.rules_on(column)):
        yield plan.declared.warning(
            ("stream", "event_id"),
            f"is {column}, which {terms.community} sees: if ids count up, a gap between them tells "
            "of rows held back; drop it there",
        )


def _shared_types(plan: Plan, terms: Terms) -> Iterator[Fault]:
    spending = spending_of(plan, terms)
    response = terms.by("response")
    budgets = {name: (plan.pattern(name).types, one.epsilon) for name, one in response.items()}
    is_uniform = allocation_of(terms, "response") == "uniform"
    for name, left in unspent(budgets, spending.shares).items() if is_uniform else ():
        # The last bits of a rounded share are no budget that anybody misses.
        if left > 1e-9 * response[name].epsilon:
            yield plan.declared.warning(
                (*response[name].place, "epsilon"),
                f"is {response[name].epsilon:g}, of which {left:.3g} stays unspent: a type is "
                f"shared with a pattern of smaller budget",
            )
    for group in spending.groups:
        for name in sorted(group.patterns):
            own, others = len(plan.pattern(name).types), sorted(group.patterns - {name})
            if own < len(group.types):
                yield plan.declared.warning(
                    terms.guarded[name].place,
                    f"has {own} types, but shares some with {listed(others)}: one draw on all "
                    f"{len(group.types)} types with epsilon {group.epsilon:g}, so the truth shows "
                    "less often",
                )


def _skipped_matches(plan: Plan, terms: Terms) -> Iterator[Fault]:
    for name in terms.by("decoy-windows"):
        pattern = plan.pattern(name)
        for key, value in (("skip", pattern.skip), ("preset", pattern.preset)):
            if value is not None and str(value) not in ("no_skip", "all"):
                yield plan.patterns[name].warning(
                    (key,),
                    f"is {value}, which decoy-windows leaves aside: every match must be hidden, "
                    "or the next one gives it away",
                )


def _nothing_to_tell(plan: Plan, terms: Terms) -> Iterator[Fault]:
    asked = [one for one in plan.asked_in(terms.community) if one.is_answered_on_truth]
    if not terms.releases_rows and not asked:
        sentence = "gets no rows, and no consumer of it asks existence or count: it is told nothing"
        yield plan.declared.warning(terms.place, sentence)


def _questions(plan: Plan) -> Iterator[Fault]:
    for question in plan.questions:
        prediction = predict(plan, question)
        consumer, place = question.consumer, question.place
        if prediction.is_impossible:
            yield consumer.warning(place, prediction.reason)
        elif unreleased := _unreleased(plan, question):
            yield consumer.warning(
                place,
                f"needs {listed(unreleased)}, of which {question.community} releases no rows: no "
                "transparent consumer asks for it, and an opaque one cannot guide the allocation",
            )
        elif prediction.quality is not None and prediction.quality.recall == 0:
            sentence = f"finds nothing: what it needs is never released to {question.community}"
            yield consumer.warning(place, sentence)
        for side in prediction.unjudged:
            why = f" ({prediction.reason})" if prediction.quality is None else ""
            sentence = f"cannot be judged, because {side} is not predicted here{why}"
            yield consumer.warning((*place, "minimum", side), sentence)
        for side, least, found in prediction.shortfalls:
            declared = declared_allocation(plan.terms[question.community])
            sentence = f"is {share_text(least)}, but {found:.1%} is predicted under the {declared} "
            sentence += "allocation"
            most = possible(plan, question, side)
            if most is not None:
                sentence += (
                    f"; {most.value:.1%} is possible, with allocation: {most.allocation} for this "
                    "query alone"
                )
            yield consumer.warning((*place, "minimum", side), sentence)


def _unreleased(plan: Plan, question: Question) -> list[str]:
    """The types of an opaque consumer's query that the allocation keeps from it."""
    terms = plan.terms[question.community]
    if question.consumer.spec.model != "opaque":
        return []
    private = plan.types(terms, "response", "joint-response").keys()
    asked = private & types_in_stages(question.pattern)
    return sorted(asked - spending_of(plan, terms).released)
