"""What a policy cannot promise, refused before anything starts; each rule is one of the proof's."""

from __future__ import annotations

from collections.abc import Iterator

from ppm.dp.allocation.need import needed
from ppm.errors import Fault, listed
from ppm.protect.needs import needs_in
from ppm.protect.overlap import groups
from ppm.protect.plan import Plan, Question
from ppm.protect.prior import unknown_to_prior
from ppm.protect.spans import sees_every_row, slots_spanned
from ppm.protect.spending import patterns_told_by, spending_of
from ppm.protect.terms import Terms
from ppm.spec.columns import NoisyRule, columns_of_rule
from ppm.spec.document import Path
from ppm.spec.load import Declared
from ppm.spec.pattern import EventType, Pattern

MOST_JOINT_TYPES = 16
"""A joint draw over more types has over 65,536 outcomes, and almost never shows the true one."""
MOST_OPTIONAL = 4
"""Each optional stage of a charged query may double its runs."""


def refusals(plan: Plan) -> Iterator[Fault]:
    """Everything that makes a policy's promise impossible to keep."""
    yield from one_name_one_type(plan)
    for terms in plan.terms.values():
        torn = [*_one_mechanism_per_group(plan, terms)]
        yield from torn
        if torn:
            continue  # its budgets cannot be split
        yield from _what_mechanisms_need(plan, terms)
        yield from _columns(plan, terms)
        yield from _allocation(plan, terms)
        yield from _horizon(plan, terms)
        for question in plan.asked_in(terms.community):
            yield from _question(plan, terms, question)


def one_name_one_type(plan: Plan) -> Iterator[Fault]:
    """A name means one predicate throughout a policy, and a predicate has one name."""
    homes: list[tuple[Declared[Pattern] | Question, Pattern]] = [
        *((home, home.spec) for home in plan.patterns.values()),
        *((question, question.pattern) for question in plan.questions),
    ]
    first: dict[str, tuple[EventType, str]] = {}
    named: dict[str, str] = {}
    for home, pattern in homes:
        for name, event in pattern.events.items():
            place: Path = ("events", name)
            known, owner = first.setdefault(name, (event, pattern.name))
            if known.where != event.where:
                yield _in_pattern(
                    home,
                    (*place, "where"),
                    f"is not what {owner} calls {name} ({known.where}); one name is one type",
                )
                continue
            if None not in (known.stand_in, event.stand_in) and known.stand_in != event.stand_in:
                sentence = f"is not the one in {owner}; a type has one stand-in"
                yield _in_pattern(home, (*place, "stand_in"), sentence)
            other = named.setdefault(str(event.where), name)
            if other != name:
                yield _in_pattern(
                    home, (*place, "where"), f"is the predicate of {other}; use that name for both"
                )


def _in_pattern(home: Declared[Pattern] | Question, place: Path, sentence: str) -> Fault:
    if isinstance(home, Question):
        return home.home.fault((*home.inside, *place), sentence)
    return home.fault(place, sentence)


def _one_mechanism_per_group(plan: Plan, terms: Terms) -> Iterator[Fault]:
    for group in groups(plan, terms):
        first, *others = [name for name in terms.guarded if name in group]
        for name in others:
            mechanism, wanted = terms.guarded[name].mechanism, terms.guarded[first].mechanism
            if mechanism != wanted:
                yield plan.declared.fault(
                    terms.guarded[name].place,
                    f"is protected by {mechanism}, but a row of it may be a row of {first} as "
                    f"well, which is under {wanted}; such patterns need one mechanism",
                )


def _what_mechanisms_need(plan: Plan, terms: Terms) -> Iterator[Fault]:
    where = f"policy {plan.policy.name}, community {terms.community}"
    released = plan.types(terms, "response", "joint-response")
    for name, one in terms.guarded.items():
        home = plan.patterns[name]
        if one.mechanism in ("response", "joint-response"):
            for type_name in home.spec.events:
                if released[type_name].stand_in is None:
                    sentence = (
                        f"needs stand_in: rows of it are released by {one.mechanism} ({where})"
                    )
                    yield home.fault(("events", type_name), sentence)
        if one.mechanism == "decoy-windows" and home.spec.within is None:
            sentence = f"needs within: decoy-windows must know how long a match can last ({where})"
            yield home.fault((), sentence)
        if one.mechanism == "decoy-windows" and _forms_anew(home.spec):
            yield home.fault(
                (),
                "cannot be hidden by decoy-windows: with next, not_next, consecutive or greedy "
                "loops, until, or a window other than time, taking rows away can make another "
                f"match ({where})",
            )
        if one.mechanism != "answers" and not terms.releases_rows:
            yield plan.declared.fault(
                one.place,
                f"is protected by {one.mechanism}, which releases rows, but rows are withheld from "
                f"{terms.community}; use answers, or release rows",
            )
    for group in spending_of(plan, terms).groups:
        if len(group.types) > MOST_JOINT_TYPES:
            place = terms.guarded[min(group.patterns)].place
            sentence = (
                f"joins {len(group.types)} types in one draw; at most {MOST_JOINT_TYPES} are "
                "possible: use response"
            )
            yield plan.declared.fault(place, sentence)


def _forms_anew(pattern: Pattern) -> bool:
    return sees_every_row(pattern) or any(stage.greedy for stage in pattern.all_stages)


def _columns(plan: Plan, terms: Terms) -> Iterator[Fault]:
    taken: dict[str, Path] = {}
    for term in terms.columns:
        for column in columns_of_rule(term.rule):
            if column in taken:
                sentence = f"is a second rule for the column {column}; one rule per column"
                yield plan.declared.fault(term.place, sentence)
            taken[column] = term.place
    for term in terms.columns:
        scope = term.rule.where if isinstance(term.rule, NoisyRule) else None
        others = taken.keys() - set(columns_of_rule(term.rule))
        read = sorted(scope.columns & others) if scope is not None else []
        if read and term.rule.guarantee != "none":
            yield plan.declared.fault(
                (*term.place, "where"),
                f"reads {listed(read)}, which another rule changes: which rows are noisy would "
                "tell what that rule hides; choose rows by other columns",
            )


def _allocation(plan: Plan, terms: Terms) -> Iterator[Fault]:
    """Budgets follow queries and history only where there are some."""
    for one in terms.by("decoy-windows", "answers").values():
        if one.allocation != "uniform":
            yield plan.declared.fault(
                (*one.place, "allocation"),
                f"is {one.allocation}, which splits a budget over the types of response or "
                f"joint-response; {one.mechanism} has nothing to split: say uniform, or nothing",
            )
    for mechanism in ("response", "joint-response"):
        guarded = terms.by(mechanism)
        for one in guarded.values():
            place = (*one.place, "allocation")
            first = next(iter(guarded))
            if one.allocation != guarded[first].allocation:
                yield plan.declared.fault(
                    place,
                    f"is {one.allocation}, but {first} has {guarded[first].allocation}: patterns "
                    f"under {mechanism} in one community share one allocation",
                )
            elif one.allocation == "adaptive" and mechanism == "joint-response":
                yield plan.declared.fault(
                    place,
                    "is adaptive, which moves budget between types, but joint-response has one "
                    "budget for all types of a draw; use optimal or uniform",
                )
            elif one.allocation != "uniform":
                missing = _missing_guide(plan, terms)
                if missing:
                    yield plan.declared.fault(place, f"is {one.allocation}, but {missing}")


def _missing_guide(plan: Plan, terms: Terms) -> str | None:
    """What an allocation would need to follow queries, if something is missing."""
    transparent = [
        question
        for question in plan.asked_in(terms.community)
        if question.consumer.spec.model == "transparent"
    ]
    needs = needs_in(plan, terms)
    unknown = unknown_to_prior(plan, needed(needs))
    if not transparent:
        return (
            f"{terms.community} has no transparent consumer whose queries could guide it; use "
            "uniform"
        )
    if not needs:
        return (
            f"no query of {terms.community}'s transparent consumers asks the released rows for a "
            "private type; use uniform"
        )
    if plan.policy.prior is None:
        return (
            "the policy has no prior; declare one from public or consented history, or use uniform"
        )
    if unknown:
        return (
            f"the prior has no rate for {listed(unknown)}, which queries of {terms.community} "
            "need; add it from public or consented history, or use uniform"
        )
    return None


def _horizon(plan: Plan, terms: Terms) -> Iterator[Fault]:
    horizon = terms.horizon
    if horizon is None:
        return
    place = plan.declared.nearest((*terms.place, "horizon"), ("defaults", "horizon"))
    if horizon.over < plan.policy.stream.slot:
        sentence = f"is {horizon.over}, shorter than a slot ({plan.policy.stream.slot})"
        yield plan.declared.fault((*place, "over"), sentence)
    spending = spending_of(plan, terms)
    costs = {name: spending.of(name) for name in terms.guarded}
    for name, cost in costs.items():
        if cost > horizon.epsilon:
            yield plan.declared.fault(
                (*place, "epsilon"),
                f"is {horizon.epsilon:g} and pays for no slot: {name} costs {cost:g} a slot in "
                f"{terms.community}; raise it, or lower the pattern's epsilon",
            )


def _question(plan: Plan, terms: Terms, question: Question) -> Iterator[Fault]:
    consumer, place = question.consumer, question.place
    if not question.is_answered_on_truth:
        if not terms.releases_rows:
            yield consumer.fault(
                (*place, "ask"),
                f"is matches, but rows are withheld from {terms.community}; ask existence or count",
            )
        return
    changed = sorted(column for column in question.pattern.columns if terms.rules_on(column))
    if changed:
        yield consumer.fault(
            (*place, "ask"),
            f"is {question.query.ask}, answered on the truth, but reads {listed(changed)}, which a "
            f"column rule changes for {terms.community}; ask matches, or ask for other columns",
        )
    told = patterns_told_by(plan, terms, question)
    others = [name for name in told if terms.guarded[name].mechanism != "answers"]
    if others:
        name = others[0]
        yield consumer.fault(
            (*place, "ask"),
            f"is {question.query.ask}, answered on the truth, and tells about {name}, which "
            f"{terms.community} protects by {terms.guarded[name].mechanism}; ask matches, or "
            "protect it by answers",
        )
    elif told and _shifts(question.pattern):
        yield consumer.fault(
            (*place, "pattern"),
            "has a skip, a preset or a window under which one row can change every later answer; "
            "an answer that pays needs skip: no_skip, and no window but time",
        )
    elif told and _grows(question.pattern):
        yield consumer.fault(
            (*place, "pattern"),
            "can have many more matches than rows, and a private row too many would stop the "
            "stream, which tells of it: an answer that pays needs followed_by (not "
            "followed_by_any), fixed numbers (times: 2, not 2..) and no combinations, and leaves "
            f"at most {MOST_OPTIONAL} stages optional",
        )
    elif told and slots_spanned(question.pattern, plan.slot) is None:
        yield consumer.fault(
            (*place, "pattern"),
            "needs within: an answer pays for every slot that its matches can span",
        )


def _grows(pattern: Pattern) -> bool:
    """Whether one row can be the start of more runs of the engine than a small fixed number."""
    stages = pattern.all_stages
    return sum(stage.optional for stage in stages) > MOST_OPTIONAL or any(
        stage.contiguity == "followed_by_any"
        or stage.loop == "combinations"
        or stage.times.most != stage.times.fewest
        for stage in stages
    )


def _shifts(pattern: Pattern) -> bool:
    """Whether one row can move all matches after it."""
    skips = str(pattern.skip or "no_skip") != "no_skip" or pattern.preset not in (None, "all")
    return skips or (pattern.window is not None and pattern.window.kind != "time")
