"""`ppm tune`: which budget a consumer needs, and which private pattern costs it most."""

from __future__ import annotations

from typing import Annotated

import typer


def tune(
    policy: Annotated[
        str,
        typer.Argument(
            metavar="POLICY", help="A file such as policies/smart-door.yaml, or a policy's name."
        ),
    ],
    consumer: Annotated[str, typer.Option(metavar="NAME", help="Whose queries.")],
    recall: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="The share of true matches to be found, such as 0.9."),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="The share of found matches to be true."),
    ] = None,
    q: Annotated[
        float | None, typer.Option("--q", min=0, max=1, help="What both must weigh together.")
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, for programs.")
    ] = False,
) -> None:
    """Answer the reverse questions of a consumer.

    Which budget makes its queries as good as asked for here, or as their minimum says; how their
    quality grows with the budget; and which private pattern costs it most. It reads no data.
    """
    from dataclasses import asdict
    from functools import partial

    from ppm.cli import tune_report
    from ppm.cli.output import as_json, console
    from ppm.cli.policies import read_plan
    from ppm.protect.check import check_project
    from ppm.protect.tune import Side
    from ppm.protect.tune import tune as tuned

    # Whoever asks for more than the policy can give wants to know what would give it.
    plan, _ = read_plan(policy, faulty=1, check=partial(check_project, demands=False))
    asked: dict[Side, float | None] = {"recall": recall, "precision": precision, "q": q}
    wanted = {side: least for side, least in asked.items() if least is not None}
    answer = tuned(plan, consumer, wanted=wanted or None)
    if json:
        print(as_json(asdict(answer)), end="")
    else:
        tune_report.show(console(), answer)
