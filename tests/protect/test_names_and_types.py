"""Every refusal of names, columns and stand-ins that do not fit, in exact words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.protect.town import (
    CONSUMER,
    ERRAND,
    POLICY,
    VISIT,
    Edit,
    another_community,
    check_town,
    in_friends,
    query,
)

GYM = "{name: q, events: {gym: place = 'gym'}, sequence: gym}"
LAPLACE = "{rule: laplace, column: age, epsilon: 1, lower: 0, upper: 99, missing: 0}"
GEO = (
    "{rule: geo, latitude: lat, longitude: lon, level: 1, radius: 200 m, grid: 10 m, epoch: 1 d, "
    "missing: [59.5, 10.5], area: {south: 59, west: 10, north: 60, east: 11}}"
)


def test_a_project_without_faults_has_none(tmp_path: Path) -> None:
    assert check_town(tmp_path).faults == ()


@pytest.mark.parametrize(
    ("edits", "faults"),
    [
        pytest.param(
            [(POLICY, "      visit:", "      vist:")],
            [
                "policies/town.yaml:15: communities.friends.protect.vist is not a pattern of "
                "patterns/; did you mean visit?",
            ],
            id="a pattern that nobody declared",
        ),
        pytest.param(
            [(POLICY, "  friends:\n", "  friends:\n    extends: frends\n")],
            [
                "policies/town.yaml:14: communities.friends.extends is frends, not a community",
            ],
            id="a community that extends nobody",
        ),
        pytest.param(
            [in_friends("extends: family"), another_community("family", "extends: friends")],
            [
                "policies/town.yaml:19: communities.friends.extends goes round in a circle: "
                "family -> friends -> family",
            ],
            id="communities that extend one another",
        ),
        pytest.param(
            [(POLICY, "visit: {mechanism: response, epsilon: 1}", "visit: {mechanism: response}")],
            [
                "policies/town.yaml:15: communities.friends.protect.visit needs epsilon, here or "
                "in what friends inherits",
            ],
            id="a protection without epsilon",
        ),
        pytest.param(
            [(CONSUMER, "policy: town", "policy: twon")],
            [
                "consumers/app.yaml:2: policy is twon, not a policy of policies/; did you mean "
                "town?",
            ],
            id="a consumer of no policy",
        ),
        pytest.param(
            [(CONSUMER, "community: friends", "community: friend")],
            [
                "consumers/app.yaml:3: community is friend, not a community of town; did you mean "
                "friends?",
            ],
            id="a consumer of no community",
        ),
        pytest.param(
            [query("pattern: visits")],
            [
                "consumers/app.yaml:7: queries[0].pattern is visits, not a pattern of patterns/; "
                "did you mean visit?",
            ],
            id="a query for no pattern",
        ),
        pytest.param(
            [
                (ERRAND, "name: errand", "name: visit"),
                (POLICY, "      errand: {mechanism: response, epsilon: 1}\n", ""),
            ],
            [
                "patterns/visit.yaml:1: name is visit, like the one in patterns/errand.yaml",
            ],
            id="two files of one name",
        ),
        pytest.param(
            [(VISIT, "place = 'clinic'", "\"in_zone(lat, lon, 'hom')\"")],
            [
                "patterns/visit.yaml:3: events.clinic.where names the zone hom, which the policy "
                "town does not have; did you mean home?",
            ],
            id="a zone that nobody declared",
        ),
        pytest.param(
            [(VISIT, "place = 'clinic'", "plaze = 'clinic'")],
            [
                "patterns/visit.yaml:3: events.clinic.where reads the column plaze, which the "
                "stream does not have; did you mean place? (as policy town declares it)",
            ],
            id="a column that the stream does not have",
        ),
        pytest.param(
            [(VISIT, "place = 'clinic'", "place > 3")],
            [
                "patterns/visit.yaml:3: events.clinic.where has place > 3, which compares text "
                "with a whole number (as policy town declares it)",
            ],
            id="a column of another kind",
        ),
        pytest.param(
            [(VISIT, "{place: clinic}", "{place: clinic, zip: 3}")],
            [
                "patterns/visit.yaml:3: events.clinic.stand_in.zip is zip, a column that policy "
                "town does not declare; allowed are age, lat, lon, person, place, ts",
            ],
            id="a stand-in for a column that does not exist",
        ),
        pytest.param(
            [(VISIT, "{place: clinic}", "{place: clinic, ts: '2026'}")],
            [
                "patterns/visit.yaml:3: events.clinic.stand_in.ts is filled in by ppm: a stand-in "
                "has its subject and its slot's start",
            ],
            id="a stand-in that sets the time",
        ),
        pytest.param(
            [(VISIT, "stand_in: {place: clinic}", "stand_in: {place: clinic, age: old}")],
            [
                "patterns/visit.yaml:3: events.clinic.stand_in has values that do not fit the "
                "declared age",
            ],
            id="a stand-in of another type",
        ),
        pytest.param(
            [(VISIT, "{place: clinic}", "{place: hospital}")],
            [
                "patterns/visit.yaml:3: events.clinic.stand_in does not satisfy its own "
                "predicate, place = 'clinic'",
            ],
            id="a stand-in that is not of its type",
        ),
        pytest.param(
            [(VISIT, "place = 'clinic'", "place LIKE '%c%'")],
            [
                "patterns/visit.yaml:4: events.pharmacy.stand_in satisfies clinic as well (place "
                "LIKE '%c%'); choose other values",
            ],
            id="a stand-in that is of two types",
        ),
        pytest.param(
            [(VISIT, "place = 'clinic'", "place = 'clinic' AND hour(ts) > 8")],
            [
                "patterns/visit.yaml:3: events.clinic.where reads ts; a stand-in stands for every "
                "subject, at the start of every slot, so the predicate of its type cannot ask for "
                "them",
            ],
            id="a stand-in that depends on the hour",
        ),
        pytest.param(
            [
                (
                    VISIT,
                    "clinic: {where: place = 'clinic', stand_in: {place: clinic}}",
                    "clinic: place = 'clinic'",
                )
            ],
            [
                "patterns/visit.yaml:3: events.clinic needs stand_in: rows of it are released by "
                "response (policy town, community friends)",
            ],
            id="a response type without stand-in",
        ),
        pytest.param(
            [
                (
                    ERRAND,
                    "shop: {where: place = 'shop', stand_in: {place: shop}}",
                    "clinic: {where: place = 'shop', stand_in: {place: shop}}",
                ),
                (ERRAND, "sequence: shop", "sequence: clinic"),
            ],
            [
                "patterns/errand.yaml:3: events.clinic.where is not what visit calls clinic "
                "(place = 'clinic'); one name is one type",
            ],
            id="one name for two types",
        ),
        pytest.param(
            [
                (
                    ERRAND,
                    "shop: {where: place = 'shop', stand_in: {place: shop}}",
                    "clinic: {where: place = 'clinic', stand_in: {place: clinic, age: 1}}",
                ),
                (ERRAND, "sequence: shop", "sequence: clinic"),
            ],
            [
                "patterns/errand.yaml:3: events.clinic.stand_in is not the one in visit; a type "
                "has one stand-in",
            ],
            id="two stand-ins of one type",
        ),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, edits: list[Edit], faults: list[str]) -> None:
    checked = check_town(tmp_path, *edits)
    assert [str(fault) for fault in checked.faults] == faults
    assert checked.errors
