"""YAML as a person would have written it: what is quoted, folded and shortened."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest

from ppm.spec.consumer import Consumer
from ppm.spec.document import read_document
from ppm.spec.pattern import Pattern
from ppm.spec.policy import Policy
from ppm.spec.write import to_yaml


def pattern(**declared: Any) -> Pattern:
    whole = {"name": "p", "events": {"a": "x > 1", "b": "x < 0"}, "sequence": "a -> b"}
    if "stages" in declared:
        del whole["sequence"]
    return Pattern.model_validate(whole | declared)


def test_a_pattern_as_a_person_would_write_it() -> None:
    text = """\
        name: clinic-visit
        doc: >-
          A visit to the clinic and then to the pharmacy, on one day, by somebody who left home in
          the morning and has not been at work.
        events:
          leave_home: NOT in_zone(lat, lon, 'home')
          clinic:
            where: in_zone(lat, lon, 'clinic')
            stand_in:
              lat: 59.93
              note: "true"
        stages:
          - event: leave_home
          - event: clinic
            where: price > last(leave_home.price)
            times: 1..
            gap:
              max: 90 min
          - any_of:
              - event: leave_home
                name: left
              - event: clinic
                name: back
            contiguity: next
        within: 2 h
        skip: skip_to_last(clinic)
        """
    written = dedent(text)
    read = Pattern.model_validate(read_document(written, "x.yaml").values)
    assert to_yaml(read) == written


def test_a_policy_as_a_person_would_write_it() -> None:
    text = """\
        name: marvin
        version: 3
        stream:
          subject: who
          time: at
          slot: 15 min
          from: 2026-03-01T00:00:00+01:00
          lateness: 5 min
          subjects:
            - marvin
            - "42"
          zones:
            home:
              center: [59.91, 10.75]
              radius: 200 m
            park:
              corners:
                - [59.9, 10.7]
                - [59.9, 10.8]
                - [59.8, 10.7]
        communities:
          everybody: {}
          colleagues:
            extends: everybody
            protect:
              clinic-visit:
                mechanism: response
                epsilon: 1.5
            columns:
              - rule: drop
                column: heart rate
        """
    written = dedent(text)
    read = Policy.model_validate(read_document(written, "x.yaml").values)
    assert to_yaml(read) == written


def test_a_query_written_out_is_shortened_too() -> None:
    declared = {
        "name": "c",
        "policy": "p",
        "community": "all",
        "model": "opaque",
        "queries": [{"name": "q", "pattern": pattern().as_plain()}],
    }
    (query,) = read_document(to_yaml(Consumer.model_validate(declared)), "x.yaml").values["queries"]
    assert query["pattern"]["sequence"] == "a -> b"


@pytest.mark.parametrize(
    ("doc", "written"),
    [
        pytest.param("NO", "doc: NO", id="NO is a word here"),
        pytest.param("12:30", "doc: 12:30", id="a time of day is a word"),
        pytest.param("2026-03-01", "doc: 2026-03-01", id="a date is a word"),
        pytest.param("0o17", "doc: 0o17", id="an octal number is a word"),
        pytest.param("true", 'doc: "true"', id="true is none"),
        pytest.param("null", 'doc: "null"', id="null is none"),
        pytest.param("17", 'doc: "17"', id="a number is none"),
        pytest.param("1e999", 'doc: "1e999"', id="too large a number is none"),
        pytest.param("a: b", 'doc: "a: b"', id="a colon and a blank"),
        pytest.param("a:b", "doc: a:b", id="a colon without blank"),
        pytest.param("a #1", 'doc: "a #1"', id="a comment"),
        pytest.param("- a", 'doc: "- a"', id="a dash"),
        pytest.param("*a", 'doc: "*a"', id="an alias"),
        pytest.param("[a]", 'doc: "[a]"', id="a bracket"),
        pytest.param("it's", "doc: it's", id="a quote inside"),
        pytest.param("'it'", "doc: \"'it'\"", id="quotes around"),
        pytest.param('say "a"\\b: c', 'doc: "say \\"a\\"\\\\b: c"', id="what quotes must escape"),
        pytest.param("größe 😀", "doc: größe 😀", id="letters of every script"),
        pytest.param(" a", 'doc: " a"', id="a blank in front"),
        pytest.param("a\tb", 'doc: "a\\tb"', id="a tab"),
        pytest.param(
            "a\0\x85\u2028\ufeff", 'doc: "a\\u0000\\u0085\\u2028\\ufeff"', id="what nobody sees"
        ),
        pytest.param("\U0010ffff", 'doc: "\\U0010ffff"', id="the last character"),
        pytest.param("a\nb", "doc: |-\n  a\n  b", id="two lines"),
        pytest.param("a\n\nb\n", "doc: |\n  a\n\n  b", id="two paragraphs and a line end"),
        pytest.param("a\n b", 'doc: "a\\n b"', id="a line with an indent"),
        pytest.param("a\n\n", 'doc: "a\\n\\n"', id="an empty last line"),
        pytest.param("---", "doc: ---", id="three dashes"),
    ],
)
def test_only_what_needs_quotes_is_quoted(doc: str, written: str) -> None:
    text = to_yaml(pattern(doc=doc))
    assert text.startswith(f"name: p\n{written}\nevents:\n")
    assert read_document(text, "x.yaml").values["doc"] == doc


@pytest.mark.parametrize(
    ("stages", "has_short_form"),
    [
        pytest.param([{"event": "a"}, {"event": "b", "times": "2.."}], True, id="a loop"),
        pytest.param([{"event": "a", "name": "x"}], True, id="a name"),
        pytest.param([{"event": "a", "name": "a"}], False, id="a name that the short form drops"),
        pytest.param([{"event": "a", "where": "x > 2"}], False, id="a condition"),
        pytest.param(
            [{"event": "a", "times": 2, "loop": "consecutive"}], False, id="a strict loop"
        ),
        pytest.param([{"group": [{"event": "a"}]}], False, id="a group"),
    ],
)
def test_the_short_form_is_used_where_it_says_all(
    stages: list[dict[str, Any]], has_short_form: bool
) -> None:
    values = read_document(to_yaml(pattern(stages=stages)), "x.yaml").values
    assert ("sequence" in values, "stages" in values) == (has_short_form, not has_short_form)


@pytest.mark.parametrize(
    "name", ["<<", "true", "7", "a: b", " ", "x" * 255, "\u2028" * 255, "a\nb"]
)
def test_any_column_can_be_a_key(name: str) -> None:
    events = {"a": {"where": "x > 1", "stand_in": {name: 1}}}
    text = to_yaml(pattern(events=events, stages=[{"event": "a"}]))
    stand_in = read_document(text, "x.yaml").values["events"]["a"]["stand_in"]
    assert stand_in == {name: 1}
