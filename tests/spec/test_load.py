"""A project's folders, read as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from ppm.errors import SpecError
from ppm.spec.load import parse, read_project
from ppm.spec.pattern import Pattern

PATTERN = "name: visit\nevents: {clinic: place = 'clinic'}\nsequence: clinic\n"
POLICY = """\
name: town
version: 1
stream: {subject: s, time: t, slot: 1 h, from: 2026-03-01T00:00:00Z, lateness: 1 min}
communities: {friends: {}}
"""


def project(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in {"policies/town.yaml": POLICY, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def faults(root: Path) -> list[str]:
    return [str(fault) for fault in read_project(root)[1]]


def test_everything_is_found_by_name(tmp_path: Path) -> None:
    found, faults_found = read_project(
        project(
            tmp_path,
            {
                "patterns/visit.yaml": PATTERN,
                "patterns/health/second.yml": PATTERN.replace("visit", "second"),
                "patterns/.hidden.yaml": "not: [read",
                "patterns/notes.txt": "not read either",
            },
        )
    )
    assert faults_found == []
    assert sorted(found.patterns) == ["second", "visit"]
    assert sorted(found.policies) == ["town"]
    assert found.consumers == {}


def test_all_faults_of_all_files_come_at_once(tmp_path: Path) -> None:
    root = project(
        tmp_path,
        {
            "patterns/a.yaml": PATTERN.replace("sequence", "sequense"),
            "patterns/b.yaml": "name: [b\n",
            "consumers/c.yaml": "name: c\n",
        },
    )
    assert faults(root) == [
        "patterns/a.yaml:1: the pattern needs stages or sequence",
        "patterns/a.yaml:3: sequense is not a key of a pattern; did you mean sequence?",
        "patterns/b.yaml:2: not YAML: expected ',' or ']', but got '<stream end>'",
        "consumers/c.yaml:1: the consumer needs policy, community and model",
    ]


def test_a_file_that_could_not_be_read_keeps_its_name(tmp_path: Path) -> None:
    root = project(
        tmp_path,
        {
            "patterns/a.yaml": PATTERN + "zebra: 1\n",
            "patterns/b.yaml": "{",
        },
    )
    assert read_project(root)[0].unread_patterns >= {"visit", "b"}


def test_a_folder_without_policies_is_no_project(tmp_path: Path) -> None:
    assert faults(tmp_path / "nowhere") == [
        f"there is no folder {tmp_path / 'nowhere' / 'policies'}; name a project's folder, "
        "or make one with ppm init"
    ]


def test_a_project_without_a_policy_says_so(tmp_path: Path) -> None:
    (tmp_path / "policies").mkdir()
    assert faults(tmp_path) == [
        "policies/ holds no policy; a policy is a file such as policies/town.yaml"
    ]


def test_one_name_in_two_files_is_refused(tmp_path: Path) -> None:
    root = project(tmp_path, {"patterns/a.yaml": PATTERN, "patterns/b.yaml": PATTERN})
    assert faults(root) == ["patterns/b.yaml:1: name is visit, like the one in patterns/a.yaml"]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        pytest.param(
            b"\xff\xfe", "1: the file is not UTF-8; save it as UTF-8", id="another encoding"
        ),
        pytest.param(
            b"a: " + b"x" * 10_000_000, "1: the file is larger than 256 KiB; split it", id="10 MB"
        ),
        pytest.param(
            b"a: &a [x, x, x, x, x, x, x, x, x]\n"
            + b"".join(
                b"%c: &%c [%s]\n" % (c, c, b", ".join([b"*%c" % (c - 1)] * 9))
                for c in range(ord("b"), ord("j"))
            ),
            "5: the document holds more than 20000 values, aliases included",
            id="an alias bomb",
        ),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused_at_once(
    tmp_path: Path, content: bytes, fault: str
) -> None:
    assert faults(project(tmp_path, {"patterns/a.yaml": content})) == [f"patterns/a.yaml:{fault}"]


def test_a_folder_named_like_a_file_is_told(tmp_path: Path) -> None:
    root = project(tmp_path, {})
    (root / "patterns" / "a.yaml").mkdir(parents=True)
    assert faults(root) == ["patterns/a.yaml: it is no file; only files can be read here"]


def test_a_fault_in_the_short_form_stands_in_its_line() -> None:
    with pytest.raises(SpecError) as raised:
        parse(
            PATTERN.replace("sequence: clinic", "sequence: clinic -> clinc"), Pattern, file="a.yaml"
        )
    assert str(raised.value) == (
        "a.yaml:3: stages[1].event is clinc, which events does not have; did you mean clinic?"
    )


def test_anchors_write_a_thing_once() -> None:
    text = "name: p\nevents: {a: &p x = 1, b: {where: *p}}\nsequence: a -> b\n"
    events = parse(text, Pattern, file="a.yaml").spec.events
    assert events["a"] == events["b"]
