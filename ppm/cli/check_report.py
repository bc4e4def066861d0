"""What `ppm check` found, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ppm.cli.numbers import match_text, mechanism_text, together_text
from ppm.cli.output import Column, Row, from_here, say, show_faults, show_table
from ppm.errors import counted, listed
from ppm.protect.check import Checked
from ppm.protect.guarantee import guarantees
from ppm.protect.plan import Plan
from ppm.protect.words import number
from ppm.spec.load import FOLDERS

COLUMNS = (
    Column("pattern"),
    Column("mechanism"),
    Column("a slot", is_number=True),
    Column("one match", is_number=True),
    Column("together", is_number=True),
)
LEGEND = "epsilon of a slot, of one match, of all communities together"


def show(out: Console, checked: Checked, folder: Path) -> None:
    """Every fault on its line, what the policies promise, and the verdict."""
    show_faults(out, from_here(checked.faults, folder))
    if checked.errors:
        say(out, Text(_refusal(checked, folder), "bold red"), indent=0)
        return
    for plan in checked.plans.values():
        out.print()
        title = Text.assemble((plan.policy.name, "bold"), f", version {plan.policy.version}: ")
        say(out, title.append(LEGEND, "dim"), indent=0)
        show_table(out, COLUMNS, [*_rows(plan)])
    if checked.plans:
        out.print()
    say(out, Text(_approval(checked), "bold green"), indent=0)


def as_plain(checked: Checked, folder: Path) -> dict[str, object]:
    """The same as plain values; a policy with faults promises nothing, so it has no numbers."""
    return {
        "ok": not checked.errors,
        "faults": [
            {
                "file": fault.file,
                "line": fault.line,
                "severity": "warning" if fault.is_warning else "error",
                "message": fault.message,
            }
            for fault in from_here(checked.faults, folder)
        ],
        "policies": []
        if checked.errors
        else [_plan_as_plain(plan) for plan in checked.plans.values()],
    }


def _plan_as_plain(plan: Plan) -> dict[str, object]:
    return {
        "name": plan.policy.name,
        "version": plan.policy.version,
        "communities": [
            {
                "name": terms.community,
                "patterns": [asdict(one) for one in guarantees(plan, terms)],
            }
            for terms in plan.terms.values()
        ],
    }


def _rows(plan: Plan) -> Iterator[Row | Text]:
    for terms in plan.terms.values():
        promised = guarantees(plan, terms)
        said = "" if promised else ", kept from no pattern"
        yield Text.assemble((terms.community, "bold"), (said, "dim"))
        for one in promised:
            yield Row(
                (
                    Text(f"  {one.pattern}"),
                    Text(mechanism_text(one)),
                    Text(number(one.slot)),
                    Text(match_text(one)),
                    Text(together_text(one), "red" if one.together.raw else ""),
                )
            )


def _refusal(checked: Checked, folder: Path) -> str:
    found = [counted(len(checked.errors), "fault")]
    found += [counted(len(checked.warnings), "warning")] if checked.warnings else []
    folders = sum((folder / name).is_dir() for name in FOLDERS)
    where = f" in {counted(folders, 'folder')}" if folders else ""
    return f"{listed(found)}{where}; nothing was started."


def _approval(checked: Checked) -> str:
    project = checked.project
    warned = f", {counted(len(checked.warnings), 'warning')}" if checked.warnings else ""
    policies = f"{len(project.policies)} {'policy' if len(project.policies) == 1 else 'policies'}"
    priors = f", {counted(len(project.priors), 'prior')}" if project.priors else ""
    return (
        f"no faults{warned}: {counted(len(project.patterns), 'pattern')}, {policies}, "
        f"{counted(len(project.consumers), 'consumer')}{priors}"
    )
