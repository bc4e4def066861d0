"""`ppm audit`: an attack on what a policy would draw, and whether its claims survive."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

FAULTY = 2
"""Exit code for faults of the policy or the command; 1 is kept for a claim that was exceeded."""


def audit(
    policy: Annotated[
        str,
        typer.Argument(
            metavar="POLICY", help="A file such as policies/smart-door.yaml, or a policy's name."
        ),
    ],
    community: Annotated[
        str | None, typer.Option(metavar="NAME", help="Audit this community only.")
    ] = None,
    runs: Annotated[
        int, typer.Option(min=100, max=10_000_000, help="Runs in each of two worlds.")
    ] = 100_000,
    alpha: Annotated[
        float,
        typer.Option(
            min=1e-12, max=0.5, help="How likely a right mechanism may be blamed, at most."
        ),
    ] = 1e-6,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0, help="Repeat an audit with the seed that it printed.", show_default="fresh"
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, for programs.")
    ] = False,
) -> None:
    """Measure what the mechanisms of a policy tell, from outside.

    Every mechanism that the policy's plan would use is run in two worlds that it must keep alike:
    its claim, the exact value of its tables, and the epsilon that the runs prove at least. It
    audits mechanisms, not yet the stream end to end, and reads no data.

    The exit code is 1 if a claim is exceeded, and 2 if the policy has faults. Where no noise is
    drawn, there is nothing to audit, and the exit code is 0.
    """
    from secrets import randbelow

    from ppm.audit.plan import audit as attack
    from ppm.cli.audit_report import Report, as_plain, show
    from ppm.cli.output import as_json, console, from_here, show_faults
    from ppm.cli.policies import read_plan
    from ppm.errors import PpmError, SpecError, did_you_mean
    from ppm.protect.chains import chains_of
    from ppm.protect.mechanisms import mechanisms_of

    try:
        plan, folder = read_plan(policy, faulty=FAULTY)
        if community is not None and community not in plan.terms:
            hint = did_you_mean(community, sorted(plan.terms))
            raise PpmError(f"{community} is not a community of {plan.policy.name}{hint}")
        chosen = [terms for name, terms in plan.terms.items() if community in (None, name)]
        releases = [release for terms in chosen for release in mechanisms_of(plan, terms)]
        chains = chains_of(plan) if community is None else ()
    except SpecError as error:
        show_faults(console(stderr=True), from_here(error.faults, folder))
        raise typer.Exit(FAULTY) from None
    except PpmError as error:
        print(error, file=sys.stderr)
        raise typer.Exit(FAULTY) from None
    seed = randbelow(2**32) if seed is None else seed
    audited = attack([*releases, *chains], runs=runs, alpha=alpha, seed=seed)
    report = Report(
        policy=plan.policy.name,
        version=plan.policy.version,
        communities=tuple(terms.community for terms in chosen),
        alone=audited[: len(releases)],
        together=audited[len(releases) :],
        runs=runs,
        alpha=alpha,
        seed=seed,
    )
    if json:
        print(as_json(as_plain(report)), end="")
    else:
        show(console(), report)
    if not report.holds:
        raise typer.Exit(1)
