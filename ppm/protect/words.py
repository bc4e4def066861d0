"""The sentences of a promise; every number in them comes from `guarantee`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import ROUND_CEILING, Decimal

from ppm.dp.columns import (
    category_kept,
    geo_epsilon,
    geo_rms,
    laplace_deviation,
    snap_limit,
    snap_rms,
)
from ppm.errors import counted, listed
from ppm.protect.guarantee import Guarantee
from ppm.protect.mechanisms import grid_of
from ppm.protect.plan import Plan
from ppm.protect.spending import Spending, spending_of
from ppm.protect.terms import ColumnTerm, Terms
from ppm.spec.columns import Category, Drop, Geo, Laplace, Snap
from ppm.spec.values import Duration

_WITHHELD = {
    "response": "rows of its types are withheld",
    "joint-response": "rows of its types are withheld",
    "decoy-windows": "every slot is withheld",
    "answers": "queries that touch it are not answered",
}


def number(value: float) -> str:
    """A number as people read it.

    Rounded up, because an epsilon that is told must not be smaller than it is.

    >>> number(2.25), number(96.0), number(1 / 3)
    ('2.25', '96', '0.3334')
    """
    # A sum of floats such as 0.1 + 0.2 is not more than 0.3 for its last bit.
    exact = Decimal(repr(value)).quantize(Decimal("1e-9"))
    if value > 0 and not exact:
        return "under 0.000000001"
    digits = max(0, 3 - exact.adjusted()) if exact else 0
    rounded = exact.quantize(Decimal(1).scaleb(-digits), ROUND_CEILING)
    return f"{rounded:,f}".rstrip("0").rstrip(".") if digits else f"{rounded:,f}"


def spoken(microseconds: int) -> str:
    """A length of time as people say it.

    >>> spoken(152 * 60_000_000)
    '2 h 32 min'
    """
    parts, rest = [], microseconds
    for name, size in reversed(Duration.units.items()):
        if rest >= size:
            parts.append(f"{rest // size} {name}")
            rest %= size
    return " ".join(parts) or f"{microseconds / 1000:g} ms"


def promise(plan: Plan, terms: Terms, one: Guarantee) -> str:
    """The guarantee for one pattern, in one paragraph."""
    slot = plan.policy.stream.slot
    if one.slot == 0:
        said = f"Nothing about {one.pattern} is released: no registered query asks for it."
        return f"{said} {_together(one)}"
    if one.is_one_sided:
        text = (
            f"One-sided epsilon = {number(one.slot)} computational differential privacy per "
            f"subject and {slot} slot for {one.pattern}: it hides that the pattern happened, not "
            "that it did not. Slots that are shown are true, but for column rules."
        )
    else:
        text = (
            f"Epsilon = {number(one.slot)} computational pattern-level differential privacy per "
            f"subject and {slot} slot for {one.pattern} (add or remove rows of its types)."
        )
    return " ".join([text, *_longer(one, terms), _together(one)])


def _longer(one: Guarantee, terms: Terms) -> Iterator[str]:
    if one.match is None or one.match_slots is None:
        yield "The pattern has no within, so a match may touch any number of slots; each one costs."
    else:
        text = f"One match: up to {counted(one.match_slots, 'slot')}, {number(one.match)}"
        if one.match_once is not None and one.match_slots > 1:
            text += f" ({number(one.match_once)} if each type occurs in one slot only)"
        if one.shared_event is not None:
            text += f"; an event that many matches share: {number(one.shared_event)}; a longer "
            text += "stay makes more matches, and each slot that they touch costs"
        yield f"{text}."
    yield f"24 hours: {number(one.day)}."
    if one.horizon is not None and terms.horizon is not None and one.paid_slots is not None:
        yield (
            f"What is released within {terms.horizon.over} tells {number(one.horizon)} at most: "
            f"after the first {counted(one.paid_slots, 'slot')}, {_WITHHELD[one.mechanism]}."
        )


def _together(one: Guarantee) -> str:
    if one.together.epsilon is None:
        return (
            f"If communities compare notes: void, because {listed(one.together.raw)} "
            f"{'sees' if len(one.together.raw) == 1 else 'see'} the pattern unprotected."
        )
    learnt = f"If communities compare notes: {number(one.together.epsilon)}"
    if one.together.is_one_sided and not one.is_one_sided:
        return f"{learnt} for a changed slot, one-sided: some see true slots, so absence shows."
    return f"{learnt} per slot."


def at_once(spending: Spending) -> str:
    """What a change of all private patterns costs in one slot."""
    freed = spending.decoys.epsilon if spending.decoys else 0.0
    parts = [f"{number(spending.of_all)} for a changed slot"] if spending.of_all else []
    parts += [f"{number(freed)} for each slot that hidden matches touch"] if freed else []
    return f"All private patterns at once: {', and '.join(parts) or '0'}."


def column_promise(term: ColumnTerm) -> str:
    """What a column rule does, and what it costs."""
    rule = term.rule
    match rule:
        case Drop():
            text = f"{rule.column} is null."
        case Snap():
            text = f"{rule.column} moves to a grid of {rule.grid:g}, by at most "
            text += f"{snap_limit(rule.grid):g}. A rounding, not a guarantee."
        case Laplace():
            grid = grid_of(rule)
            spread = laplace_deviation(rule.epsilon, grid.width, grid=grid.step)
            text = f"{rule.column}: epsilon = {number(rule.epsilon)} a row; noise of standard "
            text += f"deviation {number(spread)}, then clamped to {rule.lower:g} to {rule.upper:g}."
        case Category():
            kept = category_kept(rule.epsilon, rule.size)
            text = f"{rule.column}: epsilon = {number(rule.epsilon)} a row; {kept:.0%} of the "
            text += f"values stay what they are, out of {rule.size}."
        case Geo():
            # Points move to the grid first, so two of them may be a diagonal further apart there.
            reach = rule.radius.metres + math.sqrt(2) * rule.grid.metres
            noise = geo_rms(geo_epsilon(rule.level, reach), grid=rule.grid.metres)
            rms = math.hypot(noise, snap_rms(rule.grid.metres, axes=2))
            text = (
                f"{rule.latitude}, {rule.longitude}: {_level(rule.level)} within {rule.radius} per "
            )
            text += f"distinct cell and {rule.epoch}; a point is off by {rms:.0f} m (root mean "
            text += "square). Stays, returns and the number of places are visible."
    if rule.guarantee == "none":
        text += " Declared without a guarantee."
    return text


def _level(level: float) -> str:
    factor = math.exp(level)
    near = round(factor)
    return f"ln {near}" if near > 1 and math.isclose(factor, near, rel_tol=1e-3) else number(level)


def delay(plan: Plan, terms: Terms) -> str:
    """How late what a community gets is, at the worst."""
    stream = plan.policy.stream
    slot, lateness = stream.slot.microseconds, stream.lateness.microseconds
    if not terms.releases_rows:
        return f"Answers come {spoken(lateness)} after the end of their slot of {stream.slot}."
    decoyed = [plan.pattern(name).within for name in terms.by("decoy-windows")]
    longest = max((one.microseconds for one in decoyed if one is not None), default=None)
    if longest is not None:
        return (
            f"Every row comes {spoken(longest + lateness)} to {spoken(slot + longest + lateness)} "
            f"after it happened: its slot's end, plus the longest within ({spoken(longest)}), plus "
            f"lateness ({stream.lateness})."
        )
    if terms.guarded and not terms.by("response", "joint-response"):
        return (
            f"Rows of private types are not released, other rows pass at once; answers come "
            f"{spoken(lateness)} after the end of their slot of {stream.slot}."
        )
    if terms.guarded:
        invented = spending_of(plan, terms).invented_rows
        return (
            f"Rows of private types come {spoken(lateness)} after the end of their slot of "
            f"{stream.slot}; other rows pass at once. A slot in which nothing happened gets "
            f"{number(invented)} invented rows of a known subject, on average."
        )
    return "Rows pass at once."


def not_covered(terms: Terms) -> Iterator[str]:
    """What stays outside every promise of a community."""
    if not terms.guarded and not terms.columns:
        return
    mechanisms = {one.mechanism for one in terms.guarded.values()}
    if mechanisms & {"response", "joint-response", "answers"}:
        yield "other event types and their times"
        if terms.releases_rows:
            yield "gaps that held-back rows leave in a sampled stream"
            yield "how many rows a micro-batch or file of the source held, where that is fixed"
    if "decoy-windows" in mechanisms:
        yield "that a pattern did not happen, and the true slots around it"
    if any(isinstance(term.rule, Geo) for term in terms.columns):
        yield "stays, returns and the number of places under a geo rule"
    yield "rows of other subjects"
    yield "types that go together with a private one but are not declared in its pattern"
    yield "which rows are late"
    yield "that a subject exists, and since when; what happened before from"
    yield "what other policies or versions tell over the same stream"
