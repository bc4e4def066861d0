"""Bit-identical: any batching, order, number of shards and pieces gives the same answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppm.protect.answering import Answering
from ppm.protect.plan import Plan
from tests.protect.asking import EVERY_KIND, Asking, town_answering
from tests.protect.running import SEEN, Event, town_plan, watermark_after
from tests.protect.test_step_any_cut import cut, streams
from tests.protect.town import Edit

Town = tuple[Answering, Plan]


@pytest.fixture(scope="module", params=["declared", "seen"])
def town(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Town:
    edits: tuple[Edit, ...] = (*EVERY_KIND, *([SEEN] if request.param == "seen" else []))
    root = tmp_path_factory.mktemp("town")
    return town_answering(root, *edits), town_plan(root, *edits)


def in_shards(town: Town, shards: int) -> Asking:
    step, plan = town
    return Asking(Answering(replace(step.program, shards=shards), step.questions), plan)


def run(town: Town, events: list[Event], *, seed: int) -> Asking:
    """The stream in random batches of random pieces in random order, over random shards."""
    random = Random(seed)
    asking = in_shards(town, random.randint(1, 4))
    program, seen = asking.step.program, list[Event]()
    for batch in cut(events, random, random.randint(1, 6)):
        rows = random.sample(batch, len(batch))
        asking.batch(cut(rows, random, random.randint(1, 3)), watermark_after(program, seen))
        seen += batch
    asking.batch([], watermark_after(program, seen))
    return asking


@settings(max_examples=60)
@given(events=streams(), seed=st.integers(0, 2**32))
def test_every_cut_of_a_stream_is_answered_as_a_batch_is(
    town: Town, events: list[Event], seed: int
) -> None:
    asking = run(town, events, seed=seed)
    program = asking.step.program
    end = program.end_of(program.first_open(watermark_after(program, events)) - 1)
    whole = in_shards(town, 1)
    whole.finish([events], end)
    assert sorted(asking.answers, key=str) == sorted(whole.answers, key=str)
    assert asking.lost["late"] == 0
    assert asking.lost["before"] == whole.lost["before"]
    assert not any(asking.tallied.values())


@settings(max_examples=30)
@given(events=streams(), seed=st.integers(0, 2**32))
def test_rows_on_the_truth_that_come_twice_change_nothing(
    town: Town, events: list[Event], seed: int
) -> None:
    once = run(town, events, seed=seed)
    twice = run(town, [event for event in events for _ in range(2)], seed=seed)
    assert sorted(twice.answers, key=str) == sorted(once.answers, key=str)


def test_a_retried_batch_is_answered_with_the_same_draw(tmp_path: Path) -> None:
    asking = Asking(town_answering(tmp_path, *EVERY_KIND), town_plan(tmp_path, *EVERY_KIND))
    step, rows = asking.step, asking._rows([])
    first, second = (step(asking.states[0], rows, step.program.end_of(50)) for _ in range(2))
    one, other = (pa.concat_tables(turn.released) for turn in (first, second))
    assert one.num_rows > 200
    assert one.equals(other)
    assert first.state == second.state
