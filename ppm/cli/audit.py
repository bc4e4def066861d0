"""`ppm audit`: an attack on what a policy draws and releases, and whether its claims survive."""

from __future__ import annotations

import os
import sys
import traceback
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
        int,
        typer.Option(
            min=100, max=10_000_000, help="Runs of each mechanism, in each of two worlds."
        ),
    ] = 100_000,
    canaries: Annotated[
        int,
        typer.Option(
            min=0,
            max=20_000,
            help="Canaries of each pattern in the stream; 0 leaves the stream out.",
        ),
    ] = 2_000,
    alpha: Annotated[
        float,
        typer.Option(
            min=1e-12, max=0.5, help="How likely each test may blame what is right, at most."
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
    """Measure what a policy tells, from outside.

    First the mechanisms: each that the policy's plan would use is run in two worlds that it must
    keep alike. Then the stream: canaries are planted into made-up rows by a coin, Spark protects
    them as it would protect yours, and only what a community receives is looked at. It reads no
    data.

    The exit code is 1 if a claim is exceeded, and 2 if the policy has faults. Where no noise is
    drawn, there is nothing to audit, and the exit code is 0.
    """
    from secrets import randbelow

    from ppm.audit.plan import audit as attack
    from ppm.audit.stream import FEWEST, audit_stream
    from ppm.cli.audit_report import Report, as_plain, show
    from ppm.cli.output import as_json, console, from_here, show_faults
    from ppm.cli.policies import read_plan
    from ppm.cli.progress import bar
    from ppm.errors import PpmError, SpecError, did_you_mean
    from ppm.protect.chains import chains_of
    from ppm.protect.mechanisms import mechanisms_of

    seed = randbelow(2**32) if seed is None else seed
    try:
        if 0 < canaries < FEWEST:
            raise PpmError(f"--canaries is {canaries}; give 0, or at least {FEWEST}")
        plan, folder = read_plan(policy, faulty=FAULTY)
        if community is not None and community not in plan.terms:
            hint = did_you_mean(community, sorted(plan.terms))
            raise PpmError(f"{community} is not a community of {plan.policy.name}{hint}")
        chosen = [terms for name, terms in plan.terms.items() if community in (None, name)]
        releases = [release for terms in chosen for release in mechanisms_of(plan, terms)]
        chains = chains_of(plan) if community is None else ()
        with bar() as progress:
            progress.say("running mechanisms")
            audited = attack([*releases, *chains], runs=runs, alpha=alpha, seed=seed)
            progress.say("running the stream on Spark")
            names = [terms.community for terms in chosen]
            stream = (
                audit_stream(plan, names, canaries=canaries, alpha=alpha, seed=seed)
                if canaries
                else None
            )
    except SpecError as error:
        show_faults(console(stderr=True), from_here(error.faults, folder))
        raise typer.Exit(FAULTY) from None
    except PpmError as error:
        if error.__cause__ is not None and os.environ.get("PPM_DEBUG") == "1":
            traceback.print_exc()
        print(error, file=sys.stderr)
        raise typer.Exit(FAULTY) from None
    report = Report(
        policy=plan.policy.name,
        version=plan.policy.version,
        communities=tuple(names),
        alone=audited[: len(releases)],
        together=audited[len(releases) :],
        stream=stream,
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
