"""`ppm secret new`: a file for its owner, and nothing on the screen."""

from __future__ import annotations

import stat
from pathlib import Path

from ppm.dp.secret import SecretRef
from tests.cli.door import Ppm


def test_a_secret_is_written_and_not_shown(ppm: Ppm, tmp_path: Path) -> None:
    path = tmp_path / "ppm.secret"
    run = ppm("secret", "new", path)
    assert (run.code, run.err) == (0, "")
    assert path.read_text("ascii").strip() not in run.out
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    SecretRef.file(path).resolve()


def test_a_secret_that_exists_is_kept(ppm: Ppm, tmp_path: Path) -> None:
    path = tmp_path / "ppm.secret"
    ppm("secret", "new", path)
    text = path.read_text("ascii")
    run = ppm("secret", "new", path)
    assert (run.code, run.out) == (1, "")
    assert "never overwritten" in run.err
    assert text.strip() not in run.err
    assert path.read_text("ascii") == text


def test_help_has_an_example(ppm: Ppm) -> None:
    assert "Example: ppm secret new " in ppm("secret", "new", "--help").out
    assert "\n  new " in ppm("secret", "--help").out
    assert "\n  secret " in ppm("--help").out
