"""The command line run in this process, and a small project to run it on."""

from __future__ import annotations

from pathlib import Path

import pytest

from ppm.cli import main
from tests.cli.door import FILES, Ppm, Run, edit


@pytest.fixture(autouse=True)
def _a_window_of_100_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "NO_COLOR", "PPM_DEBUG", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def ppm(capsys: pytest.CaptureFixture[str]) -> Ppm:
    def run(*arguments: object) -> Run:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(one) for one in arguments])
        printed = capsys.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return Run(code, printed.out, printed.err)

    return run


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project without faults, in a folder of its own."""
    folder = tmp_path / "door"
    for file, text in FILES.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text, "utf-8")
    return folder


@pytest.fixture
def broken(project: Path) -> Path:
    """The same project with a fault in each folder."""
    edit(project / "patterns/house-empty.yaml", "within: 10 min", "within: 10 minutes")
    edit(project / "policies/smart-door.yaml", "version: 2", "versoin: 2")
    edit(project / "consumers/heating.yaml", "model: transparent", "model: clear")
    return project
