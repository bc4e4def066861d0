"""What must not come: next, before another stage, and at the end of a pattern."""

from __future__ import annotations

import pytest

from ppm.spec.pattern import Pattern
from tests.cep.notation import declare, matched

A_NO_B_FOR_FIVE = declare("a !-> b", b={"lasting": "5 ms"})


@pytest.mark.parametrize(
    ("pattern", "stream", "matches"),
    [
        pytest.param("a !>> x -> b", "a b", ["a b"], id="the same event is offered on"),
        pytest.param("a !>> x -> b", "a x b", [], id="the next event is x"),
        pytest.param("a !>> x -> b", "a c x b", ["a b"], id="only the next one is looked at"),
        pytest.param("a !>> x -> b", "a bx", [], id="x kills even if it is a b as well"),
        pytest.param("a !>> b", "a c", ["a"], id="at the end: decided by one more event"),
        pytest.param("a !>> b", "a b", [], id="at the end: it was b"),
        pytest.param("a !>> b", "a", [], id="at the end: undecided in silence"),
        pytest.param("a{1,} !>> x -> b", "a1 c x a2 b", ["a1 a2 b", "a1 b", "a2 b"], id="loop"),
        pytest.param("a{1,} !>> x -> b", "a1 x a2 b", ["a2 b"], id="the looping fork dies too"),
        pytest.param(
            "a{2,} !>> x -> b",
            "a1 x a2 b",
            ["a1 a2 b"],
            id="a loop that cannot move on yet is not stopped",
        ),
        pytest.param("a !>> x -> b? -> c", "a x c", [], id="past an optional stage"),
        pytest.param("a !>> x !>> y -> b", "a y b", [], id="two at once"),
    ],
)
def test_not_next(pattern: str, stream: str, matches: list[str]) -> None:
    assert matched(declare(pattern), stream) == matches


@pytest.mark.parametrize(
    ("pattern", "stream", "matches"),
    [
        pytest.param("a !-> x -> b", "a c b", ["a b"], id="stays away"),
        pytest.param("a !-> x -> b", "a c x b", [], id="comes"),
        pytest.param("a !-> x -> b", "a bx", ["a bx"], id="completes although it is an x (R10)"),
        pytest.param("a !-> x -> b -> c", "a bx c", [], id="but only if it completes"),
        pytest.param("a !-> x -> b{1,}", "a bx b2", ["a bx"], id="and the loop does not go on"),
        pytest.param("a !-> x -> b -> c", "a b x c", ["a b c"], id="after b, x is free to come"),
        pytest.param("a !-> x -> b{1,} -> c", "a b1 x b2 c", ["a b1 b2 c", "a b1 c"], id="in b"),
        pytest.param("a{2} !-> x -> b", "a1 x a2 b", [], id="in a loop that has begun"),
        pytest.param("c -> a{2} !-> x -> b", "c x a1 a2 b", ["c a1 a2 b"], id="not before it"),
        pytest.param("a !-> x -> b? -> c", "a b x c", ["a b c"], id="until the optional stage"),
        pytest.param("a !-> x -> b? -> c", "a x b c", [], id="and past it"),
        pytest.param("a !-> x !-> y -> b", "a y b", [], id="two at once"),
        pytest.param("a !-> x >> b", "a x b", [], id="strict as well"),
    ],
)
def test_not_followed_by(pattern: str, stream: str, matches: list[str]) -> None:
    assert matched(declare(pattern), stream) == matches


@pytest.mark.parametrize(
    ("pattern", "stream", "matches"),
    [
        pytest.param(declare("a !-> b within 3"), "a@1", ["a"], id="told in silence"),
        pytest.param(declare("a !-> b within 3"), "a@1 b@4", ["a"], id="b at the window's end"),
        pytest.param(declare("a !-> b within 3"), "a@1 b@3", [], id="b inside"),
        pytest.param(
            declare("a -> c{1,} !-> b within 5"),
            "a@1 c1@2 c2@3",
            ["a c1 c2", "a c1"],
            id="right after a loop, in silence (not Flink's Q2)",
        ),
        pytest.param(
            declare("a -> c{1,} !-> b within 5"), "a@1 c1@2 b@3 c2@4", [], id="b stops the loop"
        ),
        pytest.param(A_NO_B_FOR_FIVE, "a@1", ["a"], id="lasting needs no window"),
        pytest.param(A_NO_B_FOR_FIVE, "a@1 b@6", ["a"], id="its end is exclusive"),
        pytest.param(A_NO_B_FOR_FIVE, "a@1 b@5", [], id="b inside the wait"),
        pytest.param(
            declare("a -> c !-> b within 8", b={"lasting": "5 ms"}),
            "a@1 c@4",
            ["a c"],
            id="a wait that ends with the window",
        ),
        pytest.param(
            declare("a -> c !-> b within 8", b={"lasting": "5 ms"}),
            "a@1 c@5",
            [],
            id="a wait that outlasts the window is never certain",
        ),
        pytest.param(
            declare("a !-> b -> c? within 5"), "a@1 c@2", ["a c", "a"], id="an optional tail"
        ),
        pytest.param(
            declare("a !-> b -> c? within 5"), "a@1 c@2 b@3", ["a c"], id="b before the window ends"
        ),
        pytest.param(
            declare("a !>> c !-> b within 5"), "a@1", [], id="not_next is undecided in silence"
        ),
        pytest.param(
            declare("a !>> c !-> b", b={"lasting": "5 ms"}),
            "a@1 x@9",
            ["a"],
            id="the wait is over when not_next is decided",
        ),
        pytest.param(
            declare("a !-> b !-> c", b={"lasting": "2 ms"}, c={"lasting": "5 ms"}),
            "a@1 b@4",
            ["a"],
            id="two waits: b is free after its own",
        ),
    ],
)
def test_absence_at_the_end(pattern: Pattern, stream: str, matches: list[str]) -> None:
    assert matched(pattern, stream) == matches
