"""Policies: the stream, its zones, the rules for columns, communities and the prior."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from pydantic import ValidationError

from ppm.spec.faults import faults_of
from ppm.spec.policy import Policy
from ppm.spec.values import Duration

STREAM = {
    "subject": "who",
    "time": "at",
    "slot": "15 min",
    "from": "2026-03-01T00:00:00+01:00",
    "lateness": "5 min",
}
AREA = {"south": 59, "west": 10, "north": 60, "east": 11}
GEO = {
    "rule": "geo",
    "latitude": "lat",
    "longitude": "lon",
    "level": 1.386,
    "radius": "200 m",
    "grid": "10 m",
    "area": AREA,
    "epoch": "1 d",
    "missing": [59.5, 10.5],
}
LAPLACE = {
    "rule": "laplace",
    "column": "hr",
    "epsilon": 1,
    "lower": 30,
    "upper": 220,
    "missing": 70,
}
CATEGORY = {"rule": "category", "column": "mode", "epsilon": 1, "values": ["walk"], "other": "?"}
NAN, INFINITE = float("nan"), float("inf")


def policy(**declared: Any) -> Policy:
    return Policy.model_validate(
        {"name": "p", "version": 1, "stream": STREAM, "communities": {"all": {}}, **declared}
    )


def in_stream(**changes: Any) -> dict[str, Any]:
    return {"stream": STREAM | changes}


def in_rule(rule: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"defaults": {"columns": [rule | changes]}}


def in_zone(**zone: Any) -> dict[str, Any]:
    return in_stream(zones={"home": zone})


def in_protection(**protection: Any) -> dict[str, Any]:
    return {"communities": {"all": {"protect": {"clinic-visit": protection}}}}


def faults(declared: dict[str, Any]) -> list[str]:
    with pytest.raises(ValidationError) as refused:
        policy(**declared)
    return [str(fault) for fault in faults_of(refused.value, Policy, None)]


STREAMS = [
    pytest.param(
        in_stream(slot="0 s"),
        [
            "stream.slot is '0 s'; a duration must be more than 0 and at most 100 years of "
            "365.25 days"
        ],
        id="slots of no length",
    ),
    pytest.param(
        in_stream(timezone="Oslo"),
        ["stream.timezone is 'Oslo'; a time zone is needed, such as Europe/Oslo or UTC"],
        id="an unknown time zone",
    ),
    pytest.param(
        in_stream(timezone="../../etc/passwd"),
        [
            "stream.timezone is '../../etc/passwd'; a time zone is needed, such as "
            "Europe/Oslo or UTC"
        ],
        id="a path as a time zone",
    ),
    pytest.param(
        in_stream(time="who"),
        ["stream uses one column for two of subject, time and event_id"],
        id="one column, two roles",
    ),
    pytest.param(
        in_stream(columns={"who": "string"}),
        ["stream.time is at, which columns does not have; allowed are who"],
        id="a role that columns forget",
    ),
    pytest.param(
        in_stream(columns={"who": "string", "at": "string"}),
        ["stream.time is at, which is string; a timestamp is needed"],
        id="a time that is text",
    ),
    pytest.param(
        in_stream(columns={"who": "str", "at": "timestamp"}),
        ["stream.columns.who is 'str'; did you mean string?"],
        id="an unknown type",
    ),
    pytest.param(
        in_stream(subjects=["a", "a"]),
        ["stream.subjects is a list; a subject stands twice in the list"],
        id="a subject twice",
    ),
    pytest.param(
        in_stream(subject=""),
        ["stream.subject is empty; text is needed"],
        id="no column for the subject",
    ),
    pytest.param(
        in_stream(from_="2026-03-01T00:00:00Z"),
        ["stream.from_ is not a key of a stream; did you mean from?"],
        id="the name that Python uses",
    ),
]

ZONES = [
    pytest.param(
        in_zone(),
        ["stream.zones.home needs center and radius (a circle), or corners (a polygon)"],
        id="no shape",
    ),
    pytest.param(
        in_zone(center=[59, 10]),
        ["stream.zones.home needs center and radius (a circle), or corners (a polygon)"],
        id="half a circle",
    ),
    pytest.param(
        in_zone(center=[59, 10], radius="1 m", corners=[[1, 1], [1, 2], [2, 2]]),
        ["stream.zones.home needs center and radius (a circle), or corners (a polygon)"],
        id="two shapes",
    ),
    pytest.param(
        in_zone(center=[86, 10], radius="1 m"),
        ["stream.zones.home.center[0] is 86; it must be at most 85"],
        id="too near the pole",
    ),
    pytest.param(
        in_zone(center=["59", 10], radius="1 m"),
        ["stream.zones.home.center[0] is '59'; a number is needed"],
        id="a latitude in quotes",
    ),
    pytest.param(
        in_zone(center=[True, 10], radius="1 m"),
        ["stream.zones.home.center[0] is true; a number is needed"],
        id="a true latitude",
    ),
    pytest.param(
        in_zone(corners=[[1, 1], [1, 2], [1, 1]]),
        ["stream.zones.home.corners has fewer than 3 different corners"],
        id="two corners",
    ),
    pytest.param(
        in_zone(corners=[[1, -170], [1, 170], [2, 0]]),
        ["stream.zones.home.corners crosses the 180th meridian; declare two zones"],
        id="across the date line",
    ),
    pytest.param(
        in_zone(corners=[[n / 2, 0] for n in range(101)]),
        ["stream.zones.home.corners has 101 entries; at most 100 can be"],
        id="too many corners",
    ),
]

HERE = "defaults.columns[0]"
HIDDEN = (
    "which the rule protects: it hides where inside, not whether; choose rows by other columns, "
    "or say guarantee: none"
)
RULES = [
    pytest.param(
        in_rule({"rule": "drpo", "column": "x"}),
        [f"{HERE}.rule is 'drpo'; did you mean drop?"],
        id="an unknown rule",
    ),
    pytest.param(
        in_rule({"rule": "snap", "column": "x", "grid": 0}),
        [f"{HERE}.grid is 0; it must be greater than 0"],
        id="a grid without width",
    ),
    pytest.param(
        in_rule(LAPLACE, lower=220),
        [f"{HERE}.lower is 220.0; it must be less than upper, 220.0"],
        id="bounds without room",
    ),
    pytest.param(
        in_rule(LAPLACE, missing=0),
        [f"{HERE}.missing is 0.0; it must lie between 30.0 and 220.0"],
        id="missing outside the bounds",
    ),
    pytest.param(
        in_rule(LAPLACE, epsilon=0),
        [f"{HERE}.epsilon is 0; it must be greater than 0"],
        id="no budget",
    ),
    pytest.param(
        in_rule(LAPLACE, epsilon=True),
        [f"{HERE}.epsilon is true; a number is needed"],
        id="a true budget",
    ),
    pytest.param(
        in_rule(LAPLACE, epsilon=1_001),
        [f"{HERE}.epsilon is 1001; it must be at most 1000"],
        id="a budget as an off switch",
    ),
    pytest.param(
        in_rule(LAPLACE, where="hr > 100 AND x"),
        [f"{HERE}.where reads hr, {HIDDEN}"],
        id="a rule that chooses by what it hides",
    ),
    pytest.param(
        in_rule(CATEGORY, values=["walk", "walk"]),
        [f"{HERE}.values names a value twice"],
        id="a value twice",
    ),
    pytest.param(
        in_rule(CATEGORY, values=["?"]),
        [f"{HERE}.values holds nothing but other; there is nothing to hide"],
        id="only other",
    ),
    pytest.param(
        in_rule(GEO, longitude="lat"),
        [f"{HERE}.longitude is lat, like latitude"],
        id="one column for both axes",
    ),
    pytest.param(
        in_rule(GEO, missing=[59.5]),
        [f"{HERE}.missing needs two numbers, latitude and longitude"],
        id="half a position",
    ),
    pytest.param(
        in_rule(GEO, missing=None),
        [f"{HERE}.missing is nothing; a list is needed"],
        id="no position",
    ),
    pytest.param(
        in_rule(GEO, missing=[1, 1]),
        [f"{HERE}.missing lies outside area; rows are released inside it"],
        id="a position outside the area",
    ),
    pytest.param(
        in_rule(GEO, where="in_zone(lat, lon, 'home')"),
        [f"{HERE}.where reads lat and lon, {HIDDEN}"],
        id="a position that chooses its own noise",
    ),
    pytest.param(
        in_rule(GEO, area=AREA | {"south": 60}),
        [f"{HERE}.area.south is 60.0; it must be less than north, 60.0"],
        id="an area without height",
    ),
    pytest.param(
        in_rule(GEO, area=AREA | {"west": -20}),
        [
            f"{HERE}.area is 31 degrees wide; it must be at most 20, or metres on the map are not "
            "those on the ground"
        ],
        id="an area too wide for a flat map",
    ),
    pytest.param(
        in_rule(GEO, area=AREA | {"west": 12}),
        [f"{HERE}.area.west is 12.0; it must be less than east, 11.0"],
        id="an area turned around",
    ),
]

REST = [
    pytest.param(
        in_protection(mechanism="respnse"),
        ["communities.all.protect.clinic-visit.mechanism is 'respnse'; did you mean response?"],
        id="a misspelled mechanism",
    ),
    pytest.param(
        in_protection(epsilon="1"),
        ["communities.all.protect.clinic-visit.epsilon is '1'; a number is needed"],
        id="a budget in quotes",
    ),
    pytest.param(
        in_protection(epsilom=1),
        [
            "communities.all.protect.clinic-visit.epsilom is not a key of a protection; did "
            "you mean epsilon?"
        ],
        id="a misspelled key",
    ),
    pytest.param(
        {"communities": {}}, ["communities has 0 entries; at least 1 must be"], id="no communities"
    ),
    pytest.param({"version": 0}, ["version is 0; it must be at least 1"], id="version zero"),
    pytest.param(
        {"version": 1.0},
        ["version is the number 1.0; a whole number is needed"],
        id="a version with a fraction",
    ),
    pytest.param(
        {"prior": {"source": "survey", "rates": {"a": "101 %"}}},
        ["prior.rates.a is '101 %'; a share between 0 % and 100 % is needed, such as 90 % or 0.9"],
        id="a rate above all",
    ),
    pytest.param(
        {"prior": {"rates": {"a": 0.1}}}, ["prior needs source"], id="a prior from nowhere"
    ),
    pytest.param(
        {"prior": {"source": "survey", "rate": {"a": 0.1}}},
        [
            "prior needs rates",
            "prior.rate is not a key of an independent prior; did you mean rates?",
        ],
        id="a prior with a misspelled key",
    ),
    pytest.param(
        {"prior": "House holds"},
        [
            "prior is 'House holds'; a name is up to 64 small letters, digits, - and _, not "
            "starting with - or _"
        ],
        id="a prior's name that cannot be",
    ),
    pytest.param(
        {"communities": {"all": {"horizon": {"over": "30 d", "epsilon": 9, "then": "stop"}}}},
        ["communities.all.horizon.then is 'stop'; allowed are withhold"],
        id="an unknown end",
    ),
]


@pytest.mark.parametrize(("declared", "messages"), [*STREAMS, *ZONES, *RULES, *REST])
def test_a_policy_is_refused(declared: dict[str, Any], messages: list[str]) -> None:
    assert faults(declared) == messages


@pytest.mark.parametrize("number", [NAN, INFINITE, -INFINITE])
@pytest.mark.parametrize(
    "declare",
    [
        pytest.param(lambda x: in_rule(LAPLACE, epsilon=x), id="epsilon"),
        pytest.param(lambda x: in_rule(LAPLACE, lower=x), id="lower"),
        pytest.param(lambda x: in_rule(LAPLACE, upper=x), id="upper"),
        pytest.param(lambda x: in_rule(LAPLACE, missing=x), id="missing"),
        pytest.param(lambda x: in_rule(GEO, level=x), id="level"),
        pytest.param(lambda x: in_rule(GEO, area=AREA | {"north": x}), id="area"),
        pytest.param(lambda x: in_rule(GEO, missing=[x, 10.5]), id="place"),
        pytest.param(lambda x: in_rule({"rule": "snap", "column": "x"}, grid=x), id="grid"),
        pytest.param(lambda x: in_zone(center=[x, 10], radius="1 m"), id="center"),
        pytest.param(lambda x: in_zone(corners=[[1, x], [2, 2], [3, 3]]), id="corners"),
        pytest.param(lambda x: in_protection(epsilon=x), id="budget of a slot"),
        pytest.param(lambda x: {"prior": {"source": "s", "rates": {"a": x}}}, id="rate"),
    ],
)
def test_numbers_are_finite(declare: Any, number: float) -> None:
    assert faults(declare(number))


def test_a_whole_number_is_a_budget() -> None:
    epsilon = policy(**in_protection(epsilon=1)).communities["all"].protect["clinic-visit"].epsilon
    assert (type(epsilon), epsilon) == (float, 1.0)


def test_a_stream_is_written_with_from() -> None:
    plain = policy().as_plain()["stream"]
    assert plain["from"] == "2026-03-01T00:00:00+01:00"
    assert "from_" not in plain


def test_what_is_left_out_stays_open() -> None:
    community = policy(communities={"all": {"extends": "most"}}).communities["all"]
    assert (community.rows, community.collusion, community.horizon) == (None, None, None)
    assert policy().stream.timezone == "UTC"
    assert policy().stream.slot == Duration.parse("15 min")


def test_the_middle_of_a_polygon_is_the_mean_of_its_corners() -> None:
    zones = policy(**in_zone(corners=[[0, 0], [0, 4], [4, 4], [4, 0]])).stream.zones
    assert zones["home"].middle == (2, 2)


def test_a_rule_without_guarantee_may_choose_by_what_it_hides() -> None:
    rule = in_rule(LAPLACE, where="hr > 100", guarantee="none")
    assert policy(**rule).defaults.columns[0].guarantee == "none"


def test_a_rule_accepts_a_public_place_inside_its_area() -> None:
    rule = in_rule(GEO, missing=[59.5, 10.5], where="speed > 1")
    assert policy(**rule).defaults.columns[0].rule == "geo"


def test_a_declaration_cannot_be_changed_by_whoever_holds_it() -> None:
    declared = policy(**in_zone(center=[59.9, 10.7], radius="100 m"))
    with pytest.raises(TypeError, match="cannot be changed"):
        declared.stream.zones["home"] = declared.stream.zones["home"]
    with pytest.raises(TypeError, match="cannot be changed"):
        declared.communities.clear()
    assert hash(declared) == hash(pickle.loads(pickle.dumps(declared)))  # noqa: S301
