"""Every program in examples/ runs, and prints something."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROGRAMS = sorted((ROOT / "examples").glob("*.py"))


def marked(program: Path) -> object:
    marks = [pytest.mark.spark] if "pyspark" in program.read_text("utf-8") else []
    return pytest.param(program, marks=marks, id=program.name)


@pytest.mark.parametrize("program", [marked(program) for program in PROGRAMS])
def test_an_example_runs(program: Path) -> None:
    result = subprocess.run(
        [sys.executable, str(program)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout


def test_the_trace_tells_what_killed_the_run() -> None:
    program = ROOT / "examples" / "why_no_match.py"
    result = subprocess.run(
        [sys.executable, str(program)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "[e0], waiting for pharmacy, dies: home must not come" in result.stdout
