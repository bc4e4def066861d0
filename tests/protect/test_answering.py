"""Answers on the truth and on what is told: what they say, of whom, and what gets lost."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from ppm.cep.columnar.engine import MOST_RUNS
from ppm.dp.mechanisms.binary import BinaryResponse
from ppm.errors import BindingError, BudgetError
from ppm.protect.explain import explain
from ppm.protect.step import Protection
from tests.protect.asking import (
    EVERY_KIND,
    QUICK,
    STROLLED,
    STROLLS,
    VISIT_ANSWERED,
    VISITED,
    VISITS,
    Asking,
    asks,
    told,
    town_answering,
)
from tests.protect.running import SEEN, Event, Town, town_plan, town_program

DAY: list[Event] = [
    ("ada", 10.0, "clinic"),
    ("ada", 100.0, "pharmacy"),
    ("bo", 50.0, "park"),
    ("bo", 300.0, "home"),
    ("ada", 1000.0, "shop"),
    ("ada", 1900.0, "post"),
    ("cy", 20.0, "park"),
    ("cy", 30.0, "home"),
]
SURE = ("policies/town.yaml", "epsilon: 4}", "epsilon: 400}")
"""So much budget that noise changes nothing."""


@pytest.fixture
def sure(tmp_path: Path) -> Asking:
    edits = (*EVERY_KIND, SURE)
    return Asking(town_answering(tmp_path, *edits), town_plan(tmp_path, *edits))


def test_existence_is_told_of_every_known_subject_and_slot(sure: Asking) -> None:
    sure.finish([DAY], sure.step.program.end_of(2))
    everywhere = {(who, slot): 0 for who in ("ada", "bo") for slot in range(3)}
    assert told(sure.answers, "visited") == everywhere | {("ada", 0): 1}
    assert told(sure.answers, "strolled") == everywhere | {("bo", 0): 1}


def test_counts_are_sums_over_known_subjects_for_every_slot(sure: Asking) -> None:
    three = [*(("bo", 400.0 + at, "clinic") for at in range(3)), ("bo", 500.0, "pharmacy")]
    four = [*(("ada", 600.0 + at, "park") for at in range(4)), ("ada", 700.0, "home")]
    sure.finish([[*DAY, *three, *four]], sure.step.program.end_of(2))
    # One visit of Ada's, and three of Bo's, of which two count.
    assert told(sure.answers, "visits") == {(None, 0): 3, (None, 1): 0, (None, 2): 0}
    # One stroll of Bo's, and four of Ada's, of which three count.
    assert told(sure.answers, "strolls") == {(None, 0): 4, (None, 1): 0, (None, 2): 0}


def test_a_match_counts_in_the_slot_in_which_it_became_certain(sure: Asking) -> None:
    sure.finish(
        [[("ada", 800.0, "clinic"), ("ada", 1000.0, "pharmacy")]], sure.step.program.end_of(2)
    )
    assert told(sure.answers, "visited")["ada", 0] == 0
    assert told(sure.answers, "visited")["ada", 1] == 1


def test_matches_are_found_in_what_the_community_is_told(tmp_path: Path) -> None:
    edits = (*EVERY_KIND, ("policies/town.yaml", "errand: {mechanism: response, epsilon: 1}",
                           "errand: {mechanism: response, epsilon: 2}"))  # fmt: skip
    plan = town_plan(tmp_path, *edits)
    answers = Asking(town_answering(tmp_path, *edits), plan)
    answers.finish([DAY], answers.step.program.end_of(400))
    rows = Town(Protection(town_program(tmp_path, *edits, communities=["friends"])))
    rows.finish([DAY], rows.step.program.end_of(400))
    shown = {(who, slot, type_) for who, slot, type_, _ in rows.told}
    expected: Counter[tuple[str | None, int]] = Counter()
    for who, slot in {(who, slot) for who, slot, type_ in shown if type_ == "shop"}:
        # A shop goes with the next post, if that comes within the hour.
        posts = [late for late in range(slot, slot + 4) if (who, late, "post") in shown]
        expected.update((who, late) for late in posts[:1])
    assert told(answers.answers, "errands") == expected
    assert len(expected) > 50


def test_stand_ins_of_a_slot_are_in_the_order_in_which_a_query_asks_for_them(
    tmp_path: Path,
) -> None:
    """Their one time says nothing of it."""
    both = "name: %s\npattern: {name: %s, events: {shop: place = 'shop', post: place = 'post'}, " \
        "sequence: %s, within: 1 min}"  # fmt: skip
    edits = (
        asks(both % ("there", "there", "shop -> post"), both % ("back", "back", "post -> shop")),
    )
    asking = Asking(town_answering(tmp_path, *edits), town_plan(tmp_path, *edits))
    asking.finish([DAY], asking.step.program.end_of(100))
    assert told(asking.answers, "there") == told(asking.answers, "back")
    assert len(told(asking.answers, "there")) > 30


def test_only_public_rows_of_a_community_are_told_to_its_queries(tmp_path: Path) -> None:
    """A row of a private type is not told, so a query of the released stream never sees it."""
    clinic = (
        "name: seen\npattern: {name: seen, events: {clinic: place = 'clinic'}, sequence: clinic}"
    )
    edits = (VISIT_ANSWERED, asks(clinic))
    asking = Asking(town_answering(tmp_path, *edits), town_plan(tmp_path, *edits))
    asking.finish([DAY], asking.step.program.end_of(2))
    assert asking.answers == []


def test_public_rows_of_unknown_subjects_count_in_what_is_told_and_not_on_the_truth(
    tmp_path: Path,
) -> None:
    matches = STROLLED.replace("ask: existence", "").replace("strolled", "seen").rstrip()
    edits = (asks(matches, STROLLED.replace("name: stroll,", "name: other,")),)
    asking = Asking(town_answering(tmp_path, *edits), town_plan(tmp_path, *edits))
    asking.finish([DAY], asking.step.program.end_of(0))
    assert told(asking.answers, "seen") == {("bo", 0): 1, ("cy", 0): 1}
    assert told(asking.answers, "strolled") == {("ada", 0): 0, ("bo", 0): 1}


def test_a_private_row_makes_nobody_known_and_rows_from_before_are_left_out(
    tmp_path: Path,
) -> None:
    edits = (*EVERY_KIND, SURE, SEEN)
    asking = Asking(town_answering(tmp_path, *edits), town_plan(tmp_path, *edits))
    events: list[Event] = [
        ("ada", 890.0, "clinic"),
        ("ada", 910.0, "pharmacy"),
        ("ada", 920.0, "park"),
        ("eve", 5.0, "clinic"),
        ("eve", 6.0, "pharmacy"),
    ]
    asking.finish([events], asking.step.program.end_of(1))
    # Ada is known from slot 1 on, and her row of slot 0 is dropped.
    assert told(asking.answers, "visited") == {("ada", 1): 0}
    assert asking.lost["unknown"] == 3


def test_a_row_that_comes_twice_counts_once(sure: Asking) -> None:
    sure.finish([DAY, DAY[:4]], sure.step.program.end_of(2))
    assert told(sure.answers, "visits")[None, 0] == 1
    assert told(sure.answers, "strolls")[None, 0] == 1


def test_a_crowd_of_private_rows_does_not_stop_the_stream(sure: Asking) -> None:
    """There are more runs at once than the engine goes through elsewhere."""
    crowd: list[Event] = [("ada", 8e-3 * at, "clinic") for at in range(MOST_RUNS + 10)]
    sure.finish([[*crowd, ("ada", 890.0, "pharmacy")]], sure.step.program.end_of(0))
    assert told(sure.answers, "visited") == {("ada", 0): 1, ("bo", 0): 0}
    assert told(sure.answers, "visits") == {(None, 0): 2}


def test_a_row_is_late_once_its_slot_is_answered(sure: Asking) -> None:
    program = sure.step.program
    sure.batch([DAY[:1]], -(1 << 62))
    sure.batch([[("ada", 899.0, "pharmacy"), ("bo", 10.0, "home")]], program.end_of(0))
    sure.batch([], program.end_of(2))
    assert told(sure.answers, "visited")["ada", 0] == 0
    assert sure.lost["late"] == 2


def test_rows_without_subject_stop_the_stream(sure: Asking) -> None:
    with pytest.raises(BindingError, match="1 row without subject or time"):
        sure.finish([[(None, 5.0, "clinic")]], sure.step.program.end_of(2))


def test_a_start_too_long_before_the_data_is_refused(sure: Asking) -> None:
    with pytest.raises(BudgetError, match="would be released at once in one shard"):
        sure.batch([], sure.step.program.end_of(1 << 31))


def test_a_horizon_stops_answers_that_cost(tmp_path: Path) -> None:
    horizon = ("policies/town.yaml", "  friends:\n", "  friends:\n    horizon: "
               "{over: 2 h, epsilon: 8, then: withhold}\n")  # fmt: skip
    edits = (*EVERY_KIND, horizon)
    asking = Asking(town_answering(tmp_path, *edits), town_plan(tmp_path, *edits))
    asking.finish([DAY], asking.step.program.end_of(9))
    # 8 pays for two slots of 4, and again after two hours, which may touch nine slots.
    assert {slot for _, slot in told(asking.answers, "visited")} == {0, 1, 9}
    assert {slot for _, slot in told(asking.answers, "visits")} == {0, 1, 9}
    assert {slot for _, slot in told(asking.answers, "strolled")} == {*range(10)}


def test_answers_that_cost_are_noisy_and_exact_ones_are_not(tmp_path: Path) -> None:
    asking = Asking(town_answering(tmp_path, *EVERY_KIND), town_plan(tmp_path, *EVERY_KIND))
    asking.finish([DAY], asking.step.program.end_of(2000))
    visited = [*told(asking.answers, "visited").values()]
    flipped = BinaryResponse(1.0).flips / 2**64
    assert sum(visited) / len(visited) == pytest.approx(flipped, abs=0.04)
    assert sum(told(asking.answers, "strolled").values()) == 1
    assert len({*told(asking.answers, "visits").values()}) > 3
    assert sum(told(asking.answers, "strolls").values()) == 1


def test_a_step_shows_nothing_of_what_it_holds(sure: Asking) -> None:
    sure.batch([DAY], sure.step.program.start)
    turn = sure.step(sure.states[0], sure._rows([DAY]), sure.step.program.end_of(2))
    for value in (sure.step, sure.step.questions, sure.step.questions.sides, turn):
        assert "ada" not in repr(value)
        assert "ppm answer" not in repr(value)


def test_answers_and_rows_to_one_community_add_up(tmp_path: Path) -> None:
    """Errands are told by response at 1; two queries on visits, each over two slots, cost 4."""
    plan = town_plan(tmp_path, *EVERY_KIND)
    [friends] = explain(plan).communities
    assert friends.at_once == "All private patterns at once: 5 for a changed slot."
    slots = {one.pattern: one.numbers.slot for one in friends.patterns}
    assert slots == {"visit": 4.0, "errand": 1.0}


def test_which_answers_come_when_and_in_which_order_tells_nothing(tmp_path: Path) -> None:
    """With and without private rows the same places are answered, batch by batch."""
    edits = (VISIT_ANSWERED, QUICK, asks(VISITED, VISITS, STROLLED, STROLLS), SEEN)
    public = [one for one in DAY if one[2] in ("park", "home")]
    places = []
    for events in (DAY, public):
        asking = Asking(town_answering(tmp_path, *edits, shards=2), town_plan(tmp_path, *edits))
        program = asking.step.program
        came = []
        for number, pieces in enumerate([[events], [], []]):
            asking.batch(pieces, program.end_of(2 * number - 1))
            came.append([one[:3] for one in asking.answers])
        places.append(came)
    assert places[0] == places[1]
    assert len(places[0][-1]) > 20
