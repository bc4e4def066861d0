"""`ppm schema`: on standard output, or as files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ppm.cli.schema import Kind
from ppm.spec.schema import KINDS, schema_of
from tests.cli.door import Ppm


def test_the_command_knows_every_kind() -> None:
    assert [*Kind] == [*KINDS]


def test_all_kinds_are_one_object(ppm: Ppm) -> None:
    assert json.loads(ppm("schema").out) == {kind: schema_of(kind) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_one_kind_is_its_schema(ppm: Ppm, kind: str) -> None:
    assert json.loads(ppm("schema", kind).out) == schema_of(kind)


def test_files_are_named_after_their_kind(ppm: Ppm, tmp_path: Path) -> None:
    run = ppm("schema", "--out", tmp_path / "new")
    assert (run.code, run.out) == (0, "")
    assert sorted(one.name for one in (tmp_path / "new").iterdir()) == [
        "consumer.schema.json",
        "pattern.schema.json",
        "policy.schema.json",
        "prior.schema.json",
    ]


def test_one_kind_is_one_file(ppm: Ppm, tmp_path: Path) -> None:
    ppm("schema", "policy", "--out", tmp_path)
    assert (tmp_path / "policy.schema.json").read_text("utf-8") == ppm("schema", "policy").out
    assert len([*tmp_path.iterdir()]) == 1
