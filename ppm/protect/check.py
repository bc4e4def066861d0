"""Everything that can be judged before a row is seen: a project read, linked and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ppm.errors import Fault
from ppm.protect.binding import binding_faults
from ppm.protect.plan import Plan, link
from ppm.protect.refusals import refusals
from ppm.protect.stand_in import stand_in_faults
from ppm.protect.warnings import warnings
from ppm.spec.load import Project, read_project


@dataclass(frozen=True, slots=True)
class Checked:
    """A project as it stands: the plans that can be made, and everything that was found."""

    project: Project
    plans: Mapping[str, Plan]
    """The policies whose names all resolve."""
    faults: tuple[Fault, ...]
    """Errors and warnings, by file and line."""

    @property
    def errors(self) -> tuple[Fault, ...]:
        """What keeps the project from running."""
        return tuple(fault for fault in self.faults if not fault.is_warning)

    @property
    def warnings(self) -> tuple[Fault, ...]:
        """What may be meant, but should not go unseen."""
        return tuple(fault for fault in self.faults if fault.is_warning)


def check_project(folder: str | Path) -> Checked:
    """Read a project and judge it, without starting anything."""
    project, faults = read_project(folder)
    plans, unlinked = link(project)
    faults += unlinked
    for plan in plans.values():
        faults += [*binding_faults(plan), *stand_in_faults(plan), *refusals(plan)]
    if not any(not fault.is_warning for fault in faults):
        # Warnings speak of what a policy promises, and a policy with faults promises nothing.
        faults += [warning for plan in plans.values() for warning in warnings(plan)]
    once = dict.fromkeys(faults)
    ordered = sorted(once, key=lambda fault: (fault.file or "", fault.line or 0))
    return Checked(project, plans, tuple(ordered))
