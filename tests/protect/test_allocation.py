"""Budgets that follow queries and history, from the policy's word to what runs."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import pytest

from ppm.dp.allocation.need import worth
from ppm.dp.nested.joint import JointChain
from ppm.dp.nested.table import TableChain
from ppm.dp.purpose import Purpose
from ppm.dp.utility import Joint
from ppm.errors import CheckpointError
from ppm.protect.chains import chains_of
from ppm.protect.collusion import colluding
from ppm.protect.explain import Spent, Use, explain
from ppm.protect.mechanisms import mechanisms_of
from ppm.protect.needs import needs_in
from ppm.protect.prior import prior_of
from ppm.protect.program import Program
from ppm.protect.spending import spending_of, spending_serving
from ppm.protect.step import Protection
from tests.protect.guided import HISTORY, add_consumer, asking, guided, pattern_for
from tests.protect.running import Town, town_plan, town_program
from tests.protect.town import (
    CONSUMER,
    POLICY,
    SHARED_CLINIC,
    VISIT,
    Edit,
    another_community,
    check_town,
    mechanism,
    query,
)

CLINIC = query(f"pattern: {pattern_for('clinic')}")


def purposes_of(program: Program) -> set[Purpose]:
    return {purpose for unit in program.units for purpose in unit.purposes}


def uses(root: Path, *edits: Edit) -> dict[str, Use]:
    [friends] = explain(town_plan(root, *edits)).communities
    return {f"{use.consumer} {use.query}": use for use in friends.uses}


@pytest.mark.parametrize("allocation", ["adaptive", "optimal"])
def test_the_budget_goes_to_what_is_asked_for(tmp_path: Path, allocation: str) -> None:
    plan = town_plan(tmp_path, *guided(allocation=allocation), CLINIC)
    spending = spending_of(plan, plan.terms["friends"])
    assert spending.shares == {"clinic": 1.0}
    [friends] = explain(plan).communities
    assert friends.allocation == allocation
    assert friends.spent == (
        Spent(("clinic",), 1.0, "independent"),
        *(Spent((name,), 0.0, "not released") for name in ("pharmacy", "post", "shop")),
    )
    said = {one.pattern: one.words for one in friends.patterns}
    assert said["errand"].startswith("Nothing about errand is released: no registered query asks")


def test_what_is_not_released_is_not_drawn_and_its_rows_are_still_held_back(
    tmp_path: Path,
) -> None:
    town = Town(Protection(town_program(tmp_path, *guided(), CLINIC)))
    program = town.step.program
    assert program.types == ("clinic", "pharmacy", "post", "shop")
    assert [unit.types for unit in program.units] == [(0,)]
    town.batch([[("ada", 5.0, "pharmacy"), ("ada", 6.0, "shop")]], program.start)
    town.finish([], program.end_of(200))
    assert {type_ for _, _, type_, _ in town.told} == {"clinic"}


def test_a_joint_group_is_narrowed_to_what_is_asked_for(tmp_path: Path) -> None:
    no_shops = (POLICY, "shop: 40 %, ", "")
    edits = (
        *SHARED_CLINIC,
        *guided("joint-response"),
        no_shops,
        query(f"pattern: {pattern_for('post')}"),
    )
    plan = town_plan(tmp_path, *edits)
    [group] = spending_of(plan, plan.terms["friends"]).groups
    assert [{*group.types}, {*group.patterns}, group.epsilon] == [{"post"}, {"errand"}, 1.0]
    [unit] = town_program(tmp_path, *edits).units
    assert isinstance(unit.chain, JointChain)  # of one type the plain response is the best


def test_a_table_is_made_where_it_serves_better(tmp_path: Path) -> None:
    plan = town_plan(tmp_path, *guided("joint-response"))
    [unit] = town_program(tmp_path, *guided("joint-response")).units
    assert isinstance(unit.chain, TableChain)
    assert unit.chain.digest in unit.purposes[0].stages[0]
    use = uses(tmp_path, *guided("joint-response"))["app visits"]
    assert use.quality is not None
    assert use.quality.recall == pytest.approx(0.731, abs=5e-4)
    plain = uses(tmp_path, *guided("joint-response", "uniform"))["app visits"]
    assert plain.quality is not None
    assert plain.quality.recall == pytest.approx(0.475, abs=5e-4)
    for release in mechanisms_of(plan, plan.terms["friends"]):
        assert release.is_kept


@pytest.mark.parametrize("how", ["response", "joint-response"])
def test_every_release_is_certified(tmp_path: Path, how: str) -> None:
    plan = town_plan(tmp_path, *guided(how), asking("both", "clinic", "shop"))
    releases = mechanisms_of(plan, plan.terms["friends"])
    assert {name for release in releases for name in release.of} == {"visit", "errand"}
    assert all(release.is_kept for release in releases)


def test_a_uniform_policy_is_the_same_whatever_consumers_ask(tmp_path: Path) -> None:
    plain = town_program(tmp_path, HISTORY)
    add_consumer(tmp_path, "guest", "shop")
    other = town_program(tmp_path, HISTORY, CLINIC)
    assert purposes_of(plain) == purposes_of(other)
    assert plain.allocation == other.allocation == ""
    assert plain._owner == other._owner


@pytest.mark.parametrize("how", ["response", "joint-response"])
def test_a_consumer_who_registers_needs_a_new_checkpoint(tmp_path: Path, how: str) -> None:
    before = Town(Protection(town_program(tmp_path, *guided(how))))
    before.batch([[("ada", 5.0, "clinic")]], before.step.program.start)
    add_consumer(tmp_path, "guest", "clinic", more="    weight: 9\n    preference: 20 %\n")
    after = Town(Protection(town_program(tmp_path, *guided(how))))
    assert purposes_of(before.step.program).isdisjoint(purposes_of(after.step.program))
    with pytest.raises(CheckpointError, match="the allocation by queries is another"):
        after.step(before.states[0], after.no_rows, after.step.program.end_of(1))


def test_in_which_file_a_query_stands_decides_nothing(tmp_path: Path) -> None:
    add_consumer(tmp_path, "aaron", "clinic", "pharmacy")
    plan = town_plan(tmp_path, *guided(), CLINIC)
    (tmp_path / "consumers/aaron.yaml").rename(tmp_path / "consumers/zoe.yaml")
    moved = town_plan(tmp_path, *guided(), CLINIC)
    first, second = (needs_in(one, one.terms["friends"]) for one in (plan, moved))
    assert len(first) == 2
    assert first == second


def test_a_type_under_two_mechanisms_is_a_fault_before_budgets_are_split(tmp_path: Path) -> None:
    joint = mechanism("errand", "joint-response, allocation: optimal")
    both = query(f"pattern: {pattern_for('clinic', 'post')}")
    found = check_town(tmp_path, *SHARED_CLINIC, HISTORY, joint, both).errors
    assert any("such patterns need one mechanism" in str(fault) for fault in found)


def test_a_prior_that_changes_shares_needs_a_new_checkpoint(tmp_path: Path) -> None:
    before = town_program(tmp_path, *guided())
    rarer = (POLICY, "clinic: 5 %", "clinic: 0.1 %")
    after = town_program(tmp_path, *guided(), rarer)
    assert before.meaning == after.meaning
    assert before.allocation != after.allocation


def test_an_opaque_consumer_guides_nothing_and_is_told_what_it_lacks(tmp_path: Path) -> None:
    add_consumer(tmp_path, "guest", "clinic", "shop", model="opaque")
    checked = check_town(tmp_path, *guided())
    assert [str(fault) for fault in checked.faults] == [
        "consumers/guest.yaml:6: warning: queries[0] needs shop, of which friends releases no "
        "rows: no transparent consumer asks for it, and an opaque one cannot guide the allocation"
    ]
    assert {name for need in needs_in(checked.plans["town"], checked.plans["town"].terms["friends"])
            for name in need.types} == {"clinic", "pharmacy"}  # fmt: skip


@pytest.mark.parametrize(
    ("edits", "types"),
    [
        pytest.param([], {"clinic", "pharmacy"}, id="a plain sequence"),
        pytest.param(
            [query("pattern: {name: q, events: {gym: place = 'gym'}, sequence: gym}")],
            None,
            id="public types",
        ),
        pytest.param(
            [(VISIT, "clinic -> pharmacy", "clinic{2,} -> pharmacy")],
            {"clinic", "pharmacy"},
            id="a loop, of which no closed form speaks",
        ),
        pytest.param(
            [
                query("pattern: {name: q, events: {clinic: place = 'clinic', gym: place = 'gym'}}"),
                (CONSUMER, "'gym'}}", "'gym'}, sequence: clinic -> gym}"),
            ],
            {"clinic"},
            id="private and public types in order",
        ),
        pytest.param(
            [query("pattern: {name: q, events: {m: place LIKE 'c%'}, sequence: m}")],
            {"clinic"},
            id="what stand-ins count in",
        ),
        pytest.param(
            [
                (
                    VISIT,
                    "sequence:",
                    "  gym: {where: place = 'gym', stand_in: {place: gym}}\nsequence:",
                )
            ],
            {"clinic", "pharmacy"},
            id="a type that only goes together with others",
        ),
        pytest.param([mechanism("visit", "answers")], None, id="types that are never released"),
    ],
)
def test_what_a_query_needs(tmp_path: Path, edits: list[Edit], types: set[str] | None) -> None:
    plan = check_town(tmp_path, *edits).plans["town"]
    needs = needs_in(plan, plan.terms["friends"])
    assert [need.types for need in needs] == ([] if types is None else [types])


def test_a_query_of_which_no_closed_form_speaks_is_served_and_told_so(tmp_path: Path) -> None:
    edits = (*guided(), (VISIT, "clinic -> pharmacy", "clinic{2,} -> pharmacy"))
    assert uses(tmp_path, *edits)["app visits"].reason == (
        "not predicted: it takes more than one event of each type in a slot; the allocation "
        "serves it as a query for clinic and pharmacy together"
    )


def test_a_horizon_pays_for_what_is_released(tmp_path: Path) -> None:
    horizon = "horizon: {over: 1 h, epsilon: 2, then: withhold}"
    last = "      errand: {mechanism: response, allocation: optimal, epsilon: 1}\n"
    edits = (*guided(), CLINIC, (POLICY, last, f"{last}    {horizon}\n"))
    [unit] = town_program(tmp_path, *edits).units
    [reader] = unit.readers
    assert reader.stop is not None
    assert reader.stop.paid == 2


def test_a_table_reaches_workers_as_it_is(tmp_path: Path) -> None:
    program = town_program(tmp_path, *guided("joint-response"))
    assert deepcopy(program) == program  # by the same way as pickle


ALLOCATION = "policies/town.yaml:16: communities.friends.protect.visit.allocation"
ERRANDS = "policies/town.yaml:17: communities.friends.protect.errand.allocation"


@pytest.mark.parametrize(
    ("edits", "faults"),
    [
        pytest.param(
            guided("joint-response", "adaptive"),
            [
                f"{place} is adaptive, which moves budget between types, but joint-response has "
                "one budget for all types of a draw; use optimal or uniform"
                for place in (ALLOCATION, ERRANDS)
            ],
            id="adaptive on a joint draw",
        ),
        pytest.param(
            guided()[:2],
            [
                "policies/town.yaml:17: communities.friends.protect.errand.allocation is uniform, "
                "but visit has optimal: patterns under response in one community share one "
                "allocation"
            ],
            id="two allocations in one community",
        ),
        pytest.param(
            [*guided(), (POLICY, "clinic: 5 %, ", "")],
            [
                f"{place} is optimal, but the prior has no rate for clinic, which queries of "
                "friends need; add it from public or consented history, or use uniform"
                for place in (ALLOCATION, ERRANDS)
            ],
            id="a prior without a needed type",
        ),
        pytest.param(
            [*guided(), query("pattern: {name: q, events: {gym: place = 'gym'}, sequence: gym}")],
            [
                f"{place} is optimal, but no query of friends's transparent consumers asks the "
                "released rows for a private type; use uniform"
                for place in (ALLOCATION, ERRANDS)
            ],
            id="queries for public types only",
        ),
    ],
)
def test_what_cannot_be_guided_is_refused(
    tmp_path: Path, edits: list[Edit], faults: list[str]
) -> None:
    assert [str(fault) for fault in check_town(tmp_path, *edits).faults] == faults


@pytest.mark.parametrize(
    ("minimum", "fault"),
    [
        pytest.param(
            "recall: 90 %",
            "minimum.recall is 90%, but no allocation of the budgets of friends gives more than "
            "38.7%; ask for less, or have epsilon raised",
            id="recall",
        ),
        pytest.param(
            "precision: 50 %",
            "minimum.precision is 50%, but no allocation of the budgets of friends gives more "
            "than 1.3%; ask for less, or have epsilon raised",
            id="precision",
        ),
        pytest.param(
            "q: 50 %",
            "minimum.q is 50%, but no allocation of the budgets of friends gives more than 20.0%; "
            "ask for less, or have epsilon raised",
            id="q",
        ),
    ],
)
def test_a_minimum_that_no_allocation_reaches_is_refused(
    tmp_path: Path, minimum: str, fault: str
) -> None:
    edits = (HISTORY, query(f"pattern: visit\n    minimum: {{{minimum}}}"))
    [found] = check_town(tmp_path, *edits).errors
    assert str(found) == f"consumers/app.yaml:8: queries[0].{fault}"


def test_conflicting_consumers_are_told_what_each_of_them_loses(tmp_path: Path) -> None:
    add_consumer(tmp_path, "guest", "pharmacy", more="    weight: 5\n    preference: 0 %\n")
    found = uses(
        tmp_path, *guided(), query(f"pattern: {pattern_for('clinic')}\n    preference: 0 %")
    )
    served, left = found["guest q"], found["app visits"]
    assert served.quality == served.alone
    assert left.quality is not None
    assert left.alone is not None
    assert left.quality.recall < 0.55 < 0.73 < left.alone.recall
    assert served.price + left.price == pytest.approx(1.0)


def test_equal_tables_are_one_release(tmp_path: Path) -> None:
    other = "protect: {visit: {mechanism: joint-response, allocation: optimal, epsilon: 1}}"
    add_consumer(tmp_path, "doctor", "clinic", "pharmacy", community="doctors")
    edits = (*guided("joint-response"), another_community("doctors", other))
    plan = town_plan(tmp_path, *edits)
    [unit] = town_program(tmp_path, *edits).units
    assert len(unit.readers) == 2
    assert colluding(plan, "visit").epsilon == 1.0
    assert chains_of(plan) == ()


def test_a_table_is_not_derived_from_a_joint_response_nor_it_from_a_table(tmp_path: Path) -> None:
    other = "protect: {visit: {mechanism: joint-response, epsilon: 4}}"
    plan = town_plan(tmp_path, *guided("joint-response"), another_community("others", other))
    program = town_program(tmp_path, *guided("joint-response"), another_community("others", other))
    assert {type(unit.chain) for unit in program.units} == {TableChain, JointChain}
    assert colluding(plan, "visit").epsilon == 5.0


def test_tables_serve_queries_that_read_several_groups_no_worse(tmp_path: Path) -> None:
    """Such a query guides each group as if the other were exact; the whole decides."""
    across = asking("across", "clinic", "shop", more="    weight: 20\n    preference: 90 %\n")
    plan = town_plan(tmp_path, *guided("joint-response"), across, asking("all", "post", "pharmacy"))
    terms = plan.terms["friends"]
    needs, prior = needs_in(plan, terms), prior_of(plan, ["clinic", "pharmacy", "post", "shop"])
    chosen = spending_of(plan, terms)
    plain = [Joint(group.types, group.epsilon) for group in chosen.groups]
    assert worth(needs, chosen.channels, prior) >= worth(needs, plain, prior)
    uniform = spending_serving(plan, terms, needs, allocation="uniform")
    assert worth(needs, chosen.channels, prior) >= worth(needs, uniform.channels, prior)
