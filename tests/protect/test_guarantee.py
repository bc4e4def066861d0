"""The numbers that a policy promises, against values computed by hand from the specification."""

from __future__ import annotations

from pathlib import Path

import pytest

from ppm.protect.check import Checked
from ppm.protect.collusion import colluding
from ppm.protect.guarantee import Guarantee, guarantees
from ppm.protect.spending import spending_of
from tests.protect.guided import guided, pattern_for
from tests.protect.town import (
    CONSUMER,
    ERRAND,
    POLICY,
    SHARED_CLINIC,
    VISIT,
    Edit,
    check_town,
    in_friends,
    mechanism,
    query,
)


def promised(root: Path, *edits: Edit, community: str = "friends") -> dict[str, Guarantee]:
    plan = checked(root, *edits).plans["town"]
    return {one.pattern: one for one in guarantees(plan, plan.terms[community])}


def checked(root: Path, *edits: Edit) -> Checked:
    found = check_town(root, *edits)
    assert not found.errors, found.errors
    return found


def with_strangers(epsilon: float, how: str = "response", more: str = "") -> Edit:
    """A second community that is kept from both patterns too."""
    rule = f"{{mechanism: {how}, epsilon: {epsilon}}}"
    text = f"  strangers:\n    protect: {{visit: {rule}, errand: {rule}}}\n{more}"
    return (POLICY, "communities:\n", f"communities:\n{text}")


def test_response_pays_epsilon_a_slot_and_k_slots_a_match(tmp_path: Path) -> None:
    visit = promised(tmp_path)["visit"]
    # 2 h in quarters: at most 8 borders, so 9 slots; 96 quarters a day.
    assert (visit.slot, visit.match_slots, visit.match, visit.day) == (1.0, 9, 9.0, 96.0)
    assert visit.horizon is None
    assert not visit.is_one_sided


def test_decoys_are_one_sided_and_pay_more_for_a_shared_event(tmp_path: Path) -> None:
    errand = promised(tmp_path, mechanism("errand", "decoy-windows"))["errand"]
    assert errand.is_one_sided
    # 1 h in quarters: ceil = 4, so k = 5 for one match and 2*4+1 = 9 for a shared event.
    assert (errand.match, errand.shared_event) == (5.0, 9.0)


def test_decoy_patterns_share_one_draw_with_the_smallest_epsilon(tmp_path: Path) -> None:
    found = promised(
        tmp_path,
        (POLICY, "response, epsilon: 1}\n      errand", "decoy-windows, epsilon: 3}\n      errand"),
        mechanism("errand", "decoy-windows"),
    )
    assert {name: one.slot for name, one in found.items()} == {"visit": 1.0, "errand": 1.0}


def test_a_pattern_without_within_has_no_bound_for_a_match(tmp_path: Path) -> None:
    assert promised(tmp_path, (VISIT, "within: 2 h\n", ""))["visit"].match is None


def test_a_shared_type_gets_the_smaller_share(tmp_path: Path) -> None:
    plan = checked(
        tmp_path,
        *SHARED_CLINIC,
        (
            POLICY,
            "errand: {mechanism: response, epsilon: 1",
            "errand: {mechanism: response, epsilon: 0.5",
        ),
    ).plans["town"]
    spending = spending_of(plan, plan.terms["friends"])
    assert spending.shares == {"clinic": 0.25, "pharmacy": 0.5, "post": 0.25}
    assert spending.of("visit") == 0.75
    assert spending.of_all == 1.0


def test_joint_patterns_that_share_a_type_are_one_draw_with_the_smallest_epsilon(
    tmp_path: Path,
) -> None:
    plan = checked(
        tmp_path,
        *SHARED_CLINIC,
        (
            POLICY,
            "errand: {mechanism: response, epsilon: 1",
            "errand: {mechanism: response, epsilon: 0.5",
        ),
        (POLICY, "mechanism: response", "mechanism: joint-response"),
    ).plans["town"]
    (group,) = spending_of(plan, plan.terms["friends"]).groups
    assert (sorted(group.types), group.epsilon) == (["clinic", "pharmacy", "post"], 0.5)


@pytest.mark.parametrize(
    ("horizon", "slots", "horizon_cost", "day"),
    [
        pytest.param("{over: 30 d, epsilon: 50", 50, 50.0, 50.0, id="spent within a day"),
        pytest.param("{over: 30 d, epsilon: 20", 20, 20.0, 20.0, id="spent in less than a day"),
        pytest.param("{over: 1 h, epsilon: 900", 5, 5.0, 96.0, id="more than there are slots"),
    ],
)
def test_a_horizon_stops_the_release(
    tmp_path: Path, horizon: str, slots: int, horizon_cost: float, day: float
) -> None:
    visit = promised(tmp_path, in_friends(f"horizon: {horizon}, then: withhold}}"))["visit"]
    assert (visit.paid_slots, visit.horizon, visit.day) == (slots, horizon_cost, day)


def test_answers_that_touch_a_pattern_share_its_budget(tmp_path: Path) -> None:
    found = checked(
        tmp_path,
        mechanism("visit", "answers"),
        (
            CONSUMER,
            "    pattern: visit\n",
            "    pattern: visit\n    ask: existence\n"
            "  - name: alone\n    ask: existence\n"
            "    pattern: {name: q, events: {clinic: place = 'clinic'}, sequence: clinic}\n",
        ),
    )
    plan = found.plans["town"]
    answers = spending_of(plan, plan.terms["friends"]).answers
    # Two answers share epsilon 1; the first one's matches span 9 slots, so each answer gets 1/18.
    assert {a.question.query.name: (a.slots, a.epsilon) for a in answers} == {
        "visits": (9, pytest.approx(1 / 18)),
        "alone": (1, 0.5),
    }
    assert guarantees(plan, plan.terms["friends"])[0].slot == pytest.approx(1.0)


def test_an_answer_on_public_rows_is_free(tmp_path: Path) -> None:
    found = checked(
        tmp_path,
        mechanism("visit", "answers"),
        query(
            "pattern: {name: q, events: {gym: place = 'gym'}, sequence: gym}\n    ask: existence"
        ),
    )
    plan = found.plans["town"]
    assert spending_of(plan, plan.terms["friends"]).answers == ()
    assert guarantees(plan, plan.terms["friends"])[0].slot == 0


@pytest.mark.parametrize(
    ("edits", "together"),
    [
        pytest.param([with_strangers(0.25)], 1.0, id="nested response pays the maximum"),
        pytest.param(
            [with_strangers(0.25, more="    collusion: independent\n")],
            1.25,
            id="independent noise pays the sum",
        ),
        pytest.param(
            [with_strangers(0.25, "joint-response")], 1.25, id="two mechanisms pay the sum"
        ),
        pytest.param(
            [(POLICY, "mechanism: response", "mechanism: joint-response"),
             with_strangers(0.25, "joint-response")],
            1.0,
            id="nested joint response pays the maximum",
        ),
        pytest.param(
            [(POLICY, "mechanism: response", "mechanism: decoy-windows"),
             with_strangers(0.25, "decoy-windows")],
            1.0,
            id="decoys on the same patterns pay the maximum",
        ),
        pytest.param(
            [mechanism("visit", "decoy-windows"), with_strangers(0.25, "decoy-windows")],
            1.25,
            id="decoys on other patterns pay the sum",
        ),
        pytest.param(
            [(POLICY, "communities:\n", "communities:\n  family: {}\n")],
            None,
            id="raw access voids it",
        ),
        pytest.param(
            [(POLICY, "communities:\n", "communities:\n  family: {rows: withheld}\n")],
            1.0,
            id="who is told nothing voids nothing",
        ),
    ],
)  # fmt: skip
def test_what_communities_learn_together(
    tmp_path: Path, edits: list[Edit], together: float | None
) -> None:
    plan = checked(tmp_path, *edits).plans["town"]
    assert colluding(plan, "visit").epsilon == together


def test_a_joint_chain_needs_a_coarser_epsilon_that_the_finer_draw_can_give(tmp_path: Path) -> None:
    """Two of three types: only up to ln(1+(e^1-1)/2) = 0.620 the coarser draw costs nothing."""
    rule = "{{mechanism: joint-response, epsilon: {}}}"
    for epsilon, together in ((0.6, 1.0), (0.7, 1.7)):
        edits: list[Edit] = [
            *SHARED_CLINIC,
            (POLICY, "mechanism: response", "mechanism: joint-response"),
            (
                POLICY,
                "communities:\n",
                f"communities:\n  strangers:\n    protect: {{visit: {rule.format(epsilon)}}}\n",
            ),
        ]
        plan = checked(tmp_path, *edits).plans["town"]
        assert colluding(plan, "visit").epsilon == together


OVERLAP: list[Edit] = [
    (ERRAND, "place = 'shop'", "age > 70"),
    (ERRAND, "{place: shop}", "{age: 71}"),
]
"""An old person in the clinic is of the types clinic and shop at once."""


def test_a_row_that_may_be_of_two_types_pays_for_both(tmp_path: Path) -> None:
    found = promised(tmp_path, *OVERLAP)
    # visit: clinic 1/2 + pharmacy 1/2, and shop 1/2 may change with the same rows.
    assert (found["visit"].slot, found["errand"].slot) == (1.5, 2.0)


def test_an_answer_under_another_name_is_raw_access(tmp_path: Path) -> None:
    family = "  family: {rows: withheld}\n"
    spy = (
        "name: spy\npolicy: town\ncommunity: family\nmodel: transparent\nqueries:\n"
        "  - {name: q, ask: existence,\n"
        "     pattern: {name: s, events: {box: place LIKE 'clin%'}, sequence: box}}\n"
    )
    (tmp_path / "consumers").mkdir()
    (tmp_path / "consumers" / "spy.yaml").write_text(spy, "utf-8")
    plan = checked(tmp_path, (POLICY, "communities:\n", f"communities:\n{family}")).plans["town"]
    assert colluding(plan, "visit").raw == ("family",)
    assert colluding(plan, "errand").raw == ("family",)


def test_a_pattern_pays_what_its_types_are_given(tmp_path: Path) -> None:
    found = promised(
        tmp_path, *guided(), (POLICY, "optimal, epsilon: 1}", "optimal, epsilon: 2}"),
        query(f"pattern: {pattern_for('clinic')}"),
    )  # fmt: skip
    assert found["visit"].slot == 2.0
    assert found["errand"].slot == 0  # nobody asks for it


def test_a_day_of_decoys_reaches_into_the_days_around_it(tmp_path: Path) -> None:
    errand = promised(tmp_path, mechanism("errand", "decoy-windows"))["errand"]
    assert errand.day == 96 + 2 * 4


def test_a_day_touches_one_slot_more_where_slots_do_not_divide_it(tmp_path: Path) -> None:
    assert promised(tmp_path, (POLICY, "slot: 15 min", "slot: 7 h"))["visit"].day == 5


def test_decoy_patterns_that_share_rows_reach_as_far_as_the_longest(tmp_path: Path) -> None:
    found = promised(
        tmp_path, *SHARED_CLINIC, (POLICY, "mechanism: response", "mechanism: decoy-windows")
    )
    # visit lasts 2 h: 8 borders, so 9 slots and 17 for a shared event, for errand as well.
    assert (found["errand"].match, found["errand"].shared_event) == (9.0, 17.0)


def test_a_shared_type_stops_when_the_first_of_its_budgets_is_spent(tmp_path: Path) -> None:
    found = promised(
        tmp_path,
        *SHARED_CLINIC,
        (
            POLICY,
            "errand: {mechanism: response, epsilon: 1",
            "errand: {mechanism: response, epsilon: 0.5",
        ),
        (
            POLICY,
            "epsilon: 0.5}\n",
            "epsilon: 0.5}\n    horizon: {over: 30 d, epsilon: 75, then: withhold}\n",
        ),
    )
    assert {name: one.paid_slots for name, one in found.items()} == {"visit": 100, "errand": 100}


def test_colluders_of_whom_some_see_true_slots_pay_for_every_slot_that_a_change_frees(
    tmp_path: Path,
) -> None:
    plan = checked(tmp_path, with_strangers(1.0, "decoy-windows")).plans["town"]
    together = colluding(plan, "visit")
    # friends: epsilon 1 for a changed slot; strangers: an event of visit frees 17 slots.
    assert together.epsilon == 1 + 17
    assert together.is_one_sided


def test_the_price_of_a_match_in_single_slots_is_told_only_where_rows_are_of_one_type(
    tmp_path: Path,
) -> None:
    assert promised(tmp_path)["visit"].match_once == 1.0
    assert promised(tmp_path, *OVERLAP)["visit"].match_once is None


def test_a_sliding_window_pays_for_every_slot_that_it_spans(tmp_path: Path) -> None:
    window = "window: {kind: time, size: 1 h, slide: 15 min}"
    pattern = f"{{name: q, events: {{clinic: place = 'clinic'}}, sequence: clinic, {window}}}"
    plan = checked(
        tmp_path,
        mechanism("visit", "answers"),
        query(f"pattern: {pattern}\n    ask: existence"),
    ).plans["town"]
    (answer,) = spending_of(plan, plan.terms["friends"]).answers
    assert answer.slots == 5
