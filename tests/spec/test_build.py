"""The builder makes the very pattern that YAML makes, and refuses with the same sentences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ppm.errors import SpecError
from ppm.spec.build import (
    PatternBuilder,
    all_of,
    any_of,
    gap,
    pattern,
    stage,
    steps,
)
from ppm.spec.document import read_document
from ppm.spec.expression.declared import Condition, Predicate
from ppm.spec.pattern import Pattern
from ppm.spec.stage import Gap, Skip
from ppm.spec.values import Duration, Times

HEAD = "name: p\nevents: {a: x > 1, b: x > 2, c: x > 3, d: x > 4}\n"
START = pattern("p")
for _place, _name in enumerate("abcd", start=1):
    START = START.event(_name, f"x > {_place}")

Build = Callable[[PatternBuilder], PatternBuilder]


def from_yaml(text: str) -> Pattern:
    return Pattern.model_validate(read_document(text, "p.yaml").values)


OPERATORS: list[tuple[str, Build, str]] = [
    ("begin", lambda p: p.begin("a"), "sequence: a"),
    ("next", lambda p: p.begin("a").next("b"), "sequence: a >> b"),
    ("followed_by", lambda p: p.begin("a").followed_by("b"), "sequence: a -> b"),
    ("followed_by_any", lambda p: p.begin("a").followed_by_any("b"), "sequence: a => b"),
    ("not_next", lambda p: p.begin("a").not_next("b").next("c"), "sequence: a !>> b >> c"),
    (
        "not_followed_by",
        lambda p: p.begin("a").not_followed_by("b").followed_by("c"),
        "sequence: a !-> b -> c",
    ),
    ("times", lambda p: p.begin("a", times=3), "sequence: a{3}"),
    ("a range of times", lambda p: p.begin("a", times="2..4"), "sequence: 'a{2,4}'"),
    ("times without end", lambda p: p.begin("a", times=Times(1, None)), "sequence: a+"),
    ("optional", lambda p: p.begin("a", optional=True).next("b"), "sequence: a? >> b"),
    ("name", lambda p: p.begin("a", name="x"), "sequence: x:a"),
    (
        "where",
        lambda p: p.begin("a").next("b", where="x > last(a.x)"),
        "stages: [{event: a}, {event: b, contiguity: next, where: x > last(a.x)}]",
    ),
    (
        "where as a condition",
        lambda p: p.begin("a", where=Condition.parse("x > 1")),
        "stages: [{event: a, where: x > 1}]",
    ),
    (
        "where as a predicate",
        lambda p: p.begin("a", where=Predicate.parse("x > 1")),
        "stages: [{event: a, where: x > 1}]",
    ),
    (
        "where as a truth value",
        lambda p: p.begin("a", where=True),
        "stages: [{event: a, where: true}]",
    ),
    *(
        (
            f"loop {loop}",
            lambda p, loop=loop: p.begin("a", times=2, loop=loop),
            f"stages: [{{event: a, times: 2, loop: {loop}}}]",
        )
        for loop in ("relaxed", "consecutive", "combinations")
    ),
    (
        "greedy",
        lambda p: p.begin("a", times="1..", greedy=True).next("b"),
        "stages: [{event: a, times: 1.., greedy: true}, {event: b, contiguity: next}]",
    ),
    (
        "until",
        lambda p: p.begin("a", times="1..", until="x > 9"),
        "stages: [{event: a, times: 1.., until: x > 9}]",
    ),
    (
        "gap",
        lambda p: p.begin("a").next("b", gap=gap(min="5 min", max="2 h")),
        "stages: [{event: a}, {event: b, contiguity: next, gap: {min: 5 min, max: 2 h}}]",
    ),
    (
        "gap as a value",
        lambda p: p.begin("a").next("b", gap=Gap(max=Duration.parse("2 h"))),
        "stages: [{event: a}, {event: b, contiguity: next, gap: {max: 2 h}}]",
    ),
    (
        "lasting",
        lambda p: p.begin("a").not_followed_by("b", lasting="1 h"),
        "stages: [{event: a}, {event: b, contiguity: not_followed_by, lasting: 1 h}]",
    ),
    (
        "a group",
        lambda p: p.begin("a").followed_by(steps("b").next("c"), times="1..", optional=True),
        "stages: [{event: a}, {group: [{event: b}, {event: c, contiguity: next}], "
        "times: 1.., optional: true}]",
    ),
    (
        "a group in a group",
        lambda p: p.begin(steps(steps("a", times=2).next("b"), times=3)),
        "stages: [{group: [{group: [{event: a, times: 2}, {event: b, contiguity: next}], "
        "times: 3}]}]",
    ),
    (
        "any_of",
        lambda p: p.begin(any_of("a", "b"), times=2),
        "stages: [{any_of: [{event: a}, {event: b}], times: 2}]",
    ),
    (
        "all_of",
        lambda p: p.begin("a").next(all_of("b", steps("c").next("d"))),
        "stages: [{event: a}, {all_of: [{event: b}, {group: [{event: c}, "
        "{event: d, contiguity: next}]}], contiguity: next}]",
    ),
    (
        "a choice with options",
        lambda p: p.begin(any_of(stage("a", times=2, name="two"), all_of("b", "c"))),
        "stages: [{any_of: [{event: a, times: 2, name: two}, {all_of: [{event: b}, {event: c}]}]}]",
    ),
    ("within", lambda p: p.begin("a").within("2 h"), "sequence: a\nwithin: 2 h"),
    (
        "within as a value",
        lambda p: p.begin("a").within(Duration(5)),
        "sequence: a\nwithin: 0.005 ms",
    ),
    ("skip", lambda p: p.begin("a").skip("skip_past_last"), "sequence: a\nskip: skip_past_last"),
    (
        "skip to a stage",
        lambda p: p.begin("a").skip(Skip("skip_to_last", "a")),
        "sequence: a\nskip: skip_to_last(a)",
    ),
    ("preset", lambda p: p.begin("a").preset("first"), "sequence: a\npreset: first"),
    ("max_matches", lambda p: p.begin("a").max_matches(9), "sequence: a\nmax_matches: 9"),
    (
        "a time window",
        lambda p: p.begin("a").window("time", size="1 h", slide="5 min"),
        "sequence: a\nwindow: {kind: time, size: 1 h, slide: 5 min}",
    ),
    (
        "a count window",
        lambda p: p.begin("a").window("count", size=4),
        "sequence: a\nwindow: {kind: count, size: 4}",
    ),
    (
        "a session window",
        lambda p: p.begin("a").window("session", gap="1 h"),
        "sequence: a\nwindow: {kind: session, gap: 1 h}",
    ),
    (
        "a delta window",
        lambda p: p.begin("a").window("delta", column="x", by=1.5),
        "sequence: a\nwindow: {kind: delta, column: x, by: 1.5}",
    ),
    (
        "a punctuation window",
        lambda p: p.begin("a").window("punctuation", closes="x = 0"),
        "sequence: a\nwindow: {kind: punctuation, closes: x = 0}",
    ),
]


@pytest.mark.parametrize(
    ("build", "text"), [pytest.param(build, text, id=name) for name, build, text in OPERATORS]
)
def test_a_built_pattern_is_the_one_that_yaml_makes(build: Build, text: str) -> None:
    assert build(START).build() == from_yaml(HEAD + text)


def test_the_whole_of_a_pattern() -> None:
    built = (
        pattern("clinic-visit", doc="A visit to the clinic and then the pharmacy")
        .event("leave_home", "NOT in_zone(lat, lon, 'home')")
        .event("clinic", "in_zone(lat, lon, 'clinic')", stand_in={"lat": 59.93, "lon": 10.73})
        .event("office", Predicate.parse("in_zone(lat, lon, 'office')"))
        .event("pharmacy", "in_zone(lat, lon, 'pharmacy')")
        .event("hospital", "in_zone(lat, lon, 'hospital')")
        .begin("leave_home")
        .followed_by("clinic", times="1..", where="price > last(leave_home.price)")
        .not_followed_by("office")
        .followed_by(any_of("pharmacy", "hospital"), gap=gap(min="5 min", max="2 h"), optional=True)
        .within("2 h")
        .skip("skip_past_last")
        .build()
    )
    assert built == from_yaml(
        """
        name: clinic-visit
        doc: A visit to the clinic and then the pharmacy
        events:
          leave_home: NOT in_zone(lat, lon, 'home')
          clinic: {where: "in_zone(lat, lon, 'clinic')", stand_in: {lat: 59.93, lon: 10.73}}
          office: in_zone(lat, lon, 'office')
          pharmacy: in_zone(lat, lon, 'pharmacy')
          hospital: in_zone(lat, lon, 'hospital')
        stages:
          - event: leave_home
          - {event: clinic, times: 1.., where: price > last(leave_home.price)}
          - {event: office, contiguity: not_followed_by}
          - any_of: [{event: pharmacy}, {event: hospital}]
            gap: {min: 5 min, max: 2 h}
            optional: true
        within: 2 h
        skip: skip_past_last
        """
    )


def test_a_builder_is_never_changed() -> None:
    start = START.begin("a")
    before = replace(start)
    longer, other = start.next("b"), start.followed_by("c").within("1 h")
    assert start == before
    assert [one.build().text for one in (start, longer, other)] == [
        "a",
        "a >> b",
        "a -> c within 1 h",
    ]


def test_a_group_is_never_changed() -> None:
    group = steps("a")
    assert START.begin(group.next("b")).build().text == "(a >> b)"
    assert START.begin(group).build().text == "(a)"


def test_the_mapping_of_the_caller_is_copied() -> None:
    stand_in = {"x": 1.0}
    builder = pattern("p").event("a", "x > 1", stand_in=stand_in).begin("a")
    stand_in["x"] = 2.0
    assert builder.build().events["a"].stand_in == {"x": 1.0}


def test_what_is_said_again_is_replaced() -> None:
    assert START.begin("a").within("1 h").within("2 h").build().within == Duration.parse("2 h")


@pytest.mark.parametrize(
    ("builder", "messages"),
    [
        pytest.param(
            pattern("p").begin("a"),
            ["events has 0 entries; at least 1 must be"],
            id="no event types",
        ),
        pytest.param(START, ["stages has 0 entries; at least 1 must be"], id="no stages"),
        pytest.param(
            START.next("a"),
            ["stages[0].contiguity is next; nothing comes before the first stage"],
            id="next at the start",
        ),
        pytest.param(
            START.begin("a").begin("b"),
            ["stages[1] begins the pattern, but 1 stage came before; use followed_by or next"],
            id="two beginnings",
        ),
        pytest.param(
            START.event("a", "x > 9").begin("a"),
            ["events.a is declared twice; keep one of them"],
            id="an event type twice",
        ),
        pytest.param(
            START.begin("a", times="0.."),
            ["stages[0].times is '0..'; it must start at 1 or more and not end before it starts"],
            id="a wrong count",
        ),
        pytest.param(
            START.begin("a", tims=2),  # type: ignore[call-arg]
            ["stages[0].tims is not a key of a stage; did you mean times?"],
            id="an option that is misspelled",
        ),
        pytest.param(
            START.begin(any_of("a", stage("b", times=3, greedy=True))),
            [
                "stages[0].any_of[1].greedy needs a repetition that can vary, such as times: 1.. "
                "or times: 2..4"
            ],
            id="a fault inside a choice",
        ),
        pytest.param(
            START.begin("a").window("count", size=0),
            ["window.size is 0; it must be at least 1"],
            id="a window of nothing",
        ),
        pytest.param(
            replace(START, settings={"name": "Not A Name"}).begin("a").within("soon"),
            [
                "name is 'Not A Name'; a name is up to 64 small letters, digits, - and _, "
                "not starting with - or _",
                "within is 'soon'; a duration is needed, such as 30 s, 15 min, 2 h or 30 d",
            ],
            id="two faults",
        ),
        pytest.param(
            START.begin(START.begin("a")),  # type: ignore[arg-type]
            ["stages[0].event is a PatternBuilder; text is needed"],
            id="a whole pattern as a stage",
        ),
    ],
)
def test_faults_are_told_with_their_place(builder: PatternBuilder, messages: list[str]) -> None:
    with pytest.raises(SpecError) as refused:
        builder.build()
    assert [str(fault) for fault in refused.value.faults] == messages


def test_an_option_that_is_given_twice_is_refused() -> None:
    with pytest.raises(SpecError, match="a stage is given times twice"):
        START.begin(stage("a", times=2), times=3)
    with pytest.raises(SpecError, match="a stage is given event twice"):
        START.begin("a", event="b")  # type: ignore[call-arg]
