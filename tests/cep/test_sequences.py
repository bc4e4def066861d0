"""How events follow one another: contiguity, repetition, optional stages and conditions."""

from __future__ import annotations

import pytest

from ppm.errors import BindingError
from tests.cep.notation import declare, events, matched


def check(pattern: str, stream: str, matches: str) -> None:
    expected = matches.split("; ") if matches else []
    assert sorted(matched(declare(pattern), stream)) == sorted(expected)


@pytest.mark.parametrize(
    ("pattern", "stream", "matches"),
    [
        pytest.param("a", "a1 b a2", "a1; a2", id="one event"),
        pytest.param("a >> b", "a b", "a b", id="next"),
        pytest.param("a >> b", "a x b", "", id="next allows nothing between"),
        pytest.param("a -> b", "a x b1 b2", "a b1", id="followed_by takes the first one only"),
        pytest.param("a => b", "a x b1 b2", "a b1; a b2", id="followed_by_any takes each"),
        pytest.param("a -> b", "a1 a2 b", "a1 b; a2 b", id="every event may be a start"),
        pytest.param("x:a -> y:a", "a1 a2 a3", "a1 a2; a2 a3", id="one type twice"),
        pytest.param("a -> b", "ab1 ab2", "ab1 ab2", id="an event is taken once by a run"),
        pytest.param("a -> b >> c", "a b1 b2 c", "", id="strict after relaxed: b1 is taken"),
        pytest.param("a => b >> c", "a b1 b2 c", "a b2 c", id="strict after any"),
        pytest.param("a -> b", "b a", "", id="order matters"),
    ],
)
def test_contiguity(pattern: str, stream: str, matches: str) -> None:
    check(pattern, stream, matches)


@pytest.mark.parametrize(
    ("pattern", "stream", "matches"),
    [
        pytest.param("a{2}", "a1 a2 a3", "a1 a2; a2 a3", id="exactly"),
        pytest.param("a{2}", "a1 x a2", "a1 a2", id="loops are relaxed"),
        pytest.param("a{2}S", "a1 x a2 a3", "a2 a3", id="unless they are consecutive"),
        pytest.param("a{2}C", "a1 a2 a3", "a1 a2; a1 a3; a2 a3", id="or combinations"),
        pytest.param("a{1,2}", "a1 a2", "a1; a1 a2; a2", id="every prefix is a match (R5)"),
        pytest.param("a >> b{1,}", "a b1 b2", "a b1; a b1 b2", id="as soon as it is there"),
        pytest.param("a >> b{1,}S", "a b1 x b2", "a b1", id="a consecutive loop breaks"),
        pytest.param("a >> b{2,3} >> c", "a b1 b2 b3 c", "a b1 b2 b3 c", id="range, then next"),
        pytest.param("a -> b{2,3} -> c", "a b c", "", id="too few"),
        pytest.param("a{2,} >> b", "a1 a2 a3 b", "a1 a2 a3 b; a2 a3 b", id="at least two"),
        pytest.param(
            "a{2,}C >> b", "a1 a2 a3 b", "a1 a2 a3 b; a1 a3 b; a2 a3 b", id="any two or more"
        ),
        pytest.param("a >> b{2}C", "a b1 b2 b3", "a b1 b2; a b1 b3", id="next binds the first one"),
    ],
)
def test_times(pattern: str, stream: str, matches: str) -> None:
    check(pattern, stream, matches)


@pytest.mark.parametrize(
    ("pattern", "stream", "matches"),
    [
        pytest.param("a -> b? -> c", "a c", "a c", id="left out"),
        pytest.param("a -> b? -> c", "a b c", "a b c; a c", id="both forks go on"),
        pytest.param("a >> b? >> c", "a b c", "a b c", id="strict: only one can"),
        pytest.param("a >> b? >> c? >> d", "a d", "a d", id="two in a row left out"),
        pytest.param("a -> b?", "a b", "a; a b", id="at the end: with and without"),
        pytest.param("a? -> b", "a b", "a b; b", id="at the start"),
        pytest.param("a? -> b? -> c", "a b c", "a b c; a c; b c; c", id="two at the start"),
        pytest.param("a -> b{2}? -> c", "a b1 c", "a c", id="two or none"),
        pytest.param("a -> b? >> c", "a x c", "", id="the fork past it is bound by next"),
        pytest.param("a -> b? >> c", "a x b c", "a b c", id="the fork that waits is not"),
    ],
)
def test_optional(pattern: str, stream: str, matches: str) -> None:
    check(pattern, stream, matches)


@pytest.mark.parametrize(
    ("where", "stream", "matches"),
    [
        pytest.param("price > last(a.price)", "a1(1) a2(3) b(2)", ["a1 b"], id="last"),
        pytest.param("price > first(a.price)", "a1(1) a2(3) b(2)", ["a1 a2 b", "a1 b"], id="first"),
        pytest.param("price = sum(a.price)", "a1(1) a2(3) b(4)", ["a1 a2 b"], id="sum"),
        pytest.param("price = count(a)", "a1 a2 b(2)", ["a1 a2 b"], id="count"),
        pytest.param("price = min(a.price)", "a1(1) a2(3) b(3)", ["a2 b"], id="min"),
        pytest.param("price = max(a.price)", "a1(1) a2(3) b(3)", ["a1 a2 b", "a2 b"], id="max"),
        pytest.param("price = avg(a.price)", "a1(1) a2(3) b(2)", ["a1 a2 b"], id="avg"),
        pytest.param("price = sum(a.price)", "a1(1) a2 b(1)", ["a1 a2 b", "a1 b"], id="null + 1"),
        pytest.param("price > last(a.price)", "a1(1) a2 b(2)", ["a1 b"], id="unknown is not yes"),
        pytest.param("sum(a.price) = 0", "a1 b", ["a1 b"], id="no known price sums to 0"),
        pytest.param("avg(a.price) IS NULL", "a1 b", ["a1 b"], id="and has no mean"),
    ],
)
def test_conditions_on_earlier_events(where: str, stream: str, matches: list[str]) -> None:
    assert matched(declare("a{1,} -> b", b={"where": where}), stream) == matches


@pytest.mark.parametrize(
    ("stream", "matches"),
    [
        pytest.param("a(1) b1(3) b2(2) b3(4)", ["a b1", "a b1 b3"], id="b2 is ignored: no rise"),
        pytest.param("a(5) b1(3) b2(6)", ["a b2"], id="the first one rises above a"),
    ],
)
def test_a_loop_may_ask_what_it_took_itself(stream: str, matches: list[str]) -> None:
    rising = "price > coalesce(last(b.price), last(a.price))"
    assert matched(declare("a -> b{1,}", b={"where": rising}), stream) == matches


def test_a_skipped_stage_has_taken_nothing() -> None:
    pattern = declare("a -> b? -> c", c={"where": "count(b) = 0 AND first(b.price) IS NULL"})
    assert matched(pattern, "a b(1) c") == ["a c"]


def test_an_absence_may_ask_about_earlier_events() -> None:
    pattern = declare("a !-> x -> b", x={"where": "price > last(a.price)"})
    assert matched(pattern, "a1(1) a2(3) x(2) b") == ["a2 b"]


def test_a_condition_on_a_column_that_is_missing_is_a_fault() -> None:
    with pytest.raises(BindingError, match="column prize is missing; did you mean price"):
        matched(declare("a", a={"where": "prize > 1"}), "a(1)")


def test_values_are_not_in_the_repr_of_an_event() -> None:
    assert "42" not in repr(events("a(42)"))
