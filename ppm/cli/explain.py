"""`ppm explain`: what a policy promises, to whom, and what is left for consumers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ppm.protect.check import Checked


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
    from ppm.cli.output import as_json, console, from_here, show_faults
    from ppm.errors import PpmError, did_you_mean
    from ppm.protect.check import check_project
    from ppm.protect.explain import explain as promise_of

    if json and markdown:
        raise PpmError("--json and --markdown are two formats; name one of them")
    folder, file = _place_of(policy)
    checked = check_project(folder)
    name = _name_of(file, checked) if file else policy
    known = checked.plans.keys() | checked.project.unread_policies
    if file is None and checked.plans and name not in known:
        hint = did_you_mean(name, sorted(checked.plans))
        raise PpmError(f"{name} is not a policy of {folder / 'policies'}{hint}")
    errors = checked.errors_of(name)
    if errors:
        show_faults(console(stderr=True), from_here(errors, folder))
        raise typer.Exit(1)
    if name not in checked.plans:
        raise PpmError(f"{policy} is not read: a policy ends in .yaml, and is not hidden")
    promise = promise_of(checked.plan(name), community=community)
    if json:
        print(as_json(asdict(promise)), end="")
    elif markdown:
        print(explain_markdown.document(promise), end="")
    else:
        explain_terminal.show(console(), promise)


def _place_of(policy: str) -> tuple[Path, str | None]:
    """The project's folder, and the file inside it if one was named."""
    from ppm.errors import PpmError

    path = Path(policy)
    if not (path.exists() or path.suffix in (".yaml", ".yml") or len(path.parts) > 1):
        return Path("."), None
    if not path.is_file():
        raise PpmError(f"there is no file {policy}; name a policy, or its file in policies/")
    home = next((one for one in path.absolute().parents if one.name == "policies"), None)
    if home is None:
        raise PpmError(
            f"{policy} is in no folder named policies, where the policies of a project are"
        )
    return _from_here(home.parent), path.absolute().relative_to(home.parent).as_posix()


def _from_here(folder: Path) -> Path:
    """The folder as one would write it in the current folder."""
    here = Path.cwd()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder


def _name_of(file: str, checked: Checked) -> str:
    """What the file declares; what it is called itself, if it cannot be read."""
    declared = checked.project.policies.values()
    return next((one.spec.name for one in declared if one.document.file == file), file)
