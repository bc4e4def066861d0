"""What holds for every command: help, exit codes, streams, speed."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import ppm.protect.check
from ppm.cli import app
from tests.cli.door import Ppm

PPM = str(Path(sys.executable).with_name("ppm"))
COMMANDS = ["init", "check", "explain", "tune", "detect", "audit", "prior", "schema"]


def cpu_seconds(*arguments: str) -> float:
    """The processor's time: a clock would measure what else the machine does."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([PPM, *arguments], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def modules_after(*arguments: str) -> set[str]:
    """Everything that is imported once a command has run."""
    program = (
        "import sys\n"
        "from ppm.cli import main\n"
        "try:\n"
        "    main(sys.argv[1:])\n"
        "except SystemExit as ended:\n"
        "    assert ended.code == 0\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, *arguments], check=True, capture_output=True, text=True
    )
    return set(run.stderr.split())


def test_every_command_is_among_those_tested() -> None:
    names = [one.callback.__name__ for one in app.registered_commands if one.callback]
    assert names == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(ppm: Ppm, command: str) -> None:
    run = ppm(command, "--help")
    assert run.code == 0
    assert f"Example: ppm {command} " in run.out


def test_help_names_every_command(ppm: Ppm) -> None:
    run = ppm("-h")
    assert run.code == 0
    assert all(f"\n  {command} " in run.out for command in COMMANDS)


def test_the_version_is_that_of_the_package(ppm: Ppm) -> None:
    assert ppm("--version").out == "ppm 0.1.0\n"


def test_a_command_that_does_not_exist_is_a_usage_error(ppm: Ppm) -> None:
    run = ppm("chekc")
    assert run.code == 2
    assert "Did you mean 'check'?" in run.err


def test_a_shell_completes_commands() -> None:
    words = {"_PPM_COMPLETE": "complete_bash", "COMP_WORDS": "ppm ch", "COMP_CWORD": "1"}
    run = subprocess.run([PPM], env=os.environ | words, capture_output=True, text=True, check=False)
    assert run.stdout.split() == ["check"]


class TestAnErrorOfPpmItself:
    @pytest.fixture(autouse=True)
    def _a_fault_in_ppm(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(_folder: object) -> None:
            raise KeyError("the value of a row")

        monkeypatch.setattr(ppm.protect.check, "check_project", fail)

    def test_is_one_sentence_without_values(self, ppm: Ppm, project: Path) -> None:
        run = ppm("check", project)
        assert (run.code, run.out) == (70, "")
        assert run.err.startswith("ppm itself failed (KeyError in test_main.py:")
        assert "please report it" in run.err
        assert run.err.count("\n") == 1
        assert "row" not in run.err

    def test_shows_its_place_when_asked_to(
        self, ppm: Ppm, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PPM_DEBUG", "1")
        run = ppm("check", project)
        assert run.code == 70
        assert run.err.startswith("Traceback (most recent call last):")


@pytest.mark.parametrize("command", ["schema", "--help", "check door", "explain smart-door"])
def test_a_reader_that_has_gone_is_no_error(command: str, project: Path) -> None:
    here = project if command.startswith("explain") else project.parent
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as nobody:
        run = subprocess.run(
            [PPM, *command.split()], cwd=here, stdout=nobody, stderr=subprocess.PIPE, check=False
        )
    assert run.stderr == b""


def test_letters_that_the_terminal_lacks_are_no_error(project: Path) -> None:
    file = project / "policies/smart-door.yaml"
    file.write_text(file.read_text("utf-8").replace("booked", "gebøøkt"), "utf-8")
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    run = subprocess.run(
        [PPM, "explain", str(file)], env=environment, capture_output=True, check=True
    )
    assert b"geb??kt" in run.stdout
    assert b"reached" in run.stdout


def test_python_m_ppm_is_ppm(project: Path) -> None:
    run = subprocess.run([sys.executable, "-m", "ppm", "check", str(project)], check=False)
    assert run.returncode == 0


def test_help_is_quick() -> None:
    assert modules_after("--help").isdisjoint({"pydantic", "pyspark", "rich", "sqlglot"})
    assert cpu_seconds("--help") < 0.5


def test_check_starts_no_spark_and_is_quick(ppm: Ppm, tmp_path: Path) -> None:
    assert ppm("init", tmp_path / "new").code == 0
    assert modules_after("check", str(tmp_path / "new")).isdisjoint({"pyspark", "numba", "sklearn"})
    assert cpu_seconds("check", str(tmp_path / "new")) < 2
