"""How well each consumer's query can be answered, as far as closed forms tell."""

from __future__ import annotations

from dataclasses import dataclass

from ppm.dp.columns import laplace_deviation
from ppm.dp.decoy import truth_kept
from ppm.dp.prior import Prior
from ppm.dp.utility import (
    Channel,
    Joint,
    Quality,
    Response,
    Unreleased,
    answer_quality,
    query_quality,
)
from ppm.errors import listed
from ppm.protect.plan import Plan, Question
from ppm.protect.spending import Spending, sees_every_row, slots_spanned, spending_of
from ppm.protect.stand_in import stand_ins_seen_by
from ppm.protect.terms import Terms
from ppm.spec.pattern import Pattern

EXACT = Quality(recall=1.0, precision=1.0, q=1.0, false_match=0.0)


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a consumer may expect of one query, and why."""

    question: Question
    quality: Quality | None
    """None where no closed form speaks; the reason says why."""
    reason: str
    deviation: float | None = None
    """The standard deviation of a count, in matches."""

    @property
    def shortfalls(self) -> list[tuple[str, float, float]]:
        """Each minimum that is not reached: what, the minimum, what is predicted."""
        minimum = self.question.query.minimum
        if minimum is None or self.quality is None:
            return []
        sides = {
            "recall": (minimum.recall, self.quality.recall),
            "precision": (minimum.precision, self.quality.precision),
            "q": (minimum.q, self.quality.q),
        }
        return [
            (name, least, found)
            for name, (least, found) in sides.items()
            if least is not None and found is not None and found < least
        ]


def predict(plan: Plan, question: Question) -> Prediction:
    """The quality of a query under the uniform allocation."""
    terms = plan.terms[question.community]
    spending = spending_of(plan, terms)
    if question.is_answered_on_truth:
        return _answered(plan, question, spending)
    dropped, changed = _changed_columns(terms, question.pattern)
    if dropped:
        said = f"cannot be asked: it reads {_which(dropped)} dropped"
        return Prediction(question, None, said)
    if changed:
        return Prediction(question, None, f"not predicted: it reads {_which(changed)} changed")
    return _released(plan, terms, question, spending)


def _answered(plan: Plan, question: Question, spending: Spending) -> Prediction:
    charged = [answer for answer in spending.answers if answer.question == question]
    if not charged:
        return Prediction(question, EXACT, "exact, computed on rows of no private type")
    answer = charged[0]
    how = f"answered on the truth with epsilon {answer.epsilon:.3g} each"
    if question.query.ask == "count":
        cap = question.query.cap or 1
        deviation = laplace_deviation(answer.epsilon, float(cap), grid=1.0)
        return Prediction(question, None, f"{how}, at most {cap} a subject", deviation)
    asked = required_types(question.pattern)
    if asked is None:
        flipped = answer_quality(
            question.pattern.types, answer.epsilon, prior=None, alpha=question.query.preference
        )
        return Prediction(question, flipped, f"{how}; precision needs more than a list of types")
    quality = answer_quality(
        asked,
        answer.epsilon,
        prior=_prior(plan, asked),
        alpha=question.query.preference,
    )
    return Prediction(question, quality, how)


def _released(plan: Plan, terms: Terms, question: Question, spending: Spending) -> Prediction:
    """A query that the consumer runs on the released rows."""
    pattern = question.pattern
    private = plan.types(terms)
    invented = stand_ins_seen_by(plan, terms, pattern)
    if invented:
        said = f"not predicted: stand-ins of {listed(invented)} count in it"
        return Prediction(question, None, said)
    if sees_every_row(pattern) and (private or spending.decoys):
        return Prediction(question, None, "not predicted: rows of every type count in it")
    kept, reason = 1.0, "exact on rows of no private type"
    if spending.decoys is not None:
        slots = slots_spanned(pattern, plan.slot)
        if slots is None:
            return Prediction(question, None, "not predicted: without within it spans any slots")
        kept = truth_kept(spending.decoys.epsilon, slots)
        span = "its slot is" if slots == 1 else f"all its {slots} slots are"
        reason = f"shown if {span} kept; slots of private matches never are"
        if any(stage.is_absence for stage in pattern.all_stages):
            return Prediction(question, None, "not predicted: a withheld slot looks like absence")
    asked = required_types(pattern)
    if asked is None:
        if private.keys() & set(pattern.types):
            said = "not predicted: it takes more than one event of each type in a slot"
            return Prediction(question, None, said)
        asked = frozenset(pattern.types)
    channels = _channels(plan, terms, spending)
    touched = sorted(asked & {one for channel in channels for one in channel.types})
    if touched:
        noise = f"noise on {', '.join(touched)}"
        reason = noise if spending.decoys is None else f"{noise}; {reason}"
    quality = query_quality(
        asked,
        channels,
        prior=_prior(plan, asked),
        alpha=question.query.preference,
        kept=kept,
    )
    return Prediction(question, quality, reason)


def _channels(plan: Plan, terms: Terms, spending: Spending) -> list[Channel]:
    withheld = frozenset(plan.types(terms, "answers"))
    channels: list[Channel] = [Response.spending(spending.shares)] if spending.shares else []
    channels += [Joint(group.types, group.epsilon) for group in spending.groups]
    return [*channels, Unreleased(withheld)] if withheld else channels


def required_types(pattern: Pattern) -> frozenset[str] | None:
    """The types whose presence in a slot makes a match; None if it takes more than that."""
    stages = pattern.all_stages
    plain = all(
        stage.event is not None
        and stage.times.fewest == 1
        and not (stage.is_absence or stage.optional)
        and stage.where is None
        and (stage.gap is None or stage.gap.min is None)
        for stage in stages
    )
    types = [stage.event for stage in stages if stage.event is not None]
    return frozenset(types) if plain and len(set(types)) == len(types) else None


def _which(columns: list[str]) -> str:
    return f"{listed(columns)}, which {'is' if len(columns) == 1 else 'are'}"


def _changed_columns(terms: Terms, pattern: Pattern) -> tuple[list[str], list[str]]:
    """The columns that a query reads and the community does not see as they are."""
    rules = {
        column: term.rule.rule
        for column in sorted(pattern.columns)
        for term in terms.rules_on(column)
    }
    dropped = [column for column, rule in rules.items() if rule == "drop"]
    changed = [column for column, rule in rules.items() if rule != "drop"]
    return dropped, changed


def _prior(plan: Plan, asked: frozenset[str]) -> Prior | None:
    declared = plan.policy.prior
    if declared is None or not asked <= declared.rates.keys():
        return None
    return Prior.independent({name: declared.rates[name] for name in asked})
