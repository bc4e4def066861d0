"""`ppm check`: everything that can be judged before a row is seen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def check(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The project's folder.", show_default="here")
    ] = Path("."),
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, for programs.")
    ] = False,
) -> None:
    """Find every fault of a project before anything is started.

    Prints one line for each fault and warning (file:line: what), then what each policy lets its
    communities learn. The exit code is 1 if there are faults; warnings do not count.
    """
    from ppm.cli.check_report import as_plain, show
    from ppm.cli.output import as_json, console
    from ppm.errors import PpmError
    from ppm.protect.check import check_project

    if not folder.exists():
        raise PpmError(f"there is no folder {folder}; make a project there with ppm init {folder}")
    if not folder.is_dir():
        raise PpmError(f"{folder} is a file; name the folder of a project, which has policies/")
    checked = check_project(folder)
    if json:
        print(as_json(as_plain(checked, folder)), end="")
    else:
        show(console(), checked, folder)
    if checked.errors:
        raise typer.Exit(1)
