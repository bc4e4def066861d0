"""Patterns: what a declaration holds, which windows there are, and what is refused."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from pydantic import ValidationError

from ppm.spec.faults import faults_of
from ppm.spec.pattern import Pattern
from ppm.spec.stage import Stage

NAN, INFINITE = float("nan"), float("inf")


def declare(**declared: Any) -> Pattern:
    return Pattern.model_validate(
        {"name": "p", "events": {"a": "x > 1", "b": "y < 0"}, "sequence": "a -> b", **declared}
    )


def faults(**declared: Any) -> list[str]:
    with pytest.raises(ValidationError) as refused:
        declare(**declared)
    return [str(fault) for fault in faults_of(refused.value, Pattern, None)]


@pytest.mark.parametrize(
    ("declared", "messages"),
    [
        pytest.param(
            {"name": "P"},
            [
                "name is 'P'; a name is up to 64 small letters, digits, - and _, not "
                "starting with - or _"
            ],
            id="a name in capitals",
        ),
        pytest.param(
            {"withn": "1 h"},
            ["withn is not a key of a pattern; did you mean within?"],
            id="an unknown key",
        ),
        pytest.param({"doc": "x" * 4_001}, ["doc is longer than 4000 characters"], id="a book"),
        pytest.param(
            {"doc": 7},
            ["doc is the number 7; text is needed; write it in quotes"],
            id="a number as text",
        ),
        pytest.param({"events": {}}, ["events has 0 entries; at least 1 must be"], id="no events"),
        pytest.param(
            {"events": {"a b": "x > 1"}},
            [
                "events.a b has a name that cannot be; a name is up to 64 letters, digits "
                "and _, not starting with a digit"
            ],
            id="an event type with a blank",
        ),
        pytest.param(
            {"events": {"a": "x >"}, "sequence": "a"},
            ["events.a.where is not SQL: it stops too early, or a bracket is missing"],
            id="half a predicate",
        ),
        pytest.param(
            {"events": {"a": "x > last(b.x)"}, "sequence": "a"},
            [
                "events.a.where asks about other events (last(b.x)); it sees one row: put "
                "this into where of a stage"
            ],
            id="an event type that asks a stage",
        ),
        pytest.param(
            {"max_matches": 0}, ["max_matches is 0; it must be at least 1"], id="no matches at all"
        ),
        pytest.param(
            {"max_matches": True},
            ["max_matches is true; a whole number is needed"],
            id="true matches",
        ),
        pytest.param(
            {"preset": "firts"},
            ["preset is 'firts'; did you mean first?"],
            id="a misspelled preset",
        ),
        pytest.param(
            {"skip": "past"},
            [
                "skip is 'past'; allowed are no_skip, skip_to_next, skip_past_last, "
                "skip_to_first(stage), skip_to_last(stage)"
            ],
            id="an unknown strategy",
        ),
        pytest.param(
            {"window": {"kind": "tumbling"}},
            ["window.kind is 'tumbling'; allowed are count, delta, punctuation, session, time"],
            id="an unknown window",
        ),
        pytest.param({"window": {"size": 4}}, ["window needs kind"], id="a window without kind"),
        pytest.param(
            {"window": {"kind": "count", "size": 4, "slide": 5}},
            ["window.slide is 5; it must not exceed size, or rows fall between"],
            id="a slide beyond the window",
        ),
        pytest.param(
            {"window": {"kind": "time", "size": "1 h", "slide": "61 min"}},
            ["window.slide is 61 min; it must not exceed size, or rows fall between"],
            id="a slide beyond the hour",
        ),
        pytest.param(
            {"window": {"kind": "count", "size": 2.0}},
            ["window.size is the number 2.0; a whole number is needed"],
            id="a count with a fraction",
        ),
        pytest.param(
            {"window": {"kind": "delta", "column": "", "by": 1}},
            ["window.column is empty; text is needed"],
            id="a column without name",
        ),
        pytest.param(
            {"window": {"kind": "delta", "column": "x", "by": 0}},
            ["window.by is 0; it must be greater than 0"],
            id="a delta of nothing",
        ),
        pytest.param(
            {"window": {"kind": "delta", "column": "x", "by": True}},
            ["window.by is true; a number is needed"],
            id="a true delta",
        ),
    ],
)
def test_a_pattern_is_refused(declared: dict[str, Any], messages: list[str]) -> None:
    assert faults(**declared) == messages


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        pytest.param(NAN, "a finite number is needed", id="NaN"),
        pytest.param(-INFINITE, "a finite number is needed", id="minus infinity"),
        pytest.param(2**63, "a whole number of at most 64 bits is needed", id="65 bits"),
        pytest.param(None, "a plain value is needed: text, a number, true or false", id="null"),
        pytest.param([1], "a plain value is needed: text, a number, true or false", id="a list"),
    ],
)
def test_a_stand_in_that_is_no_plain_value_is_refused(value: object, sentence: str) -> None:
    events = {"a": {"where": "x > 1", "stand_in": {"x": value}}}
    (message,) = faults(events=events, sequence="a")
    assert message.startswith("events.a.stand_in.x is ")
    assert message.endswith(sentence)


@pytest.mark.parametrize("value", [True, 1, 1.0, -(2**63), "text", ""])
def test_a_stand_in_keeps_its_type(value: object) -> None:
    events = {"a": {"where": "x > 1", "stand_in": {"x": value}}}
    stand_in = declare(events=events, sequence="a").events["a"].stand_in or {}
    assert (type(stand_in["x"]), stand_in["x"]) == (type(value), value)


@pytest.mark.parametrize("number", [NAN, INFINITE, -INFINITE])
def test_a_window_needs_a_finite_number(number: float) -> None:
    with pytest.raises(ValidationError, match="finite"):
        declare(window={"kind": "delta", "column": "x", "by": number})


def test_a_bare_predicate_is_an_event_type() -> None:
    assert declare() == declare(events={"a": {"where": "x > 1"}, "b": {"where": "y < 0"}})


def test_the_order_of_event_types_does_not_matter() -> None:
    assert declare(events={"b": "y < 0", "a": "x > 1"}) == declare()


def test_true_is_a_predicate() -> None:
    assert str(declare(events={"a": True, "b": "TRUE"}).events["a"].where) == "TRUE"


def test_a_pattern_knows_what_it_reads() -> None:
    declared = Pattern.model_validate(
        {
            "name": "p",
            "events": {"a": "x > 1", "b": "y < 0"},
            "stages": [
                {"event": "a"},
                {"event": "b", "times": "1..", "where": "z > last(a.w)", "until": "u"},
            ],
            "window": {"kind": "delta", "column": "v", "by": 1},
        }
    )
    assert declared.columns == {"x", "y", "z", "w", "u", "v"}
    assert declared.types == ("a", "b")


def test_all_stages_are_those_inside_groups_too() -> None:
    stages = [{"group": [{"event": "a"}, {"any_of": [{"event": "b"}, {"event": "c"}]}]}]
    declared = Pattern.model_validate(
        {"name": "p", "events": dict.fromkeys("abc", "x > 1"), "stages": stages}
    )
    assert [stage.event for stage in declared.all_stages] == [None, "a", None, "b", "c"]


def test_a_pattern_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        declare().name = "q"  # type: ignore[misc]


def test_equal_stages_have_equal_hashes() -> None:
    one, other = (Stage.model_validate({"event": "a", "where": text}) for text in ("x>1", "x > 1"))
    assert one == other
    assert hash(one) == hash(other)


@pytest.mark.parametrize(
    ("declared", "is_valid"),
    [
        pytest.param({"sequence": "a"}, True, id="the short form"),
        pytest.param({"stages": [{"event": "a", "times": "1.."}]}, True, id="the long form"),
        pytest.param({"sequence": "a", "stages": [{"event": "a"}]}, False, id="both"),
        pytest.param({}, False, id="neither"),
        pytest.param({"sequence": "a", "within": "15min"}, True, id="a duration without blank"),
        pytest.param({"sequence": "a", "within": "soon"}, False, id="no duration"),
        pytest.param({"sequence": "a", "skip": "skip_to_last(a)"}, True, id="a skip"),
        pytest.param(
            {"sequence": "a", "window": {"kind": "count", "size": 4}}, True, id="a window"
        ),
        pytest.param({"sequence": "a", "windw": 1}, False, id="an unknown key"),
        pytest.param(
            {"sequence": "a", "events": {"a": {"where": "x > 1", "stand_in": {"x": 1.5}}}},
            True,
            id="an event type written out",
        ),
    ],
)
def test_an_editor_judges_as_the_reader_does(declared: dict[str, Any], is_valid: bool) -> None:
    whole = {"name": "p", "events": {"a": "x > 1"}, **declared}
    validator = jsonschema.Draft202012Validator(Pattern.model_json_schema())
    assert validator.is_valid(whole) is is_valid
    try:
        Pattern.model_validate(whole)
    except ValidationError:
        assert not is_valid
