"""Each test is named after a mistake that would break the proof; here on the step and the plan.

Mistakes that show only in rows are in tests/spark/test_what_breaks_the_proof.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from ppm.dp.source import Seed
from ppm.protect.program import Program
from ppm.protect.step import LOSSES, Protection
from tests.protect.guided import guided
from tests.protect.running import JOINT, NEIGHBOURS, SEEN, Event, Town, town_program
from tests.protect.town import (
    NAMED,
    POLICY,
    SHARED_CLINIC,
    SURVEY,
    VISIT,
    check_town,
    in_stream,
    with_survey,
)

VISITS: list[Event] = [("ada", 10.0, "clinic"), ("ada", 300.0, "pharmacy")]
OTHERS: list[Event] = [("ada", 5.0, "park"), ("bo", 400.0, "home"), ("ada", 2000.0, "park")]


def run(program: Program, *batches: tuple[Sequence[Event], int]) -> Town:
    town = Town(Protection(program))
    for events, watermark in batches:
        town.batch([events], watermark)
    return town


def test_sequence_numbers_on_pass_through_rows(tmp_path: Path) -> None:
    numbered = (POLICY, "columns: {person: string,", "columns: {person: string, fix: integer,")
    found = check_town(tmp_path, numbered, in_stream("event_id: fix")).warnings
    assert any("a gap between them tells of rows held back" in one.message for one in found)


def test_stand_ins_that_satisfy_another_predicate(tmp_path: Path) -> None:
    double = (VISIT, "place = 'pharmacy'", "place LIKE 'c%' OR place = 'pharmacy'")
    found = check_town(tmp_path, double).errors
    assert any("satisfies pharmacy as well" in fault.message for fault in found)


def test_allocation_learnt_from_the_protected_stream(tmp_path: Path) -> None:
    with_survey(tmp_path, SURVEY.replace("until: 2026-03-01", "until: 2026-03-02"))
    (fault,) = check_town(tmp_path, NAMED).errors
    assert "past stream.from" in fault.message
    assert "that is the live stream" in fault.message


def test_noise_redrawn_per_overlapping_window(tmp_path: Path) -> None:
    """Patterns that share a type share its one draw for each subject and slot."""
    program = town_program(tmp_path, *SHARED_CLINIC)
    drawn = [type_ for unit in program.units for type_ in unit.types]
    assert sorted(drawn) == [*range(len(program.types))]


def test_empty_slots_left_alone(tmp_path: Path) -> None:
    program = town_program(tmp_path)
    town = run(program, ([], program.end_of(199)))
    assert {who for who, *_ in town.told} == {"ada", "bo"}
    assert len({slot for _, slot, *_ in town.told}) > 190


def test_slot_borders_that_depend_on_data(tmp_path: Path) -> None:
    """Whenever the first row comes, the same slots are told of, with the same noise."""
    program = town_program(tmp_path)
    told = [
        run(program, ([("ada", first, "park")], 0), ([], program.end_of(40))).told
        for first in (1.0, 899.0, 901.5, 20_000.0)
    ]
    assert len(told[0]) > 50
    assert told[1:] == told[:1] * 3


def test_first_sight_through_a_private_row(tmp_path: Path) -> None:
    program = town_program(tmp_path, SEEN)
    town = run(program, ([("eve", 10.0, "clinic")], 0), ([], program.end_of(300)))
    assert town.told == []
    assert town.lost["unknown"] == 1


def test_late_events_handled_by_a_data_dependent_rule(tmp_path: Path) -> None:
    """Whether a row is late depends on its slot and the watermark, not on what else happened."""
    program = town_program(tmp_path)
    late: list[Event] = [("ada", 10.0, "clinic")]
    with_others = run(program, (VISITS, 0), ([], program.end_of(0)), (late, program.end_of(0)))
    alone = run(program, ([], 0), ([], program.end_of(0)), (late, program.end_of(0)))
    assert with_others.lost == alone.lost == dict.fromkeys(LOSSES, 0) | {"late": 1}


def test_latency_that_differs(tmp_path: Path) -> None:
    """Neighbouring streams are released, and wake, at the same moments."""
    program = town_program(tmp_path)
    moments = [program.end_of(slot) + late for slot in range(4) for late in (-1, 0, 5)]

    def released_at(events: list[Event]) -> list[tuple[bool, int | None]]:
        town = Town(Protection(program))
        told = []
        for number, moment in enumerate(moments):
            rows = town._gathered(events) if number == 0 else town.no_rows
            turn = town.step(town.states[0], rows, moment)
            town.states[0] = turn.state
            told.append((any(piece.num_rows for piece in turn.released), turn.wake_at))
        return told

    assert released_at([*OTHERS, *VISITS]) == released_at(OTHERS) == released_at([])


def test_row_order_that_differs(tmp_path: Path) -> None:
    """Rows stand in an order that what is told decides, whatever came first."""
    program = town_program(tmp_path, NEIGHBOURS)
    events = [*VISITS, *OTHERS, ("bo", 20.0, "shop")]
    one = run(program, (events, 0), ([], program.end_of(60)))
    other = run(program, (events[::-1], 0), ([], program.end_of(60)))
    assert one.told == other.told


def test_fresh_noise_on_replay(tmp_path: Path) -> None:
    program = town_program(tmp_path, NEIGHBOURS)
    first, second = (run(program, (VISITS, 0), ([], program.end_of(60))) for _ in range(2))
    assert len(first.told) > 100
    assert first.told == second.told


@pytest.mark.parametrize("change", ["version", "secret"])
def test_noise_under_a_new_version_or_secret_is_another_draw(tmp_path: Path, change: str) -> None:
    """So it is a second release, and a state of the first one refuses it (test_step.py)."""
    program = town_program(tmp_path)
    other = (
        replace(program, noise=Seed(8))
        if change == "secret"
        else town_program(tmp_path, (POLICY, "version: 1", "version: 2"))
    )
    batch: tuple[list[Event], int] = ([], program.end_of(300))
    first, second = set(run(program, batch).told), set(run(other, batch).told)
    # Two independent bits agree with p^2+(1-p)^2 = .53; 2,408 bits, 6 standard deviations are 147.
    differ = len(first ^ second)
    assert abs(differ - 0.47 * 2408) < 147


def test_an_unkeyed_subject_hash() -> None:
    one, other = (Seed(number).open().tags(["ada"]) for number in (1, 2))
    assert (one != other).all()


def test_one_noise_word_for_two_columns_axes_or_stages(tmp_path: Path) -> None:
    for edits in ((NEIGHBOURS,), JOINT):
        program = town_program(tmp_path, *edits)
        purposes = [purpose for unit in program.units for purpose in unit.purposes]
        assert all(a.encoded() != b.encoded() for a, b in combinations(purposes, 2))


def test_independent_noise_per_community_under_collusion(tmp_path: Path) -> None:
    """Nested communities are stages of one chain; the exact cost stands in test_step_exact."""
    nested = town_program(tmp_path, NEIGHBOURS)
    assert [len(unit.purposes) for unit in nested.units] == [2, 2, 2, 2]
    alone = "{collusion: independent, protect: {visit: {mechanism: response, epsilon: 2}}}"
    apart = town_program(
        tmp_path, (POLICY, "communities:\n", f"communities:\n  neighbours: {alone}\n")
    )
    purposes = [one for unit in apart.units for one in unit.purposes]
    assert sum("for neighbours alone" in one.stages for one in purposes) == 2


def test_communities_computed_on_different_late_sets(tmp_path: Path) -> None:
    """One state for all communities, so that a row is late for all of them or for none."""
    program = town_program(tmp_path, NEIGHBOURS)
    late: list[Event] = [("ada", 10.0, "clinic")]
    with_late = run(program, ([], program.end_of(0)), (late, program.end_of(0)))
    without = run(program, ([], program.end_of(0)), ([], program.end_of(0)))
    assert with_late.told == without.told
    assert with_late.lost["late"] == 1


def test_float_noise(tmp_path: Path) -> None:
    """Nothing but whole numbers decides what is told, each table with its certificate."""
    plain = town_program(tmp_path, NEIGHBOURS)
    tables = town_program(tmp_path, *guided("joint-response"))
    for unit in (*plain.units, *tables.units):
        for stage in unit.chain.stages:
            counts = (stage.counts(value) for value in range(stage.inputs))
            assert all(type(count) is int for row in counts for count in row)
        assert all(unit.chain.certificate(n).holds for n in range(len(unit.chain.epsilons)))
