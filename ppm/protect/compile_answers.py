"""A consumer's queries made ready to be answered: which on the truth, which on what is told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b

import pyarrow as pa

from ppm.cep.columnar.tables import Compiled, compile_pattern
from ppm.cep.columnar.watch import watch
from ppm.cep.detection import meaning_of
from ppm.cep.support import unsupported
from ppm.dp.filter import Filter
from ppm.dp.purpose import Purpose
from ppm.errors import BindingError, Fault, PpmError, SpecError, did_you_mean, listed
from ppm.protect.answer_noise import cells_of_count
from ppm.protect.compile import private_types
from ppm.protect.horizon import hard_stop
from ppm.protect.plan import Plan, Question
from ppm.protect.questions import Asked, Questions, Side, StandIns
from ppm.protect.refusals import refusals
from ppm.protect.runnable import refuse_what_does_not_run
from ppm.protect.spending import Answer, patterns_told_by, spending_of
from ppm.protect.terms import Terms
from ppm.spec.expression.kinds import ColumnType
from ppm.spec.expression.lower import bind
from ppm.spec.expression.nodes import columns_of
from ppm.spec.instant import microseconds_since_1970
from ppm.spec.pattern import Pattern


def asked_by(plan: Plan, consumer: str) -> list[Question]:
    """The queries of a consumer, if this version can answer all of them."""
    found = [one for one in plan.questions if one.consumer.spec.name == consumer]
    if not found:
        known = sorted({one.consumer.spec.name for one in plan.questions})
        hint = did_you_mean(consumer, known)
        raise PpmError(f"{consumer} is not a consumer with queries to {plan.policy.name}{hint}")
    declared = found[0].consumer
    if declared.spec.model != "transparent":
        sentence = "is opaque; ppm answers the queries of transparent consumers only"
        raise SpecError([declared.fault(("model",), sentence)])
    faults = [fault for one in found for fault in _what_the_engine_cannot(one)]
    # A plan has been checked; but what is answered here is never worth an oversight there.
    faults += [one for one in refusals(plan) if not one.is_warning]
    if faults:
        raise SpecError(dict.fromkeys(faults))
    if any(not one.is_answered_on_truth for one in found):
        refuse_what_does_not_run(plan, [found[0].community])
    return found


def _what_the_engine_cannot(question: Question) -> Iterator[Fault]:
    for place, sentence in unsupported(question.pattern):
        yield question.home.fault((*question.inside, *place), sentence)


def questions_of(
    plan: Plan,
    asked: Sequence[Question],
    *,
    columns: Sequence[tuple[str, ColumnType | str]],
    stand_ins: pa.Table | None,
) -> Questions:
    """All queries of one consumer, bound to a stream's columns.

    `stand_ins` are the rows of all private types as the community sees them, needed if something is
    asked of what it is told.
    """
    compiled = _compiled(plan, asked, columns)
    terms = plan.terms[asked[0].community]
    answers = [_asked(plan, terms, *one) for one in zip(asked, compiled, strict=True)]
    return Questions(
        asked[0].consumer.spec.name,
        tuple(answers),
        tuple(_sides(plan, asked, compiled, answers, stand_ins)),
    )


def _compiled(
    plan: Plan, asked: Sequence[Question], columns: Sequence[tuple[str, ColumnType | str]]
) -> list[Compiled]:
    stream, compiled, faults = plan.policy.stream, [], []
    types = {name: found for name, found in columns if isinstance(found, ColumnType)}
    for question in asked:
        # Its query's name tells patterns apart: two queries may ask for one pattern.
        pattern = question.pattern.model_copy(update={"name": question.query.name})
        try:
            for event in pattern.events.values():
                bind(event.where.tree, columns)
            compiled.append(
                compile_pattern(pattern, types=types, zones=stream.zones, timezone=stream.timezone)
            )
        except BindingError as error:
            faults.append(f"the query {question.query.name}: {error}")
    if faults:
        raise BindingError("\n".join(faults))
    return compiled


def _asked(plan: Plan, terms: Terms, question: Question, compiled: Compiled) -> Asked:
    query, subjects = question.query, plan.policy.stream.subjects
    cap = query.cap or 1
    answer = _charged(plan, terms, question)
    if answer is None:
        return Asked(query.name, query.ask, cap=cap)
    _refuse_what_stops(compiled)
    most = cells_of_count(cap, None if subjects == "seen" else len(subjects))
    cells = most if query.ask == "count" else 2
    return Asked(
        query.name,
        query.ask,
        epsilon=answer.epsilon,
        purpose=_purpose(plan, answer, compiled, cap=cap, cells=cells),
        cap=cap,
        cells=cells,
        stop=_stop(plan, terms, answer),
    )


def _refuse_what_stops(compiled: Compiled) -> None:
    """The engine stops at whole numbers that doubles cannot hold; no private row may stop it."""
    exact = sorted(
        {name for one in compiled.cells if one.domain == "exact" for name in columns_of(one.source)}
    )
    if exact:
        raise BindingError(
            f"the query {compiled.pattern.name}: it calculates with {listed(exact)}, whole numbers "
            "that may be too large for that, which would stop the stream; cast them to double"
        )


def _charged(plan: Plan, terms: Terms, question: Question) -> Answer | None:
    """What a query pays; None if it is free."""
    if not question.is_answered_on_truth:
        return None
    charged = [one for one in spending_of(plan, terms).answers if one.question is question]
    if charged:
        return charged[0]
    told = patterns_told_by(plan, terms, question)
    if told:
        # Nothing pays for it, so nothing may be said.
        sentence = f"is {question.query.ask}, and tells about {told[0]} without paying for it"
        raise SpecError([question.consumer.fault((*question.place, "ask"), sentence)])
    return None


def _purpose(plan: Plan, answer: Answer, compiled: Compiled, *, cap: int, cells: int) -> Purpose:
    """What an answer draws for; another query of the same name draws other words."""
    question = answer.question
    meaning = blake2b(meaning_of(compiled).encode(), digest_size=8).hexdigest()
    start = microseconds_since_1970(plan.policy.stream.from_)
    return Purpose(
        plan.policy.name,
        plan.policy.version,
        f"answers, {question.query.ask}",
        (question.consumer.spec.name, question.query.name),
        f"{plan.slot} us from {start}",
        (f"epsilon {answer.epsilon!r}, cap {cap}, cells {cells}, pattern {meaning}",),
    )


def _stop(plan: Plan, terms: Terms, answer: Answer) -> Filter | None:
    """The filter of the answers: of the patterns that they tell of, the first to stop."""
    stops = [hard_stop(plan, terms, name) for name in answer.patterns]
    found = [stop for stop in stops if stop is not None]
    return min(found, default=None, key=lambda stop: stop.paid)


def _sides(
    plan: Plan,
    asked: Sequence[Question],
    compiled: Sequence[Compiled],
    answers: Sequence[Asked],
    stand_ins: pa.Table | None,
) -> Iterator[Side]:
    stream = plan.policy.stream
    truth = [place for place, one in enumerate(asked) if one.is_answered_on_truth]
    paid = [place for place in truth if answers[place].epsilon is not None]
    has_ids = stream.event_id is not None
    for places in (paid, [place for place in truth if place not in paid]):
        if places:
            watched = watch([compiled[place] for place in places])
            columns = stream.subject, stream.time
            yield Side(watched, tuple(places), *columns, has_ids, is_paid=places is paid)
    for place, question in enumerate(asked):
        if question.is_answered_on_truth:
            continue
        assert stand_ins is not None
        yield Side(
            watch([compiled[place]]),
            (place,),
            stream.subject,
            stream.time,
            has_ids,
            is_told=True,
            stand_ins=StandIns(stand_ins, _ranks(plan, question.pattern)),
        )


def _ranks(plan: Plan, pattern: Pattern) -> tuple[int, ...]:
    """For each private type, its place in the order in which a pattern asks for types."""
    stages = [stage.event for stage in pattern.all_stages if stage.event is not None]
    order = [*dict.fromkeys(stages)]
    others = [name for name in private_types(plan) if name not in order]
    return tuple([*order, *others].index(name) for name in private_types(plan))
