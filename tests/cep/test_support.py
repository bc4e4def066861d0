"""What the engine cannot do yet is refused with a sentence."""

from __future__ import annotations

from typing import Any

import pytest

from ppm.cep.reference import find
from ppm.cep.support import unsupported
from ppm.errors import SpecError
from ppm.spec.pattern import Pattern
from tests.cep.notation import declare

A, B = {"event": "a"}, {"event": "b"}


def with_stages(*stages: dict[str, Any], **settings: Any) -> Pattern:
    events = {"a": "kind = 'a'", "b": "kind = 'b'", "c": "kind = 'c'"}
    return Pattern.model_validate(
        {"name": "p", "events": events, "stages": list(stages), **settings}
    )


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        pytest.param(
            with_stages({"group": [A, B], "times": 2}),
            "p: stages[0].group is a group of stages; the engine takes single event types only "
            "so far",
            id="group",
        ),
        pytest.param(
            with_stages({"any_of": [A, B]}),
            "p: stages[0].any_of is a choice of stages (any_of); the engine takes single event "
            "types only so far",
            id="any_of",
        ),
        pytest.param(
            with_stages({"all_of": [A, B]}),
            "p: stages[0].all_of is a set of stages in any order (all_of); the engine takes "
            "single event types only so far",
            id="all_of",
        ),
        pytest.param(
            with_stages({**A, "times": "1..", "greedy": True}, B),
            "p: stages[0].greedy is set; the engine tells every repetition so far",
            id="greedy",
        ),
        pytest.param(
            with_stages({**A, "times": "1..", "until": "kind = 'x'"}),
            "p: stages[0].until is set; the engine cannot end a repetition by an event yet",
            id="until",
        ),
        pytest.param(
            with_stages(
                A, {**B, "contiguity": "not_followed_by", "lasting": "5 s"}, {"event": "c"}
            ),
            "p: stages[1].lasting is 5 s before another stage; so far the engine can wait only "
            "at the end of a pattern",
            id="lasting in the middle",
        ),
        pytest.param(
            declare("a -> b", window={"kind": "count", "size": 4}),
            "p: window is a count window; the engine has no windows yet: use within",
            id="window",
        ),
        pytest.param(
            declare("a -> b", preset="longest"),
            "p: preset is longest; the engine knows all, first and non-overlapping so far",
            id="longest",
        ),
        pytest.param(
            declare("a -> b", max_matches=3),
            "p: max_matches is set; the engine cannot cap matches yet: leave it out",
            id="max_matches",
        ),
    ],
)
def test_it_is_refused(pattern: Pattern, fault: str) -> None:
    with pytest.raises(SpecError) as caught:
        find(pattern, [], zones={}, timezone="UTC")
    assert str(caught.value) == fault


def test_everything_is_refused_at_once() -> None:
    pattern = with_stages({"group": [{**A, "times": "2..", "greedy": True}, B]}, max_matches=1)
    places = [place for place, _ in unsupported(pattern)]
    assert places == [
        ("stages", 0, "group"),
        ("stages", 0, "group", 0, "greedy"),
        ("max_matches",),
    ]


@pytest.mark.parametrize(
    "pattern",
    [
        declare("a >> b{2,3}C => c? -> d !-> e within 9"),
        declare("a !-> b", b={"lasting": "5 ms"}),
        declare("a -> b", b={"gap": {"min": "1 ms", "max": "5 ms"}}),
        *(declare("a -> b", preset=preset) for preset in ("all", "first", "non-overlapping")),
        *(declare("a -> b", skip=f"skip_{skip}") for skip in ("to_next", "past_last")),
        *(declare("a -> b", skip=f"skip_to_{end}(b)") for end in ("first", "last")),
    ],
    ids=lambda pattern: pattern.text,
)
def test_the_rest_is_not(pattern: Pattern) -> None:
    assert unsupported(pattern) == []
