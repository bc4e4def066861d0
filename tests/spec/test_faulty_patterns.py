"""What is said of patterns that are wrong in one place: the line, and the exact words."""

from __future__ import annotations

import pytest

from ppm.spec.load import parse
from ppm.spec.pattern import Pattern
from tests.spec.faulty import PATTERN, faults, spoilt


def test_the_document_that_is_spoilt_below_is_right() -> None:
    assert parse(PATTERN, Pattern, file="f.yaml").spec


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        pytest.param(
            "",
            "within: 3 h\n",
            [
                "7: the key within stands twice (first in line 6)",
            ],
            id="a key twice",
        ),
        pytest.param(
            "",
            "---\nname: other\n",
            [
                "7: a second document starts here; one file is one document",
            ],
            id="a second document",
        ),
        pytest.param(
            "within: 2 h\n",
            "within: !!str 2 h\n",
            [
                "6: the tag !!str is not used here; remove it",
            ],
            id="a tag",
        ),
        pytest.param(
            "within: 2 h\n",
            "within: *limit\n",
            [
                "6: the alias *limit has no anchor &limit before it",
            ],
            id="an alias without anchor",
        ),
        pytest.param(
            "  clinic: place = 'clinic'\n",
            "  12: place = 'clinic'\n",
            [
                "3: the key 12 reads as the number 12; write it in quotes",
            ],
            id="a key that is a number",
        ),
        pytest.param(
            "within: 2 h\n",
            "witin: 2 h\n",
            [
                "6: witin is not a key of a pattern; did you mean within?",
            ],
            id="an unknown key",
        ),
        pytest.param(
            "",
            "zebra: 1\n",
            [
                "7: zebra is not a key of a pattern; allowed are doc, events, max_matches, "
                "name, preset, sequence, skip, stages, window, within",
            ],
            id="a key far from any",
        ),
        pytest.param(
            "name: visit\n",
            "",
            [
                "1: the pattern needs name",
            ],
            id="a missing name",
        ),
        pytest.param(
            "name: visit\n",
            "name: Visit\n",
            [
                "1: name is 'Visit'; a name is up to 64 small letters, digits, - and _, not "
                "starting with - or _",
            ],
            id="a capital name",
        ),
        pytest.param(
            "name: visit\n",
            "name: 12\n",
            [
                "1: name is the number 12; text is needed; write it in quotes",
            ],
            id="a name that is a number",
        ),
        pytest.param(
            "within: 2 h\n",
            "within: 2\n",
            [
                "6: within is the number 2; a duration is needed, such as 30 s, 15 min, 2 h or "
                "30 d",
            ],
            id="a duration without unit",
        ),
        pytest.param(
            "within: 2 h\n",
            "within: 02:00\n",
            [
                "6: within is '02:00'; a duration is needed, such as 30 s, 15 min, 2 h or 30 d",
            ],
            id="a clock time is no duration",
        ),
        pytest.param(
            "within: 2 h\n",
            "within: 0 h\n",
            [
                "6: within is '0 h'; a duration must be more than 0 and at most 100 years of "
                "365.25 days",
            ],
            id="a duration of nothing",
        ),
        pytest.param(
            "within: 2 h\n",
            "within: 2 hours\n",
            [
                "6: within is '2 hours'; a duration is needed, such as 30 s, 15 min, 2 h or 30 d",
            ],
            id="an unknown unit",
        ),
        pytest.param(
            "events:\n  clinic: place = 'clinic'\n  pharmacy: place = 'pharmacy'\n",
            "events: [clinic, pharmacy]\n",
            [
                "2: events is a list; a mapping is needed",
            ],
            id="events as a list",
        ),
        pytest.param(
            "events:\n  clinic: place = 'clinic'\n  pharmacy: place = 'pharmacy'\n",
            "events: {}\n",
            [
                "2: events has 0 entries; at least 1 must be",
            ],
            id="no events",
        ),
        pytest.param(
            "sequence: clinic -> pharmacy\n",
            "sequence: clinic -> farmacy\n",
            [
                "5: stages[1].event is farmacy, which events does not have; did you mean pharmacy?",
            ],
            id="a sequence with an unknown event",
        ),
        pytest.param(
            "sequence: clinic -> pharmacy\n",
            "sequence: clinic => => pharmacy\n",
            [
                "5: sequence cannot be read: '=> pharmacy' stands where an event type is "
                "expected; groups and the like are written as stages",
            ],
            id="a sequence with a wrong arrow",
        ),
        pytest.param(
            "sequence: clinic -> pharmacy\n",
            "sequence: clinic ->\n",
            [
                "5: sequence cannot be read: it ends where an event type is expected; groups "
                "and the like are written as stages",
            ],
            id="a sequence that ends early",
        ),
        pytest.param(
            "",
            "stages: [{event: clinic}]\n",
            [
                "5: sequence and stages say the same thing; keep one of them",
            ],
            id="sequence and stages",
        ),
        pytest.param(
            "  clinic: place = 'clinic'\n",
            "  clinic: {where: x = 1, stand_in: {}}\n",
            [
                "3: events.clinic.stand_in has 0 entries; at least 1 must be",
            ],
            id="a stand-in without values",
        ),
        pytest.param(
            "  clinic: place = 'clinic'\n",
            "  clinic: {where: x = 1, stand_in: {x: [1]}}\n",
            [
                "3: events.clinic.stand_in.x is a list; a plain value is needed: text, a "
                "number, true or false",
            ],
            id="a stand-in with a list",
        ),
        pytest.param(
            "",
            "skip: skip_all\n",
            [
                "7: skip is 'skip_all'; allowed are no_skip, skip_to_next, skip_past_last, "
                "skip_to_first(stage), skip_to_last(stage)",
            ],
            id="an unknown skip",
        ),
        pytest.param(
            "",
            "skip: skip_to_first(hospital)\n",
            [
                "7: skip names hospital, which is not a stage; allowed are clinic, pharmacy",
            ],
            id="a skip to no stage",
        ),
        pytest.param(
            "",
            "skip: no_skip\npreset: first\n",
            [
                "8: preset and skip say the same thing; keep one of them",
            ],
            id="skip and preset",
        ),
        pytest.param(
            "",
            "preset: longst\n",
            [
                "7: preset is 'longst'; did you mean longest?",
            ],
            id="an unknown preset",
        ),
        pytest.param(
            "",
            "window: {size: 4}\n",
            [
                "7: window needs kind",
            ],
            id="a window without kind",
        ),
        pytest.param(
            "",
            "window: {kind: count, size: 4, slide: 5}\n",
            [
                "7: window.slide is 5; it must not exceed size, or rows fall between",
            ],
            id="a window that slides too far",
        ),
    ],
)
def test_a_pattern_with_one_place_spoilt(old: str, new: str, said: list[str]) -> None:
    assert faults(spoilt(PATTERN, old, new), Pattern) == said
