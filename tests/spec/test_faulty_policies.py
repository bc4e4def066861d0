"""What is said of policies that are wrong in one place: the line, and the exact words."""

from __future__ import annotations

import pytest

from ppm.spec.load import parse
from ppm.spec.policy import Policy
from tests.spec.faulty import POLICY, faults, spoilt


def test_the_document_that_is_spoilt_below_is_right() -> None:
    assert parse(POLICY, Policy, file="f.yaml").spec


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        pytest.param(
            "      visit: {mechanism: response, epsilon: 1}\n",
            "      visit: {mechanism: response, epsilon: 0}\n",
            [
                "12: communities.friends.protect.visit.epsilon is 0; it must be greater than 0",
            ],
            id="an epsilon of zero",
        ),
        pytest.param(
            "      visit: {mechanism: response, epsilon: 1}\n",
            "      visit: {mechanism: response, epsilon: .inf}\n",
            [
                "12: communities.friends.protect.visit.epsilon is '.inf'; a number is needed",
            ],
            id="an infinite epsilon",
        ),
        pytest.param(
            "      visit: {mechanism: response, epsilon: 1}\n",
            "      visit: {mechanism: response, epsilon: 1e400}\n",
            [
                "12: 1e400 is too large a number",
            ],
            id="an epsilon too large to be one",
        ),
        pytest.param(
            "      visit: {mechanism: response, epsilon: 1}\n",
            "      visit: {mechanism: response, epsilon: one}\n",
            [
                "12: communities.friends.protect.visit.epsilon is 'one'; a number is needed",
            ],
            id="an epsilon in words",
        ),
        pytest.param(
            "      visit: {mechanism: response, epsilon: 1}\n",
            "      visit: {mechanism: response, epsilom: 1}\n",
            [
                "12: communities.friends.protect.visit.epsilom is not a key of a protection; "
                "did you mean epsilon?",
            ],
            id="a misspelt epsilon",
        ),
        pytest.param(
            "      visit: {mechanism: response, epsilon: 1}\n",
            "      visit: {mechanism: randomised-response, epsilon: 1}\n",
            [
                "12: communities.friends.protect.visit.mechanism is 'randomised-response'; did "
                "you mean joint-response?",
            ],
            id="an unknown mechanism",
        ),
        pytest.param(
            "  lateness: 2 min\n",
            "  latness: 2 min\n",
            [
                "3: stream needs lateness",
                "8: stream.latness is not a key of a stream; did you mean lateness?",
            ],
            id="an unknown key of the stream",
        ),
        pytest.param(
            "  from: 2026-03-01T00:00:00+01:00\n",
            "  from: 2026-03-01T00:00:00\n",
            [
                "7: stream.from is '2026-03-01T00:00:00'; a time with its offset is needed, "
                "such as 2026-03-01T08:00:00+01:00",
            ],
            id="a time without zone",
        ),
        pytest.param(
            "  from: 2026-03-01T00:00:00+01:00\n",
            "  from: 2026-02-30T00:00:00+01:00\n",
            [
                "7: stream.from is '2026-02-30T00:00:00+01:00'; a time with its offset is "
                "needed, such as 2026-03-01T08:00:00+01:00",
            ],
            id="a date that does not exist",
        ),
        pytest.param(
            "version: 1\n",
            "version: 1.0\n",
            [
                "2: version is the number 1.0; a whole number is needed",
            ],
            id="a version with a point",
        ),
        pytest.param(
            "communities:\n  friends:\n    protect:\n"
            "      visit: {mechanism: response, epsilon: 1}\n",
            "communities: {}\n",
            [
                "9: communities has 0 entries; at least 1 must be",
            ],
            id="no community",
        ),
        pytest.param(
            "  friends:\n",
            "  my friends:\n",
            [
                "10: communities.my friends has a name that cannot be; a name is up to 64 small "
                "letters, digits, - and _, not starting with - or _",
            ],
            id="a community's name with a blank",
        ),
        pytest.param(
            "  lateness: 2 min\n",
            "  lateness: 2 min\n  timezone: Europe/Olso\n",
            [
                "9: stream.timezone is 'Europe/Olso'; a time zone is needed, such as "
                "Europe/Oslo or UTC",
            ],
            id="a time zone that is none",
        ),
        pytest.param(
            "  lateness: 2 min\n",
            "  lateness: 2 min\n  subjects: [1, 2]\n",
            [
                "9: stream.subjects is a list; seen is needed, or a list of subjects (numbers "
                "in quotes)",
            ],
            id="subjects that are numbers",
        ),
        pytest.param(
            "  time: ts\n",
            "  time: person\n",
            [
                "3: stream uses one column for two of subject, time and event_id",
            ],
            id="one column for two roles",
        ),
        pytest.param(
            "  lateness: 2 min\n",
            "  lateness: 2 min\n  columns: {person: string, t: timestamp}\n",
            [
                "5: stream.time is ts, which columns does not have; did you mean t?",
            ],
            id="a time that columns does not have",
        ),
        pytest.param(
            "  lateness: 2 min\n",
            "  lateness: 2 min\n  columns: {person: string, ts: string}\n",
            [
                "5: stream.time is ts, which is string; a timestamp is needed",
            ],
            id="a time that is text",
        ),
        pytest.param(
            "  lateness: 2 min\n",
            "  lateness: 2 min\n  zones: {home: {center: [59.9, 10.7]}}\n",
            [
                "9: stream.zones.home needs center and radius (a circle), or corners (a polygon)",
            ],
            id="a zone without radius",
        ),
        pytest.param(
            "  lateness: 2 min\n",
            "  lateness: 2 min\n  zones: {home: {center: [159.9, 10.7], radius: 100 m}}\n",
            [
                "9: stream.zones.home.center[0] is 159.9; it must be at most 85",
            ],
            id="a zone beyond the pole",
        ),
        pytest.param(
            "  lateness: 2 min\n",
            "  lateness: 2 min\n  zones: {home: {corners: [[59.9, 10.7], [59.8, 10.7]]}}\n",
            [
                "9: stream.zones.home.corners has fewer than 3 different corners",
            ],
            id="a zone of two corners",
        ),
        pytest.param(
            "  lateness: 2 min\n",
            "  lateness: 2 min\n  zones: {home: {center: [59.9, 10.7], radius: 100}}\n",
            [
                "9: stream.zones.home.radius is the number 100; a distance is needed, such as "
                "200 m or 1.5 km",
            ],
            id="a radius without unit",
        ),
        pytest.param(
            "",
            "    horizon: {over: 1 d, epsilon: 10}\n",
            [
                "13: communities.friends.horizon needs then",
            ],
            id="a horizon without fallback",
        ),
        pytest.param(
            "    protect:\n      visit: {mechanism: response, epsilon: 1}\n",
            "    columns:\n      - {rule: blur, column: lat}\n",
            [
                "12: communities.friends.columns[0].rule is 'blur'; allowed are category, drop, "
                "geo, laplace, snap",
            ],
            id="an unknown column rule",
        ),
        pytest.param(
            "    protect:\n      visit: {mechanism: response, epsilon: 1}\n",
            "    columns:\n      - {rule: laplace, column: age, epsilon: 1}\n",
            [
                "12: communities.friends.columns[0] needs lower, upper and missing",
            ],
            id="a laplace rule without bounds",
        ),
        pytest.param(
            "    protect:\n      visit: {mechanism: response, epsilon: 1}\n",
            "    columns:\n"
            "      - {rule: laplace, column: age, epsilon: 1, lower: 9, upper: 1, missing: 5}\n",
            [
                "12: communities.friends.columns[0].lower is 9.0; it must be less than upper, 1.0",
            ],
            id="bounds upside down",
        ),
        pytest.param(
            "    protect:\n      visit: {mechanism: response, epsilon: 1}\n",
            "    columns:\n"
            "      - {rule: laplace, column: age, epsilon: 1, lower: 1, upper: 9, missing: 0}\n",
            [
                "12: communities.friends.columns[0].missing is 0.0; it must lie between 1.0 and "
                "9.0",
            ],
            id="a missing value outside the bounds",
        ),
        pytest.param(
            "    protect:\n      visit: {mechanism: response, epsilon: 1}\n",
            "    columns:\n      - {rule: category, column: k, epsilon: 1, values: [a, a], "
            "other: b}\n",
            [
                "12: communities.friends.columns[0].values names a value twice",
            ],
            id="a category twice",
        ),
        pytest.param(
            "    protect:\n      visit: {mechanism: response, epsilon: 1}\n",
            "    columns:\n"
            "      - {rule: geo, latitude: lat, longitude: lon, level: 1, radius: 200 m, "
            "grid: 10 m,\n"
            "         epoch: 1 d, missing: [59.5, 10.5], lower: 1,\n"
            "         area: {south: 59, west: 10, north: 60, east: 11}}\n",
            [
                "13: communities.friends.columns[0].lower is not a key of a geo rule; did you "
                "mean where?",
            ],
            id="a geo rule with a key of laplace",
        ),
    ],
)
def test_a_policy_with_one_place_spoilt(old: str, new: str, said: list[str]) -> None:
    assert faults(spoilt(POLICY, old, new), Policy) == said
