"""What is said of files that hold no pattern, and of stages that mean nothing."""

from __future__ import annotations

import pytest

from ppm.spec.pattern import Pattern
from tests.spec.faulty import STAGES, faults


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(
            "",
            [
                "1: the file is empty",
            ],
            id="an empty file",
        ),
        pytest.param(
            "# nothing\n",
            [
                "1: the file is empty",
            ],
            id="only a comment",
        ),
        pytest.param(
            "- a\n- b\n",
            [
                "1: the pattern is a list; a mapping is needed",
            ],
            id="a list in place of a mapping",
        ),
        pytest.param(
            "visit\n",
            [
                "1: the pattern is 'visit'; a mapping is needed",
            ],
            id="plain text",
        ),
        pytest.param(
            "name: [visit\n",
            [
                "2: not YAML: expected ',' or ']', but got '<stream end>'",
            ],
            id="broken YAML",
        ),
        pytest.param(
            "events:\n\tclinic: x = 1\n",
            [
                "2: not YAML: found character '\\t' that cannot start any token; "
                "indent with spaces, not with tabs",
            ],
            id="a tab for indentation",
        ),
        pytest.param(
            "base: &b {name: visit}\n<<: *b\n",
            [
                "2: << is not supported; use extends, or repeat the keys",
            ],
            id="a merge key",
        ),
        pytest.param(
            "name: &n [*n]\n",
            [
                "1: the alias *n stands inside its own anchor",
            ],
            id="a recursive alias",
        ),
        pytest.param(
            "doc: nothing else\n",
            [
                "1: the pattern needs name, events and stages or sequence",
            ],
            id="several missing keys",
        ),
    ],
)
def test_what_is_no_pattern_at_all(text: str, said: list[str]) -> None:
    assert faults(text, Pattern) == said


@pytest.mark.parametrize(
    ("stages", "said"),
    [
        pytest.param(
            "  - {name: z}\n",
            [
                "4: stages[0] needs exactly one of event, group, any_of, all_of",
            ],
            id="a stage without body",
        ),
        pytest.param(
            "  - {event: a, group: [{event: b}]}\n",
            [
                "4: stages[0] needs exactly one of event, group, any_of, all_of",
            ],
            id="a stage with two bodies",
        ),
        pytest.param(
            "  - {event: a}\n  - {event: a}\n",
            [
                "5: stages[1] is called a like a stage before; give it a name of its own",
            ],
            id="a stage name twice",
        ),
        pytest.param(
            "  - {event: a}\n  - {event: b, contiguity: not_next, times: 2}\n  - {event: c}\n",
            [
                "5: stages[1].times stands on not_next; what does not occur has no times",
            ],
            id="an absence with a quantifier",
        ),
        pytest.param(
            "  - {event: a}\n"
            "  - {event: b, optional: true}\n"
            "  - {event: c, contiguity: not_followed_by}\n"
            "within: 1 h\n",
            [
                "6: stages[2] is not_followed_by right after an optional stage; put a stage "
                "between",
            ],
            id="an absence after an optional stage",
        ),
        pytest.param(
            "  - {event: a}\n  - {event: b, contiguity: not_followed_by}\n",
            [
                "5: stages[1] ends the pattern with not_followed_by; within or lasting must say "
                "for how long",
            ],
            id="a trailing absence without window",
        ),
        pytest.param(
            "  - {event: a, times: 2..3, until: x = 2}\n  - {event: b}\n",
            [
                "4: stages[0].until needs a repetition without end, such as times: 1..",
            ],
            id="until on a bounded loop",
        ),
        pytest.param(
            "  - {event: a, greedy: true}\n  - {event: b}\n",
            [
                "4: stages[0].greedy needs a repetition that can vary, such as times: 1.. or "
                "times: 2..4",
            ],
            id="greedy on a single event",
        ),
        pytest.param(
            "  - {event: a, times: 1.., greedy: true, loop: combinations}\n  - {event: b}\n",
            [
                "4: stages[0].greedy and loop: combinations exclude each other",
            ],
            id="greedy combinations",
        ),
        pytest.param(
            "  - {event: a, times: 1.., greedy: true}\n"
            "  - {event: b, optional: true}\n"
            "  - {event: c}\n",
            [
                "5: stages[1] is optional right after a greedy stage; make one of them plain",
            ],
            id="optional after greedy",
        ),
        pytest.param(
            "  - {event: a}\n  - {event: b, gap: {max: 3 h}}\nwithin: 2 h\n",
            [
                "5: stages[1].gap.max is 3 h, longer than within, 2 h",
            ],
            id="a gap longer than within",
        ),
        pytest.param(
            "  - {event: a}\n  - {event: b, gap: {min: 3 min, max: 2 min}}\n",
            [
                "5: stages[1].gap.min is 3 min; it must be less than max, 2 min",
            ],
            id="a gap that ends before it starts",
        ),
        pytest.param(
            "  - {event: a, times: 0}\n",
            [
                "4: stages[0].times is the number 0; it must start at 1 or more and not end "
                "before it starts",
            ],
            id="times zero",
        ),
        pytest.param(
            "  - {event: a, times: 3..2}\n",
            [
                "4: stages[0].times is '3..2'; it must start at 1 or more and not end before it "
                "starts",
            ],
            id="times backwards",
        ),
        pytest.param(
            "  - {event: a, optional: true}\n",
            [
                "3: stages can all be left out; at least one stage must occur",
            ],
            id="optional everything",
        ),
        pytest.param(
            "  - {event: a}\n  - {event: b, contiguity: followed-by}\n",
            [
                "5: stages[1].contiguity is 'followed-by'; did you mean followed_by?",
            ],
            id="an unknown contiguity",
        ),
        pytest.param(
            "  - {event: a, optional: yes}\n  - {event: b}\n",
            [
                "4: stages[0].optional is 'yes'; true or false is needed",
            ],
            id="yes is no boolean",
        ),
        pytest.param(
            "  - {event: a, where: x > last(b.x)}\n  - {event: b}\n",
            [
                "4: stages[0].where asks last(b.x), but no stage before it is called b; allowed "
                "are a",
            ],
            id="a condition on a later stage",
        ),
    ],
)
def test_stages_that_mean_nothing(stages: str, said: list[str]) -> None:
    assert faults(STAGES + stages, Pattern) == said
