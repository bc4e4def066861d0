"""`ppm check`: faults, numbers, verdict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.door import Ppm, edit


def test_a_project_without_faults_shows_what_it_promises(
    ppm: Ppm, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    run = ppm("check")
    assert run.code == 0
    assert (
        run.out
        == """\

smart-door, version 2: epsilon of a slot, of one match, of all communities together
  pattern        mechanism  a slot     one match  together
  ────────────────────────────────────────────────────────
  services
    house-empty  response        2  4 in 2 slots         3
  researchers
    house-empty  answers         1  2 in 2 slots         3

no faults: 1 pattern, 1 policy, 2 consumers
"""
    )


def test_faults_of_all_files_come_at_once(
    ppm: Ppm, broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(broken)
    run = ppm("check")
    assert run.code == 1
    assert (
        run.out
        == """\
consumers/heating.yaml:4: model is 'clear'; allowed are opaque, transparent
patterns/house-empty.yaml:7: within is '10 minutes'; a duration is needed, such as 30 s, 15 min, \
2 h or 30 d
policies/smart-door.yaml:1: the policy needs version
policies/smart-door.yaml:2: versoin is not a key of a policy; did you mean version?
4 faults in 3 folders; nothing was started.
"""
    )


def test_files_can_be_opened_from_where_one_stands(
    ppm: Ppm, broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(broken.parent)
    assert ppm("check", "door").out.startswith("door/consumers/heating.yaml:4: model is")


def test_a_line_is_never_broken(ppm: Ppm, broken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = ppm("check", broken).out
    monkeypatch.setenv("COLUMNS", "60")
    assert ppm("check", broken).out == wide


def test_warnings_do_not_count_as_faults(ppm: Ppm, project: Path) -> None:
    lock = "{name: l, events: {lock: \"kind = 'locked'\"}, sequence: lock}"
    edit(project / "consumers/heating.yaml", "pattern: house-empty", f"pattern: {lock}")
    edit(project / "consumers/heating.yaml", "recall: 50 %", "recall: 80 %")
    run = ppm("check", project)
    assert run.code == 0
    assert "heating.yaml:6: warning: queries[0].minimum.recall is 80%" in run.out
    assert run.out.endswith("\nno faults, 1 warning: 1 pattern, 1 policy, 2 consumers\n")


def test_a_minimum_that_nothing_reaches_is_a_fault(ppm: Ppm, project: Path) -> None:
    edit(project / "consumers/heating.yaml", "recall: 50 %", "recall: 90 %")
    run = ppm("check", project)
    assert run.code == 1
    said = " ".join(run.out.split())
    assert "recall is 90%, but no allocation of the budgets of services gives more than" in said
    assert "53.4%; ask for less, or have epsilon raised" in said


def test_a_community_that_sees_everything_is_named(ppm: Ppm, project: Path) -> None:
    edit(project / "policies/smart-door.yaml", "communities:\n", "communities:\n  residents: {}\n")
    run = ppm("check", project)
    assert "  residents, kept from no pattern\n" in run.out
    assert "4 in 2 slots      void\n" in run.out


def test_json_of_a_project_without_faults(ppm: Ppm, project: Path) -> None:
    run = ppm("check", project, "--json")
    assert run.code == 0
    found = json.loads(run.out)
    assert list(found) == ["ok", "faults", "policies"]
    assert (found["ok"], found["faults"]) == (True, [])
    [policy] = found["policies"]
    assert (policy["name"], policy["version"]) == ("smart-door", 2)
    services, researchers = policy["communities"]
    assert services == {
        "name": "services",
        "patterns": [
            {
                "pattern": "house-empty",
                "mechanism": "response",
                "declared": 2.0,
                "slot": 2.0,
                "match_slots": 2,
                "match": 4.0,
                "match_once": 2.0,
                "shared_event": None,
                "day": 48.0,
                "horizon": None,
                "paid_slots": None,
                "together": {"epsilon": 3.0, "is_one_sided": False, "raw": []},
            }
        ],
    }
    assert researchers["patterns"][0]["horizon"] == 50.0
    assert ppm("check", project, "--json").out == run.out


def test_json_of_faults(ppm: Ppm, broken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(broken)
    run = ppm("check", "--json")
    assert run.code == 1
    found = json.loads(run.out)
    assert (found["ok"], found["policies"]) == (False, [])
    assert found["faults"][0] == {
        "file": "consumers/heating.yaml",
        "line": 4,
        "severity": "error",
        "message": "model is 'clear'; allowed are opaque, transparent",
    }
    assert len(found["faults"]) == 4


def test_a_folder_that_is_not_there(ppm: Ppm, tmp_path: Path) -> None:
    run = ppm("check", tmp_path / "nowhere")
    assert (run.code, run.out) == (1, "")
    assert run.err.startswith(f"there is no folder {tmp_path / 'nowhere'};")


def test_a_file_is_no_project(ppm: Ppm, project: Path) -> None:
    run = ppm("check", project / "policies/smart-door.yaml")
    assert (run.code, run.out) == (1, "")
    assert "is a file; name the folder of a project" in run.err


def test_a_folder_without_policies_is_no_project(ppm: Ppm, tmp_path: Path) -> None:
    run = ppm("check", tmp_path)
    assert run.code == 1
    assert "there is no folder" in run.out
    assert run.out.endswith("\n1 fault; nothing was started.\n")
