"""Which of several finished matches wins: events that no stage wants have no say in it."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppm.cep.match import Event
from ppm.spec.pattern import Pattern
from ppm.spec.stage import Skip
from tests.cep.columnar_tables import by_columns, by_reference, compiled
from tests.cep.notation import MS, declare, events, matched
from tests.cep.pattern_streams import core_patterns

HELD = ("a -> b{1,}", "a => b{1,}C", "a -> b{1,2} -> c?", "a !-> d -> b{1,}C", "a -> b{1,} !-> d")
"""While an earlier a waits for a b of its price, several matches of a later a come to be held."""
SKIPS = ("skip_to_next", "skip_past_last", "skip_to_first(b)", "skip_to_last(b)")

seeds = st.integers(0, 2**32)
ways = st.sampled_from(
    [*({"preset": p} for p in ("all", "first", "non-overlapping"))]
    + [{"skip": Skip.parse(skip)} for skip in ("skip_to_next", "skip_past_last")]
)


def priced(text: str, **settings: Any) -> Pattern:
    """A pattern whose b and d must have the price of its a; the row alone does not tell."""
    of_a = {"where": "price = first(a.price)"}
    return declare(text, **{stage: of_a for stage in "bd" if stage in text}, **settings)


def busy_streams(seed: int, *, kinds: str, count: int = 40) -> dict[str, list[Event]]:
    """Streams in which every other event or so is of a kind that no pattern here speaks of."""
    random, found = Random(seed), {}
    for subject in range(count):
        time, stream = 0, []
        for position in range(random.randint(4, 12)):
            time += random.choice([0, 1, 1, 2])
            row = {"kind": random.choice(kinds), "price": random.choice([None, 1.0, 2.0])}
            stream.append(Event(position, time * MS, row))
        found[f"{subject:03}"] = stream
    return found


@pytest.mark.parametrize(
    ("pattern", "stream", "match"),
    [
        pytest.param("a -> b{1,}", "a1(0)@1 a2(1)@2 b1(1)@3 b2(1)@4", "a2 b1 b2", id="none"),
        pytest.param("a -> b{1,}", "a1(0)@1 a2(1)@2 b1(1)@3 x@4 b2(1)@5", "a2 b1 b2", id="unnamed"),
        pytest.param("a -> b{1,}", "a1(0)@1 a2(1)@2 b1(1)@3 a3(1)@4 b2(1)@5", "a2 b1", id="start"),
        pytest.param("a -> b{1,}", "a1(0)@1 a2(1)@2 b1(1)@3 b2(7)@4 b3(1)@5", "a2 b1", id="price"),
        pytest.param(
            "a -> b{1,} -> c?", "a1(0)@1 a2(1)@2 b1(1)@3 c@4 b2(1)@5", "a2 b1 c", id="optional"
        ),
        pytest.param(
            "a !-> d -> b{1,}", "a1(0)@1 a2(1)@2 b1(1)@3 d(7)@4 b2(1)@5", "a2 b1", id="absent"
        ),
    ],
)
def test_only_events_that_some_stage_wants_count_as_skipped(
    pattern: str, stream: str, match: str
) -> None:
    declared = priced(f"{pattern} within 9", skip="skip_past_last")
    assert matched(declared, stream)[:1] == [match]
    told = by_columns(declared, {"one": events(stream)})
    assert [event for _, event in told[0][2]] == match.split()


@pytest.mark.parametrize(
    ("where", "match"),
    [
        pytest.param("price = first(a.price)", "a2 b1", id="wanted, had the run been another"),
        pytest.param(
            "price = first(a.price) AND price < 5", "a2 b1 b3", id="wanted by no run at all"
        ),
        pytest.param(
            "price = first(a.price) OR price < 0", "a2 b1", id="the row alone cannot tell"
        ),
    ],
)
def test_what_a_condition_asks_of_the_row_alone_decides(where: str, match: str) -> None:
    settings: dict[str, Any] = {"b": {"where": where}}
    pattern = declare("a -> b{1,} within 9", skip="skip_past_last", **settings)
    stream = "a1(0)@1 a2(1)@2 b1(1)@3 b2(7)@4 b3(1)@5"
    assert matched(pattern, stream) == [match]
    [(_, _, taken)] = by_columns(pattern, {"one": events(stream)})
    assert [event for _, event in taken] == match.split()


@settings(max_examples=60)
@given(st.sampled_from(HELD), st.sampled_from(SKIPS), seeds)
def test_held_matches_win_alike_in_both_engines(text: str, skip: str, seed: int) -> None:
    pattern = priced(f"{text} within 9", skip=skip)
    streams = busy_streams(seed, kinds="aabbbcdxxxx")
    assert by_columns(pattern, streams) == by_reference(pattern, streams)


def minds_every_event(pattern: Pattern) -> bool:
    return compiled(pattern).needs_every_event


@settings(max_examples=150)
@given(core_patterns().filter(lambda one: not minds_every_event(one)), ways, seeds)
def test_traffic_that_no_stage_wants_changes_nothing(
    pattern: Pattern, way: dict[str, object], seed: int
) -> None:
    pattern = pattern.model_copy(update=way)
    streams = busy_streams(seed, kinds="aabbccxxxx", count=15)
    quiet = {
        subject: [event for event in stream if event.row["kind"] != "x"]
        for subject, stream in streams.items()
    }
    expected = by_reference(pattern, quiet)
    assert by_reference(pattern, streams) == expected
    assert by_columns(pattern, streams) == expected
