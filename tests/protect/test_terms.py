"""A rule is written once, and the nearest word on it counts."""

from __future__ import annotations

import pytest

from ppm.protect.terms import Terms, terms_of
from ppm.spec.load import parse
from ppm.spec.policy import Policy

STREAM = """\
name: p
version: 1
stream: {subject: s, time: t, slot: 1 h, from: 2026-03-01T00:00:00Z, lateness: 1 min}
"""


def terms(rest: str) -> dict[str, Terms]:
    found, faults = terms_of(parse(STREAM + rest, Policy, file="policies/p.yaml"))
    assert not faults
    return found


def test_a_community_inherits_the_defaults() -> None:
    found = terms("""\
defaults:
  protect: {visit: {mechanism: response, epsilon: 1}}
  collusion: independent
  horizon: {over: 1 d, epsilon: 9, then: withhold}
communities: {friends: {}}
""")["friends"]
    assert found.guarded["visit"].epsilon == 1
    assert found.collusion == "independent"
    assert found.horizon is not None
    assert found.horizon.epsilon == 9


def test_the_nearest_word_on_each_key_counts() -> None:
    found = terms("""\
defaults:
  protect: {visit: {mechanism: response, epsilon: 1}}
communities:
  family: {protect: {visit: {epsilon: 2}}}
  friends: {extends: family, protect: {visit: {mechanism: joint-response}}}
  strangers: {extends: friends, protect: {visit: {epsilon: 0.5}}}
""")
    kept = {name: one.guarded["visit"] for name, one in found.items()}
    assert {name: (one.mechanism, one.epsilon) for name, one in kept.items()} == {
        "family": ("response", 2),
        "friends": ("joint-response", 2),
        "strangers": ("joint-response", 0.5),
    }
    assert kept["friends"].place == ("communities", "friends", "protect", "visit")


def test_none_lifts_an_inherited_protection() -> None:
    found = terms("""\
defaults: {protect: {visit: {mechanism: response, epsilon: 1}}}
communities:
  family: {protect: {visit: {mechanism: none}}}
  friends: {extends: family}
  strangers: {}
""")
    assert {name: sorted(one.guarded) for name, one in found.items()} == {
        "family": [],
        "friends": [],
        "strangers": ["visit"],
    }


def test_a_column_rule_replaces_the_inherited_one_on_its_column() -> None:
    found = terms("""\
defaults:
  columns: [{rule: drop, column: age}, {rule: drop, column: height}]
communities:
  friends: {columns: [{rule: snap, column: age, grid: 10}]}
""")["friends"]
    assert [(term.rule.rule, term.place) for term in found.columns] == [
        ("drop", ("defaults", "columns", 1)),
        ("snap", ("communities", "friends", "columns", 0)),
    ]


@pytest.mark.parametrize(
    ("rows", "released"),
    [("", True), ("rows: released", True), ("rows: withheld", False)],
    ids=["nothing said", "released", "withheld"],
)
def test_rows_are_released_unless_they_are_withheld(rows: str, released: bool) -> None:
    found = terms(f"communities: {{friends: {{{rows}}}, others: {{extends: friends}}}}\n")
    assert found["friends"].releases_rows is released
    assert found["others"].releases_rows is released
