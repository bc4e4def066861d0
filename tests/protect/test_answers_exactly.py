"""The exact epsilon of answers, by enumeration of all that their words can do."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppm.audit import exact_loss
from ppm.dp.mechanism import Values, Words
from ppm.dp.mechanisms.binary import BinaryResponse
from ppm.dp.purpose import Purpose
from ppm.dp.source import Source
from ppm.protect.answering import Answering
from ppm.protect.guarantee import guarantees
from ppm.protect.plan import Plan
from ppm.protect.questions import Asked
from ppm.protect.spans import slots_spanned
from ppm.protect.spending import spending_of
from tests.protect.asking import (
    ERRAND_ANSWERED,
    QUICK,
    VISIT_ANSWERED,
    VISITED,
    Asking,
    asks,
    told,
    town_answering,
)
from tests.protect.running import Event, town_plan
from tests.protect.town import Edit

WORD = 1 << 64
SLOTS = 3
FIRST: list[tuple[float, str]] = [(100.0, "clinic"), (200.0, "pharmacy"), (800.0, "clinic")]
"""What may happen in slot 0: with all of it, a visit ends there, and another one in slot 1."""
ALWAYS: list[tuple[float, str]] = [(1000.0, "pharmacy")]
WORLDS = [
    [one for one, is_there in zip(FIRST, there, strict=True) if is_there]
    for there in product([False, True], repeat=len(FIRST))
]


@dataclass(frozen=True)
class _Words:
    by_slot: Mapping[int, int]

    def words(self, _tags: Any, moments: Any, _values: Any, *, rows: Any) -> Any:
        assert len(rows) == len(moments)
        return np.array([[self.by_slot[int(one)]] for one in moments], np.uint64)


@dataclass(frozen=True)
class _Script:
    """A source that says one word for each purpose and slot."""

    script: Mapping[tuple[Purpose, int], int]
    fingerprint: str = "scripted"

    def stream(self, purpose: Purpose) -> _Words:
        return _Words({slot: word for (own, slot), word in self.script.items() if own == purpose})


@dataclass(frozen=True)
class Scripted(Answering):
    """The step with words from a script."""

    script: Mapping[tuple[Purpose, int], int]

    @property
    def source(self) -> Source:
        return _Script(self.script)  # type: ignore[return-value]


def kinds_of_words(noise: BinaryResponse) -> list[tuple[int, int]]:
    """One word that flips and one that does not, and how many there are of each."""
    return [(0, noise.flips), (WORD - 1, WORD - noise.flips)]


def law(step: Answering, plan: Plan) -> list[list[Fraction]]:
    """P(all answers | world) for every world of slot 0."""
    draws = [
        (asked.purpose, slot, asked.noise)
        for asked in step.questions.asked
        for slot in range(SLOTS)
        if asked.purpose is not None
    ]
    tables: list[dict[Any, Fraction]] = [{} for _ in WORLDS]
    choices = [kinds_of_words(noise) for _, _, noise in draws if isinstance(noise, BinaryResponse)]
    for choice in product(*choices):
        weight = Fraction(1)
        for _, count in choice:
            weight *= Fraction(count, WORD)
        named = zip(draws, choice, strict=True)
        script = {(purpose, slot): word for (purpose, slot, _), (word, _) in named}
        scripted = Scripted(step.program, step.questions, script)
        for table, output in zip(tables, outputs(scripted, plan), strict=True):
            table[output] = table.get(output, Fraction(0)) + weight
    every = sorted({output for table in tables for output in table}, key=str)
    return [[table.get(output, Fraction(0)) for output in every] for table in tables]


def outputs(step: Answering, plan: Plan) -> list[Any]:
    """What is answered of as many subjects as there are worlds."""
    names = [f"{number:02}" for number in range(len(WORLDS))]
    events: list[Event] = [
        (who, at, place)
        for who, world in zip(names, WORLDS, strict=True)
        for at, place in (*world, *ALWAYS)
    ]
    asking = Asking(step, plan, subjects=names)
    asking.finish([events], step.program.end_of(SLOTS - 1))
    found: list[list[Any]] = [[] for _ in names]
    for who, slot, query, answer in asking.answers:
        found[int(who or 0)].append((slot, query, answer))
    return [tuple(sorted(one)) for one in found]


ANOTHER = VISITED.replace("visited", "again")


@pytest.mark.parametrize("queries", [[VISITED], [VISITED, ANOTHER]], ids=["one", "two"])
def test_what_explain_prints_is_the_exact_loss_of_answers(
    tmp_path: Path, queries: list[str]
) -> None:
    """A row counts in two slots, so each answer costs half of the budget; two queries share it."""
    edits = (VISIT_ANSWERED, QUICK, asks(*queries))
    plan, step = town_plan(tmp_path, *edits), town_answering(tmp_path, *edits)
    [claim] = [one for one in guarantees(plan, plan.terms["friends"]) if one.pattern == "visit"]
    each = [asked.epsilon for asked in step.questions.asked]
    assert each == [claim.slot / 2 / len(queries)] * len(queries)
    loss = exact_loss(law(step, plan))
    assert claim.slot == 4.0
    assert not loss.exceeds(claim.slot)
    assert loss.epsilon == pytest.approx(claim.slot, abs=1e-9)


@dataclass(frozen=True, slots=True)
class OnlyWhereFound(BinaryResponse):
    """Planted bug: noise only where something was found."""

    def release(self, values: Values, words: Words) -> Values:
        return np.where(values == 1, BinaryResponse.release(self, values, words), values)


@dataclass(frozen=True)
class Careless(Asked):
    @property
    def noise(self) -> BinaryResponse:
        return OnlyWhereFound(self.epsilon or 0.0)


def altered(step: Answering, asked: Iterable[Asked]) -> Answering:
    return Answering(step.program, replace(step.questions, asked=tuple(asked)))


def test_noise_only_where_a_match_was_found_has_an_infinite_epsilon(tmp_path: Path) -> None:
    edits = (VISIT_ANSWERED, QUICK, asks(VISITED))
    plan, step = town_plan(tmp_path, *edits), town_answering(tmp_path, *edits)
    [right] = step.questions.asked
    wrong = Careless(right.name, right.ask, right.epsilon, right.purpose)
    assert math.isinf(exact_loss(law(altered(step, [wrong]), plan)).epsilon)


def test_a_budget_that_is_not_split_over_slots_would_be_exceeded(tmp_path: Path) -> None:
    edits = (VISIT_ANSWERED, QUICK, asks(VISITED))
    plan, step = town_plan(tmp_path, *edits), town_answering(tmp_path, *edits)
    whole = [replace(one, epsilon=4.0) for one in step.questions.asked]
    assert exact_loss(law(altered(step, whole), plan)).exceeds(4.0)


VISIT = "events: {clinic: place = 'clinic', pharmacy: place = 'pharmacy', park: place = 'park'}"
SHAPES = {
    "one type": "sequence: clinic, within: %s",
    "two types": "sequence: clinic -> pharmacy, within: %s",
    "strict": "sequence: park >> clinic, within: %s",
    "kept away": "stages: [{event: park}, {event: clinic, contiguity: not_followed_by}, "
    "{event: pharmacy}], within: %s",
    "kept away to the end": "stages: [{event: park}, {event: clinic, contiguity: "
    "not_followed_by}], within: %s",
    "not next": "stages: [{event: park}, {event: clinic, contiguity: not_next}], within: %s",
    "not next, then": "stages: [{event: park}, {event: clinic, contiguity: not_next}, "
    "{event: pharmacy}], within: %s",
    "twice": "stages: [{event: clinic, times: 2}, {event: park}], within: %s",
    "consecutive": "stages: [{event: park, times: 2, loop: consecutive}], within: %s",
    "optional": "stages: [{event: park}, {event: clinic, optional: true}, {event: pharmacy}], "
    "within: %s",
}
FOUND = "name: found\npattern: {name: found, %s, %s}\nask: count\ncap: 1000"
AMPLE: Edit = ("policies/town.yaml", "visit: {mechanism: answers, epsilon: 4}",
               "visit: {mechanism: answers, epsilon: 400}")  # fmt: skip


@pytest.fixture(scope="module", params=SHAPES.keys())
def shape(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=["10 min", "15 min", "40 min"])
def asking(
    request: pytest.FixtureRequest, shape: str, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Answering, Plan, int]:
    """A step that counts matches, without noise, and how many slots are paid for."""
    pattern = SHAPES[shape] % request.param
    edits = (VISIT_ANSWERED, ERRAND_ANSWERED, AMPLE, asks(FOUND % (VISIT, pattern)))
    root = tmp_path_factory.mktemp("town")
    plan, step = town_plan(root, *edits), town_answering(root, *edits)
    [paid] = spending_of(plan, plan.terms["friends"]).answers
    [question] = plan.questions
    assert paid.slots == slots_spanned(question.pattern, plan.slot)
    free = [replace(one, epsilon=None, purpose=None) for one in step.questions.asked]
    return altered(step, free), plan, paid.slots


EVENTS = st.tuples(st.integers(0, 7200), st.sampled_from(["clinic", "pharmacy", "park", "home"]))
CHANGED = st.tuples(st.integers(0, 899), st.sampled_from(["clinic", "pharmacy"]))


@settings(max_examples=60)
@given(
    others=st.lists(EVENTS, max_size=12),
    changed=st.lists(CHANGED, min_size=1, max_size=3),
    slot=st.integers(0, 6),
)
def test_rows_of_one_slot_change_no_more_answers_than_are_paid_for(
    asking: tuple[Answering, Plan, int],
    others: list[tuple[int, str]],
    changed: list[tuple[int, str]],
    slot: int,
) -> None:
    step, plan, paid = asking
    more = [(900 * slot + at, place) for at, place in changed]
    one, other = (counts(step, plan, events) for events in (others, [*others, *more]))
    different = {at for at in one if one[at] != other[at]}
    assert different <= set(range(slot, slot + paid))


def counts(step: Answering, plan: Plan, events: Sequence[tuple[int, str]]) -> dict[int, int]:
    run = Asking(step, plan, subjects=["ada"])
    run.finish([[("ada", float(at), place) for at, place in events]], step.program.end_of(12))
    return {slot: count for (_, slot), count in told(run.answers, "found").items()}
