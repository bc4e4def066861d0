"""From a plan to the mechanisms and chains that it uses."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from ppm.dp.mechanisms.geo import GeoNoise
from ppm.dp.mechanisms.laplace import DiscreteLaplace
from ppm.errors import SpecError
from ppm.protect.chains import OneOf, chains_of
from ppm.protect.check import check_project
from ppm.protect.collusion import colluding
from ppm.protect.mechanisms import furthest_cells, mechanisms_of
from ppm.protect.release import Release
from ppm.protect.words import column_promise
from tests.protect.town import (
    CONSUMER,
    POLICY,
    SHARED_CLINIC,
    Edit,
    another_community,
    check_town,
    in_friends,
    mechanism,
)

ROOT = Path(__file__).parents[2]


def told(root: Path, *edits: Edit, community: str = "friends") -> list[Release]:
    plan = check_town(root, *edits).plan("town")
    return [*mechanisms_of(plan, plan.terms[community])]


def asking(ask: str) -> Edit:
    """A query that is answered on the truth."""
    query = f"  - {{name: visits, pattern: visit, ask: {ask}}}"
    return (CONSUMER, "  - name: visits\n    pattern: visit", query)


def summary(release: Release) -> tuple[tuple[str, ...], str, str, float, list[str]]:
    kinds = [type(draw.mechanism).__name__ for draw in release.draws]
    return release.of, release.mechanism, release.per, release.claim, kinds


def test_response_draws_a_bit_for_every_type_of_a_pattern(tmp_path: Path) -> None:
    visit, errand = told(tmp_path)
    bits = ["BinaryResponse"] * 2
    assert summary(visit) == (("visit",), "response", "a slot", 1.0, bits)
    assert summary(errand) == (("errand",), "response", "a slot", 1.0, bits)
    assert [draw.values for draw in visit.draws] == [((0,), (1,))] * 2
    assert visit.is_kept
    assert Decimal("0.999999") < visit.exact <= 1


def test_joint_response_draws_once_for_patterns_that_share_a_type(tmp_path: Path) -> None:
    joint = (mechanism("visit", "joint-response"), mechanism("errand", "joint-response"))
    (group,) = told(tmp_path, *SHARED_CLINIC, *joint)
    assert summary(group) == (
        ("errand", "visit"), "joint-response", "a slot", 1.0, ["JointResponse"],
    )  # fmt: skip
    assert group.draws[0].values == ((0,), (7,))


def test_decoys_of_a_community_share_one_draw_and_hide_one_direction(tmp_path: Path) -> None:
    decoys = [mechanism(name, "decoy-windows") for name in ("visit", "errand")]
    (decision,) = told(tmp_path, *decoys)
    assert summary(decision) == (
        ("errand", "visit"), "decoy-windows", "a slot", 1.0, ["DecoyDecision"],
    )  # fmt: skip
    assert decision.is_one_sided
    assert decision.draws[0].values == ((1,), (0,))


@pytest.mark.parametrize(
    ("ask", "kind", "steps"),
    [("existence", "BinaryResponse", 1), ("count, cap: 4", "DiscreteLaplace", 4)],
)
def test_an_answer_draws_for_what_is_asked(tmp_path: Path, ask: str, kind: str, steps: int) -> None:
    answers = mechanism("visit", "answers"), mechanism("errand", "answers")
    (answer,) = told(tmp_path, *answers, asking(ask))
    word = ask.partition(",")[0]
    # Nine slots of 15 min can hold a part of a match within 2 h, and each answer pays.
    assert summary(answer) == (
        ("visits",), f"answers, {word}", "an answer", 1 / 9, [kind],
    )  # fmt: skip
    assert answer.draws[0].steps == steps
    assert answer.is_kept


class TestColumns:
    AGE = "- {rule: laplace, column: age, epsilon: 1, lower: 0, upper: 100, missing: 40}"
    PLACE = "- {rule: category, column: place, epsilon: 2, values: [a, b], other: c}"
    GEO = (
        "- {rule: geo, latitude: lat, longitude: lon, level: 1.5, radius: 200 m, grid: 20 m, "
        "area: {south: 59.8, west: 10.6, north: 60.0, east: 10.9}, epoch: 1 d, "
        "missing: [59.9, 10.7]}"
    )

    def test_a_number_may_move_over_its_whole_range(self, tmp_path: Path) -> None:
        *_, number = told(tmp_path, in_friends("columns:", self.AGE))
        assert summary(number) == (("age",), "laplace", "a row", 1.0, ["DiscreteLaplace"])
        (draw,) = number.draws
        assert isinstance(draw.mechanism, DiscreteLaplace)
        assert draw.values == ((0,), (draw.mechanism.cells - 1,))
        assert number.is_kept

    def test_what_is_said_of_a_number_is_what_is_drawn(self, tmp_path: Path) -> None:
        """Bounds that are no multiples of the grid's step make the range a little longer."""
        age = self.AGE.replace(
            "epsilon: 1, lower: 0, upper: 100", "epsilon: 30, lower: -0.7, upper: 99.1"
        )
        plan = check_town(tmp_path, in_friends("columns:", age)).plan("town")
        *_, number = mechanisms_of(plan, plan.terms["friends"])
        (draw,), (term,) = number.draws, plan.terms["friends"].columns
        assert isinstance(draw.mechanism, DiscreteLaplace)
        step = 2.0**-4
        middle = draw.mechanism.cells // 2
        drawn = step * math.sqrt(draw.mechanism.variance(middle))  # at 30 hardly clamped
        text = column_promise(term)
        said = float(text.partition("standard deviation ")[2].partition(",")[0])
        assert said == pytest.approx(drawn, rel=2e-4)
        assert said != pytest.approx(99.8 / 30 * math.sqrt(2), rel=2e-4)

    def test_a_category_draws_among_its_values_and_other(self, tmp_path: Path) -> None:
        decoys = [mechanism(name, "decoy-windows") for name in ("visit", "errand")]
        *_, category = told(tmp_path, *decoys, in_friends_decoys("columns:", self.PLACE))
        assert summary(category) == (("place",), "category", "a row", 2.0, ["KaryResponse"])

    def test_positions_are_compared_on_the_diagonal(self, tmp_path: Path) -> None:
        *_, position = told(tmp_path, in_friends("columns:", self.GEO))
        assert summary(position) == (("lat", "lon"), "geo", "200 m", 1.5, ["GeoNoise"])
        (draw,) = position.draws
        assert isinstance(draw.mechanism, GeoNoise)
        (x0, y0), (x1, y1) = draw.values
        assert (x1 - x0, y1 - y0) == (7, 9)  # 228 m, of 200 m and a cell's diagonal of 28 m
        assert draw.steps == 16
        assert 0.95 * 1.5 < position.exact < 1.5

    @pytest.mark.parametrize("radius", [0.4, 1.0, 1.2, 1.5, 2.5, 5.0, 7.3, 10.0])
    def test_no_two_places_within_the_radius_lie_more_steps_apart(self, radius: float) -> None:
        """All places on a fine raster around a cell's corner, rounded to the nearest cell."""
        start = np.linspace(0.0, 0.5, 21)
        ends = start[:, None] + radius * np.cos(np.linspace(0, np.pi / 2, 181))
        other = start[:, None] + radius * np.sin(np.linspace(0, np.pi / 2, 181))
        steps = (np.rint(ends) - np.rint(start)[:, None]).max(axis=0)
        steps += (np.rint(other) - np.rint(start)[:, None]).max(axis=0)
        most = sum(furthest_cells(radius, (99, 99)))
        assert steps.max() <= most
        assert most <= math.sqrt(2) * (radius + math.sqrt(2)) + 1e-9

    def test_the_odd_diagonal_counts_too(self) -> None:
        """1.2 cells: three steps (0.5 to 1.5 and a little more on the other axis), not two."""
        assert sum(furthest_cells(1.2, (99, 99))) == 3
        assert sum(furthest_cells(10.0, (2, 99))) == 12

    def test_a_community_without_rows_draws_no_columns(self, tmp_path: Path) -> None:
        (answer,) = told(
            tmp_path,
            mechanism("visit", "answers"),
            mechanism("errand", "answers"),
            in_friends_answers("rows: withheld", "columns:", self.AGE),
            asking("existence"),
        )
        assert answer.mechanism == "answers, existence"

    def test_what_cannot_be_built_is_a_fault_with_its_line(self, tmp_path: Path) -> None:
        world = self.GEO.replace("south: 59.8, west: 10.6", "south: -80, west: 0")
        world = world.replace("grid: 20 m", "grid: 1 m")
        with pytest.raises(SpecError, match=r"policies/town\.yaml:\d+: .* cannot be built: there"):
            told(tmp_path, in_friends("columns:", world))


def last_line(mechanism: str, *lines: str) -> Edit:
    """More keys at the end of the community, under another mechanism."""
    last = f"      errand: {{mechanism: {mechanism}, epsilon: 1}}\n"
    return (POLICY, last, last + "".join(f"    {line}\n" for line in lines))


def in_friends_decoys(*lines: str) -> Edit:
    return last_line("decoy-windows", *lines)


def in_friends_answers(*lines: str) -> Edit:
    return last_line("answers", *lines)


class TestChains:
    def chains(self, root: Path, *edits: Edit) -> list[Release]:
        return [*chains_of(check_town(root, *edits).plan("town"))]

    def test_one_community_needs_none(self, tmp_path: Path) -> None:
        assert self.chains(tmp_path) == []

    def test_communities_with_one_epsilon_share_one_release(self, tmp_path: Path) -> None:
        assert self.chains(tmp_path, another_community("family", "extends: friends")) == []

    FINER = another_community("family", "extends: friends\n    protect: {visit: {epsilon: 3}}")

    def test_every_type_has_a_chain_that_claims_the_largest_share(self, tmp_path: Path) -> None:
        found = self.chains(tmp_path, self.FINER)
        assert [(one.community, one.of, one.claim) for one in found] == [
            ("family and friends", ("clinic",), 1.5),
            ("family and friends", ("pharmacy",), 1.5),
        ]
        assert all(one.is_kept for one in found)

    @pytest.mark.parametrize("kind", ["joint-response", "decoy-windows"])
    def test_groups_and_decoys_have_one_chain(self, tmp_path: Path, kind: str) -> None:
        edits = [mechanism(name, kind) for name in ("visit", "errand")]
        finer = another_community(
            "family",
            "extends: friends\n    protect: {visit: {epsilon: 3}, errand: {epsilon: 3}}",
        )
        found = self.chains(tmp_path, *edits, finer)
        expected = {"joint-response": [3.0, 3.0], "decoy-windows": [3.0]}[kind]
        assert [one.claim for one in found] == expected
        assert all(one.is_kept for one in found)
        assert [one.is_one_sided for one in found] == [kind == "decoy-windows"] * len(found)

    def test_a_community_in_a_chain_is_told_what_the_chain_tells_it(self, tmp_path: Path) -> None:
        """Not what a mechanism of its own would: the later stages are what is to be audited."""
        found = {name: told(tmp_path, self.FINER, community=name) for name in ("family", "friends")}
        for name, claim, number in (("family", 3.0, 0), ("friends", 1.0, 1)):
            visit, errand = found[name]
            assert visit.claim == claim
            for draw in visit.draws:
                assert isinstance(draw.mechanism, OneOf)
                assert draw.mechanism.number == number
                assert draw.mechanism.certificate().claim == claim / 2
            assert visit.is_kept
            assert summary(errand)[-1] == ["BinaryResponse"] * 2  # both are told the same

    FEWER = (
        *SHARED_CLINIC,
        mechanism("visit", "joint-response"),
        mechanism("errand", "joint-response"),
        (
            POLICY,
            "communities:\n",
            "communities:\n"
            "  family:\n"
            "    protect: {visit: {mechanism: joint-response, epsilon: 0.3}}\n",
        ),
    )
    """Friends are told of clinic, pharmacy and post at epsilon 1, family of two of them."""

    def test_groups_of_fewer_types_are_in_the_chain_that_is_promised(self, tmp_path: Path) -> None:
        plan = check_town(tmp_path, *self.FEWER).plan("town")
        (chain,) = chains_of(plan)
        assert (chain.community, chain.claim) == ("friends and family", 1.0)
        assert chain.of == ("clinic", "pharmacy", "post")
        assert colluding(plan, "visit").epsilon == 1.0
        (family,) = mechanisms_of(plan, plan.terms["family"])
        (draw,) = family.draws
        assert isinstance(draw.mechanism, OneOf)
        assert (draw.mechanism.number, family.claim, family.is_kept) == (1, 0.3, True)
        told = draw.mechanism.release(np.array([0, 7]), np.full((2, 2), 2**64 - 1, np.uint64))
        assert told.tolist() == [0, 3]

    def test_and_not_in_it_where_it_tells_too_much(self, tmp_path: Path) -> None:
        too_much = [(a, b, c.replace("epsilon: 0.3", "epsilon: 0.7")) for a, b, c in self.FEWER]
        plan = check_town(tmp_path, *too_much).plan("town")
        assert chains_of(plan) == ()
        assert colluding(plan, "visit").epsilon == 1.7

    def test_a_chain_that_cannot_be_built_is_a_fault_with_its_line(self, tmp_path: Path) -> None:
        """Two epsilons so near to each other that 64-bit words cannot tell them apart."""
        finer = [
            another_community(name, f"extends: friends\n    protect: {{visit: {{epsilon: {e}}}}}")
            for name, e in (("family", "0.000001"), ("doctors", "0.0000009999999999999997"))
        ]
        plan = check_town(tmp_path, *finer).plan("town")
        with pytest.raises(SpecError, match=r"town\.yaml:\d+: .* cannot be nested: a response of"):
            chains_of(plan)
        with pytest.raises(SpecError, match=r"town\.yaml:\d+: .* cannot be built: a response of"):
            mechanisms_of(plan, plan.terms["doctors"])

    def test_independent_communities_have_none(self, tmp_path: Path) -> None:
        file, old, new = self.FINER
        alone = (file, old, new + "    collusion: independent\n")
        assert self.chains(tmp_path, alone) == []


@pytest.mark.parametrize("policy", ["follow-marvin", "quiet-house"])
def test_every_claim_of_the_story_is_proven_by_certificates(policy: str) -> None:
    plan = check_project(ROOT).plan(policy)
    releases = [one for terms in plan.terms.values() for one in mechanisms_of(plan, terms)]
    assert len(releases) >= 5
    assert all(one.is_kept for one in (*releases, *chains_of(plan)))
