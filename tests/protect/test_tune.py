"""The reverse questions: which budget a consumer needs, and what each pattern costs it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from ppm.dp.utility import Quality
from ppm.errors import PpmError
from ppm.protect.plan import Plan, Question
from ppm.protect.prediction import Prediction
from ppm.protect.terms import Terms
from ppm.protect.tune import SIDES, Side, Tuned, tune
from tests.protect.town import POLICY, Edit, check_town, mechanism, query


def budget(pattern: str, epsilon: float) -> Edit:
    """Another budget for one pattern, which has 1 else."""
    declared = f"{pattern}: {{mechanism: response, epsilon: "
    return (POLICY, f"{declared}1}}", f"{declared}{epsilon}}}")


RATES = (
    POLICY,
    "version: 1\n",
    "version: 1\nprior: {source: a survey, rates: {clinic: 0.2, pharmacy: 0.3, shop: 0.4}}\n",
)


def tuned(root: Path, *edits: Edit, wanted: dict[Side, float] | None = None) -> Tuned:
    (one,) = tune(check_town(root, *edits).plan("town"), "app", wanted=wanted).queries
    return one


@pytest.mark.parametrize("recall", [0.3, 0.6, 0.9])
def test_the_budget_for_a_recall_follows_from_the_closed_form(
    tmp_path: Path, recall: float
) -> None:
    (aim,) = tuned(tmp_path, wanted={"recall": recall}).aims
    # Two types with half of the budget each, both kept: (1/(1+e^-h))^2 = recall.
    exact = -2 * math.log(1 / math.sqrt(recall) - 1)
    assert aim.epsilons is not None
    assert exact <= aim.epsilons["visit"] <= 1.02 * exact


@pytest.mark.parametrize("side", SIDES)
def test_the_budget_that_is_named_reaches_what_was_asked(tmp_path: Path, side: Side) -> None:
    (aim,) = tuned(tmp_path, RATES, wanted={side: 0.8}).aims
    assert aim.epsilons is not None
    (epsilon,) = aim.epsilons.values()
    enough = tuned(tmp_path, RATES, budget("visit", epsilon))
    less = tuned(tmp_path, RATES, budget("visit", 0.97 * epsilon))
    assert getattr(enough.now, side) >= 0.8 > getattr(less.now, side)


def test_what_no_budget_reaches_is_told_with_what_is_possible(tmp_path: Path) -> None:
    (aim,) = tuned(tmp_path, mechanism("visit", "joint-response"), wanted={"recall": 1.0}).aims
    assert aim.epsilons is None
    assert aim.possible is not None
    assert 0.999 < aim.possible < 1


def test_without_a_prior_precision_is_not_predicted(tmp_path: Path) -> None:
    (aim,) = tuned(tmp_path, wanted={"precision": 0.5}).aims
    assert (aim.epsilons, aim.possible) == (None, None)


def test_a_declared_minimum_is_what_is_asked_for(tmp_path: Path) -> None:
    minimum = query("pattern: visit\n    minimum: {recall: 30 %}")
    assert [(aim.side, aim.least) for aim in tuned(tmp_path, minimum).aims] == [("recall", 0.3)]


def test_quality_grows_with_the_budget(tmp_path: Path) -> None:
    one = tuned(tmp_path, RATES)
    qualities = [point.quality for point in one.curve]
    assert [point.epsilon for point in one.curve] == sorted(point.epsilon for point in one.curve)
    recalls = [quality.recall for quality in qualities if quality]
    assert recalls == sorted(recalls)
    assert len(recalls) == len(one.curve)


def test_the_declared_budget_is_one_of_those_that_are_shown(tmp_path: Path) -> None:
    one = tuned(tmp_path, budget("visit", 1.7))
    assert [point.quality for point in one.curve if point.epsilon == 1.7] == [one.now]


def test_a_query_of_public_rows_needs_no_budget(tmp_path: Path) -> None:
    public = query("pattern: {name: walk, events: {park: place = 'park'}, sequence: park}")
    one = tuned(tmp_path, public)
    assert (one.declared, one.curve, one.aims) == ({}, (), ())


def test_the_pattern_that_hides_most_costs_most(tmp_path: Path) -> None:
    edits = (
        RATES,
        (
            POLICY,
            "errand: {mechanism: response, epsilon: 1}",
            "errand: {mechanism: response, epsilon: 4}",
        ),
        query("pattern: visit\n  - name: errands\n    pattern: errand"),
    )
    costs = tune(check_town(tmp_path, *edits).plan("town"), "app").costs
    assert [cost.pattern for cost in costs] == ["visit", "errand"]
    # Recall alone speaks of errands, because the prior does not know the post office.
    visits, errands = costs
    keeps = (1 / (1 + math.exp(-2.0))) ** 2
    assert errands.lost == pytest.approx((1 - keeps) / 2)
    assert visits.lost is not None
    assert errands.lost is not None
    assert visits.lost > errands.lost


def test_a_consumer_that_nobody_knows_is_an_error_with_a_hint(tmp_path: Path) -> None:
    plan = check_town(tmp_path).plan("town")
    with pytest.raises(PpmError, match="ap asks nothing of town; did you mean app"):
        tune(plan, "ap")


def test_a_budget_is_named_only_if_it_reaches_what_was_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if a little more budget is worse for once, as tables made for queries can be."""
    plan = check_town(tmp_path, RATES).plan("town")

    def is_enough(epsilon: float) -> bool:
        return epsilon >= 5 or (epsilon >= 4.9 and epsilon != round(epsilon, 2))

    def predicted(_: Plan, __: Terms, question: Question, budgets: dict[str, float]) -> Prediction:
        found = float(is_enough(budgets["visit"]))
        return Prediction(question, Quality(found, found, found, 0.0), "")

    monkeypatch.setattr("ppm.protect.tune._predicted", predicted)
    (one,) = tune(plan, "app", wanted={"precision": 0.9}).queries
    (aim,) = one.aims
    assert aim.epsilons is not None
    assert is_enough(aim.epsilons["visit"])
