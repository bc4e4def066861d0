"""A policy by its name or its file, wherever its project is."""

from __future__ import annotations

from pathlib import Path

from ppm.errors import PpmError, SpecError, did_you_mean
from ppm.protect.check import Checked, check_project
from ppm.protect.plan import Plan


def find_plan(policy: str | Path) -> Plan:
    """The plan of a policy; a `SpecError` with its faults if it has any."""
    folder, file = place_of(str(policy))
    return plan_in(check_project(folder), str(policy), file)


def plan_in(checked: Checked, policy: str, file: str | None) -> Plan:
    """The plan of one policy of a project, given by its file or else by its name."""
    name = _name_of(file, checked) if file else policy
    known = checked.plans.keys() | checked.project.unread_policies
    if file is None and checked.plans and name not in known:
        hint = did_you_mean(name, sorted(checked.plans))
        raise PpmError(
            f"{name} is not a policy of {Path(checked.project.folder) / 'policies'}{hint}"
        )
    errors = checked.errors_of(name)
    if errors:
        raise SpecError(errors)
    if name not in checked.plans:
        raise PpmError(f"{policy} is not read: a policy ends in .yaml, and is not hidden")
    return checked.plan(name)


def place_of(policy: str) -> tuple[Path, str | None]:
    """The project's folder, and the file inside it if one was named."""
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
