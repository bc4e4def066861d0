"""Everything that can be judged before a row is seen: a project read, linked and checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ppm.errors import Fault, PpmError, SpecError, did_you_mean
from ppm.protect.binding import binding_faults
from ppm.protect.plan import Plan, link
from ppm.protect.prior import prior_faults
from ppm.protect.reach import beyond_reach
from ppm.protect.refusals import one_name_one_type, refusals
from ppm.protect.stand_in import stand_in_faults
from ppm.protect.warnings import warnings, warnings_of_all
from ppm.spec.load import Project, read_project


@dataclass(frozen=True, slots=True)
class Checked:
    """A project as it stands: the plans that can be made, and everything that was found."""

    project: Project
    plans: Mapping[str, Plan]
    """What could be linked of every policy; ask `plan` for one that has no faults."""
    faults: tuple[Fault, ...]
    """Errors and warnings, by file and line."""

    @property
    def errors(self) -> tuple[Fault, ...]:
        """What keeps the project from running."""
        return tuple(fault for fault in self.faults if not fault.is_warning)

    def plan(self, policy: str) -> Plan:
        """The plan of a policy; a `SpecError` with its faults if it has any.

        A policy with faults promises nothing, so there is no plan to explain.
        """
        errors = self.errors_of(policy)
        if errors:
            raise SpecError(errors)
        if policy not in self.plans:
            hint = did_you_mean(policy, sorted(self.plans))
            raise PpmError(f"{policy} is not a policy of {self.project.folder}/policies{hint}")
        return self.plans[policy]

    def errors_of(self, policy: str) -> tuple[Fault, ...]:
        """What keeps one policy from running: its own errors, and those of what it uses.

        A file that cannot be read may be one that it uses.
        """
        plan = self.plans.get(policy)
        used: set[str] = set()
        if plan is not None:
            readers = [one for one in self.project.consumers.values() if one.spec.policy == policy]
            used = {plan.declared.document.file}
            used |= {home.document.file for home in plan.patterns.values()}
            used |= {home.document.file for home in readers}
            used |= {question.home.document.file for question in plan.questions}
            used |= {plan.prior.document.file} if plan.prior is not None else set()

        def concerns(file: str | None) -> bool:
            another_policy = plan is not None and (file or "").startswith("policies/")
            return file in used or (file not in self.project.files and not another_policy)

        return tuple(fault for fault in self.errors if concerns(fault.file))

    @property
    def warnings(self) -> tuple[Fault, ...]:
        """What may be meant, but should not go unseen."""
        return tuple(fault for fault in self.faults if fault.is_warning)


def check_project(folder: str | Path, *, demands: bool = True) -> Checked:
    """Read a project and judge it, without starting anything.

    Without `demands`, consumers may ask for more than the policy can give.
    """
    project, faults = read_project(folder)
    plans, unlinked = link(project)
    faults += unlinked
    for plan in plans.values():
        faults += [*binding_faults(plan), *stand_in_faults(plan), *refusals(plan)]
        faults += prior_faults(plan, project)
    if demands and all(fault.is_warning for fault in faults):
        # What can be reached is told of a policy that can be kept.
        faults += [fault for plan in plans.values() for fault in beyond_reach(plan)]
    if all(fault.is_warning for fault in faults):
        # Warnings speak of what a policy promises, and a policy with faults promises nothing.
        faults += [warning for plan in plans.values() for warning in warnings(plan)]
        faults += warnings_of_all(plans.values())
    return _checked(project, plans, faults)


def check_types(folder: str | Path) -> Checked:
    """Read a project and judge its event types alone: all that counting a prior needs.

    Whoever counts one may have named it already, or have an old one that does not fit any more.
    """
    project, faults = read_project(folder)
    plans, unlinked = link(project)
    faults = [fault for fault in faults if not (fault.file or "").startswith("priors/")] + unlinked
    for plan in plans.values():
        faults += [*binding_faults(plan), *one_name_one_type(plan)]
    return _checked(project, plans, faults)


def _checked(project: Project, plans: Mapping[str, Plan], faults: Iterable[Fault]) -> Checked:
    once = dict.fromkeys(faults)
    ordered = sorted(once, key=lambda fault: (fault.file or "", fault.line or 0))
    return Checked(project, plans, tuple(ordered))
