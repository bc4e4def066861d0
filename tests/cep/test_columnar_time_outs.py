"""Partial matches whose time ran out: the columnar engine tells those of the reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppm.cep.columnar.columns import Layout, sort_rows
from ppm.cep.columnar.engine import (
    MOST_MATCHES,
    MOST_RUNS,
    Matches,
    TooManyError,
    find_columns,
    listed,
    nothing_open,
    relevant_rows,
)
from ppm.cep.columnar.kernels import DONE, scan
from ppm.cep.columnar.tables import FOREVER, compile_pattern
from ppm.cep.match import Event
from ppm.cep.reference import find
from ppm.spec.pattern import Pattern
from ppm.spec.stage import Skip
from tests.cep import test_time
from tests.cep.columnar_tables import COLUMNS, Shown, compiled, random_streams, shown, table_of
from tests.cep.notation import MS, declare, events
from tests.cep.pattern_streams import core_patterns

[EXAMPLES] = vars(test_time.test_partial_matches_whose_time_ran_out)["pytestmark"]

Told = tuple[list[Shown], list[Shown]]
"""Matches and time-outs, each subject by subject in the order in which they are told."""

seeds = st.integers(0, 2**32)
watermarks = st.none() | st.integers(-2, 20).map(lambda time: time * MS)


def skips_of(pattern: Pattern) -> st.SearchStrategy[dict[str, object]]:
    """Every preset and every skip strategy that fits a pattern."""
    stages = [stage.label for stage in pattern.stages if not stage.is_absence]
    aimed = [f"{way}({stage})" for way in ("skip_to_first", "skip_to_last") for stage in stages]
    skips = ["no_skip", "skip_to_next", "skip_past_last", *aimed]
    ways: list[dict[str, object]] = [{"preset": one} for one in ("first", "non-overlapping")]
    return st.sampled_from([*ways, *({"skip": Skip.parse(skip)} for skip in skips)])


def parted(pattern: Pattern, found: Matches, streams: dict[str, list[Event]]) -> Told:
    table = table_of(streams)
    told = list(zip(shown(pattern, found, table), found.is_timed_out, strict=True))
    return [one for one, is_over in told if not is_over], [one for one, is_over in told if is_over]


def by_columns(
    pattern: Pattern, streams: dict[str, list[Event]], *, watermark: int | None = None
) -> Told:
    ready = compile_pattern(pattern, types=COLUMNS, zones={}, timezone="UTC", timed_out=True)
    return parted(pattern, find_columns(ready, table_of(streams), watermark=watermark), streams)


def by_reference(
    pattern: Pattern, streams: dict[str, list[Event]], *, watermark: int | None = None
) -> Told:
    told: Told = [], []
    for subject, stream in sorted(streams.items()):
        for match in find(
            pattern,
            stream,
            zones={},
            timezone="UTC",
            types=COLUMNS,
            watermark=watermark,
            timed_out=True,
        ):
            taken = [(stage, event.id) for stage, es in match.stages for event in es]
            told[match.kind == "timed_out"].append((subject, match.at, list(taken)))
    return told


@pytest.mark.parametrize(*EXAMPLES.args)
def test_example(pattern: str, stream: str, over: list[str]) -> None:
    _, time_outs = by_columns(declare(pattern), {"one": events(stream)})
    assert [" ".join(str(event) for _, event in taken) for _, _, taken in time_outs] == over


@settings(max_examples=200)
@given(core_patterns(), st.data(), seeds, watermarks)
def test_every_skip(
    pattern: Pattern, data: st.DataObject, seed: int, watermark: int | None
) -> None:
    pattern = pattern.model_copy(update=data.draw(skips_of(pattern)))
    streams = random_streams(seed, count=25)
    expected = by_reference(pattern, streams, watermark=watermark)
    assert by_columns(pattern, streams, watermark=watermark) == expected


def in_cuts(pattern: Pattern, stream: list[Event], cuts: list[int]) -> Told:
    """One subject, one scan after the other: each knows only what the one before left open."""
    ready = compile_pattern(pattern, types=COLUMNS, zones={}, timezone="UTC", timed_out=True)
    streams = {"one": stream}
    table = table_of(streams)
    ordered, opened, seen = sort_rows(table, Layout()), nothing_open(), 0
    told: Told = [], []
    for horizon in [*sorted(cuts), FOREVER - 1]:
        rows, origin, constants = relevant_rows(ready, table, ordered, horizon)
        found = scan(
            ready.tables,
            ready.programs,
            constants,
            rows,
            np.array([seen]),
            horizon,
            opened,
            True,
            MOST_RUNS,
            MOST_MATCHES,
        )
        assert found.status == DONE
        opened, seen = found.open, len(rows.times)
        matches, time_outs = parted(pattern, listed(found, origin, ordered.subjects), streams)
        told[0].extend(matches)
        told[1].extend(time_outs)
    assert len(opened.run_node) == 0 or pattern.within is None
    return told


@settings(max_examples=300)
@given(core_patterns(), st.data(), seeds, st.lists(st.integers(-4, 25), min_size=1, max_size=5))
def test_what_stays_open_knows_what_was_told(
    pattern: Pattern, data: st.DataObject, seed: int, cuts: list[int]
) -> None:
    pattern = pattern.model_copy(update=data.draw(skips_of(pattern)))
    for stream in random_streams(seed, count=4, most=12).values():
        if stream:
            expected = by_reference(pattern, {"one": stream})
            assert in_cuts(pattern, stream, [cut * MS for cut in cuts]) == expected


def test_a_match_of_an_earlier_batch_is_no_time_out_later() -> None:
    pattern, stream = declare("a -> b{1,} within 9"), events("a@1 b@2")
    [(_, at, _)], time_outs = in_cuts(pattern, stream, [3 * MS])
    assert (at, time_outs) == (2 * MS, [])


def test_time_outs_of_a_moment_come_before_the_matches_it_frees() -> None:
    where = {"b": {"where": "price = first(a.price)"}}
    pattern = declare("a -> b within 5", skip="skip_past_last", **where)
    streams = {"one": events("a1(0)@1 a2(1)@2 b(1)@3")}
    ready = compile_pattern(pattern, types=COLUMNS, zones={}, timezone="UTC", timed_out=True)
    found = find_columns(ready, table_of(streams))
    assert found.is_timed_out.tolist() == [True, False]
    assert found.at.tolist() == [6 * MS, 3 * MS]


def test_nobody_who_did_not_ask_is_told() -> None:
    table = table_of({"one": events("a1@1 a2@2 b@3 a3@4")})
    found = find_columns(compiled(declare("a => b within 5")), table)
    assert len(found) == 2
    assert not found.is_timed_out.any()


def test_time_outs_count_towards_the_most_matches() -> None:
    pattern = declare("a -> b within 5")
    ready = compile_pattern(pattern, types=COLUMNS, zones={}, timezone="UTC", timed_out=True)
    table = table_of({"one": events(" ".join(f"a{at}" for at in range(20)))})
    assert len(find_columns(ready, table, max_matches=20)) == 20
    with pytest.raises(TooManyError, match="more than 19 matches"):
        find_columns(ready, table, max_matches=19)
