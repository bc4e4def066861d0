"""What of a policy an audit of the stream can reach, and why not the rest."""

from __future__ import annotations

from collections.abc import Sequence

from ppm.errors import SpecError, listed
from ppm.protect.compile import private_types
from ppm.protect.plan import Plan
from ppm.protect.runnable import refuse_what_does_not_run


def communities_that_run(plan: Plan, communities: Sequence[str]) -> tuple[list[str], list[str]]:
    """The communities whose rows can be made, and why the others' cannot."""
    run, why = [], []
    for name in communities:
        try:
            refuse_what_does_not_run(plan, [name])
        except SpecError as error:
            why.append(f"{name} is left out: {error.faults[0].message}")
        else:
            run.append(name)
    return run, why


def patterns_that_can_be_planted(
    plan: Plan, communities: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The patterns whose rows can be made up, and why the others' cannot."""
    types = private_types(plan)
    found, why = [], []
    guarded = dict.fromkeys(one for name in communities for one in plan.terms[name].guarded)
    for pattern in guarded:
        bare = [one for one in plan.pattern(pattern).types if types[one].stand_in is None]
        if bare:
            verb = "has no stand-in" if len(bare) == 1 else "have no stand-ins"
            why.append(f"{pattern} is left out: {listed(bare)} {verb} to make rows from")
        else:
            found.append(pattern)
    return found, why
