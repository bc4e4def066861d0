"""The short form of a pattern: what it stands for, how it is written, and where it stops."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from ppm.spec.pattern import Pattern
from ppm.spec.sequence import OPERATORS, parse_sequence, sequence_text
from ppm.spec.stage import Stage

ENDS = "groups and the like are written as stages"


@pytest.mark.parametrize(
    ("text", "stages"),
    [
        pytest.param("a", [{"event": "a"}], id="one stage"),
        pytest.param("a -> b", [{"event": "a"}, {"event": "b"}], id="followed by"),
        pytest.param("a >> b", [{"event": "a"}, {"event": "b", "contiguity": "next"}], id="next"),
        pytest.param(
            "a => b",
            [{"event": "a"}, {"event": "b", "contiguity": "followed_by_any"}],
            id="followed by any",
        ),
        pytest.param(
            "a !>> b",
            [{"event": "a"}, {"event": "b", "contiguity": "not_next"}],
            id="not next",
        ),
        pytest.param(
            "a !-> b",
            [{"event": "a"}, {"event": "b", "contiguity": "not_followed_by"}],
            id="not followed by",
        ),
        pytest.param("a{3}", [{"event": "a", "times": 3}], id="three times"),
        pytest.param("a{2,4}", [{"event": "a", "times": "2..4"}], id="two to four times"),
        pytest.param("a{2,}", [{"event": "a", "times": "2.."}], id="twice or more"),
        pytest.param("a+", [{"event": "a", "times": "1.."}], id="once or more"),
        pytest.param("a?", [{"event": "a", "optional": True}], id="optional"),
        pytest.param("a*", [{"event": "a", "times": "1..", "optional": True}], id="any number"),
        pytest.param(
            "a{2,}?", [{"event": "a", "times": "2..", "optional": True}], id="optional loop"
        ),
        pytest.param("first:a", [{"event": "a", "name": "first"}], id="a stage with a name"),
        pytest.param(
            "\n a{ 2 , 4 } ?\n->x : b\t",
            [{"event": "a", "times": "2..4", "optional": True}, {"event": "b", "name": "x"}],
            id="blanks do not matter",
        ),
        pytest.param(
            "a->b>>c",
            [{"event": "a"}, {"event": "b"}, {"event": "c", "contiguity": "next"}],
            id="no blanks",
        ),
    ],
)
def test_the_short_form_stands_for_stages(text: str, stages: list[dict[str, Any]]) -> None:
    assert parse_sequence(text) == stages


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", f"it ends where an event type is expected; {ENDS}", id="nothing"),
        pytest.param("a ->", f"it ends where an event type is expected; {ENDS}", id="no end"),
        pytest.param(
            "-> a", f"'-> a' stands where an event type is expected; {ENDS}", id="no start"
        ),
        pytest.param(
            "a b", f"'b' stands where ->, >>, =>, !-> or !>> is expected; {ENDS}", id="no operator"
        ),
        pytest.param(
            "a - > b",
            f"'- > b' stands where ->, >>, =>, !-> or !>> is expected; {ENDS}",
            id="a torn operator",
        ),
        pytest.param(
            "a !=> b",
            f"'!=> b' stands where ->, >>, =>, !-> or !>> is expected; {ENDS}",
            id="an operator that is none",
        ),
        pytest.param(
            "a -> (b | c)",
            f"'(b | c)' stands where an event type is expected; {ENDS}",
            id="brackets",
        ),
        pytest.param(
            "a{2}{3}",
            f"'{{3}}' stands where ->, >>, =>, !-> or !>> is expected; {ENDS}",
            id="two quantifiers",
        ),
        pytest.param(
            "a+*", f"'*' stands where ->, >>, =>, !-> or !>> is expected; {ENDS}", id="two marks"
        ),
        pytest.param(
            "a?{2}",
            f"'{{2}}' stands where ->, >>, =>, !-> or !>> is expected; {ENDS}",
            id="the question mark comes last",
        ),
        pytest.param(
            "a{2 3}",
            f"'{{2 3}}' stands where ->, >>, =>, !-> or !>> is expected; {ENDS}",
            id="a comma is missing",
        ),
        pytest.param(
            "a{,3}",
            f"'{{,3}}' stands where ->, >>, =>, !-> or !>> is expected; {ENDS}",
            id="no least number",
        ),
        pytest.param(
            "a{10000}",
            f"'{{10000}}' stands where ->, >>, =>, !-> or !>> is expected; {ENDS}",
            id="a number with five digits",
        ),
        pytest.param(
            "2a", f"'2a' stands where an event type is expected; {ENDS}", id="starts with a digit"
        ),
        pytest.param(
            "a -> ümlaut",
            f"'ümlaut' stands where an event type is expected; {ENDS}",
            id="a letter that is not ASCII",
        ),
        pytest.param(
            ["a", "b"],
            "a sequence is needed, such as leave_home -> clinic -> pharmacy",
            id="a list",
        ),
    ],
)
def test_the_short_form_is_refused_where_it_stops_making_sense(text: object, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        parse_sequence(text)


def test_blanks_without_end_take_no_time() -> None:
    start = time.perf_counter()
    with pytest.raises(ValueError, match="stands where"):
        parse_sequence("a{1" + " " * 100_000 + "x")
    assert time.perf_counter() - start < 0.5


@pytest.mark.parametrize(
    ("stages", "text"),
    [
        pytest.param([{"event": "a", "times": 1}], "a", id="once"),
        pytest.param([{"event": "a", "times": "1.."}], "a{1,}", id="once or more"),
        pytest.param([{"event": "a", "times": "2..4", "optional": True}], "a{2,4}?", id="a range"),
        pytest.param([{"event": "a", "name": "a"}], "a", id="a name that says nothing new"),
        pytest.param(
            [
                {"event": "a"},
                {"group": [{"event": "b"}, {"event": "c", "contiguity": "next"}], "times": 2},
            ],
            "a -> (b >> c){2}",
            id="a group",
        ),
        pytest.param(
            [{"any_of": [{"event": "a"}, {"event": "b", "times": 2}], "optional": True}],
            "(a | b{2})?",
            id="a choice",
        ),
        pytest.param([{"all_of": [{"event": "a"}, {"event": "b"}]}], "(a & b)", id="any order"),
    ],
)
def test_stages_are_shown_on_one_line(stages: list[dict[str, Any]], text: str) -> None:
    assert sequence_text(tuple(Stage.model_validate(stage) for stage in stages)) == text


def test_an_editor_is_told_every_operator_of_the_short_form() -> None:
    told = Pattern.model_json_schema()["properties"]["sequence"]["description"]
    assert all(
        f"{sign} {contiguity.replace('_', ' ')}" in told for sign, contiguity in OPERATORS.items()
    )


def test_an_editor_wants_either_stages_or_sequence() -> None:
    schema = Pattern.model_json_schema()
    assert schema["oneOf"] == [{"required": ["stages"]}, {"required": ["sequence"]}]
    assert "stages" not in schema["required"]
