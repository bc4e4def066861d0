"""A community's public parameters, taken from the very program that tells it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from ppm.dp.estimate.counts import CountLaw
from ppm.dp.estimate.law import Law, TableLaw, law_of_bit
from ppm.dp.mechanisms.binary import BinaryResponse
from ppm.dp.nested.response import ResponseChain
from ppm.dp.nested.table import TableChain
from ppm.dp.secret import SecretRef
from ppm.dp.source import Seed
from ppm.errors import PpmError, did_you_mean
from ppm.protect.compile import program_of
from ppm.protect.mechanisms import noise_of_answer
from ppm.protect.parameters import AnswerParameters, Parameters, StandIn, Subjects, UnitParameters
from ppm.protect.plan import Plan
from ppm.protect.program import Program, Unit
from ppm.protect.runnable import refuse_what_does_not_run
from ppm.protect.spending import Answer, patterns_told_by, spending_of
from ppm.protect.terms import Terms
from ppm.spec.columns import columns_of_rule
from ppm.spec.pattern import EventType


def published(plan: Plan, community: str, *, noise: SecretRef | Seed) -> Parameters:
    """What a community of a plan may know of how it is told, before there is a stream."""
    if community not in plan.terms:
        hint = did_you_mean(community, sorted(plan.terms))
        raise PpmError(f"{community} is not a community of {plan.policy.name}{hint}")
    if plan.terms[community].releases_rows:
        refuse_what_does_not_run(plan, [community])
    program = program_of(
        plan,
        [community],
        noise=noise,
        columns="",
        shards=1,
        knows_subjects=plan.policy.stream.subjects != "seen",
        names_communities=False,
    )
    return published_of(plan, program, community)


def published_of(plan: Plan, program: Program, community: str) -> Parameters:
    """What one of a program's communities may know of how it is told."""
    stream, terms = plan.policy.stream, plan.terms[community]
    is_told = terms.releases_rows
    units = tuple(_units(program, program.communities.index(community))) if is_told else ()
    events = plan.types(terms, "response", "joint-response")
    declared: Subjects = "given" if stream.subjects == "seen" else len(stream.subjects)
    return Parameters(
        policy=program.policy,
        version=program.version,
        community=community,
        mode="evaluation" if isinstance(program.noise, Seed) else "production",
        subject=stream.subject,
        time=stream.time,
        slot=program.slot,
        start=program.start,
        subjects=declared if program.knows_subjects else "seen",
        units=units,
        stand_ins={name: _known_by(terms, events[name]) for unit in units for name in unit.types},
        answers=tuple(_answers(plan, terms)),
    )


def _units(program: Program, community: int) -> Iterator[UnitParameters]:
    for unit in program.units:
        for reader in unit.readers:
            if reader.community == community:
                yield UnitParameters(
                    _mechanism(unit),
                    unit.chain.epsilons[reader.release],
                    tuple(program.types[place] for place in unit.shown(reader.release)),
                    _law_of(unit, reader.release),
                    reader.stop,
                )


def _mechanism(unit: Unit) -> str:
    return "response" if isinstance(unit.chain, ResponseChain) else "joint-response"


def _law_of(unit: Unit, release: int) -> Law:
    chain = unit.chain
    return TableLaw.of(chain.table) if isinstance(chain, TableChain) else chain.laws[release]


def _known_by(terms: Terms, event: EventType) -> StandIn | None:
    """The columns that tell rows of a type from all others, as its stand-ins have them.

    A row that equals a stand-in in all columns that the predicate reads is of the type, so it is a
    stand-in. Where a rule changes such a column, another row may look the same.
    """
    ruled = {column for term in terms.columns for column in columns_of_rule(term.rule)}
    if event.where.columns & ruled:
        return None
    values = event.stand_in or {}
    seen = (event.where.columns | values.keys()) - ruled
    return {column: values.get(column) for column in sorted(seen)}


def _answers(plan: Plan, terms: Terms) -> Iterator[AnswerParameters]:
    """Every query that is answered on the truth, whether it pays or not."""
    paid = {one.question: one for one in spending_of(plan, terms).answers}
    for question in plan.asked_in(terms.community):
        query, consumer = question.query, question.consumer.spec.name
        if question in paid:
            answer = paid[question]
            law = _law(plan, answer)
            yield AnswerParameters(consumer, query.name, query.ask, answer.epsilon, query.cap, law)
        elif question.is_answered_on_truth and not patterns_told_by(plan, terms, question):
            yield AnswerParameters(consumer, query.name, query.ask, 0.0, query.cap, None)


@lru_cache(maxsize=256)
def _law(plan: Plan, answer: Answer) -> Law | CountLaw:
    noise = noise_of_answer(plan, answer)
    return law_of_bit(noise) if isinstance(noise, BinaryResponse) else CountLaw.of(noise)
