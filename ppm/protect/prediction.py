"""How well each consumer's query can be answered, as far as closed forms tell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from ppm.dp.columns import laplace_deviation
from ppm.dp.decoy import truth_kept
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
from ppm.protect.overlap import reached
from ppm.protect.plan import Plan, Question
from ppm.protect.prior import prior_of
from ppm.protect.spending import Spending, sees_every_row, slots_spanned, spending_of
from ppm.protect.stand_in import stand_ins_seen_by
from ppm.protect.terms import Terms
from ppm.spec.pattern import Pattern

_SKIPPING = ("longest", "non-overlapping")
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
    is_impossible: bool = False
    """Whether the query cannot be asked at all, because a column that it reads is dropped."""

    @property
    def shortfalls(self) -> list[tuple[str, float, float]]:
        """Each minimum that is not reached: what, the minimum, what is predicted."""
        return [
            (name, least, found)
            for name, least, found in self._judged
            if found is not None and found < least
        ]

    @property
    def reaches_minimum(self) -> bool | None:
        """Whether every minimum is reached; None if there is none, or one is not predicted."""
        if not self._judged or any(found is None for _, _, found in self._judged):
            return None
        return not self.shortfalls

    @property
    def _judged(self) -> list[tuple[str, float, float | None]]:
        least, found = self.question.query.minimum, self.quality
        if least is None:
            return []
        sides = [
            ("recall", least.recall, None if found is None else found.recall),
            ("precision", least.precision, None if found is None else found.precision),
            ("q", least.q, None if found is None else found.q),
        ]
        return [(name, minimum, side) for name, minimum, side in sides if minimum is not None]


@lru_cache(maxsize=4096)
def predict(plan: Plan, question: Question) -> Prediction:
    """The quality of a query under the uniform allocation."""
    terms = plan.terms[question.community]
    spending = spending_of(plan, terms)
    if question.is_answered_on_truth:
        return _answered(plan, question, spending)
    dropped, changed = _changed_columns(terms, question.pattern)
    if dropped:
        said = f"cannot be asked: it reads {_which(dropped)} dropped"
        return Prediction(question, None, said, is_impossible=True)
    if changed:
        return Prediction(question, None, f"not predicted: it reads {_which(changed)} changed")
    return _released(plan, terms, question, spending)


def _answered(plan: Plan, question: Question, spending: Spending) -> Prediction:
    charged = [answer for answer in spending.answers if answer.question is question]
    if not charged:
        return Prediction(question, EXACT, "exact: no private row can change it")
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
        prior=prior_of(plan, asked),
        alpha=question.query.preference,
    )
    return Prediction(question, quality, how)


def _released(plan: Plan, terms: Terms, question: Question, spending: Spending) -> Prediction:
    """A query that the consumer runs on the released rows."""
    obstacle = _obstacle(plan, terms, question.pattern, spending)
    if obstacle is not None:
        return Prediction(question, None, f"not predicted: {obstacle}")
    pattern = question.pattern
    asked = required_types(pattern) or frozenset(pattern.types)
    channels = _channels(plan, terms, spending)
    touched = sorted(asked & {one for channel in channels for one in channel.types})
    slots = slots_spanned(pattern, plan.slot) or 1
    kept = truth_kept(spending.decoys.epsilon, slots) if spending.decoys else 1.0
    if spending.decoys and _holds_a_private_match(plan, spending.decoys.patterns, pattern):
        kept = 0.0
    quality = query_quality(
        asked,
        channels,
        prior=prior_of(plan, asked),
        alpha=question.query.preference,
        kept=kept,
    )
    skips = str(pattern.skip or "no_skip") != "no_skip" or pattern.preset in _SKIPPING
    if spending.decoys and (slots > 2 or (slots > 1 and skips)):
        # The next event of a match may be withheld, and a later one then takes its place.
        quality = replace(quality, precision=None, q=None)
    said = []
    if touched:
        said.append(f"noise on {', '.join(touched)}, counted by slot and in any order")
    if spending.decoys:
        span = "its slot is" if slots == 1 else f"all its {slots} slots are"
        said.append(f"shown if {span} kept; slots of private matches never are")
    return Prediction(question, quality, "; ".join(said) or "exact: no private row is of its types")


def _obstacle(plan: Plan, terms: Terms, pattern: Pattern, spending: Spending) -> str | None:
    """Why no closed form speaks of a query, if none does."""
    private = plan.types(terms)
    held_back = plan.types(terms, "response", "joint-response", "answers")
    shared = private.keys() & set(pattern.types)
    invented = stand_ins_seen_by(plan, terms, pattern)
    others = {name: event for name, event in pattern.events.items() if name not in held_back}
    hidden = sorted(reached(plan, others, held_back))
    if invented:
        return f"stand-ins of {listed(invented)} count in it"
    if hidden:
        return f"rows that are {listed(hidden)} as well do not count in it"
    if sees_every_row(pattern) and private:
        return "rows of every type count in it"
    if spending.decoys and slots_spanned(pattern, plan.slot) is None:
        return "without within it spans any number of slots"
    if spending.decoys and any(stage.is_absence for stage in pattern.all_stages):
        return "a withheld slot looks like absence"
    if shared & held_back.keys():
        asked = required_types(pattern)
        if asked is None:
            return "it takes more than one event of each type in a slot"
        if asked - held_back.keys():
            return "stand-ins stand at their slot's start, so their order with other rows is lost"
    return None


def _holds_a_private_match(plan: Plan, decoyed: frozenset[str], pattern: Pattern) -> bool:
    """Whether every match of a query contains a match of a private pattern, and so is withheld."""
    asked = [stage.event for stage in pattern.all_stages]
    for name in decoyed:
        private = plan.pattern(name)
        if required_types(private) is None or required_types(pattern) is None:
            continue
        rest = iter(asked)
        in_order = all(stage.event in rest for stage in private.all_stages)
        if in_order and (len(private.all_stages) == 1 or _is_shorter(pattern, private)):
            return True
    return False


def _is_shorter(one: Pattern, other: Pattern) -> bool:
    return one.within is not None and other.within is not None and one.within <= other.within


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
