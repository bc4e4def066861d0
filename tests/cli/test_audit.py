"""`ppm audit`: claims, exact values, audited bounds and verdicts."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

import ppm.audit.stream as ppm_audit_stream
import ppm.protect.mechanisms
from ppm.audit.stream import audit_stream
from ppm.dp.mechanisms.binary import BinaryResponse
from ppm.dp.nested.response import ResponseChain
from tests.audit.broken import times, to_types, with_bugs
from tests.audit.village import in_process
from tests.cli.door import Ppm, edit

POLICY = "policies/smart-door.yaml"
FEW = ("--runs", "2000", "--seed", "7", "--canaries", "0")
"""A quick audit of the mechanisms alone."""


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
    assert "and not the protected stream. No data of yours was read." in (" ".join(run.out.split()))
    assert run.out.endswith("\n2 claims audited: none was exceeded\n")


def test_a_seed_repeats_an_audit_and_a_fresh_one_is_told(ppm: Ppm, project: Path) -> None:
    quick = ("audit", project / POLICY, "--runs", "500", "--canaries", "0")
    first = ppm(*quick).out
    seed = first.partition("seed ")[2].split()[0]
    assert ppm(*quick, "--seed", seed).out == first
    assert ppm(*quick).out != first


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
    found = json.loads(
        ppm("audit", project / POLICY, "--community", "residents", "--json", *FEW).out
    )
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
    assert (found["together"], found["stream"]) == ([], None)


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


@pytest.mark.usefixtures("spark")
def test_the_stream_is_protected_and_audited_end_to_end(ppm: Ppm, project: Path) -> None:
    run = ppm("audit", project / POLICY, "--runs", "2000", "--seed", "7", "--canaries", "1000")
    assert run.code == 0
    lines = run.out.splitlines()
    at = lines.index("The protected stream: 1,000 canaries of house-empty in one Spark job")
    assert lines[at + 1] == "  told of        claim  two worlds  one run  verdict"
    assert lines[at + 3] == "  services"
    name, claim, worlds, guesses, verdict = lines[at + 4].split()
    assert (name, claim, verdict) == ("house-empty", "2", "holds")
    assert 0.5 < float(worlds) < 2
    assert 1 < float(guesses) < 2
    said = " ".join(run.out.split())
    assert "researchers is left out: communities.researchers gets no rows: " in said
    assert "With 4 tests, a policy that is right is blamed with chance 4e-06 at most." in said
    assert run.out.endswith("\n3 claims audited: none was exceeded\n")


def test_a_stream_that_tells_more_than_it_says_ends_with_code_1(
    ppm: Ppm, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bug: half the noise, in the step that Spark would call."""
    alter = with_bugs(to_types(times(2), ("arm", "lock")))
    broken = partial(audit_stream, run=partial(in_process, alter=alter))
    monkeypatch.setattr(ppm_audit_stream, "audit_stream", broken)
    few = ("audit", project / POLICY, "--runs", "2000", "--seed", "7", "--canaries", "1000")
    run = ppm(*few)
    assert run.code == 1
    row = next(line for line in reversed(run.out.splitlines()) if "house-empty" in line)
    assert row.split()[1] == "2"
    assert row.endswith("exceeded")
    assert "guesses about 700 canaries were right" in " ".join(run.out.split())
    assert run.out.endswith("\n1 of 3 claims exceeded: the policy tells more than it says\n")

    found = json.loads(ppm(*few, "--json").out)
    assert (found["ok"], found["audits"]) == (False, "mechanisms and stream")
    assert all(one["ok"] for one in found["alone"])
    stream = found["stream"]
    assert (stream["ok"], stream["communities"]) == (False, ["services"])
    (measured,) = stream["measured"]
    assert (measured["communities"], measured["of"]) == (["services"], "house-empty")
    assert measured["claim"] == 2
    assert measured["one_run"] > 2
    assert measured["guesses"]["about"] == 700


def test_a_pair_of_whom_one_sees_the_pattern_is_void(
    ppm: Ppm, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(project / POLICY, "communities:\n", "communities:\n  residents: {}\n")
    monkeypatch.setattr(ppm_audit_stream, "audit_stream", partial(audit_stream, run=in_process))
    few = ("audit", project / POLICY, "--runs", "500", "--seed", "7", "--canaries", "100")
    run = ppm(*few)
    assert run.code == 0
    lines = run.out.splitlines()
    at = lines.index("  residents and services, who compare notes")
    assert lines[at + 1].split() == ["house-empty", "none", "void"]
    assert lines[at + 2].strip() == "not hidden: one of them sees the pattern as it is"
    measured = json.loads(ppm(*few, "--json").out)["stream"]["measured"]
    assert [(one["communities"], one["claim"], one["ok"]) for one in measured] == [
        (["services"], 2, True),
        (["residents", "services"], None, True),
    ]


def test_a_stream_whose_communities_do_not_run_is_not_started(ppm: Ppm, project: Path) -> None:
    run = ppm("audit", project / POLICY, "--community", "researchers", "--runs", "500")
    assert run.code == 0
    assert "researchers is left out: " in run.out
    assert "The protected stream" not in run.out


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
            pytest.param(
                ["smart-door", "--canaries", "50"],
                "--canaries is 50; give 0, or at least 100",
                id="too few canaries",
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
