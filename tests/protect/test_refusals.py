"""Every refusal of what mechanisms, answers and columns cannot keep, in exact words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.protect.town import (
    CONSUMER,
    ERRAND,
    POLICY,
    SHARED_CLINIC,
    VISIT,
    Edit,
    check_town,
    in_friends,
    mechanism,
    query,
)

GYM = "{name: q, events: {gym: place = 'gym'}, sequence: gym}"
LAPLACE = "{rule: laplace, column: age, epsilon: 1, lower: 0, upper: 99, missing: 0}"
GEO = (
    "{rule: geo, latitude: lat, longitude: lon, level: 1, radius: 200 m, grid: 10 m, epoch: 1 d, "
    "missing: [59.5, 10.5], area: {south: 59, west: 10, north: 60, east: 11}}"
)


MIXED = (
    "policies/town.yaml:16: communities.friends.protect.errand.allocation is uniform, but visit "
    "has optimal: patterns under response in one community share one allocation"
)


@pytest.mark.parametrize(
    ("edits", "faults"),
    [
        pytest.param(
            [query("pattern: {name: q, events: {doctor: place = 'clinic'}, sequence: doctor}")],
            [
                "consumers/app.yaml:7: queries[0].pattern.events.doctor.where is the predicate of "
                "clinic; use that name for both",
            ],
            id="two names for one predicate",
        ),
        pytest.param(
            [query("pattern: {name: q, events: {clinic: place = 'shop'}, sequence: clinic}")],
            [
                "consumers/app.yaml:7: queries[0].pattern.events.clinic.where is not what visit "
                "calls clinic (place = 'clinic'); one name is one type",
            ],
            id="a query that gives a name another meaning",
        ),
        pytest.param(
            [*SHARED_CLINIC, mechanism("errand", "joint-response")],
            [
                "policies/town.yaml:16: communities.friends.protect.errand is protected by "
                "joint-response, but a row of it may be a row of visit as well, which is under "
                "response; such patterns need one mechanism",
            ],
            id="patterns that share a type but not a mechanism",
        ),
        pytest.param(
            [*SHARED_CLINIC, mechanism("errand", "decoy-windows")],
            [
                "policies/town.yaml:16: communities.friends.protect.errand is protected by "
                "decoy-windows, but a row of it may be a row of visit as well, which is under "
                "response; such patterns need one mechanism",
            ],
            id="a decoy pattern that shares a type with a response pattern",
        ),
        pytest.param(
            [(ERRAND, "within: 1 h\n", ""), mechanism("errand", "decoy-windows")],
            [
                "patterns/errand.yaml:1: the pattern needs within: decoy-windows must know how "
                "long a match can last (policy town, community friends)",
            ],
            id="decoys without within",
        ),
        pytest.param(
            [
                (POLICY, "  friends:\n", "  friends:\n    rows: withheld\n"),
                query("pattern: visit\n    ask: existence"),
            ],
            [
                "consumers/app.yaml:8: queries[0].ask is existence, answered on the truth, and "
                "tells about visit, which friends protects by response; ask matches, or protect "
                "it by answers",
                "policies/town.yaml:16: communities.friends.protect.visit is protected by "
                "response, which releases rows, but rows are withheld from friends; use answers, "
                "or release rows",
                "policies/town.yaml:17: communities.friends.protect.errand is protected by "
                "response, which releases rows, but rows are withheld from friends; use answers, "
                "or release rows",
            ],
            id="rows withheld under response",
        ),
        pytest.param(
            [
                (POLICY, "  friends:\n", "  friends:\n    rows: withheld\n"),
                (POLICY, "response", "answers"),
            ],
            [
                "consumers/app.yaml:6: queries[0].ask is matches, but rows are withheld from "
                "friends; ask existence or count",
            ],
            id="matches asked where rows are withheld",
        ),
        pytest.param(
            [query("pattern: visit\n    ask: existence")],
            [
                "consumers/app.yaml:8: queries[0].ask is existence, answered on the truth, and "
                "tells about visit, which friends protects by response; ask matches, or protect "
                "it by answers",
            ],
            id="an answer about a pattern under response",
        ),
        pytest.param(
            [
                (VISIT, "within: 2 h\n", ""),
                mechanism("visit", "answers"),
                query("pattern: visit\n    ask: existence"),
            ],
            [
                "consumers/app.yaml:7: queries[0].pattern needs within: an answer pays for every "
                "slot that its matches can span",
            ],
            id="an answer without within",
        ),
        pytest.param(
            [
                mechanism("errand", "decoy-windows"),
                query(f"pattern: {GYM}\n    ask: existence"),
            ],
            [
                "consumers/app.yaml:8: queries[0].ask is existence, answered on the truth, and "
                "tells about errand, which friends protects by decoy-windows; ask matches, or "
                "protect it by answers",
            ],
            id="an answer about public rows in a slot with decoys",
        ),
        pytest.param(
            [
                in_friends(
                    "columns:",
                    "  - {rule: laplace, column: age, epsilon: 1, lower: 0, upper: 99, missing: 0,",
                    "     where: age > 18}",
                )
            ],
            [
                "policies/town.yaml:19: communities.friends.columns[0].where reads age, which the "
                "rule protects: it hides where inside, not whether; choose rows by other columns, "
                "or say guarantee: none",
            ],
            id="a scope that reads its own column",
        ),
        pytest.param(
            [in_friends("columns:", "  - {rule: drop, column: ts}")],
            [
                "policies/town.yaml:18: communities.friends.columns[0].column is ts, the stream's "
                "time; rules are for other columns",
            ],
            id="a rule on the time",
        ),
        pytest.param(
            [in_friends("columns:", "  - {rule: drop, column: height}")],
            [
                "policies/town.yaml:18: communities.friends.columns[0].column is height, a column "
                "that policy town does not declare; allowed are age, lat, lon, person, place, ts",
            ],
            id="a rule on a column that does not exist",
        ),
        pytest.param(
            [in_friends("columns:", "  - {rule: snap, column: place, grid: 2}")],
            [
                "policies/town.yaml:18: communities.friends.columns[0].column is place, which "
                "holds text; a number is needed",
            ],
            id="a number rule on text",
        ),
        pytest.param(
            [
                in_friends(
                    "columns:",
                    "  - {rule: drop, column: age}",
                    "  - {rule: snap, column: age, grid: 2}",
                )
            ],
            [
                "policies/town.yaml:19: communities.friends.columns[1] is a second rule for the "
                "column age; one rule per column",
            ],
            id="two rules for one column",
        ),
        pytest.param(
            [in_friends("horizon: {over: 1 d, epsilon: 0.5, then: withhold}")],
            [
                "policies/town.yaml:17: communities.friends.horizon.epsilon is 0.5 and pays for "
                "no slot: visit costs 1 a slot in friends; raise it, or lower the pattern's "
                "epsilon",
                "policies/town.yaml:17: communities.friends.horizon.epsilon is 0.5 and pays for "
                "no slot: errand costs 1 a slot in friends; raise it, or lower the pattern's "
                "epsilon",
            ],
            id="a horizon that pays for no slot",
        ),
        pytest.param(
            [in_friends("horizon: {over: 5 min, epsilon: 5, then: withhold}")],
            [
                "policies/town.yaml:17: communities.friends.horizon.over is 5 min, shorter than a "
                "slot (15 min)",
            ],
            id="a horizon shorter than a slot",
        ),
        pytest.param(
            [
                (CONSUMER, "model: transparent", "model: opaque"),
                (
                    POLICY,
                    "visit: {mechanism: response, epsilon: 1}",
                    "visit: {mechanism: response, epsilon: 1, allocation: optimal}",
                ),
            ],
            [
                "policies/town.yaml:15: communities.friends.protect.visit.allocation is optimal, "
                "but friends has no transparent consumer whose queries could guide it; use "
                "uniform",
                MIXED,
            ],
            id="an optimal allocation for nobody",
        ),
        pytest.param(
            [
                (
                    POLICY,
                    "visit: {mechanism: response, epsilon: 1}",
                    "visit: {mechanism: response, epsilon: 1, allocation: optimal}",
                )
            ],
            [
                "policies/town.yaml:15: communities.friends.protect.visit.allocation is optimal, "
                "but the policy has no prior; declare one from public or consented history, or "
                "use uniform",
                MIXED,
            ],
            id="an optimal allocation without prior",
        ),
        pytest.param(
            [
                (
                    POLICY,
                    "visit: {mechanism: response, epsilon: 1}",
                    "visit: {mechanism: decoy-windows, epsilon: 1, allocation: optimal}",
                )
            ],
            [
                "policies/town.yaml:15: communities.friends.protect.visit.allocation is optimal, "
                "which splits a budget over the types of response or joint-response; "
                "decoy-windows has nothing to split: say uniform, or nothing",
            ],
            id="an allocation of what has no parts",
        ),
        pytest.param(
            [
                (VISIT, "name: visit", "nam: visit"),
                (CONSUMER, "community: friends", "community: nobody"),
            ],
            [
                "consumers/app.yaml:3: community is nobody, not a community of town; allowed are "
                "friends",
                "patterns/visit.yaml:1: the pattern needs name",
                "patterns/visit.yaml:1: nam is not a key of a pattern; did you mean name?",
            ],
            id="a file that is broken hides no other fault",
        ),
        pytest.param(
            [
                (VISIT, "place = 'clinic'", "age > 70"),
                (VISIT, "{place: clinic}", "{age: 71}"),
                mechanism("errand", "decoy-windows"),
            ],
            [
                "policies/town.yaml:16: communities.friends.protect.errand is protected by "
                "decoy-windows, but a row of it may be a row of visit as well, which is under "
                "response; such patterns need one mechanism",
            ],
            id="a row that may be of two patterns with two mechanisms",
        ),
        pytest.param(
            [(ERRAND, "shop -> post", "shop >> post"), mechanism("errand", "decoy-windows")],
            [
                "patterns/errand.yaml:1: the pattern cannot be hidden by decoy-windows: with "
                "next, not_next, consecutive or greedy loops, until, or a window other than "
                "time, taking rows away can make another match (policy town, community "
                "friends)",
            ],
            id="a decoy pattern in strict order",
        ),
        pytest.param(
            [
                mechanism("visit", "answers"),
                (VISIT, "within: 2 h", "within: 2 h\npreset: non-overlapping"),
                query("pattern: visit\n    ask: existence"),
            ],
            [
                "consumers/app.yaml:7: queries[0].pattern has a skip, a preset or a window "
                "under which one row can change every later answer; an answer that pays needs "
                "skip: no_skip, and no window but time",
            ],
            id="an answer that one row can shift for ever",
        ),
        pytest.param(
            [
                query(
                    "pattern: {name: q, events: {gym: place = 'gym'},\n"
                    "      stages: [{event: gym, times: 1.., until: age > 3}]}\n    ask: existence"
                )
            ],
            [
                "consumers/app.yaml:9: queries[0].ask is existence, answered on the truth, and "
                "tells about visit, which friends protects by response; ask matches, or "
                "protect it by answers",
            ],
            id="an answer that every row can change",
        ),
        pytest.param(
            [
                in_friends("columns: [{rule: drop, column: place}]"),
                query(f"pattern: {GYM}\n    ask: existence"),
            ],
            [
                "consumers/app.yaml:8: queries[0].ask is existence, answered on the truth, but "
                "reads place, which a column rule changes for friends; ask matches, or ask for "
                "other columns",
            ],
            id="an answer about a column that a rule hides",
        ),
        pytest.param(
            [
                in_friends(
                    f"columns: [{LAPLACE}, {{rule: category, column: place, epsilon: 1,",
                    "  values: [x], other: y, where: age > 3}]",
                )
            ],
            [
                "policies/town.yaml:18: communities.friends.columns[1].where reads age, which "
                "another rule changes: which rows are noisy would tell what that rule hides; "
                "choose rows by other columns",
            ],
            id="a scope that reads what another rule hides",
        ),
        pytest.param(
            [
                (POLICY, "communities:\n", f"defaults: {{columns: [{GEO}]}}\ncommunities:\n"),
                in_friends("columns: [{rule: drop, column: lat}]"),
            ],
            [
                "policies/town.yaml:18: communities.friends.columns replace a part of an "
                "inherited geo rule, and lon would pass as it is; give a rule for it too",
            ],
            id="half of an inherited geo rule",
        ),
        pytest.param(
            [
                (
                    POLICY,
                    "visit: {mechanism: response, epsilon: 1}",
                    "visit: {mechanism: none, epsilon: 1}",
                )
            ],
            [
                "policies/town.yaml:15: communities.friends.protect.visit has an epsilon, but "
                "mechanism: none holds in friends",
            ],
            id="an epsilon where nothing is protected",
        ),
        pytest.param(
            [
                (
                    POLICY,
                    "communities:\n",
                    "prior: {source: a survey, rates: {clinik: 5 %}}\ncommunities:\n",
                )
            ],
            [
                "policies/town.yaml:12: prior.rates.clinik is no type of a private pattern or "
                "a query; did you mean clinic?",
            ],
            id="a prior for no type",
        ),
    ],
)
def test_what_cannot_be_promised_is_refused(
    tmp_path: Path, edits: list[Edit], faults: list[str]
) -> None:
    checked = check_town(tmp_path, *edits)
    assert [str(fault) for fault in checked.faults] == faults
    assert checked.errors
