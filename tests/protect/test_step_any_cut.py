"""Bit-identical: any batching, order, number of shards and pieces releases the same."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppm.protect.program import Program
from ppm.protect.step import Protection
from tests.protect.running import (
    JOINT,
    NEIGHBOURS,
    SEEN,
    Event,
    Town,
    town_program,
    watermark_after,
)
from tests.protect.town import Edit

PLACES = ("clinic", "pharmacy", "shop", "post", "park", "home")
PEOPLE = ("ada", "bo", "cy", "dee")
LATENESS = 120
"""Seconds."""


@pytest.fixture(scope="module", params=["declared", "seen", "joint"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Program:
    edits: dict[str, tuple[Edit, ...]] = {
        "declared": (NEIGHBOURS,),
        "seen": (NEIGHBOURS, SEEN),
        "joint": JOINT,
    }
    return town_program(tmp_path_factory.mktemp("town"), *edits[request.param])


@st.composite
def streams(draw: st.DrawFn) -> list[Event]:
    """Rows in order of arrival, out of order by less than the lateness."""
    times = sorted(draw(st.lists(st.integers(-1000, 9000), min_size=1, max_size=40)))
    jitter = st.integers(0, LATENESS - 1)
    arrivals = sorted((time + draw(jitter), time) for time in times)
    return [
        (draw(st.sampled_from(PEOPLE)), float(time), draw(st.sampled_from(PLACES)))
        for _, time in arrivals
    ]


def cut(events: list[Event], random: Random, parts: int) -> list[list[Event]]:
    borders = sorted(random.randint(0, len(events)) for _ in range(parts - 1))
    return [events[a:b] for a, b in pairwise([0, *borders, len(events)])]


def run(program: Program, events: list[Event], *, seed: int) -> Town:
    """The stream in random batches of random pieces in random order, over random shards."""
    random = Random(seed)
    town = Town(Protection(program), shards=random.randint(1, 4))
    seen: list[Event] = []
    for batch in cut(events, random, random.randint(1, 6)):
        rows = random.sample(batch, len(batch))
        town.batch(cut(rows, random, random.randint(1, 3)), watermark_after(program, seen))
        seen += batch
    town.batch([], watermark_after(program, seen))
    return town


@settings(max_examples=150)
@given(events=streams(), seed=st.integers(0, 2**32))
def test_every_cut_of_a_stream_releases_what_a_batch_does(
    program: Program, events: list[Event], seed: int
) -> None:
    town = run(program, events, seed=seed)
    end = program.end_of(program.first_open(watermark_after(program, events)) - 1)
    whole = Town(Protection(program))
    whole.finish([events], end)
    assert sorted(town.told) == sorted(whole.told)
    assert town.lost["late"] == 0
    assert town.lost["before"] == whole.lost["before"]


@settings(max_examples=60)
@given(events=streams(), seed=st.integers(0, 2**32))
def test_a_stream_and_what_is_drained_of_it_are_the_whole(
    program: Program, events: list[Event], seed: int
) -> None:
    town = run(program, events, seed=seed)
    last = max(0, *(int(at) // 900 for _, at, _ in events if at is not None))
    town.finish([], program.end_of(last))
    whole = Town(Protection(program))
    whole.finish([events], program.end_of(last))
    assert sorted(town.told) == sorted(whole.told)
    assert town.lost == whole.lost


@settings(max_examples=60)
@given(events=streams(), seed=st.integers(0, 2**32))
def test_rows_that_come_twice_change_nothing(
    program: Program, events: list[Event], seed: int
) -> None:
    once = run(program, events, seed=seed)
    twice = run(program, [event for event in events for _ in range(2)], seed=seed)
    assert sorted(twice.told) == sorted(once.told)


def test_a_retried_batch_releases_the_same_draw(tmp_path: Path) -> None:
    step = Protection(town_program(tmp_path, NEIGHBOURS))
    town = Town(step)
    rows = town.no_rows
    first, second = (step(town.states[0], rows, step.program.end_of(50)) for _ in range(2))
    one, other = (pa.concat_tables(turn.released) for turn in (first, second))
    assert one.num_rows > 100
    assert one.equals(other)
    assert first.state == second.state
