"""`ppm tune`: budgets and what they buy, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.door import Ppm, edit

POLICY = "policies/smart-door.yaml"


def test_a_budget_is_named_for_a_recall(ppm: Ppm, project: Path) -> None:
    told = ppm("tune", project / POLICY, "--consumer", "heating", "--recall", "0.9")
    assert told.code == 0
    assert "For a recall of 90%: house-empty 5.84." in told.out
    assert "No private pattern concerns it: no budget makes it better or worse." in told.out


def test_each_budget_has_a_bar_and_the_declared_one_is_marked(ppm: Ppm, project: Path) -> None:
    lines = ppm("tune", project / POLICY, "--consumer", "heating").out.splitlines()
    (declared,) = [line for line in lines if line.endswith("declared")]
    assert declared.split()[:3] == ["2", "53.4%", "███████████·········"]


def test_programs_get_the_same_as_json(ppm: Ppm, project: Path) -> None:
    told = json.loads(ppm("tune", project / POLICY, "--consumer", "heating", "--json").out)
    first, _ = told["queries"]
    assert told["costs"][0]["pattern"] == "house-empty"
    assert first["aims"][0]["side"] == "recall"
    assert {point["epsilon"] for point in first["curve"]} >= {0.1, 2.0, 16.0}


def test_a_count_has_a_standard_deviation_that_falls_with_the_budget(
    ppm: Ppm, project: Path
) -> None:
    told = json.loads(ppm("tune", project / POLICY, "--consumer", "study", "--json").out)
    (query,) = told["queries"]
    deviations = [point["deviation"] for point in query["curve"]]
    assert deviations == sorted(deviations, reverse=True)


def test_an_unknown_consumer_is_a_sentence(ppm: Ppm, project: Path) -> None:
    told = ppm("tune", project / POLICY, "--consumer", "heatin")
    assert (told.code, told.out) == (1, "")
    assert told.err == "heatin asks nothing of smart-door; did you mean heating?\n"


def test_what_the_policy_cannot_give_can_still_be_asked_for(ppm: Ppm, project: Path) -> None:
    edit(project / "consumers/heating.yaml", "recall: 50 %", "recall: 99 %")
    assert "no allocation" in ppm("check", project).out
    told = ppm("tune", project / POLICY, "--consumer", "heating")
    assert told.code == 0
    assert "For a recall of 99%: house-empty 10.6." in told.out
