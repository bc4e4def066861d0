"""How well each consumer's query can be answered, as far as closed forms tell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from ppm.dp.columns import laplace_deviation
from ppm.dp.decoy import truth_kept
from ppm.dp.utility import (
    Channel,
    Quality,
    Unreleased,
    answer_quality,
    query_quality,
)
from ppm.errors import listed
from ppm.protect.needs import (
    changed_columns,
    guiding,
    need_of,
    obstacle,
    required_types,
)
from ppm.protect.plan import Plan, Question
from ppm.protect.prior import prior_of
from ppm.protect.spans import slots_spanned
from ppm.protect.spending import Spending, declared_allocation, spending_of
from ppm.protect.terms import Terms
from ppm.spec.pattern import Pattern

_SKIPPING = ("longest", "non-overlapping")
EXACT = Quality(recall=1.0, precision=1.0, q=1.0, false_match=0.0)


def share_text(part: float) -> str:
    """A part of a whole as it may have been written.

    >>> share_text(0.5), share_text(0.999)
    ('50%', '99.9%')
    """
    return f"{100 * part:.4g}%"


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
    def unjudged(self) -> list[str]:
        """Each side of the minimum of which nothing is predicted."""
        return [name for name, _, found in self._judged if found is None]

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
    """The quality of a query under the allocation that the policy declares."""
    return predict_under(plan, question, spending_of(plan, plan.terms[question.community]))


def predict_under(plan: Plan, question: Question, spending: Spending) -> Prediction:
    """The quality of a query if budgets are spent like this."""
    terms = plan.terms[question.community]
    if question.is_answered_on_truth:
        return _answered(plan, question, spending)
    dropped, changed = changed_columns(terms, question.pattern)
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
    hindrance = obstacle(plan, terms, question.pattern)
    if hindrance is not None:
        reason = f"not predicted: {hindrance}{_taken_as(plan, terms, question)}"
        return Prediction(question, None, reason)
    pattern = question.pattern
    asked = required_types(pattern) or frozenset(pattern.types)
    channels = _channels(plan, terms, spending)
    touched = sorted(asked & {one for channel in channels for one in channel.types})
    slots = slots_spanned(pattern, plan.slot) or 1
    kept = truth_kept(spending.decoys.epsilon, slots) if spending.decoys else 1.0
    if spending.decoys and _holds_a_private_match(plan, spending.decoys.patterns, pattern):
        kept = 0.0
    # How often a table shows a type depends on whatever else its group may hold.
    mixed = [one.types for one in channels if one.mixes and one.types & asked]
    quality = query_quality(
        asked,
        channels,
        prior=prior_of(plan, asked.union(*mixed)),
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


def _taken_as(plan: Plan, terms: Terms, question: Question) -> str:
    """What an allocation makes of a query of which no closed form speaks."""
    need = need_of(plan, terms, question) if question in guiding(plan, terms) else None
    if need is None or declared_allocation(terms) == "uniform":
        return ""
    return f"; the allocation serves it as a query for {listed(sorted(need.types))} together"


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
    private = plan.types(terms, "response", "joint-response", "answers")
    withheld = private.keys() - spending.released
    channels = spending.channels
    return [*channels, Unreleased(frozenset(withheld))] if withheld else channels


def _which(columns: list[str]) -> str:
    return f"{listed(columns)}, which {'is' if len(columns) == 1 else 'are'}"
