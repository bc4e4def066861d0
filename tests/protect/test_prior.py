"""Priors of priors/: found by name, refused where they do not fit, and used in predictions."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from ppm.dp.source import Seed
from ppm.protect.check import Checked, check_types
from ppm.protect.compile import program_of
from ppm.protect.explain import Use, explain
from ppm.protect.plan import Plan
from ppm.protect.prior import prior_of
from tests.protect.town import NAMED, POLICY, SURVEY, VISIT, Edit, check_town, query, with_survey

TYPES = ("clinic", "gym", "pharmacy", "shop")


def check(root: Path, *edits: Edit, survey: str = SURVEY) -> Checked:
    """The town with a survey, which it uses only if an edit says so."""
    with_survey(root, survey)
    return check_town(root, *edits)


def town(root: Path, *edits: Edit, survey: str = SURVEY) -> Plan:
    found = check(root, NAMED, *edits, survey=survey)
    assert not found.errors, found.errors
    return found.plans["town"]


def use(plan: Plan) -> Use:
    (only,) = explain(plan).communities[0].uses
    return only


def test_a_prior_is_found_by_its_name(tmp_path: Path) -> None:
    promise = explain(town(tmp_path))
    assert promise.prior == "a survey of forty towns"
    assert promise.prior_reading == "types as they came together in 1,000 slots of 40 subjects"


def test_precision_knows_that_types_come_together(tmp_path: Path) -> None:
    quality = use(town(tmp_path)).quality
    assert quality is not None
    # Each bit stays what it is with 0.62246 (epsilon 1/2): 200 slots have both types, 50 the
    # clinic alone, 750 neither.
    kept, flipped = 0.6224593312018546, 0.3775406687981454
    true = 200 * kept * kept
    shown = true + 50 * kept * flipped + 750 * flipped * flipped
    assert quality.precision == pytest.approx(true / shown)


def test_rates_written_in_the_policy_take_types_as_independent(tmp_path: Path) -> None:
    rates = "prior: {source: a survey, rates: {clinic: 25 %, pharmacy: 20 %}}\ncommunities:\n"
    found = check(tmp_path, (POLICY, "communities:\n", rates))
    assert not found.errors
    promise = explain(found.plans["town"])
    assert promise.prior_reading == "types taken as independent"
    (only,) = promise.communities[0].uses
    together = use(town(tmp_path)).quality
    assert only.quality is not None
    assert together is not None
    assert only.quality.recall == together.recall
    assert only.quality.precision is not None
    assert together.precision is not None
    assert only.quality.precision < together.precision


def test_a_type_that_was_not_counted_leaves_precision_open(tmp_path: Path) -> None:
    quality = use(town(tmp_path, survey=SURVEY.replace("pharmacy", "chemist"))).quality
    assert quality is not None
    assert quality.precision is None


@pytest.mark.parametrize(
    "asked", [some for many in range(5) for some in combinations(TYPES, many)], ids="-".join
)
def test_a_part_of_a_prior_is_its_marginal(tmp_path: Path, asked: tuple[str, ...]) -> None:
    plan = town(tmp_path)
    found = prior_of(plan, asked)
    assert plan.prior is not None
    assert found is not None
    assert found.types == set(asked)
    for some in map(frozenset, combinations(sorted(asked), min(len(asked), 2))):
        slots = sum(row.slots for row in plan.prior.spec.together if some <= set(row.types))
        assert found.probability(some) == pytest.approx(slots / 1_000)


def test_many_sets_of_many_types_give_a_small_prior_for_a_query(tmp_path: Path) -> None:
    types = [f"t{number}" for number in range(40)] + ["clinic", "pharmacy"]
    sets = [f"  - {{ types: [{', '.join(two)}], slots: 5 }}\n" for two in combinations(types, 2)]
    survey = f"{SURVEY.partition('of:')[0]}of: [{', '.join(types)}]\ntogether:\n{''.join(sets)}"
    found = prior_of(town(tmp_path, survey=survey), {"clinic", "pharmacy"})
    assert found is not None
    assert [len(factor.rows) for factor in found.factors] == [4]
    assert found.probability({"clinic"}) == pytest.approx(41 / len(sets))


@pytest.mark.parametrize(
    ("edits", "survey", "said"),
    [
        pytest.param(
            [(POLICY, "communities:\n", "prior: survei\ncommunities:\n")],
            SURVEY,
            "policies/town.yaml:12: prior is survei, not a prior of priors/; did you mean survey?",
            id="a name that is not there",
        ),
        pytest.param(
            [NAMED],
            SURVEY.replace("slot: 15 min", "slot: 30 min"),
            "policies/town.yaml:12: prior is survey, which was counted for slots of 30 min; this "
            "policy's slots are 15 min, so count it anew with ppm prior",
            id="slots of another length",
        ),
        pytest.param(
            [NAMED],
            SURVEY.replace("until: 2026-03-01T00:00:00", "until: 2026-03-01T00:15:00"),
            "policies/town.yaml:12: prior is survey, whose history goes on until "
            "2026-03-01T00:15:00+01:00, past stream.from, 2026-03-01T00:00:00+01:00: that is the "
            "live stream, and whatever is learnt from it tells of it beyond every epsilon; count "
            "history that ends before",
            id="the live stream as history",
        ),
        pytest.param(
            [NAMED],
            SURVEY.replace("2026-03-01T00:00:00+01:00", "2026-03-01T00:00:00+00:00"),
            "policies/town.yaml:12: prior is survey, whose history goes on until "
            "2026-03-01T00:00:00+00:00, past stream.from, 2026-03-01T00:00:00+01:00: that is the "
            "live stream, and whatever is learnt from it tells of it beyond every epsilon; count "
            "history that ends before",
            id="an hour of the live stream, by another clock",
        ),
        pytest.param(
            [NAMED],
            SURVEY.partition("of:")[0] + "of: [gym]\ntogether:\n  - { types: [], slots: 50 }\n",
            "policies/town.yaml:12: prior is survey, which counts no type of a private pattern or "
            "a query; ppm prior counts those of this policy",
            id="types of another world",
        ),
        pytest.param(
            [NAMED],
            SURVEY.replace("subjects: 40", "subject: 40"),
            "priors/survey.yaml:1: the prior needs subjects\n"
            "priors/survey.yaml:3: subject is not a key of a prior; did you mean subjects?",
            id="a file that cannot be read",
        ),
    ],
)
def test_a_prior_that_does_not_fit_is_refused(
    tmp_path: Path, edits: list[Edit], survey: str, said: str
) -> None:
    found = check(tmp_path, *edits, survey=survey)
    assert "\n".join(map(str, found.faults)) == said
    assert found.errors_of("town") == found.errors


def test_a_prior_that_ends_where_the_stream_starts_is_history(tmp_path: Path) -> None:
    assert check(tmp_path, NAMED).faults == ()


def test_a_name_without_a_folder_says_so(tmp_path: Path) -> None:
    found = check_town(tmp_path, NAMED)
    assert [str(fault) for fault in found.faults] == [
        "policies/town.yaml:12: prior is survey, not a prior of priors/; there are none yet"
    ]


def test_a_prior_of_few_people_is_warned_of(tmp_path: Path) -> None:
    found = check(tmp_path, NAMED, survey=SURVEY.replace("subjects: 40", "subjects: 19"))
    assert [str(fault) for fault in found.faults] == [
        "priors/survey.yaml:3: warning: subjects is 19: a prior publishes what its people did, and "
        "with fewer than 20 it is close to telling of each; count more, or be sure that they "
        "consent to that"
    ]


def test_a_stream_goes_on_under_another_prior(tmp_path: Path) -> None:
    def meaning(plan: Plan) -> str:
        program = program_of(
            plan,
            ["friends"],
            noise=Seed(1),
            columns="{}",
            shards=1,
            knows_subjects=True,
            names_communities=False,
        )
        return program.meaning

    without = check_town(tmp_path / "without").plans["town"]
    assert meaning(town(tmp_path / "with")) == meaning(without)


def test_a_prior_that_nobody_uses_is_only_read(tmp_path: Path) -> None:
    found = check(tmp_path, survey=SURVEY.replace("subjects: 40", "subjects: 2"))
    assert found.faults == ()
    assert sorted(found.project.priors) == ["survey"]


class TestBeforeAPriorIsCounted:
    """Who counts a prior may have named it already, or need it for an allocation."""

    OPTIMAL: Edit = (POLICY, "epsilon: 1}", "epsilon: 1, allocation: optimal}")

    @pytest.mark.parametrize(
        "edits",
        [
            pytest.param([NAMED], id="named, and not there yet"),
            pytest.param([OPTIMAL], id="needed by an allocation"),
        ],
    )
    def test_its_absence_is_no_fault(self, tmp_path: Path, edits: list[Edit]) -> None:
        assert check_town(tmp_path, *edits).errors
        assert check_types(tmp_path).errors == ()

    def test_an_old_one_that_does_not_fit_is_no_fault(self, tmp_path: Path) -> None:
        check(tmp_path, NAMED, survey=SURVEY.replace("slot: 15 min", "slot: 15"))
        assert check_types(tmp_path).errors == ()

    @pytest.mark.parametrize(
        ("edits", "said"),
        [
            pytest.param(
                [(VISIT, "place = 'clinic'", "plaice = 'clinic'")],
                "patterns/visit.yaml:3: events.clinic.where reads the column plaice, which the "
                "stream does not have; did you mean place? (as policy town declares it)",
                id="a column that is not there",
            ),
            pytest.param(
                [(POLICY, "  visit: {", "  visits: {")],
                "policies/town.yaml:15: communities.friends.protect.visits is not a pattern of "
                "patterns/; did you mean visit?",
                id="a pattern that is not there",
            ),
            pytest.param(
                [query("pattern: {name: q, events: {clinic: place = 'shop'}, sequence: clinic}")],
                "consumers/app.yaml:7: queries[0].pattern.events.clinic.where is not what visit "
                "calls clinic (place = 'clinic'); one name is one type",
                id="a name of two types",
            ),
        ],
    )
    def test_types_must_be_right(self, tmp_path: Path, edits: list[Edit], said: str) -> None:
        check_town(tmp_path, *edits)
        assert "\n".join(map(str, check_types(tmp_path).errors)) == said
