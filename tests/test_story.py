"""The shipped project tells its story completely, and promises what the README says."""

from __future__ import annotations

from pathlib import Path

import pytest

from ppm.dp.prior import Prior
from ppm.dp.utility import Response, query_quality
from ppm.protect.check import Checked, check_project
from ppm.protect.explain import CommunityPromise, explain
from ppm.protect.prior import prior_of

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def shipped() -> Checked:
    return check_project(ROOT)


def promise(shipped: Checked, community: str) -> CommunityPromise:
    (only,) = explain(shipped.plans["follow-marvin"], community=community).communities
    return only


def test_the_story_has_no_faults_and_only_warnings_that_are_meant(shipped: Checked) -> None:
    assert shipped.errors == ()
    assert [warning.message.partition(";")[0] for warning in shipped.warnings] == [
        "communities.family sees clinic-visit, job-interview and night-away unprotected, which "
        "other communities are kept from",
        "communities.family sees lat and lon without the noise that public gets",
        "communities.colleagues sees lat and lon without the noise that public gets",
    ]


def test_every_mechanism_is_told(shipped: Checked) -> None:
    used = {
        one.mechanism
        for plan in shipped.plans.values()
        for terms in plan.terms.values()
        for one in terms.guarded.values()
    }
    assert used == {"response", "joint-response", "decoy-windows", "answers"}


def test_every_community_has_a_consumer(shipped: Checked) -> None:
    for plan in shipped.plans.values():
        for community in plan.terms:
            assert plan.asked_in(community), f"nobody reads {plan.policy.name}, {community}"


@pytest.mark.parametrize(
    ("community", "match", "delay"),
    [
        ("family", None, "12 min to 1 h 12 min"),
        ("colleagues", 3.0, "8 h 2 min to 9 h 2 min"),
        ("running-club", 0.0, "2 min after the end"),
        ("public", 1.5, "8 h 2 min to 9 h 2 min"),
    ],
)
def test_the_table_of_the_readme_is_true(
    shipped: Checked, community: str, match: float | None, delay: str
) -> None:
    found = promise(shipped, community)
    visit = {one.pattern: one.numbers.match for one in found.patterns}.get("clinic-visit")
    assert visit == match
    assert delay in found.delay


def test_the_running_club_gets_exact_kilometres(shipped: Checked) -> None:
    uses = {use.query: use for use in promise(shipped, "running-club").uses}
    assert uses["weekly-distance"].reason == "exact: no private row can change it"
    assert uses["early-bird"].quality is not None
    assert uses["early-bird"].quality.recall < 0.8


def test_every_minimum_of_the_story_is_reached(shipped: Checked) -> None:
    judged = [
        use
        for plan in shipped.plans.values()
        for community in explain(plan).communities
        for use in community.uses
        if use.reaches_minimum is not None
    ]
    assert len(judged) >= 4
    assert all(use.reaches_minimum for use in judged)


RATES = {
    "medicine": 0.08,
    "water": 0.30,
    "doorbell": 0.02,
    "front_door": 0.12,
    "bed": 0.35,
    "bathroom": 0.30,
    "oven": 0.05,
}


@pytest.mark.parametrize(("name", "rate"), RATES.items())
def test_the_survey_says_how_often_each_thing_is_used(
    shipped: Checked, name: str, rate: float
) -> None:
    found = prior_of(shipped.plans["quiet-house"], {name})
    assert found is not None
    assert found.probability({name}) == pytest.approx(rate)


@pytest.mark.parametrize(
    ("query", "types", "epsilon", "together", "by_chance"),
    [
        ("taken", ["medicine", "water"], 4, 0.564, 0.297),
        ("had-company", ["doorbell", "front_door"], 1, 0.039, 0.006),
    ],
)
def test_what_comes_together_is_easier_to_see(
    shipped: Checked,
    query: str,
    types: list[str],
    epsilon: float,
    together: float,
    by_chance: float,
) -> None:
    (care_team,) = explain(shipped.plans["quiet-house"], community="care-team").communities
    (use,) = [one for one in care_team.uses if one.query == query]
    assert use.quality is not None
    assert use.quality.precision == pytest.approx(together, abs=5e-4)
    noise = [Response.spending(dict.fromkeys(types, epsilon / len(types)))]
    independent = query_quality(types, noise, prior=Prior.independent(RATES), alpha=0.5)
    assert independent.precision == pytest.approx(by_chance, abs=5e-4)
