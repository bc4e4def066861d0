"""`ppm explain`: what a policy promises, to whom, and what is left for consumers."""

from __future__ import annotations

from typing import Annotated

import typer


def explain(
    policy: Annotated[
        str,
        typer.Argument(
            metavar="POLICY", help="A file such as policies/smart-door.yaml, or a policy's name."
        ),
    ],
    community: Annotated[
        str | None, typer.Option(metavar="NAME", help="Explain this community only.")
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, for programs.")
    ] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print a document, for a data-protection file.")
    ] = False,
) -> None:
    """Say what a policy promises, in words and numbers.

    For each community: what it may learn of every private pattern, what happens to columns, how
    late rows come, what consumers may expect of their queries, and what is not covered.
    """
    from dataclasses import asdict

    from ppm.cli import explain_markdown, explain_terminal
    from ppm.cli.output import as_json, console
    from ppm.cli.policies import read_plan
    from ppm.errors import PpmError
    from ppm.protect.explain import explain as promise_of

    if json and markdown:
        raise PpmError("--json and --markdown are two formats; name one of them")
    plan, _ = read_plan(policy, faulty=1)
    promise = promise_of(plan, community=community)
    if json:
        print(as_json(asdict(promise)), end="")
    elif markdown:
        print(explain_markdown.document(promise), end="")
    else:
        explain_terminal.show(console(), promise)
