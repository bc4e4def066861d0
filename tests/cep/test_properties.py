"""What holds for every pattern and every stream."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ppm.cep.machine import machine_of
from ppm.cep.match import Event, Match
from ppm.cep.reference import State, find, matches_of, process
from ppm.cep.run import END_OF_TIME
from ppm.spec.pattern import Pattern
from ppm.spec.stage import Skip
from tests.cep.notation import MS
from tests.cep.oracle import all_matches
from tests.cep.pattern_streams import EVENTS, SKIPS, TYPES, core_patterns, streams

presets = st.sampled_from(["all", "first", "non-overlapping"])


def found(pattern: Pattern, events: list[Event], **settings: Any) -> list[Match]:
    changed = pattern.model_copy(update=settings)
    return find(changed, events, zones={}, timezone="UTC", timed_out=True)


def ids(pattern: Pattern, events: list[Event], **settings: Any) -> set[str]:
    return {m.id for m in found(pattern, events, **settings) if m.kind == "match"}


def sequence(types: list[str], sign: str, within: int | None = None) -> Pattern:
    text = f" {sign} ".join(f"s{place}:{one}" for place, one in enumerate(types))
    window = {} if within is None else {"within": f"{within} ms"}
    return Pattern.model_validate({"name": "p", "events": EVENTS, "sequence": text, **window})


@given(core_patterns(), streams(), presets, st.randoms())
def test_the_order_of_arrival_does_not_matter(
    pattern: Pattern, events: list[Event], preset: str, random: Any
) -> None:
    shuffled = random.sample(events, len(events))
    assert found(pattern, shuffled, preset=preset) == found(pattern, events, preset=preset)


@given(core_patterns(), streams(), presets, st.lists(st.integers(-2, 30)), st.integers(0, 3))
def test_watermark_steps_find_what_one_pass_finds(
    pattern: Pattern, events: list[Event], preset: str, steps: list[int], ahead: int
) -> None:
    pattern = pattern.model_copy(update={"preset": preset})
    machine = machine_of(pattern, zones={}, timezone="UTC")
    state, completed, timed_out = State(), [], []
    rest = events
    for watermark in [*(step * MS for step in sorted(steps)), END_OF_TIME]:
        # Some events come long before the watermark does, none after it.
        due = [event for event in rest if event.time <= watermark + ahead * MS]
        rest = [event for event in rest if event.time > watermark + ahead * MS]
        progress = process(machine, state, reversed(due), watermark=watermark)
        assert not progress.late
        state = progress.state
        completed += matches_of(machine, progress)
        timed_out += matches_of(machine, progress, timed_out=True)[len(progress.completed) :]
    assert completed + timed_out == found(pattern, events)


@given(core_patterns(), streams(), st.sampled_from(SKIPS), presets)
def test_skipping_only_drops(pattern: Pattern, events: list[Event], skip: str, preset: str) -> None:
    everything = ids(pattern, events)
    assert ids(pattern, events, preset=preset) <= everything
    assert ids(pattern, events, skip=Skip.parse(skip)) <= everything


@given(core_patterns(), streams(), presets)
def test_ids_are_unique_and_stable(pattern: Pattern, events: list[Event], preset: str) -> None:
    matches = found(pattern, events, preset=preset)
    names = [match.id for match in matches]
    assert len(set(names)) == len(names)
    assert names == [match.id for match in found(pattern, events, preset=preset)]


@given(core_patterns(always_within=True), streams())
def test_matches_keep_to_their_window_and_order(pattern: Pattern, events: list[Event]) -> None:
    assert pattern.within is not None
    for match in found(pattern, events):
        order = [event.order for event in match.events]
        assert order == sorted(set(order))
        assert match.last.time - match.first.time < pattern.within.microseconds


@given(core_patterns(), streams())
def test_non_overlapping_matches_do_not_overlap(pattern: Pattern, events: list[Event]) -> None:
    matches = [
        match for match in found(pattern, events, preset="non-overlapping") if match.kind == "match"
    ]
    for one, other in pairwise(matches):
        assert one.last.order < other.first.order


@given(core_patterns(), streams())
def test_first_tells_one_match_for_each_start_that_has_any(
    pattern: Pattern, events: list[Event]
) -> None:
    everything = [m for m in found(pattern, events) if m.kind == "match"]
    first = [m for m in found(pattern, events, preset="first") if m.kind == "match"]
    earliest: dict[object, int] = {}
    for match in everything:
        earliest[match.first.id] = min(match.at, earliest.get(match.first.id, match.at))
    assert {match.first.id: match.at for match in first} == earliest
    assert len(first) == len(earliest)


@given(st.lists(st.sampled_from(TYPES), min_size=1, max_size=4), streams())
def test_followed_by_finds_some_of_what_followed_by_any_finds(
    types: list[str], events: list[Event]
) -> None:
    assert ids(sequence(types, "->"), events) <= ids(sequence(types, "=>"), events)
    assert ids(sequence(types, ">>"), events) <= ids(sequence(types, "->"), events)


@given(
    st.lists(st.sampled_from(TYPES), min_size=1, max_size=4),
    streams(),
    st.none() | st.integers(1, 9),
)
def test_followed_by_any_finds_every_choice_of_events(
    types: list[str], events: list[Event], within: int | None
) -> None:
    chosen = {
        tuple(event.id for event in choice)
        for choice in combinations(events, len(types))
        if all(one in str(e.row["kind"]) for one, e in zip(types, choice, strict=True))
        and (within is None or choice[-1].time - choice[0].time < within * MS)
    }
    matches = find(sequence(types, "=>", within), events, zones={}, timezone="UTC")
    assert sorted(tuple(e.id for e in m.events) for m in matches) == sorted(chosen)


@given(core_patterns(), streams(most=7))
def test_the_interpreter_agrees_with_a_second_reading_of_the_rules(
    pattern: Pattern, events: list[Event]
) -> None:
    matches = [m for m in found(pattern, events) if m.kind == "match"]
    told = [tuple((stage, e.id) for stage, es in m.stages for e in es) for m in matches]
    assert set(told) == all_matches(pattern, events)
