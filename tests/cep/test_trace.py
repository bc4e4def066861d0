"""Why did it match, or why not? Told by the interpreter itself, without a value of any row."""

from __future__ import annotations

import pytest

from ppm.cep.note import Cause, What
from ppm.cep.trace import Trace, trace
from ppm.spec.pattern import Pattern
from tests.cep.notation import MS, declare, events, matched, shown


def traced(pattern: Pattern, stream: str, *, watermark: int | None = None) -> Trace:
    until = None if watermark is None else watermark * MS
    return trace(pattern, events(stream), zones={}, timezone="UTC", watermark=until)


def test_why_it_did_not_match() -> None:
    assert str(traced(declare("a -> b within 5"), "a@1 c@2 b@7")) == (
        "1970-01-01T00:00:00.001000Z a\n"
        "  a new run takes it as a and goes on to b\n"
        "1970-01-01T00:00:00.002000Z c\n"
        "  [a], waiting for b, goes on without it\n"
        "1970-01-01T00:00:00.006000Z time passes\n"
        "  [a], waiting for b, dies: the window ended\n"
        "1970-01-01T00:00:00.007000Z b\n"
        "  nothing waits for it, and it starts nothing"
    )


def test_a_fork_an_absence_and_strict_contiguity() -> None:
    assert str(traced(declare("a !-> x => b? >> c"), "a b x c")) == (
        "1970-01-01T00:00:00.001000Z a\n"
        "  a new run takes it as a and goes on to b and c\n"
        "1970-01-01T00:00:00.002000Z b\n"
        "  [a], waiting for b, takes it as b and goes on to c\n"
        "  [a], waiting for b, also goes on without it, as a second run\n"
        "  [a], waiting for c, dies: the very next event had to be c\n"
        "1970-01-01T00:00:00.003000Z x\n"
        "  [a b], waiting for c, dies: the very next event had to be c\n"
        "  [a], waiting for b, dies: x must not come\n"
        "1970-01-01T00:00:00.004000Z c\n"
        "  nothing waits for it, and it starts nothing"
    )


def test_a_match_that_is_held_and_drops_others() -> None:
    pattern = declare(
        "a -> b{1,} within 4", b={"where": "price = first(a.price)"}, skip="skip_past_last"
    )
    assert str(traced(pattern, "a1(0)@1 a2(1)@2 b1(1)@3")) == (
        "1970-01-01T00:00:00.001000Z a1\n"
        "  a new run takes it as a and goes on to b\n"
        "1970-01-01T00:00:00.002000Z a2\n"
        "  [a1], waiting for b, goes on without it\n"
        "  a new run takes it as a and goes on to b\n"
        "1970-01-01T00:00:00.003000Z b1\n"
        "  [a1], waiting for b, goes on without it\n"
        "  [a2], waiting for b, takes it as b and goes on to b and the end\n"
        "  [a2 b1] is a match\n"
        "  [a2 b1] is held: a run with an earlier start is alive\n"
        "1970-01-01T00:00:00.005000Z time passes\n"
        "  [a1], waiting for b, dies: the window ended\n"
        "  [a2 b1] is told: no run with an earlier start is left\n"
        "  [a2 b1], waiting for another b, is dropped: a match was told"
    )


@pytest.mark.parametrize(
    ("pattern", "stream", "cause"),
    [
        pytest.param(declare("a >> b"), "a c", Cause.STRICT, id="strict contiguity"),
        pytest.param(declare("a{2}S"), "a c", Cause.STRICT, id="a consecutive loop"),
        pytest.param(declare("a !>> x -> b"), "a x", Cause.NOT_NEXT, id="not_next"),
        pytest.param(declare("a !-> x -> b"), "a x", Cause.NOT_FOLLOWED_BY, id="not_followed_by"),
        pytest.param(declare("a !-> x within 5"), "a x", Cause.NOT_FOLLOWED_BY, id="at the end"),
        pytest.param(declare("a -> b within 5"), "a", Cause.WINDOW, id="the window ended"),
        pytest.param(
            declare("a -> b", b={"gap": {"max": "2 ms"}}), "a", Cause.GAP, id="gap exceeded"
        ),
        pytest.param(
            declare("a >> b", b={"gap": {"min": "2 ms"}}), "a b", Cause.TOO_EARLY, id="too early"
        ),
    ],
)
def test_what_kills_a_run(pattern: Pattern, stream: str, cause: Cause) -> None:
    *_, last = traced(pattern, stream).notes
    assert (last.what, last.cause) == (What.KILLED, cause)
    assert "dies: " in str(traced(pattern, stream))


def test_an_event_that_came_too_early_is_told_apart() -> None:
    pattern = declare("a -> b", b={"gap": {"min": "2 ms"}})
    assert "[a], waiting for b, goes on without it: too early for b" in str(
        traced(pattern, "a@1 b@2")
    )


@pytest.mark.parametrize(
    ("pattern", "happened"),
    [
        pytest.param("a !-> x -> b", [What.TAKEN, What.KILLED, What.COMPLETED], id="completes"),
        pytest.param("a !-> x -> b -> c", [What.KILLED], id="does not"),
    ],
)
def test_an_event_that_breaks_an_absence_is_taken_only_to_complete(
    pattern: str, happened: list[What]
) -> None:
    notes = traced(declare(pattern), "a bx").notes
    assert [note.what for note in notes if note.event == "bx"] == happened


def test_a_trace_holds_no_values() -> None:
    pattern = declare("a -> b", b={"where": "price > 41.5 AND price > last(a.price)"})
    story = traced(pattern, "a(41.25) b1(41.125) b2(42.75)")
    assert shown(list(story.matches)) == ["a b2"]
    for text in (str(story), repr(story)):
        assert not any(price in text for price in ("41.", "42."))


def test_a_trace_ends_at_the_watermark() -> None:
    assert [event for event, _ in traced(declare("a -> b"), "a@1 b@3", watermark=2).events] == ["a"]


def test_times_that_no_calendar_holds_stay_numbers() -> None:
    assert str(traced(declare("a"), "a@9000000000000000")).startswith("9000000000000000000 a\n")


def test_the_trace_is_of_the_run_that_finds_the_matches() -> None:
    pattern, stream = declare("a -> b{1,} -> c"), "a b1 b2 c"
    assert shown(list(traced(pattern, stream).matches)) == matched(pattern, stream)
