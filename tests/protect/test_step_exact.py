"""The exact epsilon of the step itself, by enumeration of all that its words can do."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from ppm.audit import exact_loss
from ppm.dp.mechanism import Values
from ppm.dp.nested.chain import Draw
from ppm.dp.nested.table import TableChain
from ppm.protect.collusion import colluding
from ppm.protect.guarantee import guarantees
from ppm.protect.program import Program, Unit
from tests.protect.guided import add_consumer, asking, guided, pattern_for
from tests.protect.running import JOINT, NEIGHBOURS, town_plan, town_program
from tests.protect.scripted import law
from tests.protect.town import POLICY, SHARED_CLINIC, Edit, another_community, query

Seen = Callable[[str], bool]


def everybody(_community: str) -> bool:
    return True


def pairs_of(program: Program, types: tuple[str, ...]) -> list[tuple[int, int]]:
    """Slots that differ only in rows of these types."""
    changed = sum(1 << program.types.index(name) for name in types)
    inputs = range(1 << len(program.types))
    return [(x, z) for x, z in permutations(inputs, 2) if (x ^ z) & ~changed == 0]


NO_SHOPS: Edit = (POLICY, ", shop: 40 %, post: 10 %", "")


def only_visits(*edits: Edit) -> list[Edit]:
    """The town without errands, so that there is less to enumerate."""
    return [(POLICY, "      errand: {mechanism: response, epsilon: 1}\n", ""), *edits]


@pytest.mark.parametrize("edits", [(), JOINT, SHARED_CLINIC], ids=["response", "joint", "shared"])
def test_what_explain_prints_is_the_exact_loss_of_the_step(
    tmp_path: Path, edits: tuple[Edit, ...]
) -> None:
    plan, program = town_plan(tmp_path, *edits), town_program(tmp_path, *edits)
    table = law(program, seen_by=everybody)
    assert all(sum(row) == 1 for row in table)
    for one in guarantees(plan, plan.terms["friends"]):
        pairs = pairs_of(program, plan.pattern(one.pattern).types)
        loss = exact_loss(table, pairs=pairs)
        assert not loss.exceeds(one.slot)
        assert loss.epsilon == pytest.approx(one.slot, abs=1e-12)


@pytest.mark.parametrize("how", ["response", "joint-response"])
def test_what_is_spent_where_queries_need_it_is_the_exact_loss(tmp_path: Path, how: str) -> None:
    edits = (*guided(how), asking("shops", "shop"))
    plan, program = town_plan(tmp_path, *edits), town_program(tmp_path, *edits)
    assert "post" in program.types
    assert program.types.index("post") not in {one for unit in program.units for one in unit.types}
    assert any(isinstance(unit.chain, TableChain) for unit in program.units) == (how != "response")
    table = law(program, seen_by=everybody)
    for one in guarantees(plan, plan.terms["friends"]):
        loss = exact_loss(table, pairs=pairs_of(program, plan.pattern(one.pattern).types))
        assert not loss.exceeds(one.slot)
        assert loss.epsilon == pytest.approx(one.slot, abs=2e-6)
    unseen = exact_loss(table, pairs=pairs_of(program, ("post",)))
    assert unseen.epsilon == 0


def test_tables_of_two_communities_add_up(tmp_path: Path) -> None:
    """Each is made for its own epsilon, and neither is derived from the other."""
    other = "protect: {visit: {mechanism: joint-response, allocation: optimal, epsilon: 0.5}}"
    add_consumer(tmp_path, "doctor", "clinic", "pharmacy", community="doctors")
    edits = only_visits(
        *guided("joint-response")[:2], NO_SHOPS, another_community("doctors", other)
    )
    plan, program = town_plan(tmp_path, *edits), town_program(tmp_path, *edits)
    assert [type(unit.chain) for unit in program.units] == [TableChain, TableChain]
    together = colluding(plan, "visit").epsilon
    assert together == 1.5
    loss = exact_loss(law(program, seen_by=everybody))
    assert not loss.exceeds(together)
    assert loss.epsilon == pytest.approx(together, abs=1e-5)


def test_a_community_pays_for_each_type_what_the_best_informed_one_does(tmp_path: Path) -> None:
    """Budgets go to other types for each community, so together they learn more than either."""
    other = "protect: {visit: {mechanism: response, allocation: optimal, epsilon: 1}}"
    add_consumer(tmp_path, "doctor", "clinic", community="doctors")
    edits = only_visits(
        *guided()[:2],
        NO_SHOPS,
        another_community("doctors", other),
        query(f"pattern: {pattern_for('pharmacy')}"),
    )
    plan, program = town_plan(tmp_path, *edits), town_program(tmp_path, *edits)
    assert colluding(plan, "visit").epsilon == 2.0
    loss = exact_loss(law(program, seen_by=everybody))
    assert not loss.exceeds(2.0)
    assert loss.epsilon == pytest.approx(2.0)
    alone = exact_loss(law(program, seen_by="doctors".__eq__))
    assert alone.epsilon == pytest.approx(1.0)


def test_types_of_other_patterns_tell_nothing_of_a_pattern(tmp_path: Path) -> None:
    program = town_program(tmp_path)
    errands = {"shop", "post"}
    table = law(program, seen_by=everybody)
    loss = exact_loss(table, pairs=pairs_of(program, ("clinic", "pharmacy")))
    assert loss.epsilon == pytest.approx(1.0)
    whole = exact_loss(table, pairs=pairs_of(program, ("clinic", "pharmacy", *errands)))
    assert whole.epsilon == pytest.approx(2.0)


@pytest.mark.parametrize("mechanism", ["response", "joint-response"])
def test_colluding_communities_learn_what_explain_says(tmp_path: Path, mechanism: str) -> None:
    protection = f"visit: {{mechanism: {mechanism}, epsilon: %s}}"
    less = another_community("neighbours", f"protect: {{{protection % 0.5}}}")
    more = (POLICY, "visit: {mechanism: response, epsilon: 1}", protection % 1.25)
    edits = only_visits(less, more)
    plan, program = town_plan(tmp_path, *edits), town_program(tmp_path, *edits)
    together = colluding(plan, "visit").epsilon
    assert together == 1.25
    loss = exact_loss(law(program, seen_by=everybody))
    assert not loss.exceeds(together)
    assert loss.epsilon == pytest.approx(together)
    for community, epsilon in (("friends", 1.25), ("neighbours", 0.5)):
        alone = exact_loss(law(program, seen_by=community.__eq__))
        assert not alone.exceeds(epsilon)
        assert alone.epsilon == pytest.approx(epsilon)


def test_independent_noise_per_community_under_collusion_adds_up(tmp_path: Path) -> None:
    line = "{collusion: independent, protect: {visit: {mechanism: response, epsilon: 0.5}}}"
    alone = (POLICY, "communities:\n", f"communities:\n  neighbours: {line}\n")
    edits = only_visits(alone)
    plan, program = town_plan(tmp_path, *edits), town_program(tmp_path, *edits)
    loss = exact_loss(law(program, seen_by=everybody))
    assert loss.epsilon == pytest.approx(1.5)
    assert colluding(plan, "visit").epsilon == 1.5


def test_communities_with_other_orders_for_types_pay_the_largest_of_each(tmp_path: Path) -> None:
    plan, program = town_plan(tmp_path, NEIGHBOURS), town_program(tmp_path, NEIGHBOURS)
    units = [unit for unit in program.units if set(unit.types) <= {0, 1}]  # clinic and pharmacy
    fewer = replace(program, types=program.types[:2], units=tuple(units))
    assert fewer.types == ("clinic", "pharmacy")
    loss = exact_loss(law(fewer, seen_by=everybody))
    assert loss.epsilon == pytest.approx(1.0)
    assert colluding(plan, "visit").epsilon == 1.0
    assert colluding(plan, "errand").epsilon == 2.0


@dataclass(frozen=True)
class OnlyCompleted(Unit):
    """Planted bug: noise only where all types occurred."""

    def release(self, truth: Values, draw: Draw) -> tuple[Values, ...]:
        noisy = Unit.release(self, truth, draw)
        whole = truth == (1 << len(self.types)) - 1
        return tuple(np.where(whole, one, truth) for one in noisy)


@dataclass(frozen=True)
class OncePrefixSeen(Unit):
    """Planted bug: noise once the first type occurred."""

    def release(self, truth: Values, draw: Draw) -> tuple[Values, ...]:
        noisy = Unit.release(self, truth, draw)
        return tuple(np.where(truth & 1, one, truth) for one in noisy)


@dataclass(frozen=True)
class EmptyLeftAlone(Unit):
    """Planted bug: empty slots are not noised."""

    def release(self, truth: Values, draw: Draw) -> tuple[Values, ...]:
        noisy = Unit.release(self, truth, draw)
        return tuple(np.where(truth == 0, 0, one) for one in noisy)


@pytest.mark.parametrize("bug", [OnlyCompleted, OncePrefixSeen, EmptyLeftAlone])
def test_a_decision_that_depends_on_what_happened_has_an_infinite_epsilon(
    tmp_path: Path, bug: type[Unit]
) -> None:
    right = town_program(tmp_path, *only_visits(*JOINT[:1]))
    planted = tuple(
        bug(unit.types, unit.chain, unit.purposes, unit.readers) for unit in right.units
    )
    assert exact_loss(law(right, seen_by=everybody)).epsilon == pytest.approx(1.0)
    wrong = exact_loss(law(replace(right, units=planted), seen_by=everybody))
    assert math.isinf(wrong.epsilon)
