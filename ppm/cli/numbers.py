"""Numbers of a promise as a table shows them, the same in every command and format."""

from __future__ import annotations

from ppm.dp.utility import Quality
from ppm.errors import counted, listed
from ppm.protect.explain import CommunityPromise, Explanation, Spent, Use
from ppm.protect.guarantee import Guarantee
from ppm.protect.words import number

NOTHING = "-"
"""What stands where there is no number."""


def match_text(one: Guarantee) -> str:
    """What one match costs, and in how many slots: k times epsilon, and k."""
    if one.slot == 0:
        return "0"
    if one.match is None or one.match_slots is None:
        return "unbounded"
    return f"{number(one.match)} in {counted(one.match_slots, 'slot')}"


def mechanism_text(one: Guarantee) -> str:
    """The mechanism, and that it hides one direction only where it does."""
    return f"{one.mechanism}, one-sided" if one.is_one_sided else one.mechanism


def together_text(one: Guarantee) -> str:
    """What communities learn of a slot if they compare notes."""
    return "void" if one.together.epsilon is None else number(one.together.epsilon)


def share(value: float | None) -> str:
    """A part of a whole; only what is certain is 0% or 100%.

    >>> share(0.5342), share(1.0), share(0.99999), share(None)
    ('53.4%', '100%', 'over 99.9%', '-')
    """
    if value is None:
        return NOTHING
    if 0 < value < 0.001:
        return "under 0.1%"
    if 0.999 < value < 1:
        return "over 99.9%"
    return f"{100 * value:.1f}".removesuffix(".0") + "%"


def remark(use: Use) -> str:
    """Why the numbers of a query are what they are, and what they leave unsaid."""
    parts = [use.reason]
    if use.deviation is not None:
        parts.append(f"standard deviation {number(use.deviation)} matches")
    if use.quality is not None and use.quality.false_match > 0:
        parts.append(f"{share(use.quality.false_match)} of empty slots show a match")
    if use.quality is not None and use.quality.precision is None:
        parts.append("precision is not predicted")
    if use.price:
        parts.append(f"reads releases of epsilon {number(use.price)} a slot")
    if use.alone is not None and use.quality is not None and _differ(use.alone, use.quality):
        parts.append(f"served alone, it would have {_sides(use.alone)}")
    return "; ".join(part for part in parts if part)


def _sides(quality: Quality) -> str:
    sides = {"recall": quality.recall, "precision": quality.precision, "Q": quality.q}
    return listed([f"{name} {share(side)}" for name, side in sides.items() if side is not None])


def _differ(one: Quality, other: Quality) -> bool:
    return _sides(one) != _sides(other)


def spent_text(one: Spent) -> str:
    """How the types of a release are drawn."""
    return {
        "independent": "its own draw",
        "joint": "one draw together",
        "table": "one draw, by a table",
        "not released": "nothing: nobody needs it",
    }[one.how]


def numbers_stand_for(promise: Explanation) -> str:
    """What has to be known to read the numbers of a promise."""
    prior = (
        f"Precision and Q rest on this prior, with {promise.prior_reading}: "
        f"{promise.prior.rstrip('.')}."
        if promise.prior
        else "Without a prior, precision and Q are told only where no noise is."
    )
    plural = "s" if " and " in promise.allocation else ""
    return f"Numbers are for the {promise.allocation} allocation{plural}. {prior}"


def rows_text(one: CommunityPromise) -> str:
    """Whether a community gets rows, and how late what it gets is."""
    gets = "" if one.releases_rows else "It gets no rows, only answers to registered queries. "
    return f"{gets}{one.delay}"
