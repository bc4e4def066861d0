"""What is said of priors that are wrong in one place: the line, and the exact words."""

from __future__ import annotations

import pytest

from ppm.spec.load import parse
from ppm.spec.prior import MOST_SETS, Prior
from tests.spec.faulty import PRIOR, faults, spoilt


def test_the_document_that_is_spoilt_below_is_right() -> None:
    assert parse(PRIOR, Prior, file="f.yaml").spec.slots == 28_800


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        pytest.param(
            "source: a public survey\n",
            "",
            ["1: the prior needs source"],
            id="from nowhere",
        ),
        pytest.param(
            "source: a public survey\n",
            "source: ''\n",
            ["2: source is empty; text is needed"],
            id="from nowhere in particular",
        ),
        pytest.param(
            "subjects: 40\n",
            "subjects: 0\n",
            ["3: subjects is 0; it must be at least 1"],
            id="nobody",
        ),
        pytest.param(
            "subjects: 40\n",
            "subjects: forty\n",
            ["3: subjects is 'forty'; a whole number is needed"],
            id="people in words",
        ),
        pytest.param(
            "until: 2025-12-01T00:00:00+01:00\n",
            "until: 2025-11-01T00:00:00+01:00\n",
            ["5: until is 2025-11-01T00:00:00+01:00; it must be later than from"],
            id="no time at all",
        ),
        pytest.param(
            "until: 2025-12-01T00:00:00+01:00\n",
            "until: 2025-12-01\n",
            [
                "5: until is '2025-12-01'; a time with its offset is needed, such as "
                "2026-03-01T08:00:00+01:00"
            ],
            id="an end without an hour",
        ),
        pytest.param(
            "slot: 1 h\n",
            "slot: 60\n",
            ["6: slot is the number 60; a duration is needed, such as 30 s, 15 min, 2 h or 30 d"],
            id="a slot without a unit",
        ),
        pytest.param(
            "of: [bed, door]\n",
            "of: []\n",
            ["7: of has 0 entries; at least 1 must be"],
            id="no types",
        ),
        pytest.param(
            "of: [bed, door]\n",
            "of: [bed, door, bed]\n",
            ["7: of[2] is bed, which is there already"],
            id="a type counted twice",
        ),
        pytest.param(
            "[bed, door], slots: 800",
            "[bed, dor], slots: 800",
            ["11: together[2].types[1] is dor, which of does not have; did you mean door?"],
            id="a type that was not counted",
        ),
        pytest.param(
            "[bed, door], slots: 800",
            "[bed, bed], slots: 800",
            [
                "11: together[2].types[1] is bed, which is there already",
                "11: together[2].types is the set of together[1]; add their slots up in one of "
                "them",
            ],
            id="a type twice in a set",
        ),
        pytest.param(
            "[bed, door], slots: 800",
            "[bed], slots: 800",
            ["11: together[2].types is the set of together[1]; add their slots up in one of them"],
            id="a set twice",
        ),
        pytest.param(
            "  - { types: [bed, door], slots: 800 }\n",
            "  - { types: [door, bed], slots: 400 }\n  - { types: [bed, door], slots: 400 }\n",
            ["12: together[3].types is the set of together[2]; add their slots up in one of them"],
            id="a set twice in another order",
        ),
        pytest.param(
            "[bed, door], slots: 800",
            "[bed, door], slots: 0.5",
            ["11: together[2].slots is the number 0.5; a whole number is needed"],
            id="half a slot",
        ),
        pytest.param(
            "[bed, door], slots: 800",
            "[bed, door], slots: -1",
            ["11: together[2].slots is -1; it must be at least 0"],
            id="less than no slots",
        ),
        pytest.param(
            "[bed, door], slots: 800",
            "[bed, door], slot: 800",
            [
                "11: together[2] needs slots",
                "11: together[2].slot is not a key of a set of types; did you mean slots?",
            ],
            id="a misspelt key",
        ),
        pytest.param(
            "  - { types: [], slots: 20000 }\n  - { types: [bed], slots: 8000 }\n"
            "  - { types: [bed, door], slots: 800 }\n",
            "  - { types: [], slots: 0 }\n",
            ["8: together counts no slots at all"],
            id="no slots",
        ),
        pytest.param(
            "  - { types: [], slots: 20000 }\n  - { types: [bed], slots: 8000 }\n"
            "  - { types: [bed, door], slots: 800 }\n",
            "  - { types: [], slots: 39 }\n",
            ["8: together counts 39 slots, fewer than subjects, 40; each of them has one at least"],
            id="people without slots",
        ),
        pytest.param(
            "slots: 20000",
            "slots: 20041",
            [
                "8: together counts 28841 slots; 40 subjects can have between from and until "
                "28840 at most"
            ],
            id="more slots than there were",
        ),
    ],
)
def test_a_prior_with_one_place_spoilt(old: str, new: str, said: list[str]) -> None:
    assert faults(spoilt(PRIOR, old, new), Prior) == said


def test_a_list_that_nobody_reads_is_refused() -> None:
    of = [f"t{number}" for number in range(10)]
    sets = [[name for place, name in enumerate(of) if bits >> place & 1] for bits in range(1024)]
    rows = "".join(f"  - {{types: [{', '.join(one)}], slots: 1}}\n" for one in sets)
    text = PRIOR.partition("of:")[0] + f"of: [{', '.join(of)}]\ntogether:\n{rows}"
    assert faults(text, Prior) == [
        f"8: together has 1024 sets; at most {MOST_SETS} can be: count fewer types"
    ]
