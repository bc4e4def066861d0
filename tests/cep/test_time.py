"""Windows, gaps, time-outs, watermarks and the order of events."""

from __future__ import annotations

from typing import Any

import pytest

from ppm.cep.machine import machine_of
from ppm.cep.match import Event
from ppm.cep.reference import State, find, matches_of, process
from tests.cep.notation import MS, declare, events, matched, shown

A_THEN_B = declare("a -> b within 5")


@pytest.mark.parametrize(
    ("pattern", "stream", "matches"),
    [
        pytest.param("a -> b within 5", "a@1 b@5", ["a b"], id="inside"),
        pytest.param("a -> b within 5", "a@1 b@6", [], id="the end is exclusive"),
        pytest.param("a -> b -> c within 5", "a@1 b@4 c@7", [], id="counted from the first event"),
        pytest.param("a -> b within 5", "a1@1 a2@3 b@7", ["a2 b"], id="each start has its own"),
        pytest.param("a -> b within 5", "a@-3 b@0", ["a b"], id="before 1970"),
        pytest.param("a -> b within 5", "a@-3 b@2", [], id="which ends as well"),
        pytest.param(
            "a{1,} within 3", "a1@1 a2@2 a3@4", ["a1", "a1 a2", "a2", "a2 a3", "a3"], id="loop"
        ),
    ],
)
def test_within(pattern: str, stream: str, matches: list[str]) -> None:
    assert matched(declare(pattern), stream) == matches


@pytest.mark.parametrize(
    ("pattern", "gap", "stream", "matches"),
    [
        pytest.param("a -> b", {"max": "5 ms"}, "a@1 b@5", ["a b"], id="max: inside"),
        pytest.param("a -> b", {"max": "5 ms"}, "a@1 b@6", [], id="max: the end is exclusive"),
        pytest.param("a -> b", {"min": "5 ms"}, "a@1 b@6", ["a b"], id="min: inclusive"),
        pytest.param(
            "a -> b", {"min": "5 ms"}, "a@1 b1@5 b2@6", ["a b2"], id="min: too early is ignored"
        ),
        pytest.param("a >> b", {"min": "5 ms"}, "a@1 b1@5 b2@6", [], id="min: unless it is next"),
        pytest.param(
            "a => b", {"min": "3 ms"}, "a@1 b1@2 b2@4 b3@5", ["a b2", "a b3"], id="min: any"
        ),
        pytest.param(
            "a -> b", {"min": "2 ms", "max": "4 ms"}, "a@1 b1@2 b2@3 b3@4", ["a b2"], id="both"
        ),
        pytest.param(
            "a -> b{1,}",
            {"max": "3 ms"},
            "a@1 b1@2 b2@4 b3@7",
            ["a b1", "a b1 b2"],
            id="max: also from one event of a loop to the next",
        ),
        pytest.param(
            "a -> b{1,}",
            {"min": "3 ms"},
            "a@1 b1@4 b2@5 b3@7",
            ["a b1", "a b1 b3"],
            id="min: also inside a loop",
        ),
        pytest.param(
            "a -> b -> c", {"max": "3 ms"}, "a@1 b@2 c@9", ["a b c"], id="only the stage it is on"
        ),
        pytest.param("a -> b? -> c", {"max": "3 ms"}, "a@1 b@4 c@5", ["a c"], id="optional"),
        pytest.param("c? -> b", {"max": "3 ms"}, "b@9", ["b"], id="no event before: no gap"),
    ],
)
def test_gaps(pattern: str, gap: dict[str, Any], stream: str, matches: list[str]) -> None:
    assert matched(declare(pattern, b={"gap": gap}), stream) == matches


@pytest.mark.parametrize(
    ("pattern", "stream", "over"),
    [
        pytest.param("a -> b within 5", "a@1", ["a"], id="the window ended"),
        pytest.param("a -> b within 5", "a@1 b@2", [], id="it was a match"),
        pytest.param("a => b within 5", "a@1 b@2", ["a"], id="it waited for another b"),
        pytest.param("a -> b{1,} within 5", "a@1 b@2", [], id="a loop that was a match already"),
        pytest.param("a -> b{1,} -> c within 5", "a@1 b@2", ["a b"], id="two forks, told once"),
        pytest.param("a -> b{1,} !-> c within 5", "a@1 b@2", [], id="a match at that very moment"),
        pytest.param("a !>> b within 5", "a@1", ["a"], id="undecided"),
        pytest.param("a -> b", "a@1", [], id="no window, no end"),
    ],
)
def test_partial_matches_whose_time_ran_out(pattern: str, stream: str, over: list[str]) -> None:
    assert matched(declare(pattern), stream, timed_out=True) == over


def test_a_gap_times_out_by_the_watermark_alone() -> None:
    pattern = declare("a -> b", b={"gap": {"max": "3 ms"}})
    assert matched(pattern, "a@1", watermark=3, timed_out=True) == []
    assert matched(pattern, "a@1", watermark=4, timed_out=True) == ["a"]


def test_a_loop_that_outlived_its_gap_lives_on_in_its_other_fork() -> None:
    pattern = declare("a -> b{1,} -> c within 20", b={"gap": {"max": "3 ms"}})
    assert matched(pattern, "a@1 b@2", watermark=10, timed_out=True) == []
    assert matched(pattern, "a@1 b@2", timed_out=True) == ["a b"]


def test_time_outs_of_one_moment_are_told_by_rank() -> None:
    pattern = declare("a => b -> c within 5")
    over = matched(pattern, "a@1 b1@2 x@3 b2@4", timed_out=True)
    assert over == ["a b1", "a", "a b2"]


def test_only_what_a_live_run_has_taken_is_remembered_as_told() -> None:
    machine = machine_of(declare("a -> b{1,} within 5"), zones={}, timezone="UTC")
    state = State()
    for time in range(1, 60, 2):
        pair = events(f"a{time}@{time} b{time}@{time + 1}")
        state = process(machine, state, pair, watermark=(time + 1) * MS).state
        assert state.ended == {
            tuple((one.step, one.position) for one in run.taken) for run in state.runs
        }
    assert process(machine, state, [], watermark=99 * MS).state.ended == frozenset()


@pytest.mark.parametrize(
    ("stream", "kind", "at"),
    [
        pytest.param("a@1 b@4", "match", 4, id="by its last event"),
        pytest.param("a@1", "timed_out", 6, id="by the window's end"),
    ],
)
def test_when_a_match_is_certain(stream: str, kind: str, at: int) -> None:
    [match] = find(A_THEN_B, events(stream), zones={}, timezone="UTC", timed_out=True)
    assert (match.kind, match.at) == (kind, at * MS)


def test_an_absence_is_certain_when_the_wait_is_over() -> None:
    pattern = declare("a !-> b", b={"lasting": "5 ms"})
    [match] = find(pattern, events("a@1 c@90"), zones={}, timezone="UTC")
    assert match.at == 6 * MS


@pytest.mark.parametrize(
    ("watermark", "matches"),
    [
        pytest.param(3, [], id="not yet"),
        pytest.param(4, ["a"], id="at the window's end, with no further event"),
    ],
)
def test_the_watermark_ends_windows(watermark: int, matches: list[str]) -> None:
    assert matched(declare("a !-> b within 3"), "a@1", watermark=watermark) == matches


def test_events_beyond_the_watermark_wait() -> None:
    assert matched(A_THEN_B, "a@1 b@3", watermark=2) == []
    assert matched(A_THEN_B, "a@1 b@3", watermark=3) == ["a b"]


@pytest.mark.parametrize(
    ("stream", "matches"),
    [
        pytest.param("b@3 a@1", ["a b"], id="out of order"),
        pytest.param("b@1 a@1", ["a b"], id="equal times go by id"),
        pytest.param("b1@1 c@1 a@2", [], id="the time comes first"),
        pytest.param("a2@1 a1@1 b@1", ["a1 b", "a2 b"], id="starts too"),
    ],
)
def test_the_order_of_arrival_does_not_matter(stream: str, matches: list[str]) -> None:
    assert matched(A_THEN_B, stream) == matches


def test_whole_number_ids_go_by_size() -> None:
    rows = [Event(10, 0, {"kind": "b", "price": 0}), Event(9, 0, {"kind": "a", "price": 0})]
    [match] = find(A_THEN_B, rows, zones={}, timezone="UTC")
    assert (match.first.id, match.last.id) == (9, 10)


def test_two_events_of_one_id_are_refused() -> None:
    with pytest.raises(ValueError, match="two events have one id"):
        matched(A_THEN_B, "a@1 a@2")


def test_late_events_are_counted_and_leave_matches_alone() -> None:
    machine = machine_of(A_THEN_B, zones={}, timezone="UTC")
    first = process(machine, State(), events("a@1"), watermark=2 * MS)
    second = process(machine, first.state, events("x@2 b@3"), watermark=9 * MS)
    assert [event.id for event in second.late] == ["x"]
    assert shown(matches_of(machine, second)) == ["a b"]
    assert second.state.runs == ()


def test_a_watermark_never_goes_back() -> None:
    machine = machine_of(A_THEN_B, zones={}, timezone="UTC")
    state = process(machine, State(), [], watermark=0).state
    state = process(machine, state, [], watermark=-5 * MS).state
    assert process(machine, state, events("a@-1"), watermark=9 * MS).late
