"""Colours on a terminal, and plain text everywhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.door import Ppm

COMMANDS = [["check"], ["check", "--json"], ["explain", "smart-door"], ["--help"]]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("state", ["project", "broken"])
def test_what_is_no_terminal_gets_no_escapes(
    ppm: Ppm,
    command: list[str],
    state: str,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(request.getfixturevalue(state))
    run = ppm(*command)
    assert "\x1b" not in run.out + run.err


def test_faults_are_red_on_a_terminal(
    ppm: Ppm, broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[31m" in ppm("check", broken).out


def test_who_wants_no_colours_gets_none(
    ppm: Ppm, broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "31m" not in ppm("check", broken).out


def test_json_has_no_colours_even_if_forced(
    ppm: Ppm, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    policy = project / "policies/smart-door.yaml"
    for command in (["check", project, "--json"], ["explain", policy, "--markdown"]):
        assert "\x1b" not in ppm(*command).out


def test_a_doc_cannot_steer_the_terminal(ppm: Ppm, project: Path) -> None:
    file = project / "policies/smart-door.yaml"
    text = file.read_text("utf-8").replace("doc: What others", 'doc: "\\e]0;x\\a What others')
    file.write_text(text.replace("front door.", 'front door."'), "utf-8")
    run = ppm("explain", file)
    assert run.code == 0
    assert "?]0;x? What others learn" in run.out
