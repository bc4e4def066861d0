"""The worked examples of the pattern semantics, by their numbers.

Left out are 9, 10 (greedy), 19 (groups) and 25 to 29 (SQL and Esper, whose words we do not offer).
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.cep.notation import declare, matched

LOOPS = "c d a1 a2 a3 d2 a4 b"
AWAY = "a1@1 b1@2 a2@4 c@5 b2@10 a3@11 b3@13"
RACE = "start1@1 start2@2 mid@3 x@4 end1@11 end2@13"


@pytest.mark.parametrize(
    ("pattern", "settings", "stream", "matches"),
    [
        pytest.param(
            "first:any => second:any",
            {},
            "a b c d e",
            "a b; a c; a d; a e; b c; b d; b e; c d; c e; d e",
            id="1",
        ),
        pytest.param("a >> b", {}, "a c b", "", id="2"),
        pytest.param("c -> a{1,}S -> b", {}, LOOPS, "c a1 b; c a1 a2 b; c a1 a2 a3 b", id="3"),
        pytest.param(
            "c -> a{1,} -> b",
            {},
            LOOPS,
            "c a1 b; c a1 a2 b; c a1 a2 a3 b; c a1 a2 a3 a4 b",
            id="4",
        ),
        pytest.param(
            "c -> a{1,}C -> b",
            {},
            LOOPS,
            "c a1 b; c a1 a2 b; c a1 a3 b; c a1 a4 b; c a1 a2 a3 b; c a1 a2 a4 b; c a1 a3 a4 b; "
            "c a1 a2 a3 a4 b",
            id="5",
        ),
        pytest.param(
            "a{1,}? -> b",
            {},
            "a1 a2 a3 b",
            "a1 a2 a3 b; a1 a2 b; a2 a3 b; a1 b; a2 b; a3 b; b",
            id="6",
        ),
        pytest.param(
            "c => a{2}C -> b", {}, "c f1 a1 f2 a2 a3 b", "c a1 a2 b; c a1 a3 b; c a2 a3 b", id="7"
        ),
        pytest.param(
            "c >> a{2}?C -> b", {}, "c a1 f1 a2 f2 a3 b", "c a1 a2 b; c a1 a3 b; c b", id="8"
        ),
        pytest.param("a !>> b => c -> d", {}, "a c1 b c2 d", "a c1 d; a c2 d", id="11"),
        pytest.param("a !-> b => c -> d", {}, "a c1 b c2 d", "a c1 d", id="12"),
        pytest.param("a !-> b => c? -> d", {}, "a c1 b c2 d", "a c1 d", id="13"),
        pytest.param("a -> b{1,} !>> c -> d", {}, "a b1 c b2 d", "", id="14"),
        pytest.param(
            "a => b{1,} !-> c -> d",
            {},
            "a b1 b2 b3 c b4 b5 b6 d",
            "a b4 d; a b4 b5 d; a b4 b5 b6 d; a b5 d; a b5 b6 d; a b6 d",
            id="15",
        ),
        pytest.param("a !-> b within 3", {}, AWAY, "a2", id="16"),
        pytest.param("start -> mid -> end within 10", {}, RACE, "start2 mid end1", id="17"),
        pytest.param(
            "start -> mid -> end",
            {"end": {"gap": {"max": "9 ms"}}},
            RACE,
            "start1 mid end1; start2 mid end1",
            id="18",
        ),
        pytest.param(
            "a{3}",
            {"skip": "no_skip"},
            "a1 a2 a3 a4 a5 a6",
            "a1 a2 a3; a2 a3 a4; a3 a4 a5; a4 a5 a6",
            id="20 no_skip",
        ),
        pytest.param(
            "a{3}",
            {"skip": "skip_past_last"},
            "a1 a2 a3 a4 a5 a6",
            "a1 a2 a3; a4 a5 a6",
            id="20 past_last",
        ),
        pytest.param(
            "x:ab{2} >> y:ab{2}",
            {"skip": "skip_to_first(y)"},
            "ab1 ab2 ab3 ab4 ab5 ab6",
            "ab1 ab2 ab3 ab4; ab3 ab4 ab5 ab6",
            id="21 to_first",
        ),
        pytest.param(
            "x:ab{2} >> y:ab{2}",
            {"skip": "skip_to_last(y)"},
            "ab1 ab2 ab3 ab4 ab5 ab6 ab7",
            "ab1 ab2 ab3 ab4; ab4 ab5 ab6 ab7",
            id="21 to_last",
        ),
        pytest.param(
            "a => b => c -> d",
            {"skip": "skip_past_last"},
            "a1 a2 b1 b2 c1 c2 d1 d2",
            "a1 b1 c1 d1",
            id="22",
        ),
        pytest.param(
            "s{1,}? -> end",
            {"s": {"where": "sum(s.price) + price < 5"}},
            "s1(1) s2(2) s3(3) end",
            "s1 s2 end; s1 end; s2 end; s3 end; end",
            id="24",
        ),
    ],
)
def test_example(pattern: str, settings: dict[str, Any], stream: str, matches: str) -> None:
    expected = matches.split("; ") if matches else []
    assert sorted(matched(declare(pattern, **settings), stream)) == sorted(expected)


def test_example_23_is_held_back_by_an_earlier_start() -> None:
    pattern = declare("a -> c -> b", b={"where": "price = first(a.price)"}, skip="skip_to_first(c)")
    stream = "a1(0) c1 a2(1) c2 b1(1) b2(0)"
    assert matched(pattern, stream) == ["a1 c1 b2", "a2 c2 b1"]
