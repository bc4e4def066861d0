"""What a policy's declared history says of the types of a slot."""

from __future__ import annotations

from collections.abc import Collection

from ppm.dp.prior import Prior
from ppm.protect.plan import Plan


def prior_of(plan: Plan, types: Collection[str]) -> Prior | None:
    """The prior on some types; None if a policy has none, or if it does not know all of them."""
    declared = plan.policy.prior
    if declared is None or not set(types) <= declared.rates.keys():
        return None
    return Prior.independent({name: declared.rates[name] for name in sorted(types)})


def unknown_to_prior(plan: Plan, types: Collection[str]) -> list[str]:
    """The types that a policy's prior says nothing about."""
    return sorted(name for name in types if prior_of(plan, [name]) is None)
