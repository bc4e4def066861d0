"""The policy that a command is about, by its name or its file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import typer

from ppm.cli.output import console, from_here, show_faults
from ppm.errors import SpecError
from ppm.protect.check import Checked, check_project
from ppm.protect.find import place_of, plan_in
from ppm.protect.plan import Plan


def read_plan(
    policy: str, *, faulty: int, check: Callable[[Path], Checked] = check_project
) -> tuple[Plan, Path]:
    """The plan of a policy, and its project's folder.

    If the policy has faults they are shown, and end the command with the code `faulty`.
    """
    folder, file = place_of(policy)
    try:
        return plan_in(check(folder), policy, file), folder
    except SpecError as error:
        show_faults(console(stderr=True), from_here(error.faults, folder))
        raise typer.Exit(faulty) from None
