"""Specs linked into plans: names resolved, and everything that cannot be kept refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ppm.errors import Fault, did_you_mean
from ppm.protect.terms import Terms, terms_of
from ppm.spec.consumer import Consumer, Query
from ppm.spec.document import Path
from ppm.spec.load import Declared, Project
from ppm.spec.pattern import EventType, Pattern
from ppm.spec.policy import Policy
from ppm.spec.prior import Prior


@dataclass(frozen=True, eq=False)
class Question:
    """A consumer's query, with its pattern found."""

    consumer: Declared[Consumer]
    query: Query
    pattern: Pattern
    home: Declared[Pattern] | Declared[Consumer]
    """The file that declares the pattern."""
    inside: Path
    """Where in that file the pattern stands."""
    place: Path
    """Where in the consumer's file the query stands."""

    @property
    def community(self) -> str:
        """Whose stream it is asked of."""
        return self.consumer.spec.community

    @property
    def is_answered_on_truth(self) -> bool:
        """Whether ppm answers it itself, before protection."""
        return self.query.ask != "matches"


@dataclass(frozen=True, eq=False)
class Plan:
    """A policy with everything that it names. Two plans are never equal, so results can be kept."""

    declared: Declared[Policy]
    patterns: Mapping[str, Declared[Pattern]]
    """The patterns that at least one community is kept from."""
    terms: Mapping[str, Terms]
    questions: tuple[Question, ...]
    prior: Declared[Prior] | None = None
    """The prior of priors/ that the policy names, if it names one that is there."""

    @property
    def policy(self) -> Policy:
        """What was declared."""
        return self.declared.spec

    @property
    def slot(self) -> int:
        """The length of a slot in microseconds."""
        return self.policy.stream.slot.microseconds

    def pattern(self, name: str) -> Pattern:
        """A private pattern."""
        return self.patterns[name].spec

    def types(self, terms: Terms, *mechanisms: str) -> dict[str, EventType]:
        """The private event types of a community, under some mechanisms or under all."""
        found: dict[str, EventType] = {}
        for pattern in terms.by(*mechanisms) if mechanisms else terms.guarded:
            for name, event in self.pattern(pattern).events.items():
                # Patterns that share a type may leave its stand-in to one of them.
                if name not in found or found[name].stand_in is None:
                    found[name] = event
        return found

    def asked_in(self, community: str) -> list[Question]:
        """The queries of a community's consumers."""
        return [question for question in self.questions if question.community == community]


def link(project: Project) -> tuple[dict[str, Plan], list[Fault]]:
    """A plan for every policy whose names can be found, and every fault on the way."""
    questions, faults = _questions(project)
    plans: dict[str, Plan] = {}
    for name, declared in project.policies.items():
        terms, wrong = terms_of(declared)
        patterns, unknown = _private_patterns(project, declared, terms)
        faults += [*wrong, *unknown]
        known = {
            community: one
            for community, one in terms.items()
            if all(pattern in patterns for pattern in one.guarded)
        }
        asked = [one for one in questions if one.consumer.spec.policy == name]
        plans[name] = Plan(
            declared,
            patterns,
            known,
            tuple(one for one in asked if one.community in known),
            _prior(project, declared),
        )
    return plans, faults


def _private_patterns(
    project: Project, policy: Declared[Policy], terms: Mapping[str, Terms]
) -> tuple[dict[str, Declared[Pattern]], list[Fault]]:
    found: dict[str, Declared[Pattern]] = {}
    faults: list[Fault] = []
    for one in terms.values():
        for name, guarded in one.guarded.items():
            if name in project.patterns:
                found[name] = project.patterns[name]
            elif name not in project.unread_patterns:
                sentence = f"is not a pattern of patterns/{_known(name, project.patterns)}"
                faults.append(policy.fault(guarded.place, sentence))
    return found, faults


def _prior(project: Project, policy: Declared[Policy]) -> Declared[Prior] | None:
    named = policy.spec.prior
    return project.priors.get(named) if isinstance(named, str) else None


def _questions(project: Project) -> tuple[list[Question], list[Fault]]:
    questions: list[Question] = []
    faults: list[Fault] = []
    for consumer in project.consumers.values():
        faults += _where_it_reads(project, consumer)
        for position, query in enumerate(consumer.spec.queries):
            place: Path = ("queries", position)
            if isinstance(query.pattern, Pattern):
                inside = (*place, "pattern")
                questions.append(Question(consumer, query, query.pattern, consumer, inside, place))
            elif query.pattern in project.patterns:
                home = project.patterns[query.pattern]
                questions.append(Question(consumer, query, home.spec, home, (), place))
            elif query.pattern not in project.unread_patterns:
                hint = _known(query.pattern, project.patterns)
                sentence = f"is {query.pattern}, not a pattern of patterns/{hint}"
                faults.append(consumer.fault((*place, "pattern"), sentence))
    return questions, faults


def _where_it_reads(project: Project, consumer: Declared[Consumer]) -> Iterator[Fault]:
    name, community = consumer.spec.policy, consumer.spec.community
    if name not in project.policies:
        if name not in project.unread_policies:
            hint = _known(name, project.policies)
            yield consumer.fault(("policy",), f"is {name}, not a policy of policies/{hint}")
        return
    communities = project.policies[name].spec.communities
    if community not in communities:
        hint = _known(community, communities)
        yield consumer.fault(("community",), f"is {community}, not a community of {name}{hint}")


def _known(name: str, known: Mapping[str, object]) -> str:
    return did_you_mean(name, sorted(known)) or "; there are none yet"
