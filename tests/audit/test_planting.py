"""Streams with canaries: what is planted, where, and which columns they have."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from ppm.audit.planting import Layout, Planting, plant
from ppm.audit.rows import Kinds, columns_of
from ppm.errors import BindingError
from ppm.protect.find import find_plan
from ppm.protect.plan import Plan
from ppm.spec.expression.kinds import ColumnType
from tests.audit.village import CANARIES, village


def test_a_private_row_is_of_one_type_and_a_public_row_of_none(
    plan: Plan, planting: Planting
) -> None:
    kinds, seen = Kinds(plan, planting.columns), {0: 0, 1: 0}
    for rows in planting.files:
        for row in rows:
            is_public = planting.grid.place_of(row) in planting.public
            types = kinds.of(row)
            assert len(types) == 0 if is_public else len(types) <= 1
            seen[len(types)] += 1
    assert min(seen.values()) > CANARIES


def test_a_match_is_planted_where_the_coin_says_so_and_nowhere_else(
    plan: Plan, planting: Planting
) -> None:
    kinds = Kinds(plan, planting.columns)
    found: dict[tuple[object, int], set[str]] = {}
    for rows in planting.files:
        for row in rows:
            subject, slot, _ = planting.grid.place_of(row)
            found.setdefault((subject, slot), set()).update(kinds.of(row))
    for pattern, canaries in planting.canaries.items():
        assert len(canaries) == CANARIES
        assert 0.45 < np.mean([one.is_planted for one in canaries]) < 0.55
        for one in canaries:
            whole = set(plan.pattern(pattern).types) if one.is_planted else set()
            assert found.pop((one.subject, one.slot), set()) == whole
    assert set().union(*found.values()) == set()


def test_canaries_of_a_subject_lie_more_slots_apart_than_a_match_spans(planting: Planting) -> None:
    slots: dict[object, list[int]] = {}
    for one in planting.canaries["visit"]:
        slots.setdefault(one.subject, []).append(one.slot)
    gaps = [b - a for each in slots.values() for a, b in pairwise(each)]
    assert (min(gaps), max(map(len, slots.values()))) == (4, 4)


def test_a_pattern_that_nothing_bounds_has_one_canary_for_each_subject(tmp_path: Path) -> None:
    endless = village(tmp_path)
    assert Layout.of(endless, ["visit"]).each == 4
    text = (tmp_path / "patterns/visit.yaml").read_text("utf-8").replace("20 min", "2 d")
    (tmp_path / "patterns/visit.yaml").write_text(text, "utf-8")
    assert Layout.of(find_plan(tmp_path / "policies/village.yaml"), ["visit"]).each == 1


def test_subjects_are_known_as_the_policy_says(planting: Planting, tmp_path: Path) -> None:
    assert planting.subjects is None
    rng, declaring = np.random.default_rng(7), village(tmp_path, subjects="[ada, bo]")
    declared = plant(declaring, ["visit", "call"], canaries=100, rng=rng)
    assert declared.subjects is not None
    assert len(declared.subjects) == 1 + 2 * 25
    assert "ada" not in declared.subjects


def test_the_newest_row_of_a_file_does_not_depend_on_coins(plan: Plan) -> None:
    def clock(seed: int) -> list[tuple[int, ...]]:
        grown = plant(plan, ["call"], canaries=100, rng=np.random.default_rng(seed))
        return [max(grown.grid.place_of(row)[1:] for row in rows) for rows in grown.files]

    assert clock(1) == clock(2)


def test_nothing_of_a_row_is_in_repr(planting: Planting) -> None:
    assert "payload" not in repr(planting)
    assert "canary-" not in repr(planting)


class TestColumns:
    def test_are_those_that_are_declared(self, plan: Plan) -> None:
        assert columns_of(plan)["posted"] is ColumnType.TIMESTAMP

    DECLARED = (
        "  columns:\n    {person: string, ts: timestamp, place: string, device: integer, weight: "
        "double, note: string,\n     paid: boolean, posted: timestamp, clock: local_timestamp}\n"
    )

    def test_are_else_those_that_predicates_stand_ins_and_rules_need(self, tmp_path: Path) -> None:
        assert columns_of(village(tmp_path, (self.DECLARED, ""))) == {
            "person": ColumnType.STRING,
            "ts": ColumnType.TIMESTAMP,
            "place": ColumnType.STRING,
            "device": ColumnType.DOUBLE,
            "weight": ColumnType.DOUBLE,
        }

    def test_that_fit_no_type_are_refused(self, tmp_path: Path) -> None:
        village(tmp_path, (self.DECLARED, ""))
        pattern = tmp_path / "patterns/call.yaml"
        odd = "where: place = 'phone' AND a + b + c + d + e > 0 OR place = 'phone'"
        pattern.write_text(
            pattern.read_text("utf-8").replace("where: place = 'phone'", odd), "utf-8"
        )
        with pytest.raises(BindingError, match="declare them with columns: in the policy's stream"):
            columns_of(find_plan(tmp_path / "policies/village.yaml"))
