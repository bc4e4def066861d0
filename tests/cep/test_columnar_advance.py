"""Batch after batch finds what one pass over the whole stream finds."""

from __future__ import annotations

import pickle
from collections import defaultdict
from random import Random

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from ppm.cep.columnar.advance import Progress, State, advance
from ppm.cep.columnar.watch import watch
from ppm.spec.pattern import Pattern
from tests.cep.columnar_tables import Shown, by_reference, compiled, random_streams, shown, table_of
from tests.cep.notation import MS, declare, events
from tests.cep.pattern_streams import core_patterns, ways

seeds = st.integers(0, 2**32)


def batch_by_batch(
    pattern: Pattern, table: pa.Table, cuts: list[int], ahead: int
) -> dict[str, list[Shown]]:
    """Some rows come long before the watermark does, none after it."""
    watched = watch([compiled(pattern)])
    state, found = State(), defaultdict(list)
    times = table["time"].to_numpy()
    taken_in = np.zeros(len(times), np.bool_)
    for watermark in [*sorted(cuts), None]:
        due = np.ones(len(times), np.bool_) if watermark is None else times <= watermark + ahead
        batch = table.filter(pa.array(due & ~taken_in))
        taken_in |= due
        progress = advance(watched, state, watched.with_bits(batch), watermark)
        assert len(progress.late) == 0
        for match in shown(pattern, progress.matches[0], progress.rows):
            found[match[0]].append(match)
        state = pickle.loads(pickle.dumps(progress.state))  # noqa: S301
    assert state.rows is not None
    return dict(found)


@settings(max_examples=120)
@given(core_patterns(), ways, seeds, st.lists(st.integers(-4, 25), max_size=5), st.integers(0, 3))
def test_cuts_do_not_matter(
    pattern: Pattern, way: dict[str, object], seed: int, cuts: list[int], ahead: int
) -> None:
    pattern = pattern.model_copy(update=way)
    streams = random_streams(seed, count=12)
    expected = defaultdict(list)
    for match in by_reference(pattern, streams):
        expected[match[0]].append(match)
    table = table_of(streams, seed=Random(seed).randint(0, 9))
    assert batch_by_batch(pattern, table, [cut * MS for cut in cuts], ahead * MS) == expected


def step(pattern: str, state: State, table: pa.Table, watermark: int) -> Progress:
    watched = watch([compiled(declare(pattern))])
    return advance(watched, state, watched.with_bits(table), watermark)


def test_late_rows_are_told_and_leave_matches_alone() -> None:
    pattern = "a -> b within 5"
    first = step(pattern, State(), table_of({"one": events("a@1")}), 2 * MS)
    second = step(pattern, first.state, table_of({"one": events("x@2 b@3")}), 9 * MS)
    assert len(second.late) == 1
    assert len(second.matches[0]) == 1


def test_only_rows_that_an_open_run_leads_back_to_are_kept() -> None:
    pattern = "a -> b -> c within 9"
    stream = {"one": events("a1@1 x@2 b1@3 a2@4 x2@5"), "two": events("x@1 b@2")}
    state = step(pattern, State(), table_of(stream), 6 * MS).state
    assert state.rows is not None
    assert state.rows["id"].to_pylist() == ["a1", "b1", "a2"]
    over = step(pattern, state, table_of(stream).slice(0, 0), 99 * MS).state
    assert over.rows is not None
    assert over.rows.num_rows == 0


def test_skipped_events_are_counted_across_batches() -> None:
    # a1 holds back both matches of a2; once its window ends, the one that skipped a3 is second.
    where = {"b": {"where": "price = first(a.price)"}}
    pattern = declare("a -> b{1,} within 9", skip="skip_past_last", **where)
    table = table_of({"one": events("a1(0)@1 a2(1)@2 b1(1)@3 a3(2)@4 b2(1)@5")})
    [[(_, _, taken)]] = batch_by_batch(pattern, table, [3 * MS], 0).values()
    assert taken == [("a", "a2"), ("b", "b1")]
