"""What is declared and checked, but not run by this version: said before anything starts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ppm.errors import BindingError, Fault, SpecError
from ppm.protect.plan import Plan
from ppm.protect.terms import Terms
from ppm.spec.columns import Drop, Snap


def refuse_what_does_not_run(plan: Plan, communities: Iterable[str]) -> None:
    """A `SpecError` with everything that the rows of these communities would need."""
    faults = [fault for name in communities for fault in _faults(plan, plan.terms[name])]
    if faults:
        raise SpecError(dict.fromkeys(faults))


def told_rows(plan: Plan) -> tuple[str, ...]:
    """The communities that get rows at all."""
    told = tuple(name for name, terms in plan.terms.items() if terms.releases_rows)
    if not told:
        raise BindingError(f"no community of {plan.policy.name} gets rows: all are withheld")
    return told


def _faults(plan: Plan, terms: Terms) -> Iterator[Fault]:
    if not terms.releases_rows:
        sentence = "gets no rows: they are withheld from it, and protect has nothing to give"
        yield plan.declared.fault(terms.place, sentence)
        return
    for one in terms.guarded.values():
        if one.mechanism == "decoy-windows":
            yield plan.declared.fault(
                one.place,
                "is protected by decoy-windows, which this version checks and explains, but does "
                "not run yet; streams run with response, joint-response and answers",
            )
    for term in terms.columns:
        if not isinstance(term.rule, Drop | Snap):
            yield plan.declared.fault(
                term.place,
                f"is a {term.rule.rule} rule, which this version checks and explains, but does not "
                "run yet; streams run with drop and snap",
            )
