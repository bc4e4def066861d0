"""What an audit of the stream holds against readers: the promise that `explain` prints."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from ppm.audit.claims import claim_of, readers_of
from ppm.audit.coverage import communities_that_run, patterns_that_can_be_planted
from ppm.protect.collusion import colluding
from ppm.protect.explain import explain
from ppm.protect.find import find_plan
from ppm.protect.plan import Plan
from tests.audit.village import HOUSE, village


@pytest.mark.parametrize("name", ["village", "quiet-house"])
def test_claims_are_exactly_what_explain_prints(name: str, plan: Plan) -> None:
    plan = plan if name == "village" else find_plan(HOUSE)
    everybody = tuple(plan.terms)
    for one in explain(plan).communities:
        for promise in one.patterns:
            numbers = promise.numbers
            alone = claim_of(plan, [one.community], promise.pattern)
            assert alone == numbers.slot
            assert claim_of(plan, everybody, promise.pattern) == numbers.together.epsilon


def test_claims_of_a_pair_are_what_explain_prints_if_there_are_only_two() -> None:
    house = find_plan(HOUSE)
    for pair in (("care-team", "energy-adviser"), ("care-team", "insurer")):
        two = replace(house, terms={name: house.terms[name] for name in pair})
        for pattern in house.patterns:
            assert claim_of(house, pair, pattern) == colluding(two, pattern).epsilon


def test_claims_of_a_pair_depend_on_who_else_is_in_a_chain(tmp_path: Path) -> None:
    """What friends get is derived from what doctors get, and not from what the press gets."""
    village(tmp_path)
    talk = "{name: talk, events: {pharmacy: place = 'pharmacy', chat: {where: place = 'pub', "
    talk += "stand_in: {place: pub}}}, sequence: chat -> pharmacy}"
    (tmp_path / "patterns/talk.yaml").write_text(talk, "utf-8")
    policy, joint = tmp_path / "policies/village.yaml", "mechanism: joint-response, epsilon:"
    policy.write_text(
        policy.read_text("utf-8").partition("communities:")[0]
        + f"""communities:
  doctors: {{protect: {{visit: {{{joint} 2}}, talk: {{{joint} 2}}}}}}
  press: {{protect: {{visit: {{{joint} 1.5}}}}}}
  friends: {{protect: {{visit: {{{joint} 1}}}}}}
""",
        "utf-8",
    )
    three = find_plan(policy)
    pair = {name: three.terms[name] for name in ("press", "friends")}
    assert claim_of(three, tuple(pair), "visit") == 2.5
    assert colluding(replace(three, terms=pair), "visit").epsilon == 1.5


def test_claims_are_none_where_one_of_them_sees_the_pattern_as_it_is(tmp_path: Path) -> None:
    raw = village(tmp_path, ("      call: {mechanism: answers, epsilon: 1}\n", ""))
    assert claim_of(raw, ["press"], "call") is None
    assert claim_of(raw, ["doctors", "press"], "call") is None


def test_claims_are_0_where_only_answers_tell(plan: Plan) -> None:
    assert claim_of(plan, ["press"], "call") == 0
    assert claim_of(plan, ["doctors", "press"], "call") == 1


def test_readers_are_each_alone_in_pairs_and_all() -> None:
    assert [*readers_of(["a"])] == [("a",)]
    assert [*readers_of(["a", "b"])] == [("a",), ("b",), ("a", "b")]
    assert [*readers_of("abc")][3:] == [("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")]


class TestWhatIsLeftOut:
    """One sentence each."""

    def test_of_communities_whose_mechanisms_do_not_run_yet(self, tmp_path: Path) -> None:
        response = "visit: {mechanism: response, epsilon: 2}"
        plan = village(tmp_path, (response, response.replace("response", "decoy-windows")))
        assert communities_that_run(plan, [*plan.terms]) == (
            ["friends", "press"],
            [
                "doctors is left out: communities.doctors.protect.visit is protected by "
                "decoy-windows, which this version checks and explains, but does not run yet; "
                "streams run with response, joint-response and answers"
            ],
        )

    def test_of_patterns_whose_rows_cannot_be_made_up(self, tmp_path: Path) -> None:
        village(tmp_path)
        pattern = tmp_path / "patterns/call.yaml"
        bare = pattern.read_text("utf-8").replace(", stand_in: {place: phone}", "")
        pattern.write_text(bare, "utf-8")
        policy = tmp_path / "policies/village.yaml"
        text = policy.read_text("utf-8")
        policy.write_text(re.sub("(call: {mechanism: )response", r"\1answers", text), "utf-8")
        assert patterns_that_can_be_planted(find_plan(policy), ["doctors"]) == (
            ["visit"],
            ["call is left out: call has no stand-in to make rows from"],
        )
