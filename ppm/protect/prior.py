"""The prior of a policy: what it says of a slot, and whether it may be used at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from ppm.dp.prior import Prior
from ppm.errors import Fault, did_you_mean
from ppm.protect.plan import Plan
from ppm.spec.load import Project
from ppm.spec.pattern import EventType
from ppm.spec.prior import IndependentPrior

FEW_SUBJECTS = 20
"""A prior is published with its policy; counted on fewer people, it is close to telling of each."""


def prior_of(plan: Plan, types: Collection[str]) -> Prior | None:
    """The prior of some types; None if the policy has none, or it does not know all of them.

    It holds these types alone, however many were counted, so that asking it often stays cheap.
    """
    asked, written = frozenset(types), plan.policy.prior
    if plan.prior is not None:
        counted = plan.prior.spec
        if not asked <= set(counted.of):
            return None
        slots: Counter[frozenset[str]] = Counter()
        for row in counted.together:
            slots[asked.intersection(row.types)] += row.slots
        rows = [(present, number / counted.slots) for present, number in slots.items()]
        return Prior.table(rows, types=asked)
    if not isinstance(written, IndependentPrior) or not asked <= written.rates.keys():
        return None
    return Prior.independent({name: written.rates[name] for name in sorted(asked)})


def unknown_to_prior(plan: Plan, types: Collection[str]) -> list[str]:
    """The types that a policy's prior says nothing about."""
    return sorted(name for name in types if prior_of(plan, [name]) is None)


def source_of_prior(plan: Plan) -> str | None:
    """Where a policy's prior comes from, in its own words."""
    if plan.prior is not None:
        return plan.prior.spec.source
    return plan.policy.prior.source if isinstance(plan.policy.prior, IndependentPrior) else None


def reading_of_prior(plan: Plan) -> str | None:
    """How a policy's prior takes types to come together."""
    if plan.prior is not None:
        counted = plan.prior.spec
        people = _subjects(counted.subjects)
        return f"types as they came together in {counted.slots:,} slots of {people}"
    return None if plan.policy.prior is None else "types taken as independent"


def known_types(plan: Plan) -> dict[str, EventType]:
    """The types that a prior of a policy can speak of: private ones, and those of queries."""
    found: dict[str, EventType] = {}
    for home in plan.patterns.values():
        found.update(home.spec.events)
    for question in plan.questions:
        for name, event in question.pattern.events.items():
            found.setdefault(name, event)
    return dict(sorted(found.items()))


def prior_faults(plan: Plan, project: Project) -> Iterator[Fault]:
    """A prior that is not there, that does not fit, or that is the live stream."""
    written, place = plan.policy.prior, ("prior",)
    known = known_types(plan)
    if isinstance(written, IndependentPrior):
        for name in written.rates:
            if name not in known:
                hint = did_you_mean(name, sorted(known))
                sentence = f"is no type of a private pattern or a query{hint}"
                yield plan.declared.fault((*place, "rates", name), sentence)
    elif written is not None and plan.prior is None and written not in project.unread_priors:
        hint = did_you_mean(written, sorted(project.priors)) or "; there are none yet"
        yield plan.declared.fault(place, f"is {written}, not a prior of priors/{hint}")
    if plan.prior is None:
        return
    counted, stream = plan.prior.spec, plan.policy.stream
    if counted.slot != stream.slot:
        yield plan.declared.fault(
            place,
            f"is {counted.name}, which was counted for slots of {counted.slot}; this policy's "
            f"slots are {stream.slot}, so count it anew with ppm prior",
        )
    if counted.until > stream.from_:
        yield plan.declared.fault(
            place,
            f"is {counted.name}, whose history goes on until {counted.until.isoformat()}, past "
            f"stream.from, {stream.from_.isoformat()}: that is the live stream, and whatever is "
            "learnt from it tells of it beyond every epsilon; count history that ends before",
        )
    if known.keys().isdisjoint(counted.of):
        yield plan.declared.fault(
            place,
            f"is {counted.name}, which counts no type of a private pattern or a query; ppm prior "
            "counts those of this policy",
        )


def prior_warnings(plan: Plan) -> Iterator[Fault]:
    """A prior that tells much of few."""
    if plan.prior is not None and plan.prior.spec.subjects < FEW_SUBJECTS:
        yield plan.prior.warning(
            ("subjects",),
            f"is {plan.prior.spec.subjects}: a prior publishes what its people did, and with fewer "
            f"than {FEW_SUBJECTS} it is close to telling of each; count more, or be sure that they "
            "consent to that",
        )


def _subjects(number: int) -> str:
    return "1 subject" if number == 1 else f"{number:,} subjects"
