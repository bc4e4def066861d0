"""`ppm explain`: for people, for files and for programs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from rich.cells import cell_len

from ppm.cli.explain_markdown import document
from ppm.protect.check import check_project
from ppm.protect.explain import explain
from tests.cli.door import Ppm, edit

POLICY = "policies/smart-door.yaml"

DOCUMENT = """\
# Policy smart-door, version 2

What others learn from a front door.

Numbers are for the uniform allocation. Precision and Q rest on this prior, with types \
taken as independent: the makers' own doors.

## Community services

Companies that were booked.

Rows of private types come 5 min after the end of their slot of 1 h; other rows pass at \
once. A slot in which nothing happened gets 0.5379 invented rows of a known subject, on \
average.

### What it may learn

| pattern | mechanism | epsilon per slot | one match | a day | if communities compare notes |
| --- | --- | --- | --- | --- | --- |
| house-empty | response | 2 | 4 in 2 slots | 48 | 3 |

**house-empty** (`lock -> arm within 10 min`). Locked \\| from outside, then armed. Epsilon = 2 \
computational pattern-level differential privacy per subject and 1 h slot for house-empty (add or \
remove rows of its types). One match: up to 2 slots, 4 (2 if each type occurs in one slot only). \
24 hours: 48. If communities compare notes: 3 per slot.

### Where the budget goes

By the uniform allocation.

| type | epsilon per slot | released by |
| --- | --- | --- |
| arm | 1 | its own draw |
| lock | 1 | its own draw |

### What happens to columns

- watts is null.

### What consumers may expect

| consumer | model | query | asks | recall | precision | Q | minimum | because |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
| heating | transparent | turn-down | matches | 53.4% | 8.8% | 31.1% | recall 50% (reached) | \
noise on arm, lock, counted by slot and in any order; 7.2% of empty slots show a match; \
reads releases of epsilon 2 a slot |
| heating | transparent | new-battery | matches | 100% | 100% | 100% | - | exact: no private \
row is of its types |

### What is not covered

- other event types and their times
- gaps that held-back rows leave in a sampled stream
- how many rows a micro-batch or file of the source held, where that is fixed
- rows of other subjects
- types that go together with a private one but are not declared in its pattern
- which rows are late
- that a subject exists, and since when; what happened before from
- what other policies or versions tell over the same stream
"""


def test_markdown_of_one_community(ppm: Ppm, project: Path) -> None:
    run = ppm("explain", project / POLICY, "--community", "services", "--markdown")
    assert run.code == 0
    assert run.out == DOCUMENT


def test_markdown_shows_what_was_written(ppm: Ppm, project: Path) -> None:
    edit(project / POLICY, "the makers' own doors", "1. a|b *c* `d` <e> [f](g) _h_ i_j")
    text = ppm("explain", project / POLICY, "--markdown").out
    shown = "".join(
        child.content
        for token in MarkdownIt().parse(text)
        for child in token.children or ()
        if child.type in ("text", "text_special")
    )
    assert "independent: 1. a|b *c* `d` <e> [f](g) _h_ i_j." in shown


def test_a_pipe_does_not_end_a_cell_of_markdown(project: Path) -> None:
    promise = explain(check_project(project).plans["smart-door"], community="services")
    [one] = promise.communities
    uses = tuple(replace(use, reason="it reads a|b") for use in one.uses)
    text = document(replace(promise, communities=(replace(one, uses=uses),)))
    cells = [
        token.content
        for token in MarkdownIt().enable("table").parse(text)
        if token.type == "inline" and "it reads" in token.content
    ]
    assert cells == [
        "it reads a|b; 7.2% of empty slots show a match; reads releases of epsilon 2 a slot",
        "it reads a|b",
    ]


def test_json_holds_the_whole_promise(ppm: Ppm, project: Path) -> None:
    run = ppm("explain", project / POLICY, "--json")
    assert run.code == 0
    found = json.loads(run.out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert list(found) == [
        "policy",
        "version",
        "meaning",
        "allocation",
        "prior",
        "prior_reading",
        "communities",
    ]
    assert [one["community"] for one in found["communities"]] == ["services", "researchers"]
    [promise] = found["communities"][0]["patterns"]
    assert promise["numbers"]["match"] == 4.0
    assert found["communities"][0]["spent"] == [
        {"types": [name], "epsilon": 1.0, "how": "independent"} for name in ("arm", "lock")
    ]
    assert [use["price"] for use in found["communities"][0]["uses"]] == [2.0, 0.0]
    assert ppm("explain", project / POLICY, "--json").out == run.out


def test_the_terminal_shows_all_of_it(ppm: Ppm, project: Path) -> None:
    out = ppm("explain", project / POLICY).out
    for said in (
        "smart-door, version 2\nWhat others learn from a front door.\n",
        "\nservices ────",
        "  Companies that were booked.\n",
        "  pattern      mechanism  a slot     one match  a day  together\n",
        "  house-empty  response        2  4 in 2 slots     48         3\n",
        "  house-empty  lock -> arm within 10 min\n    Locked | from outside, then armed\n",
        "  What happens to columns\n  - watts is null.\n",
        "    turn-down    matches   53.4%       8.8%  31.1%  recall 50% ✓\n",
        "      noise on arm, lock, counted by slot and in any order; 7.2% of empty slots",
        "  It gets no rows, only answers to registered queries. Answers come 5 min after",
        "  house-empty  answers         1  2 in 2 slots     24         50         3\n",
        "at most 2 a subject; standard deviation ",
        "  Not covered\n  - other event types and their times\n",
        "Numbers are for the uniform allocation.",
        "independent: the makers' own doors.\n",
    ):
        assert said in out
    assert all(line == line.rstrip() for line in out.splitlines())


def test_a_minimum_that_is_missed_is_marked(ppm: Ppm, project: Path) -> None:
    lock = (
        "{name: turn-down, pattern: {name: l, events: {lock: \"kind = 'locked'\"}, sequence: lock}"
    )
    edit(project / "consumers/heating.yaml", "{name: turn-down, pattern: house-empty", lock)
    edit(project / "consumers/heating.yaml", "recall: 50 %", "recall: 80 %")
    assert "recall 80% ✗\n" in ppm("explain", project / POLICY).out
    assert "| recall 80% (missed) |" in ppm("explain", project / POLICY, "--markdown").out


def guide(project: Path) -> None:
    """Budgets go to what the heating asks for, and to a locksmith who wants the lock alone."""
    edit(project / POLICY, "response, epsilon: 2", "response, allocation: optimal, epsilon: 2")
    text = (project / "consumers/heating.yaml").read_text("utf-8")
    other = text.replace("name: heating", "name: locksmith").replace(
        ", minimum: {recall: 50 %}", ""
    )
    other = other.replace(
        "pattern: house-empty",
        "weight: 9, pattern: {name: l, events: {lock: \"kind = 'locked'\"}, sequence: lock}",
    )
    (project / "consumers/locksmith.yaml").write_text(other, "utf-8")


def test_every_form_tells_where_the_budget_goes_and_who_loses(ppm: Ppm, project: Path) -> None:
    guide(project)
    edit(project / "consumers/heating.yaml", ", minimum: {recall: 50 %}", "")
    out = ppm("explain", project / POLICY).out
    assert "Where the budget goes, by the optimal allocation" in out
    assert "  arm        0  its own draw" in out
    assert "  lock       2  its own draw" in out
    assert "served alone, it" in out
    assert "Numbers are for the optimal allocation." in out
    text = ppm("explain", project / POLICY, "--community", "services", "--markdown").out
    assert "By the optimal allocation." in text
    assert "reads releases of epsilon 2 a slot; served alone, it would have recall 53.4%" in text
    found = json.loads(ppm("explain", project / POLICY, "--json").out)
    uses = {one["consumer"]: one for one in found["communities"][0]["uses"] if one["price"]}
    assert uses["heating"]["alone"]["q"] > uses["heating"]["quality"]["q"]
    assert uses["locksmith"]["alone"] == uses["locksmith"]["quality"]


def test_a_minimum_that_the_other_consumers_cost_is_a_warning(ppm: Ppm, project: Path) -> None:
    guide(project)
    run = ppm("check", project)
    assert run.code == 0
    assert "queries[0].minimum.recall is 50%, but" in run.out
    assert "53.4% is possible, with allocation: uniform for this query alone" in " ".join(
        run.out.split()
    )


def test_a_file_that_check_passes_over_is_told(ppm: Ppm, project: Path) -> None:
    (project / "policies/notes.txt").write_text("mine", "utf-8")
    run = ppm("explain", project / "policies/notes.txt")
    assert run.code == 1
    assert "notes.txt is not read: a policy ends in .yaml, and is not hidden\n" in run.err


def test_a_community_that_is_kept_from_nothing(ppm: Ppm, project: Path) -> None:
    edit(project / POLICY, "communities:\n", "communities:\n  residents: {}\n")
    for style in ([], ["--markdown"]):
        run = ppm("explain", project / POLICY, "--community", "residents", *style)
        assert "Every pattern: this community is kept from none." in run.out


@pytest.mark.parametrize("columns", [60, 80, 100, 140])
def test_lines_fit_the_window(
    ppm: Ppm, project: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for command in (["check", project], ["explain", project / POLICY]):
        lines = ppm(*command).out.splitlines()
        assert max(map(cell_len, lines)) <= columns


def test_a_narrow_window_gets_paragraphs(
    ppm: Ppm, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    out = ppm("explain", project / POLICY, "--community", "services").out
    assert (
        """\
  house-empty
    mechanism response, a slot 2, one match 4 in 2
    slots, a day 48, together 3
"""
        in out
    )


@pytest.mark.parametrize(
    ("here", "policy"),
    [
        pytest.param(".", "smart-door", id="its name"),
        pytest.param(".", "policies/smart-door.yaml", id="its file"),
        pytest.param("..", "door/policies/smart-door.yaml", id="its file, from outside"),
        pytest.param("policies", "smart-door.yaml", id="its file, from inside"),
        pytest.param("patterns", "../policies/smart-door.yaml", id="its file, from beside"),
    ],
)
def test_a_policy_is_found_by(
    ppm: Ppm, project: Path, monkeypatch: pytest.MonkeyPatch, here: str, policy: str
) -> None:
    monkeypatch.chdir(project / here)
    run = ppm("explain", policy)
    assert run.code == 0
    assert run.out.startswith("smart-door, version 2\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param(
            ["smart-dor"],
            "smart-dor is not a policy of policies; did you mean smart-door?",
            id="a name that is not known",
        ),
        pytest.param(
            ["policies/a.yaml"],
            "there is no file policies/a.yaml; name a policy, or its file in policies/",
            id="a file that is not there",
        ),
        pytest.param(
            ["policies"],
            "there is no file policies; name a policy, or its file in policies/",
            id="a folder",
        ),
        pytest.param(
            ["patterns/house-empty.yaml"],
            "patterns/house-empty.yaml is in no folder named policies, where the policies of a "
            "project are",
            id="a file that is no policy",
        ),
        pytest.param(
            ["smart-door", "--community", "service"],
            "service is not a community of smart-door; did you mean services?",
            id="a community that is not known",
        ),
        pytest.param(
            ["smart-door", "--json", "--markdown"],
            "--json and --markdown are two formats; name one of them",
            id="two formats",
        ),
    ],
)
def test_a_sentence_says_what_is_wrong(
    ppm: Ppm,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    sentence: str,
) -> None:
    monkeypatch.chdir(project)
    run = ppm("explain", *arguments)
    assert (run.code, run.out, run.err) == (1, "", f"{sentence}\n")


class TestFaults:
    """A policy with faults promises nothing; faults elsewhere are no hindrance."""

    OTHER = "name: other\nversion: 1\nstream: {}\ncommunities: {}\n"

    @pytest.mark.parametrize(
        ("file", "old", "new"),
        [
            pytest.param(POLICY, "epsilon: 2", "epsilon: -2", id="in the policy"),
            pytest.param(POLICY, "- {rule: drop, column: watts}", "- {rule: dorp}", id="unread"),
            pytest.param(
                "patterns/house-empty.yaml", "sequence: lock", "sequence: lokc", id="in a pattern"
            ),
            pytest.param(
                "consumers/heating.yaml",
                "community: services",
                "community: service",
                id="in a consumer",
            ),
        ],
    )
    def test_those_of_what_it_uses_are_told(
        self, ppm: Ppm, project: Path, file: str, old: str, new: str
    ) -> None:
        edit(project / file, old, new)
        for style in ([], ["--json"], ["--markdown"]):
            run = ppm("explain", project / POLICY, *style)
            assert (run.code, run.out) == (1, "")
            assert run.err.startswith(f"{project / file}:")

    @pytest.mark.parametrize(
        ("file", "text"),
        [
            pytest.param("policies/other.yaml", OTHER, id="another policy"),
            pytest.param(
                "consumers/other.yaml",
                "{name: other, policy: nowhere, community: a, model: opaque}",
                id="a consumer of another policy",
            ),
        ],
    )
    def test_those_of_others_are_not(self, ppm: Ppm, project: Path, file: str, text: str) -> None:
        (project / file).write_text(text, "utf-8")
        assert ppm("check", project).code == 1
        assert ppm("explain", project / POLICY).code == 0
