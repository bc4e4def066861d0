"""Every warning of a check, with its exact words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.protect.guided import pattern_for
from tests.protect.town import (
    CONSUMER,
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
            [query(f"pattern: {pattern_for('clinic')}\n    minimum: {{recall: 70 %}}")],
            [
                "consumers/app.yaml:8: warning: queries[0].minimum.recall is 70%, but 62.2% is "
                "predicted under the uniform allocation; 73.1% is possible, with allocation: "
                "optimal for this query alone",
            ],
            id="a minimum that another allocation reaches",
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


def test_a_minimum_of_what_is_not_predicted_is_warned_of(tmp_path: Path) -> None:
    edit = query("pattern: visit\n    minimum: {recall: 30 %, precision: 60 %}")
    found = [str(fault) for fault in check_town(tmp_path, edit).warnings]
    said = "precision cannot be judged, because precision is not predicted here"
    assert [one for one in found if "cannot be judged" in one] == [
        f"consumers/app.yaml:8: warning: queries[0].minimum.{said}"
    ]
