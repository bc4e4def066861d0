"""Which matches are told once one was found: skip strategies and presets."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cep.notation import declare, matched


@pytest.mark.parametrize(
    ("pattern", "skip", "stream", "matches"),
    [
        pytest.param("a -> b", "no_skip", "a1 a2 b", ["a1 b", "a2 b"], id="nothing is dropped"),
        pytest.param("a -> b", "skip_past_last", "a1 a2 b", ["a1 b"], id="no start inside a match"),
        pytest.param(
            "a -> b", "skip_past_last", "a1 b1 a2 b2", ["a1 b1", "a2 b2"], id="but after it"
        ),
        pytest.param("a -> b", "skip_past_last", "a1 ab b2", ["a1 ab"], id="nor at its last event"),
        pytest.param("a >> b{1,}", "skip_past_last", "a b1 b2", ["a b1"], id="prefixes come first"),
        pytest.param("a => b", "skip_to_next", "a1 a2 b1 b2", ["a1 b1", "a2 b1"], id="to_next"),
        pytest.param("a -> b{1,}", "skip_to_next", "a b1 b2", ["a b1"], id="one for each start"),
        pytest.param(
            "a -> b? -> c within 9",
            "skip_to_first(b)",
            "a1 a2 c",
            ["a1 c", "a2 c"],
            id="a target that took nothing drops nothing",
        ),
        pytest.param(
            "a -> b -> c",
            "skip_to_first(b)",
            "a1 a2 ab c1 b2 c2",
            ["a1 ab c1", "ab b2 c2"],
            id="a start at the target lives",
        ),
        pytest.param(
            "a -> b{2} -> c",
            "skip_to_last(b)",
            "a1 b1 a2 b2 a3 c1 b3 b4 c2",
            ["a1 b1 b2 c1", "a3 b3 b4 c2"],
            id="to_last",
        ),
    ],
)
def test_skip(pattern: str, skip: str, stream: str, matches: list[str]) -> None:
    assert matched(declare(pattern, skip=skip), stream) == matches


PRICE = {"b": {"where": "price = first(a.price)"}}


@pytest.mark.parametrize(
    ("text", "stream", "watermark", "matches"),
    [
        pytest.param("a -> b", "a1(0) a2(1) b1(1)", None, [], id="held while a1 may still match"),
        pytest.param("a -> b", "a1(0) a2(1) b1(1) b2(0)", None, ["a1 b2"], id="and dropped by it"),
        pytest.param(
            "a -> b within 5", "a1(0)@1 a2(1)@2 b1(1)@3", 5, [], id="held until the window ends"
        ),
        pytest.param(
            "a -> b within 5", "a1(0)@1 a2(1)@2 b1(1)@3", 6, ["a2 b1"], id="freed by the window"
        ),
        pytest.param("a !-> x -> b", "a1(0) a2(1) b1(1) x", None, ["a2 b1"], id="freed by a kill"),
    ],
)
def test_a_match_is_held_while_an_earlier_start_is_alive(
    text: str, stream: str, watermark: int | None, matches: list[str]
) -> None:
    pattern = declare(text, skip="skip_past_last", **PRICE)
    assert matched(pattern, stream, watermark=watermark) == matches


@pytest.mark.parametrize(
    ("pattern", "stream", "match"),
    [
        pytest.param("a -> b{1,} -> c", "a b1 b2 c", "a b1 b2 c", id="fewer skipped events first"),
        pytest.param("a => b => c", "a b1 b2 c", "a b1 c", id="then the one with earlier events"),
    ],
)
def test_one_of_several_matches_with_the_same_start(pattern: str, stream: str, match: str) -> None:
    assert matched(declare(pattern, skip="skip_past_last"), stream) == [match]


def test_of_held_matches_that_skipped_equally_many_events_the_longer_one_is_told() -> None:
    pattern = declare("a -> b{1,} within 9", skip="skip_past_last", **PRICE)
    assert matched(pattern, "a1(0)@1 a2(1)@2 b1(1)@3 b2(1)@4") == ["a2 b1 b2"]
    assert matched(pattern, "a2(1)@2 b1(1)@3 b2(1)@4") == ["a2 b1"]


@pytest.mark.parametrize(
    ("preset", "pattern", "stream", "matches"),
    [
        pytest.param("all", "a => b", "a b1 b2", ["a b1", "a b2"], id="all"),
        pytest.param("first", "a => b", "a b1 b2", ["a b1"], id="first"),
        pytest.param(
            "first", "a => b", "a1 a2 b1 b2", ["a1 b1", "a2 b1"], id="first of each start"
        ),
        pytest.param("first", "a -> b{1,} -> c", "a b1 b2 c", ["a b1 b2 c"], id="first: a tie"),
        pytest.param("first", "a -> b?", "a b", ["a"], id="first: as early as possible"),
        pytest.param("non-overlapping", "a -> b", "a1 a2 b1 a3 b2", ["a1 b1", "a3 b2"], id="non"),
    ],
)
def test_presets(preset: str, pattern: str, stream: str, matches: list[str]) -> None:
    assert matched(declare(pattern, preset=preset), stream) == matches


@pytest.mark.parametrize(
    ("settings", "matches"),
    [
        pytest.param({"preset": "first"}, ["a2 b1", "a1 b2"], id="first holds nothing back"),
        pytest.param({"skip": "skip_to_next"}, ["a1 b2", "a2 b1"], id="skip_to_next does"),
    ],
)
def test_first_tells_a_match_at_once(settings: dict[str, Any], matches: list[str]) -> None:
    pattern = declare("a -> b", **PRICE, **settings)
    assert matched(pattern, "a1(0) a2(1) b1(1) b2(0)") == matches
