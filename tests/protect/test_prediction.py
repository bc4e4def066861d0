"""What consumers may expect, against the oracle values of the specification."""

from __future__ import annotations

from pathlib import Path

import pytest

from ppm.protect.explain import Use, explain
from tests.protect.town import (
    CONSUMER,
    POLICY,
    VISIT,
    Edit,
    check_town,
    in_friends,
    mechanism,
    query,
)

PRIOR = (
    POLICY,
    "communities:\n",
    "prior: {source: a survey, rates: {clinic: 50 %, pharmacy: 50 %}}\ncommunities:\n",
)


def use(root: Path, *edits: Edit) -> Use:
    found = check_town(root, *edits)
    assert not found.errors, found.errors
    (only,) = explain(found.plans["town"]).communities[0].uses
    return only


@pytest.mark.parametrize(
    ("how", "epsilon", "recall"),
    [
        ("response", 1, 0.387),
        ("response", 2, 0.534),
        ("response", 4, 0.776),
        ("joint-response", 1, 0.475),
        ("joint-response", 2, 0.711),
        ("joint-response", 4, 0.948),
    ],
)
def test_a_match_of_two_types_stays_a_match(
    tmp_path: Path, how: str, epsilon: int, recall: float
) -> None:
    found = use(
        tmp_path,
        (POLICY, "mechanism: response, epsilon: 1", f"mechanism: {how}, epsilon: {epsilon}"),
    )
    assert found.quality is not None
    assert found.quality.recall == pytest.approx(recall, abs=5e-4)
    assert found.quality.precision is None


def test_a_prior_gives_precision_and_q(tmp_path: Path) -> None:
    quality = use(tmp_path, PRIOR).quality
    assert quality is not None
    # All four vectors are equally likely, so shown = 1/4 of the sum over them = 1/4.
    assert quality.precision == pytest.approx(0.38745561900026 * 0.25 / 0.25)
    assert quality.q == pytest.approx(0.38745561900026)


def test_an_answer_flips_with_its_own_epsilon(tmp_path: Path) -> None:
    found = use(
        tmp_path,
        (VISIT, "within: 2 h", "within: 15 min"),
        mechanism("visit", "answers"),
        query("pattern: visit\n    ask: existence"),
    )
    # within = slot, so two slots: epsilon 1/2 each, 1/(1+e^-0.5) = 0.622.
    assert found.quality is not None
    assert found.quality.recall == pytest.approx(0.6225, abs=5e-5)


def test_a_count_tells_its_deviation(tmp_path: Path) -> None:
    found = use(
        tmp_path,
        mechanism("visit", "answers"),
        query(
            "pattern: {name: q, events: {clinic: place = 'clinic'}, sequence: clinic}\n"
            "    ask: count\n    cap: 2"
        ),
    )
    # a = e^(-1/2): sqrt(2a)/(1-a) = 2.799.
    assert found.quality is None
    assert found.deviation == pytest.approx(2.799, abs=5e-4)


def test_decoys_keep_a_query_if_all_its_slots_are_kept(tmp_path: Path) -> None:
    found = use(
        tmp_path,
        mechanism("errand", "decoy-windows"),
        query("pattern: {name: q, events: {gym: place = 'gym'}, sequence: gym}"),
    )
    assert found.quality is not None
    assert found.quality.recall == pytest.approx(0.632, abs=5e-4)
    assert found.quality.precision == 1.0


@pytest.mark.parametrize(
    ("edits", "reason"),
    [
        pytest.param(
            [query("pattern: {name: q, events: {gym: place = 'gym'}, sequence: gym}")],
            "exact: no private row is of its types",
            id="public types",
        ),
        pytest.param(
            [query("pattern: {name: q, events: {a: place = 'x', b: place = 'y'}}"),
             (CONSUMER, "'y'}}", "'y'}, sequence: a >> b}")],
            "not predicted: rows of every type count in it",
            id="strict order",
        ),
        pytest.param(
            [query("pattern: {name: q, events: {m: place LIKE 'c%'}, sequence: m}")],
            "not predicted: stand-ins of clinic count in it",
            id="invented rows",
        ),
        pytest.param(
            [query("pattern: {name: q, events: {old: age > 70}, sequence: old}")],
            "not predicted: rows that are clinic, pharmacy, post and shop as well do not count "
            "in it",
            id="rows that may be private",
        ),
        pytest.param(
            [query("pattern: {name: q, events: {clinic: place = 'clinic', gym: place = 'gym'}}"),
             (CONSUMER, "'gym'}}", "'gym'}, sequence: clinic -> gym}")],
            "not predicted: stand-ins stand at their slot's start, so their order with other rows "
            "is lost",
            id="private and public types in order",
        ),
        pytest.param(
            [(VISIT, "clinic -> pharmacy", "clinic{2,} -> pharmacy")],
            "not predicted: it takes more than one event of each type in a slot",
            id="a loop on a private type",
        ),
        pytest.param(
            [in_friends("columns: [{rule: snap, column: age, grid: 10}]"),
             query("pattern: {name: q, events: {old: age > 70}, sequence: old}")],
            "not predicted: it reads age, which is changed",
            id="a snapped column",
        ),
        pytest.param(
            [in_friends("columns: [{rule: drop, column: age}]"),
             query("pattern: {name: q, events: {old: age > 70}, sequence: old}")],
            "cannot be asked: it reads age, which is dropped",
            id="a dropped column",
        ),
        pytest.param(
            [(VISIT, "clinic -> pharmacy", "clinic !-> pharmacy"),
             (POLICY, "mechanism: response", "mechanism: decoy-windows")],
            "not predicted: a withheld slot looks like absence",
            id="absence under decoys",
        ),
    ],
)  # fmt: skip
def test_the_reason_is_told(tmp_path: Path, edits: list[Edit], reason: str) -> None:
    assert use(tmp_path, *edits).reason == reason


def test_a_minimum_is_judged(tmp_path: Path) -> None:
    clinic = "{name: q, events: {clinic: place = 'clinic'}, sequence: clinic}"
    for least, reached in (("60 %", True), ("70 %", False)):
        found = use(tmp_path, query(f"pattern: {clinic}\n    minimum: {{recall: {least}}}"))
        assert found.reaches_minimum is reached
    assert use(tmp_path).reaches_minimum is None


def test_a_minimum_without_prediction_is_not_judged(tmp_path: Path) -> None:
    found = use(tmp_path, query("pattern: visit\n    minimum: {precision: 99 %}"))
    assert found.quality is not None
    assert found.quality.precision is None
    assert found.reaches_minimum is None


def test_who_asks_for_the_hidden_pattern_itself_finds_nothing(tmp_path: Path) -> None:
    found = use(tmp_path, mechanism("visit", "decoy-windows"))
    assert found.quality is not None
    assert found.quality.recall == 0


def test_decoys_over_several_slots_predict_no_precision(tmp_path: Path) -> None:
    found = use(
        tmp_path,
        mechanism("errand", "decoy-windows"),
        query("pattern: {name: q, events: {a: place = 'x', b: place = 'y'}, within: 1 h}"),
        (CONSUMER, "within: 1 h}", "within: 1 h, sequence: a -> b}"),
    )
    assert found.quality is not None
    assert found.quality.recall == pytest.approx((1 - 1 / 2.718281828) ** 5)
    assert found.quality.precision is None


def test_a_skip_over_decoys_predicts_no_precision(tmp_path: Path) -> None:
    found = use(
        tmp_path,
        mechanism("errand", "decoy-windows"),
        query("pattern: {name: q, events: {a: place = 'x', b: place = 'y'}, within: 15 min}"),
        (CONSUMER, "15 min}", "15 min, sequence: a -> b, skip: skip_past_last}"),
    )
    assert found.quality is not None
    assert found.quality.precision is None
