"""Every refusal and warning of a check, with its exact words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.protect.town import (
    CONSUMER,
    ERRAND,
    FILES,
    POLICY,
    SHARED_CLINIC,
    VISIT,
    Edit,
    another_community,
    check_town,
    in_friends,
    in_stream,
    mechanism,
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
            ],
            id="an optimal allocation without prior",
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


@pytest.mark.parametrize(
    ("edits", "faults"),
    [
        pytest.param(
            [in_stream("sampled_every: 10 s")],
            [
                "policies/town.yaml:16: warning: communities.friends.protect.visit is protected "
                "by response on a source that is sampled every 10 s: a row held back leaves a "
                "gap, and the gap tells; use decoy-windows, or a geo rule on all rows",
                "policies/town.yaml:17: warning: communities.friends.protect.errand is protected "
                "by response on a source that is sampled every 10 s: a row held back leaves a "
                "gap, and the gap tells; use decoy-windows, or a geo rule on all rows",
            ],
            id="a sampled source under response",
        ),
        pytest.param(
            [another_community("family", "doc: They see it all.")],
            [
                "policies/town.yaml:13: warning: communities.family sees visit and errand "
                "unprotected, which other communities are kept from; if readers compare notes, "
                "that protection is void",
            ],
            id="raw access",
        ),
        pytest.param(
            [
                in_friends(
                    "columns:",
                    "  - {rule: laplace, column: age, epsilon: 1, lower: 0, upper: 99, missing: 0,",
                    "     where: age > 18, guarantee: none}",
                )
            ],
            [
                "policies/town.yaml:18: warning: communities.friends.columns[0] says guarantee: "
                "none; what it does in friends is not proven",
            ],
            id="guarantee none",
        ),
        pytest.param(
            [
                (
                    POLICY,
                    "visit: {mechanism: response, epsilon: 1}",
                    "visit: {mechanism: response, epsilon: 20}",
                )
            ],
            [
                "policies/town.yaml:15: warning: communities.friends.protect.visit.epsilon is 20; "
                "above 10 a slot hides next to nothing",
            ],
            id="large epsilon",
        ),
        pytest.param(
            [
                *SHARED_CLINIC,
                (
                    POLICY,
                    "errand: {mechanism: response, epsilon: 1",
                    "errand: {mechanism: response, epsilon: 0.5",
                ),
            ],
            [
                "policies/town.yaml:15: warning: communities.friends.protect.visit.epsilon is 1, "
                "of which 0.25 stays unspent: a type is shared with a pattern of smaller budget",
            ],
            id="unspent budget",
        ),
        pytest.param(
            [*SHARED_CLINIC, (POLICY, "mechanism: response", "mechanism: joint-response")],
            [
                "policies/town.yaml:15: warning: communities.friends.protect.visit has 2 types, "
                "but shares some with errand: one draw on all 3 types with epsilon 1, so the "
                "truth shows less often",
                "policies/town.yaml:16: warning: communities.friends.protect.errand has 2 types, "
                "but shares some with visit: one draw on all 3 types with epsilon 1, so the truth "
                "shows less often",
            ],
            id="joint union",
        ),
        pytest.param(
            [
                (VISIT, "within: 2 h", "within: 2 h\npreset: first"),
                mechanism("visit", "decoy-windows"),
            ],
            [
                "consumers/app.yaml:6: warning: queries[0] finds nothing: what it needs is never "
                "released to friends",
                "patterns/visit.yaml:7: warning: preset is first, which decoy-windows leaves "
                "aside: every match must be hidden, or the next one gives it away",
            ],
            id="skipped matches under decoys",
        ),
        pytest.param(
            [
                (POLICY, "  friends:\n", "  friends:\n    rows: withheld\n"),
                (POLICY, "response", "answers"),
                (CONSUMER, "policy: town", "policy: town\ndoc: none"),
                (
                    CONSUMER,
                    "model: transparent\nqueries:\n  - name: visits\n    pattern: visit\n",
                    "model: opaque\n",
                ),
            ],
            [
                "policies/town.yaml:13: warning: communities.friends gets no rows, and no "
                "consumer of it asks existence or count: it is told nothing",
            ],
            id="nothing to tell",
        ),
        pytest.param(
            [in_friends("columns:", "  - {rule: drop, column: place}")],
            [
                "consumers/app.yaml:6: warning: queries[0] cannot be asked: it reads place, which "
                "is dropped",
            ],
            id="a query on a dropped column",
        ),
        pytest.param(
            [mechanism("visit", "answers")],
            [
                "consumers/app.yaml:6: warning: queries[0] finds nothing: what it needs is never "
                "released to friends",
            ],
            id="a query that finds nothing",
        ),
        pytest.param(
            [query("pattern: visit\n    minimum: {recall: 90 %}")],
            [
                "consumers/app.yaml:8: warning: queries[0].minimum.recall is 90%, but 38.7% is "
                "predicted under the uniform allocation",
            ],
            id="a minimum out of reach",
        ),
        pytest.param(
            [in_stream("event_id: age")],
            [
                "policies/town.yaml:9: warning: stream.event_id is age, which friends sees: if "
                "ids count up, a gap between them tells of rows held back; drop it there",
            ],
            id="ids that a community sees",
        ),
        pytest.param(
            [
                in_friends(
                    "columns: [{rule: category, column: place, epsilon: 40, values: [x], other: y}]"
                ),
                query("pattern: {name: q, events: {gym: age > 300}, sequence: gym}"),
            ],
            [
                "policies/town.yaml:17: warning: communities.friends.columns[0].epsilon is 40; "
                "above 10 a value hides next to nothing",
            ],
            id="a column rule that hides nothing",
        ),
        pytest.param(
            [
                in_friends(f"columns: [{LAPLACE}]"),
                another_community("family", "protect: {visit: {mechanism: response, epsilon: 1},"),
                (
                    POLICY,
                    "epsilon: 1},\n",
                    "epsilon: 1}, errand: {mechanism: response, epsilon: 1}}\n",
                ),
            ],
            [
                "policies/town.yaml:13: warning: communities.family sees age without the noise "
                "that friends gets; if readers compare notes, that noise is void",
            ],
            id="a column that others see without noise",
        ),
    ],
)
def test_what_may_be_meant_is_warned_of(
    tmp_path: Path, edits: list[Edit], faults: list[str]
) -> None:
    checked = check_town(tmp_path, *edits)
    assert [str(fault) for fault in checked.faults] == faults
    assert not checked.errors


def test_a_pattern_that_two_policies_protect_is_warned_of(tmp_path: Path) -> None:
    second = FILES[POLICY].replace("name: town", "name: village")
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "village.yaml").write_text(second, "utf-8")
    assert {fault.message for fault in check_town(tmp_path).warnings} == {
        f"the policy protects {name}, as town does: over one stream, what their readers learn "
        "adds up"
        for name in ("visit", "errand")
    }
