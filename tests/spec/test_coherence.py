"""Patterns that can be written but mean nothing: each is refused with its place and a sentence."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from ppm.spec.coherence import incoherences
from ppm.spec.faults import faults_of
from ppm.spec.pattern import Pattern
from ppm.spec.stage import Stage

VARIES = "needs a repetition that can vary, such as times: 1.. or times: 2..4"
STARTS = "is the number 0; it must start at 1 or more and not end before it starts"
EVENTS = {name: f"kind = '{name}'" for name in ("a", "b", "c", "d")}


def declare(declared: dict[str, Any]) -> Pattern:
    return Pattern.model_validate({"name": "p", "events": EVENTS, **declared})


def faults(declared: dict[str, Any]) -> list[str]:
    with pytest.raises(ValidationError) as refused:
        declare(declared)
    return [str(fault) for fault in faults_of(refused.value, Pattern, None)]


def nested(depth: int) -> dict[str, Any]:
    stage: dict[str, Any] = {"event": "a"}
    for _ in range(depth):
        stage = {"group": [stage]}
    return stage


NAMES = [
    pytest.param(
        {"sequence": "a -> b -> a"},
        ["stages[2] is called a like a stage before; give it a name of its own"],
        id="an event type twice",
    ),
    pytest.param(
        {"sequence": "x:a -> x:b"},
        ["stages[1] is called x like a stage before; give it a name of its own"],
        id="a name twice",
    ),
    pytest.param(
        {"sequence": "b:a -> b"},
        ["stages[1] is called b like a stage before; give it a name of its own"],
        id="a name that is another stage's event type",
    ),
    pytest.param(
        {"stages": [{"event": "a"}, {"any_of": [{"event": "a"}, {"event": "b"}]}]},
        ["stages[1].any_of[0] is called a like a stage before; give it a name of its own"],
        id="a name twice, once in a choice",
    ),
    pytest.param(
        {
            "stages": [
                {"group": [{"event": "a"}], "name": "g"},
                {"group": [{"event": "b"}], "name": "g"},
            ]
        },
        ["stages[1] is called g like a stage before; give it a name of its own"],
        id="two groups of one name",
    ),
    pytest.param(
        {"events": {"clinic": "x > 1"}, "sequence": "clinik"},
        ["stages[0].event is clinik, which events does not have; did you mean clinic?"],
        id="an event type that is misspelled",
    ),
    pytest.param(
        {"sequence": "a -> zzz"},
        ["stages[1].event is zzz, which events does not have; allowed are a, b, c, d"],
        id="an event type that is not declared",
    ),
]

ABSENCES = [
    pytest.param(
        {
            "stages": [
                {"event": "a"},
                {"event": "b", "contiguity": "not_next", key: value},
                {"event": "c"},
            ]
        },
        [f"stages[1].{key} stands on not_next; what does not occur has no {key}", *more],
        id=f"{key} on not_next",
    )
    for key, value, more in [
        ("times", "2..", []),
        ("optional", True, []),
        ("gap", {"max": "1 h"}, []),
        (
            "loop",
            "relaxed",
            ["stages[1].loop stands on a stage that occurs once; say times as well"],
        ),
        (
            "greedy",
            True,
            [f"stages[1].greedy {VARIES}"],
        ),
        ("until", "x > 1", ["stages[1].until needs a repetition without end, such as times: 1.."]),
    ]
] + [
    pytest.param(
        {"sequence": "a !-> b{2} -> c"},
        ["stages[1].times stands on not_followed_by; what does not occur has no times"],
        id="a quantifier on not_followed_by",
    ),
    pytest.param(
        {
            "stages": [
                {"event": "a"},
                {"group": [{"event": "b"}], "contiguity": "not_followed_by"},
                {"event": "c"},
            ]
        },
        ["stages[1] is not_followed_by with a group; it takes one event type"],
        id="a group that must not come",
    ),
    pytest.param(
        {
            "stages": [
                {"event": "a"},
                {"any_of": [{"event": "b"}, {"event": "c"}], "contiguity": "not_next"},
                {"event": "d"},
            ]
        },
        ["stages[1] is not_next with a group; it takes one event type"],
        id="a choice that must not come",
    ),
    pytest.param(
        {"sequence": "a -> b? !-> c -> d"},
        ["stages[2] is not_followed_by right after an optional stage; put a stage between"],
        id="not_followed_by after an optional stage",
    ),
    pytest.param(
        {"sequence": "a -> b? !>> c -> d"},
        ["stages[2] is not_next right after an optional stage; put a stage between"],
        id="not_next after an optional stage",
    ),
    pytest.param(
        {"stages": [{"event": "a", "contiguity": "not_next"}, {"event": "b"}]},
        ["stages[0].contiguity is not_next; nothing comes before the first stage"],
        id="not_next at the start",
    ),
    pytest.param(
        {
            "stages": [
                {"event": "a"},
                {"event": "b", "contiguity": "not_next", "lasting": "1 h"},
                {"event": "c"},
            ]
        },
        ["stages[1].lasting is for not_followed_by only; not_next looks at one event"],
        id="not_next for some time",
    ),
    pytest.param(
        {"stages": [{"event": "a"}, {"event": "b", "lasting": "1 h"}]},
        ["stages[1].lasting is for not_followed_by only; use gap for a wait"],
        id="followed_by for some time",
    ),
]

OPEN = "ends the pattern with not_followed_by; within or lasting must say for how long"
OPEN_ENDS = [
    pytest.param({"sequence": "a !-> b"}, [f"stages[1] {OPEN}"], id="an absence at the end"),
    pytest.param(
        {"sequence": "a !-> b -> c?"},
        [f"stages[1] {OPEN}"],
        id="an absence before a stage that can be left out",
    ),
    pytest.param(
        {
            "stages": [
                {"event": "a"},
                {"group": [{"event": "b"}, {"event": "c", "contiguity": "not_followed_by"}]},
            ]
        },
        [f"stages[1].group[1] {OPEN}"],
        id="an absence at the end of the last group",
    ),
    pytest.param(
        {
            "stages": [
                {
                    "any_of": [
                        {"event": "d"},
                        {
                            "group": [
                                {"event": "b"},
                                {"event": "c", "contiguity": "not_followed_by"},
                            ]
                        },
                    ]
                }
            ]
        },
        [f"stages[0].any_of[1].group[1] {OPEN}"],
        id="an absence at the end of a choice",
    ),
]

BOUNDED: list[tuple[str, dict[str, Any]]] = [
    ("a single stage", {}),
    ("a fixed number", {"times": 3}),
    ("a range", {"times": "2..4"}),
]
QUANTIFIERS = (
    [
        pytest.param(
            {"stages": [{"event": "a", "until": "x > 1", **often}]},
            ["stages[0].until needs a repetition without end, such as times: 1.."],
            id=f"until on {name}",
        )
        for name, often in BOUNDED
    ]
    + [
        pytest.param(
            {"stages": [{"event": "a", "greedy": True, **often}]},
            [f"stages[0].greedy {VARIES}"],
            id=f"greedy on {name}",
        )
        for name, often in BOUNDED[:2]
    ]
    + [
        pytest.param(
            {"stages": [{"event": "a", "greedy": True, "times": "1..", "loop": "combinations"}]},
            ["stages[0].greedy and loop: combinations exclude each other"],
            id="greedy combinations",
        ),
        pytest.param(
            {"stages": [{"group": [{"event": "a"}], "greedy": True, "times": "1.."}]},
            ["stages[0].greedy stands on a group; only a single event type can be greedy"],
            id="a greedy group",
        ),
        pytest.param(
            {
                "stages": [
                    {"event": "a", "greedy": True, "times": "1.."},
                    {"event": "b", "optional": True},
                ]
            },
            ["stages[1] is optional right after a greedy stage; make one of them plain"],
            id="optional after greedy",
        ),
        pytest.param(
            {"stages": [{"event": "a", "loop": "consecutive"}]},
            ["stages[0].loop stands on a stage that occurs once; say times as well"],
            id="consecutive, but once",
        ),
        pytest.param(
            {"stages": [{"event": "a", "times": 0}]},
            [f"stages[0].times {STARTS}"],
            id="zero times",
        ),
        pytest.param(
            {"sequence": "a{0}"},
            [f"stages[0].times {STARTS}"],
            id="zero times, in short",
        ),
        pytest.param(
            {"stages": [{"event": "a", "times": 2, "loop": "consecutive, combinations"}]},
            ["stages[0].loop is 'consecutive, combinations'; did you mean combinations?"],
            id="consecutive combinations cannot be said",
        ),
        pytest.param(
            {"sequence": "a? -> b*"},
            ["stages can all be left out; at least one stage must occur"],
            id="everything is optional",
        ),
        pytest.param(
            {"stages": [{"group": [{"event": "a", "optional": True}], "times": "2.."}]},
            ["stages can all be left out; at least one stage must occur"],
            id="a looping group of optionals (Flink hangs)",
        ),
    ]
)

GROUPS = [
    pytest.param(
        {"stages": [{"group": []}]},
        [
            "stages[0].group is empty; a stage is needed",
            "stages can all be left out; at least one stage must occur",
        ],
        id="an empty group",
    ),
    pytest.param({"stages": []}, ["stages has 0 entries; at least 1 must be"], id="no stages"),
    pytest.param(
        {"stages": [{"any_of": [{"event": "a"}]}]},
        ["stages[0].any_of needs at least two stages to choose from"],
        id="a choice of one",
    ),
    pytest.param(
        {"stages": [{"all_of": [{"event": "a"}, {"event": "b", "optional": True}]}]},
        ["stages[0].all_of[1].optional stands inside a choice; put it on the choice itself"],
        id="an optional member of a choice",
    ),
    pytest.param(
        {"stages": [{"any_of": [{"event": "a"}, {"event": "b", "contiguity": "next"}]}]},
        ["stages[0].any_of[1].contiguity is next; nothing comes before the first stage"],
        id="contiguity inside a choice",
    ),
    pytest.param(
        {"stages": [{"event": "a"}, {"group": [{"event": "b", "contiguity": "next"}]}]},
        ["stages[1].group[0].contiguity is next; nothing comes before the first stage"],
        id="contiguity of a group's first stage",
    ),
    pytest.param(
        {"stages": [{"group": [{"event": "a"}], "where": "x > 1"}]},
        ["stages[0].where stands on a group; put it on the stages inside"],
        id="a condition on a group",
    ),
    pytest.param(
        {"stages": [{"event": "a", "group": [{"event": "b"}]}]},
        ["stages[0] needs exactly one of event, group, any_of, all_of"],
        id="two bodies",
    ),
    pytest.param(
        {"stages": [{"times": 2}]},
        ["stages[0] needs exactly one of event, group, any_of, all_of"],
        id="no body",
    ),
    pytest.param(
        {"stages": [nested(9)]},
        [f"stages[0]{'.group[0]' * 8}.group is nested deeper than 8 groups"],
        id="nine groups deep",
    ),
    pytest.param(
        {"stages": [{"event": "a", "name": f"s{n}"} for n in range(65)]},
        ["stages has 65 stages; at most 64 are possible"],
        id="too many stages",
    ),
]

CONDITIONS = [
    pytest.param(
        {"stages": [{"event": "a"}, {"event": "b", "where": "x > last(c.x)"}, {"event": "c"}]},
        ["stages[1].where asks last(c.x), but no stage before it is called c; allowed are a, b"],
        id="it asks a later stage",
    ),
    pytest.param(
        {"stages": [{"event": "a"}, {"event": "b", "where": "x > last(b.x)"}]},
        ["stages[1].where asks last(b.x) of its own stage, which has taken no event yet"],
        id="it asks itself",
    ),
    pytest.param(
        {
            "stages": [
                {"event": "a"},
                {"event": "b", "contiguity": "not_next"},
                {"event": "c", "where": "x > last(b.x)"},
            ]
        },
        ["stages[2].where asks last(b.x), but no stage before it is called b; allowed are a, c"],
        id="it asks what did not come",
    ),
    pytest.param(
        {
            "stages": [
                {"group": [{"event": "a"}], "name": "g"},
                {"event": "b", "where": "count(g) > 1"},
            ]
        },
        ["stages[1].where asks count(g), but no stage before it is called g; allowed are a, b"],
        id="it asks a group",
    ),
    pytest.param(
        {"stages": [{"event": "a", "name": "start"}, {"event": "b", "where": "x > last(stat.x)"}]},
        [
            "stages[1].where asks last(stat.x), but no stage before it is called stat; "
            "did you mean start?"
        ],
        id="it misspells a stage",
    ),
    pytest.param(
        {"stages": [{"event": "a"}, {"event": "b", "times": "1..", "until": "x > last(d.x)"}]},
        ["stages[1].until asks last(d.x), but no stage before it is called d; allowed are a, b"],
        id="until asks a stage that is not there",
    ),
]

TIME = [
    pytest.param(
        {"stages": [{"event": "a", "gap": {"max": "1 h"}}]},
        ["stages[0].gap stands on the first stage; nothing comes before it"],
        id="a gap before the first stage",
    ),
    pytest.param(
        {"stages": [{"event": "a"}, {"event": "b", "gap": {"max": "3 h"}}], "within": "2 h"},
        ["stages[1].gap.max is 3 h, longer than within, 2 h"],
        id="a longest gap that exceeds the whole",
    ),
    pytest.param(
        {"stages": [{"event": "a"}, {"event": "b", "gap": {"min": "2 h"}}], "within": "120 min"},
        ["stages[1].gap.min is 2 h, not shorter than within, 2 h"],
        id="a least gap that leaves no time",
    ),
    pytest.param(
        {
            "stages": [
                {"event": "a"},
                {"event": "b", "contiguity": "not_followed_by", "lasting": "3 h"},
            ],
            "within": "2 h",
        },
        ["stages[1].lasting is 3 h, longer than within, 2 h"],
        id="an absence that exceeds the whole",
    ),
    pytest.param(
        {"stages": [{"event": "a"}, {"event": "b", "gap": {"min": "2 h", "max": "2 h"}}]},
        ["stages[1].gap.min is 2 h; it must be less than max, 2 h"],
        id="a gap without room",
    ),
    pytest.param(
        {"stages": [{"event": "a"}, {"event": "b", "gap": {}}]},
        ["stages[1].gap needs min, max or both"],
        id="a gap that says nothing",
    ),
]

SKIPS = [
    pytest.param(
        {"sequence": "start:a -> b", "skip": "skip_to_first(stat)"},
        ["skip names stat, which is not a stage; did you mean start?"],
        id="a target that is misspelled",
    ),
    pytest.param(
        {"sequence": "a !>> b -> c", "skip": "skip_to_last(b)"},
        ["skip names b, which is not a stage; allowed are a, c"],
        id="a target that must not come",
    ),
    pytest.param(
        {"sequence": "a", "skip": "no_skip", "preset": "all"},
        ["preset and skip say the same thing; keep one of them"],
        id="skip and preset",
    ),
    pytest.param(
        {"sequence": "a", "stages": [{"event": "a"}]},
        ["sequence and stages say the same thing; keep one of them"],
        id="sequence and stages",
    ),
]


@pytest.mark.parametrize(
    ("declared", "messages"),
    [*NAMES, *ABSENCES, *OPEN_ENDS, *QUANTIFIERS, *GROUPS, *CONDITIONS, *TIME, *SKIPS],
)
def test_a_pattern_that_means_nothing_is_refused(
    declared: dict[str, Any], messages: list[str]
) -> None:
    assert faults(declared) == messages


@pytest.mark.parametrize(
    "declared",
    [
        pytest.param(
            {"sequence": "a !-> b", "within": "1 h"}, id="an absence at the end, with within"
        ),
        pytest.param(
            {
                "stages": [
                    {"event": "a"},
                    {"event": "b", "contiguity": "not_followed_by", "lasting": "1 h"},
                ]
            },
            id="an absence at the end, with its own time",
        ),
        pytest.param({"sequence": "a !-> b -> c? -> d"}, id="an absence before a stage that comes"),
        pytest.param({"sequence": "a !>> b"}, id="not_next at the end"),
        pytest.param({"sequence": "a+ !>> b !-> c -> d"}, id="two absences in a row"),
        pytest.param({"sequence": "a* -> b"}, id="an optional start"),
        pytest.param({"sequence": "x:a -> y:a"}, id="an event type twice under two names"),
        pytest.param(
            {
                "stages": [
                    {
                        "event": "a",
                        "times": "1..",
                        "where": "x > last(a.x)",
                        "until": "count(a) > 3",
                    }
                ]
            },
            id="a loop that asks itself",
        ),
        pytest.param(
            {
                "stages": [
                    {
                        "group": [{"event": "a"}, {"event": "b", "where": "x > first(a.x)"}],
                        "times": "1..",
                        "until": "x > 1",
                    }
                ]
            },
            id="a condition inside a group",
        ),
        pytest.param({"stages": [nested(8)]}, id="eight groups deep"),
        pytest.param(
            {
                "stages": [{"event": "a"}, {"event": "b", "gap": {"min": "1 h", "max": "2 h"}}],
                "within": "2 h",
            },
            id="a gap as long as the whole",
        ),
        pytest.param(
            {"stages": [{"event": "a", "times": "2..4", "greedy": True}, {"event": "b"}]},
            id="a greedy range",
        ),
        pytest.param({"sequence": "a -> b", "skip": "skip_to_last(b)"}, id="a skip to a stage"),
    ],
)
def test_a_pattern_that_means_something_is_accepted(declared: dict[str, Any]) -> None:
    assert declare(declared).stages


def test_all_faults_are_told_at_once() -> None:
    assert len(faults({"sequence": "a? -> zzz -> a? !-> b", "skip": "skip_to_last(q)"})) == 5


BRANCHES = [{"event": "a"}, {"event": "b", "where": "x > last(a.x)"}]


def test_a_branch_of_a_choice_cannot_ask_the_branch_beside_it() -> None:
    stages = tuple(Stage.model_validate(one) for one in [{"any_of": BRANCHES}])
    found = incoherences(stages, frozenset("ab"), within=None, skip=None, preset=None)
    assert [sentence for _, sentence in found] == [
        "asks last(a.x), but no stage before it is called a; allowed are b"
    ]


def test_a_branch_of_a_repeated_choice_may_ask_what_an_earlier_round_took() -> None:
    stages = tuple(Stage.model_validate(one) for one in [{"any_of": BRANCHES, "times": "1.."}])
    assert not list(incoherences(stages, frozenset("ab"), within=None, skip=None, preset=None))
