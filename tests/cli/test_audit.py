"""`ppm audit`: claims, exact values, audited bounds and verdicts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ppm.protect.mechanisms
from ppm.dp.mechanisms.binary import BinaryResponse
from ppm.dp.nested.response import ResponseChain
from tests.cli.door import Ppm, edit

POLICY = "policies/smart-door.yaml"
FEW = ("--runs", "2000", "--seed", "7")


def test_it_shows_claims_and_what_became_of_them(ppm: Ppm, project: Path) -> None:
    run = ppm("audit", project / POLICY, *FEW)
    assert run.code == 0
    assert run.out.startswith(
        "smart-door, version 2: 2,000 runs in each of two worlds, alpha 1e-06, seed 7\n"
        "  told of        mechanism       per        claim  exact  audited  verdict\n"
    )
    lines = [line.split() for line in run.out.splitlines()]
    assert ["services"] in lines
    assert any(line[:6] == ["house-empty", "response", "a", "slot", "2", "2"] for line in lines)
    assert any(line[:5] == ["how-many", "answers,", "count", "an", "answer"] for line in lines)
    assert sum(line[-1:] == ["holds"] for line in lines) == 2
    assert "not yet the protected stream end to end. No data of yours was read." in (
        " ".join(run.out.split())
    )
    assert run.out.endswith("\n2 claims audited: none was exceeded\n")


def test_a_seed_repeats_an_audit_and_a_fresh_one_is_told(ppm: Ppm, project: Path) -> None:
    first = ppm("audit", project / POLICY, "--runs", "500").out
    seed = first.partition("seed ")[2].split()[0]
    assert ppm("audit", project / POLICY, "--runs", "500", "--seed", seed).out == first
    assert ppm("audit", project / POLICY, "--runs", "500").out != first


def test_one_community_is_audited_alone(ppm: Ppm, project: Path) -> None:
    run = ppm("audit", project / POLICY, "--community", "services", *FEW)
    assert run.code == 0
    assert "researchers" not in run.out
    assert run.out.endswith("\n1 claim audited: none was exceeded\n")


def test_communities_that_share_a_chain_are_audited_together(ppm: Ppm, project: Path) -> None:
    edit(
        project / POLICY,
        "communities:\n",
        "communities:\n  residents: {extends: services, protect: {house-empty: {epsilon: 3}}}\n",
    )
    out = ppm("audit", project / POLICY, *FEW).out
    assert "residents and services together, by the chains they share\n" in out


def test_a_later_community_of_a_chain_is_audited_as_the_chain_draws(
    ppm: Ppm, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bug: services get what residents get, who may know more."""
    edit(
        project / POLICY,
        "communities:\n",
        "communities:\n  residents: {extends: services, protect: {house-empty: {epsilon: 4}}}\n",
    )
    assert ppm("audit", project / POLICY, *FEW).code == 0
    release = ResponseChain.release
    monkeypatch.setattr(ResponseChain, "release", lambda *a: (release(*a)[0],) * len(a[0].epsilons))
    for chosen in ((), ("--community", "services")):
        run = ppm("audit", project / POLICY, *FEW, *chosen)
        assert run.code == 1
        assert "1 of " in run.out.splitlines()[-1]


def test_a_community_for_which_nothing_is_drawn(ppm: Ppm, project: Path) -> None:
    edit(project / POLICY, "communities:\n", "communities:\n  residents: {}\n")
    run = ppm("audit", project / POLICY, "--community", "residents", *FEW)
    assert run.code == 0
    assert "claim" not in run.out
    assert run.out.endswith("\nnothing to audit: no noise is drawn for residents\n")
    found = json.loads(ppm("audit", project / POLICY, "--community", "residents", "--json").out)
    assert (found["ok"], found["alone"], found["together"]) == (True, [], [])
    run = ppm("audit", project / POLICY, *FEW)
    assert "residents, for whom nothing is drawn\n" in run.out


def test_json_holds_every_number(ppm: Ppm, project: Path) -> None:
    run = ppm("audit", project / POLICY, "--json", *FEW)
    assert run.code == 0
    found = json.loads(run.out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert (found["ok"], found["audits"], found["runs"], found["seed"]) == (
        True, "mechanisms", 2000, 7,
    )  # fmt: skip
    first, second = found["alone"]
    assert (first["of"], first["claim"], first["ok"]) == (["house-empty"], 2.0, True)
    assert first["audited"] < first["exact"] <= 2
    assert second["event"]["tested"] == [1400, 1400]
    assert found["together"] == []


def test_a_rule_without_a_guarantee_says_so(ppm: Ppm, project: Path) -> None:
    edit(
        project / POLICY,
        "      - {rule: drop, column: watts}\n",
        "      - {rule: laplace, column: watts, epsilon: 1, lower: 0, upper: 9, missing: 0,\n"
        "         where: watts > 1, guarantee: none}\n",
    )
    run = ppm("audit", project / POLICY, *FEW)
    assert run.code == 0
    assert "\n      declared without a guarantee: which rows it changes tells more" in run.out


class TestAClaimThatIsExceeded:
    @pytest.fixture(autouse=True)
    def _half_the_noise(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def halved(epsilon: float) -> BinaryResponse:
            return BinaryResponse(2 * epsilon)

        monkeypatch.setattr(ppm.protect.mechanisms, "BinaryResponse", halved)

    def test_ends_with_code_1_and_says_what_was_found(self, ppm: Ppm, project: Path) -> None:
        run = ppm("audit", project / POLICY, *FEW)
        assert run.code == 1
        row = next(line for line in run.out.splitlines() if "house-empty" in line)
        assert row.split()[4:6] == ["2", "4"]
        assert row.endswith("exceeded")
        assert "an event on its value (" in run.out
        assert run.out.endswith("\n1 of 2 claims exceeded: the policy tells more than it says\n")

    def test_is_told_to_programs(self, ppm: Ppm, project: Path) -> None:
        run = ppm("audit", project / POLICY, "--json", *FEW)
        assert run.code == 1
        assert not json.loads(run.out)["ok"]


class TestFaults:
    """Code 1 is kept for a claim that was exceeded."""

    def test_in_the_policy_end_with_code_2(self, ppm: Ppm, project: Path) -> None:
        edit(project / POLICY, "epsilon: 2", "epsilon: -2")
        run = ppm("audit", project / POLICY, *FEW)
        assert (run.code, run.out) == (2, "")
        assert run.err.startswith(f"{project / POLICY}:")

    def test_of_a_mechanism_that_cannot_be_built_have_a_line(self, ppm: Ppm, project: Path) -> None:
        edit(project / POLICY, "watts: double}", "watts: double, lat: double, lon: double}")
        edit(
            project / POLICY,
            "      - {rule: drop, column: watts}\n",
            "      - {rule: geo, latitude: lat, longitude: lon, level: 1, radius: 9 m, grid: 1 m,\n"
            "         area: {south: -80, west: -9, north: 80, east: 9}, epoch: 1 d,\n"
            "         missing: [0, 0]}\n",
        )
        run = ppm("audit", project / POLICY, *FEW)
        assert (run.code, run.out) == (2, "")
        assert run.err.startswith(
            f"{project / POLICY}:17: communities.services.columns[0] cannot be built: "
        )
        assert run.err.count("\n") == 1

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            # How policies are found is tested with `ppm explain`.
            pytest.param(
                ["smart-dor"],
                "smart-dor is not a policy of policies; did you mean smart-door?",
                id="a name that is not known",
            ),
            pytest.param(
                ["smart-door", "--community", "service"],
                "service is not a community of smart-door; did you mean services?",
                id="a community that is not known",
            ),
        ],
    )
    def test_in_the_command_end_with_code_2(
        self,
        ppm: Ppm,
        project: Path,
        monkeypatch: pytest.MonkeyPatch,
        arguments: list[str],
        sentence: str,
    ) -> None:
        monkeypatch.chdir(project)
        run = ppm("audit", *arguments)
        assert (run.code, run.out, run.err) == (2, "", f"{sentence}\n")
