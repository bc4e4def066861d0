"""What a slot tells: for every known subject, once, when time has passed it, and nothing else."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from ppm.dp.source import Seed
from ppm.errors import BindingError, BudgetError, CheckpointError
from ppm.protect import step, stretch
from ppm.protect.check import check_project
from ppm.protect.compile import program_of
from ppm.protect.guarantee import guarantees
from ppm.protect.open_slots import SUBJECT, TIME, bit_names
from ppm.protect.program import Program
from ppm.protect.step import TOLD, Protection
from tests.protect.running import NEIGHBOURS, SEEN, Event, Town, town_program
from tests.protect.town import POLICY, Edit, in_stream

ROOT = Path(__file__).parents[2]
SLOT = 900
"""Seconds."""


def whole(program: Program, events: list[Event], slots: int) -> Town:
    """A batch of so many slots."""
    town = Town(Protection(program))
    town.finish([events], program.end_of(slots - 1))
    return town


def sure(*edits: Edit) -> list[Edit]:
    """Budgets so large that noise never shows, so that a test can look at the rest."""
    text = "{mechanism: response, epsilon: 1}"
    return [(POLICY, text, text.replace("1}", "100}")), *edits]


def test_what_happened_is_told_once_for_each_slot_and_type(tmp_path: Path) -> None:
    program = town_program(tmp_path, *sure())
    events: list[Event] = [
        ("ada", 10, "clinic"),
        ("ada", 20, "clinic"),
        ("ada", 899.999999, "pharmacy"),
        ("bo", 900, "clinic"),
        ("bo", 1000, "park"),
    ]
    assert whole(program, events, 2).told == [
        ("ada", 0, "clinic", "friends"),
        ("ada", 0, "pharmacy", "friends"),
        ("bo", 1, "clinic", "friends"),
    ]


def test_a_slot_is_told_when_its_last_moment_has_passed_and_not_before(tmp_path: Path) -> None:
    program = town_program(tmp_path, *sure())
    town = Town(Protection(program))
    town.batch([[("ada", 10, "clinic")]], program.start)
    assert town.step(town.states[0], town.no_rows, program.start).wake_at == program.end_of(0)
    town.batch([], program.end_of(0) - 1)
    assert town.told == []
    town.batch([], program.end_of(0))
    assert town.told == [("ada", 0, "clinic", "friends")]
    town.batch([], program.end_of(0))
    assert len(town.told) == 1


def test_late_rows_are_counted_and_change_nothing(tmp_path: Path) -> None:
    program = town_program(tmp_path, *sure())
    town = Town(Protection(program))
    town.batch([], program.end_of(1))
    town.batch([[("ada", 10, "clinic"), ("ada", 950, "clinic"), ("ada", 10, "park")]], 0)
    town.batch([[("ada", 1900, "clinic")]], program.end_of(2))
    assert town.told == []
    assert town.lost["late"] == 3


def test_a_state_never_opens_a_slot_again_whatever_watermark_it_is_given(tmp_path: Path) -> None:
    program = town_program(tmp_path, *sure())
    town = Town(Protection(program))
    town.batch([], program.end_of(5))
    town.batch([[("ada", 10, "clinic")]], -(1 << 62))
    assert town.lost["late"] == 1
    town.batch([], program.end_of(5))
    assert town.told == []


def test_private_rows_from_before_the_start_are_counted(tmp_path: Path) -> None:
    town = whole(town_program(tmp_path, *sure()), [("ada", -1, "clinic"), ("ada", -1, "park")], 2)
    assert town.told == []
    assert town.lost["before"] == 1


def test_private_rows_from_after_the_end_of_a_batch_are_counted(tmp_path: Path) -> None:
    town = whole(town_program(tmp_path, *sure()), [("ada", 950, "clinic")], 1)
    assert town.told == []
    assert town.lost["after"] == 1


def test_rows_of_strangers_are_counted(tmp_path: Path) -> None:
    town = whole(town_program(tmp_path, *sure()), [("eve", 5, "clinic"), ("eve", 5, "park")], 1)
    assert town.told == []
    assert town.lost["unknown"] == 1


def test_a_seen_subject_is_known_from_the_slot_of_its_first_public_row_on(tmp_path: Path) -> None:
    program = town_program(tmp_path, *sure(SEEN))
    events: list[Event] = [
        ("eve", 10, "clinic"),
        ("eve", 901, "clinic"),
        ("eve", 1500, "park"),
        ("eve", 1900, "clinic"),
    ]
    town = whole(program, events, 3)
    assert [(slot, name) for _, slot, name, _ in town.told] == [(1, "clinic"), (2, "clinic")]
    assert town.lost["unknown"] == 1


def test_subjects_that_were_never_known_are_forgotten(tmp_path: Path) -> None:
    program = town_program(tmp_path, SEEN)
    town = Town(Protection(program))
    nobody = town.step(None, town.no_rows, program.start).state
    town.batch([[("eve", 10, "clinic")]], program.start)
    assert town.states[0] != nobody
    town.batch([], program.end_of(3))
    assert town.lost["unknown"] == 1
    later = town.step(nobody, town.no_rows, program.end_of(3)).state
    assert town.states[0] == later


@pytest.mark.parametrize(
    ("event", "count"),
    [((None, 5, "clinic"), 1), (("ada", None, "park"), 1), ((None, None, "x"), 1)],
)
def test_rows_without_subject_or_time_are_refused_or_counted(
    tmp_path: Path, event: Event, count: int
) -> None:
    events: list[Event] = [("ada", 5, "clinic"), event]
    with pytest.raises(BindingError, match="1 row without subject or time; fill these columns"):
        whole(town_program(tmp_path, *sure()), events, 1)
    town = whole(town_program(tmp_path, *sure(in_stream("on_null: drop"))), events, 1)
    assert town.lost["nulls"] == count
    assert town.told == [("ada", 0, "clinic", "friends")]


def test_empty_slots_of_known_subjects_are_noised_from_the_start_on(tmp_path: Path) -> None:
    town = whole(town_program(tmp_path), [], 2000)
    per_slot = Counter((who, name) for who, _, name, _ in town.told)
    # Each of 4 types has epsilon 1/2: an empty slot shows it with probability .3775.
    assert set(per_slot) == {(w, t) for w in ("ada", "bo") for t in town.step.program.types}
    # 6 standard deviations: a false alarm once in 10^8 for a fixed seed.
    assert all(abs(count - 755) < 130 for count in per_slot.values())


def test_a_true_match_stays_a_match_as_often_as_the_closed_form_says(tmp_path: Path) -> None:
    slots = 4000
    events: list[Event] = [
        ("ada", SLOT * s + 1, p) for s in range(slots) for p in ("clinic", "pharmacy")
    ]
    told = whole(town_program(tmp_path), events, slots).told
    shown = {(slot, name) for who, slot, name, _ in told if who == "ada"}
    kept = sum({(s, "clinic"), (s, "pharmacy")} <= shown for s in range(slots))
    # (1 - .3775)^2 = .3875; 6 standard deviations of a share are .046.
    assert abs(kept / slots - 0.3875) < 0.046


def test_a_horizon_withholds_slots_by_their_number(tmp_path: Path) -> None:
    last = "errand: {mechanism: response, epsilon: 100}\n"
    horizon = "    horizon: {over: 1 h, epsilon: 200, then: withhold}\n"
    program = town_program(tmp_path, *sure(), (POLICY, last, last + horizon))
    stop = program.units[0].readers[0].stop
    assert stop is not None
    assert (stop.paid, stop.period) == (2, 5)
    events: list[Event] = [("ada", SLOT * slot, "clinic") for slot in range(12)]
    told = [slot for _, slot, _, _ in whole(program, events, 12).told]
    assert told == [0, 1, 5, 6, 10, 11]


def test_a_horizon_stops_where_explain_says() -> None:
    plan = check_project(ROOT).plan("quiet-house")
    program = program_of(
        plan,
        ["energy-adviser"],
        noise=Seed(7),
        columns="",
        shards=1,
        knows_subjects=True,
        names_communities=False,
    )
    stops = {unit.readers[0].stop for unit in program.units}
    told = {one.paid_slots for one in guarantees(plan, plan.terms["energy-adviser"])}
    assert {None if stop is None else stop.paid for stop in stops} == told == {400}


def test_communities_get_rows_of_their_own_releases(tmp_path: Path) -> None:
    both = whole(town_program(tmp_path, NEIGHBOURS), [("ada", 5, "clinic")], 300).told
    for community in ("friends", "neighbours"):
        alone = town_program(tmp_path, NEIGHBOURS, communities=[community])
        assert whole(alone, [("ada", 5, "clinic")], 300).told == [
            one for one in both if one[3] == community
        ]


def test_the_order_of_rows_is_that_of_slots_subjects_and_types(tmp_path: Path) -> None:
    town = whole(town_program(tmp_path, NEIGHBOURS), [("bo", 5, "clinic"), ("ada", 5, "shop")], 50)
    number = town.step.program.communities.index
    told = [(slot, who, name, number(community)) for who, slot, name, community in town.told]
    assert told == sorted(told)


def test_a_program_survives_a_journey_to_a_worker(tmp_path: Path) -> None:
    program = town_program(tmp_path, NEIGHBOURS)
    copy = pickle.loads(pickle.dumps(Protection(program)))  # noqa: S301
    assert copy == Protection(program)
    events: list[Event] = [("ada", 5, "clinic")]
    assert whole(copy.program, events, 20).told == whole(program, events, 20).told


def test_another_secret_version_or_policy_cannot_go_on_from_a_state(tmp_path: Path) -> None:
    program = town_program(tmp_path)
    town = Town(Protection(program))
    for changed, sentence in [
        (replace(program, noise=Seed(8)), "the secret is another"),
        (replace(program, version=2), "the version of the policy is another"),
        (replace(program, shards=4), "the number of shards is another"),
        (replace(program, columns="other"), "the set of columns is another"),
        (town_program(tmp_path, NEIGHBOURS, communities=["friends"]), "the policy town is another"),
    ]:
        with pytest.raises(CheckpointError, match=f"another query: {sentence}"):
            Protection(changed)(town.states[0], town.no_rows, program.start)


def test_what_is_for_people_does_not_part_a_policy_from_its_state(tmp_path: Path) -> None:
    told = town_program(tmp_path)
    with_doc = town_program(tmp_path, (POLICY, "version: 1\n", "version: 1\ndoc: for people\n"))
    assert told.meaning == with_doc.meaning


@contextmanager
def most_bits(number: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(step, "MOST_BITS", number)
        yield


@pytest.mark.parametrize("slot", [1 << 30, 1 << 50])
def test_a_row_from_the_far_future_is_an_error_and_not_a_flood(tmp_path: Path, slot: int) -> None:
    program = town_program(tmp_path)
    town = Town(Protection(program))
    with pytest.raises(BudgetError, match="a row from the far future has closed every slot"):
        town.batch([], program.end_of(slot))
    with most_bits(7), pytest.raises(BudgetError, match="up to 1 slot of 2 subjects would be"):
        town.batch([], program.end_of(0))


def test_a_long_backlog_leaves_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretch, "_AT_ONCE", 100)
    town = Town(Protection(town_program(tmp_path)))
    pieces = [*town.step.finish(town.states[0], town.no_rows, town.step.program.end_of(999))]
    assert len(pieces) == 20
    assert max(piece.num_rows for piece in pieces) <= 100 * 4


def test_a_subject_of_any_bytes_is_a_subject(tmp_path: Path) -> None:
    """Spark calls a text what Python cannot read as one."""
    program = town_program(tmp_path, *sure(SEEN))
    step = Protection(program)
    raw = pa.array([b"\xffa", b"\xffa", "ø".encode()]).cast(pa.binary()).view(pa.string())
    rows = pa.table(
        {
            SUBJECT: raw,
            TIME: pa.array([program.start] * 3, pa.timestamp("us", "UTC")),
            bit_names(1)[0]: [0, 1, 0],
        }
    )
    [told] = step.finish(None, step.gather(rows)[0], program.end_of(0))
    assert told[SUBJECT].cast(pa.binary()).to_pylist() == [b"\xffa"]


def test_a_late_public_row_makes_its_subject_known_from_the_next_open_slot_on(
    tmp_path: Path,
) -> None:
    program = town_program(tmp_path, *sure(SEEN))
    town = Town(Protection(program))
    town.batch([[("eve", 10, "park"), ("eve", 2000, "clinic")]], program.end_of(1))
    town.batch([], program.end_of(2))
    assert town.told == [("eve", 2, "clinic", "friends")]


def test_many_slots_are_drawn_in_parts_that_fit_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = town_program(tmp_path)
    events: list[Event] = [("bo", SLOT * slot, "shop") for slot in range(40)]
    at_once = whole(program, events, 40).told
    monkeypatch.setattr(stretch, "_AT_ONCE", 7)
    assert whole(program, events, 40).told == at_once


def test_more_types_than_a_column_has_bits_are_told_apart(tmp_path: Path) -> None:
    program = town_program(tmp_path, *sure())
    # The four types of the town after 66 others, so that they stand in a second column.
    wide = replace(
        program,
        types=(*(f"t{number}" for number in range(66)), *program.types),
        units=tuple(
            replace(unit, types=tuple(66 + at for at in unit.types)) for unit in program.units
        ),
    )
    assert wide.words == 2
    step = Protection(wide)
    rows = pa.table(
        {
            SUBJECT: ["ada"],
            TIME: pa.array([wide.start], pa.timestamp("us", "UTC")),
            bit_names(2)[0]: [1],
            bit_names(2)[1]: [1 << 66 - 63],
        }
    )
    state = step.begin(pa.table({SUBJECT: ["ada"]}))
    [told] = step.finish(state, step.gather(rows)[0], wide.end_of(0))
    assert [wide.types[number] for number in told[TOLD].to_pylist()] == ["clinic"]
