"""`ppm init`: a project that works from the start."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.door import Ppm

FILES = [
    "README.md",
    "consumers/heating.yaml",
    "patterns/house-empty.yaml",
    "policies/smart-door.yaml",
    "schemas/consumer.schema.json",
    "schemas/pattern.schema.json",
    "schemas/policy.schema.json",
    "schemas/prior.schema.json",
]


def files_in(folder: Path) -> list[str]:
    return sorted(one.relative_to(folder).as_posix() for one in folder.rglob("*") if one.is_file())


def test_a_new_project_passes_check_and_can_be_explained(ppm: Ppm, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "door"
    made = ppm("init", folder)
    assert made.code == 0
    assert files_in(folder) == FILES
    _, check, explain = made.out.splitlines()
    checked = ppm(*check.split()[1:])
    assert checked.code == 0
    assert checked.out.endswith("\nno faults: 1 pattern, 1 policy, 1 consumer\n")
    explained = ppm(*explain.split()[1:])
    assert explained.code == 0
    assert "heating, transparent" in explained.out


def test_every_file_names_its_schema(ppm: Ppm, tmp_path: Path) -> None:
    ppm("init", tmp_path)
    for file in tmp_path.glob("*/*.yaml"):
        first = file.read_text("utf-8").partition("\n")[0]
        schema = first.removeprefix("# yaml-language-server: $schema=")
        assert (file.parent / schema).is_file()


def test_lines_are_short_enough_to_read(ppm: Ppm, tmp_path: Path) -> None:
    ppm("init", tmp_path)
    for file in [*tmp_path.glob("*/*.yaml"), tmp_path / "README.md"]:
        assert max(map(len, file.read_text("utf-8").splitlines())) <= 100


def test_a_folder_that_is_not_empty_is_left_alone(ppm: Ppm, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine", "utf-8")
    run = ppm("init", tmp_path)
    assert (run.code, run.out) == (1, "")
    assert run.err == (
        f"{tmp_path} is not empty; name another folder, or write over its files with --force\n"
    )
    assert files_in(tmp_path) == ["README.md"]
    assert (tmp_path / "README.md").read_text("utf-8") == "mine"


def test_force_writes_over_its_files_and_keeps_the_others(ppm: Ppm, tmp_path: Path) -> None:
    for file in ("README.md", "notes.txt"):
        (tmp_path / file).write_text("mine", "utf-8")
    assert ppm("init", tmp_path, "--force").code == 0
    assert files_in(tmp_path) == sorted([*FILES, "notes.txt"])
    assert (tmp_path / "README.md").read_text("utf-8").startswith("# A smart door")
    assert (tmp_path / "notes.txt").read_text("utf-8") == "mine"


def test_hidden_files_are_in_nobodys_way(ppm: Ppm, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert ppm("init", tmp_path).code == 0


@pytest.mark.parametrize("options", [[], ["--force"]], ids=["plain", "forced"])
def test_a_file_is_no_folder(ppm: Ppm, tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "door").write_text("mine", "utf-8")
    run = ppm("init", tmp_path / "door", *options)
    assert (run.code, run.err) == (1, f"{tmp_path / 'door'} is a file; name a folder\n")


def test_what_cannot_be_written_is_told(ppm: Ppm, tmp_path: Path) -> None:
    (tmp_path / "schemas").write_text("a file where a folder must be", "utf-8")
    run = ppm("init", tmp_path, "--force")
    assert run.code == 1
    assert "cannot be written: " in run.err
