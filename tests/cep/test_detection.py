"""Detection is one pure step: cuts, shards and order do not matter, and nothing is lost unseen."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppm.cep.columnar.tables import FOREVER
from ppm.cep.reference import find
from ppm.errors import BindingError
from ppm.spec.pattern import Pattern
from tests.cep.columnar_tables import COLUMNS, random_streams, table_of
from tests.cep.detections import at_once, by_batches, detection, rows_of, told_by
from tests.cep.notation import MS, declare, events
from tests.cep.pattern_streams import core_patterns, ways

seeds = st.integers(0, 2**32)


def named(pattern: Pattern, name: str, way: dict[str, object]) -> Pattern:
    return pattern.model_copy(update={"name": name, **way})


@settings(max_examples=60)
@given(
    st.lists(st.tuples(core_patterns(), ways), min_size=1, max_size=3),
    seeds,
    st.lists(st.integers(-4, 25), max_size=5),
    st.integers(0, 3),
    st.sampled_from([1, 2, 5]),
)
def test_cuts_shards_and_order_do_not_matter(
    patterns: list[tuple[Pattern, dict[str, object]]],
    seed: int,
    cuts: list[int],
    ahead: int,
    shards: int,
) -> None:
    looked_for = detection(
        [named(one, f"p{at}", way) for at, (one, way) in enumerate(patterns)], timed_out=True
    )
    table = table_of(random_streams(seed, count=8), seed=Random(seed).randint(0, 9))
    micros = [cut * MS for cut in cuts]
    told = by_batches(looked_for, table, micros, ahead=ahead * MS, shards=shards, seed=seed)
    assert told == at_once(looked_for, table)
    names = [one["match_id"] for one in told]
    assert len(set(names)) == len(names)


@settings(max_examples=60)
@given(core_patterns(), ways, seeds)
def test_what_is_told_is_what_the_reference_finds(
    pattern: Pattern, way: dict[str, object], seed: int
) -> None:
    pattern = named(pattern, "p", way)
    streams = random_streams(seed, count=8)
    expected = [
        (match.id, match.kind, match.first.time, match.last.time, match.at)
        for subject, stream in streams.items()
        for match in find(
            pattern,
            stream,
            zones={},
            timezone="UTC",
            types=COLUMNS,
            subject=subject,
            timed_out=True,
        )
    ]
    told = at_once(detection([pattern], timed_out=True), table_of(streams))
    found = [
        (one["match_id"], one["kind"], *(_micros(one[at]) for at in ("start", "end", "at")))
        for one in told
    ]
    assert sorted(found) == sorted(expected)


def _micros(time: datetime) -> int:
    return (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def test_a_match_tells_its_stages_and_measures() -> None:
    looked_for = detection(
        [declare("a -> b{2} within 9")],
        columns=("price",),
        measures={
            "rise": "last(b.price) - first(a.price)",
            "mean": "avg(b.price)",
            "total": "sum(b.price)",
            "least": "min(b.price)",
            "how_many": "count(b)",
            "kind_of_a": "first(a.kind)",
            "is_up": "last(b.price) > first(a.price)",
            "unknown": "max(a.price) / 0",
        },
    )
    [told] = at_once(looked_for, table_of({"one": events("a(1)@1 b1(2)@2 b2(5)@3")}, ids="number"))
    assert [(stage, [e["price"] for e in es]) for stage, es in told["stages"]] == [
        ("a", [1.0]),
        ("b", [2.0, 5.0]),
    ]
    measured = [told[one.name] for one in looked_for.measures[0]]
    assert measured == [4.0, 3.5, 7.0, 2.0, 2, "a", True, None]
    assert (told["subject"], told["pattern"], told["kind"]) == ("one", "p", "match")
    assert [_micros(told[at]) for at in ("start", "end", "at")] == [MS, 3 * MS, 3 * MS]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("price + 1", r"reads price without saying of which events; write last\(stage.price\)"),
        ("last(z.price)", "asks about the stage z, which there is not; allowed are a, b"),
        ("last(a.prize)", "reads the column prize.* did you mean price"),
        ("last(a.kind) + 1", "needs numbers"),
        ("last(", "the measure m "),
    ],
)
def test_a_measure_that_does_not_fit_is_refused(text: str, fault: str) -> None:
    with pytest.raises(BindingError, match=fault):
        detection([declare("a -> b within 9")], measures={"m": text})


def test_without_ids_equal_rows_are_two_events_and_each_match_has_its_name() -> None:
    looked_for = detection([declare("a -> b within 9")], has_ids=False)
    twins = table_of({"one": events("a(1)@1 b(2)@2")}, ids="number")
    twins = pa.concat_tables([twins, twins.slice(0, 1), twins.slice(0, 1)])
    once = at_once(looked_for, twins)
    assert len({one["match_id"] for one in once}) == 3
    for cuts in ([0], [1 * MS], [1 * MS, 2 * MS], [1 * MS, 1 * MS + 5, 1 * MS + 9]):
        assert by_batches(looked_for, twins, cuts, ahead=MS) == once
    assert all("id" not in event for one in once for _, es in one["stages"] for event in es)


@pytest.mark.parametrize("cuts", [[], [2 * MS], [2 * MS, 5 * MS]])
def test_duplicates_within_the_window_are_ignored_and_counted(cuts: list[int]) -> None:
    looked_for = detection([declare("a -> b within 20")], duplicates_within=5 * MS)
    table = pa.table(
        {
            "subject": ["one"] * 6,
            "time": pa.array([at * MS for at in (1, 1, 3, 7, 7, 8)]),
            "id": [1, 1, 1, 1, 2, 3],
            "kind": ["a", "a", "a", "a", "b", "b"],
            "price": [0.0] * 6,
        }
    )
    told = by_batches(looked_for, table, cuts)
    matches = [one for one in told if one["kind"] == "match"]
    # a@1 counts, a@1 and a@3 follow it too soon, a@7 does not.
    assert sorted(_micros(one["start"]) // MS for one in matches) == [1, 7]
    assert len({one["match_id"] for one in matches}) == 2
    assert sum(one["__ppm_duplicates"] or 0 for one in told) == 2


def test_whether_rows_are_duplicates_does_not_depend_on_a_strict_neighbour() -> None:
    stream = pa.table(
        {
            "subject": ["one"] * 3,
            "time": pa.array([at * MS for at in (1, 2, 3)]),
            "id": [1, 1, 2],
            "kind": ["x", "a", "b"],
            "price": [0.0] * 3,
        }
    )
    alone = [declare("a -> b within 9")]
    strict = named(declare("c >> b within 9"), "strict", {})
    for patterns in (alone, [*alone, strict]):
        told = at_once(detection(patterns, duplicates_within=5 * MS), stream)
        assert [one["pattern"] for one in told] == ["p"]


def test_equal_rows_need_no_memory_where_rows_are_told_apart_by_all_columns() -> None:
    looked_for = detection(
        [declare("a -> b within 2")], has_ids=False, duplicates_within=10**9 * MS
    )
    state = None
    for batch in range(3):
        stream = {"one": events(" ".join(f"a({at})@{10 * batch + at}" for at in range(9)))}
        rows = rows_of(looked_for, table_of(stream, ids="number"))
        state = looked_for.step(state, pa.concat_tables([rows, rows]), (10 * batch - 5) * MS).state
    end = looked_for.step(state, rows.slice(0, 0), 10**6 * MS)
    assert end.wake_at is None


def test_ids_that_come_twice_are_refused_unless_duplicates_are_ignored() -> None:
    table = table_of({"one": events("a@1 b@2")}, ids="number")
    twice = pa.concat_tables([table, table.slice(0, 1)])
    with pytest.raises(BindingError, match=r"1 row came twice: .* or ignore duplicates"):
        at_once(detection([declare("a -> b within 9")]), twice)


def test_rows_without_subject_or_time_are_refused_or_dropped_and_counted() -> None:
    table = table_of({"one": events("a@1 b@2")}, ids="number")
    holes = table.slice(0, 1).set_column(1, "time", pa.nulls(1, pa.int64()))
    more = table.slice(0, 1).set_column(0, "subject", pa.nulls(1, pa.string()))
    broken = pa.concat_tables([table, holes, more])

    def told(on_null: Any) -> Any:
        looked_for = detection([declare("a -> b within 9")], on_null=on_null)
        return told_by(looked_for.step(None, rows_of(looked_for, broken), FOREVER))

    with pytest.raises(BindingError, match=r"2 rows without subject, time or id; .*on_null"):
        told("refuse")
    match, losses = told("drop")
    assert (match["kind"], losses["kind"], losses["__ppm_nulls"]) == ("match", "losses", 2)


@pytest.mark.parametrize("tells_late", [False, True])
def test_late_rows_are_counted_and_told_on_request(tells_late: bool) -> None:
    looked_for = detection([declare("a -> b within 9")], tells_late=tells_late)
    first = table_of({"one": events("a@1")}, ids="number")
    second = table_of({"one": events("a2@2 b@3 b2@4")}, ids="number")
    state = looked_for.step(None, rows_of(looked_for, first), -FOREVER).state
    done = looked_for.step(state, rows_of(looked_for, second), 3 * MS)
    told = told_by(done)
    assert [one["kind"] for one in told] == [*["late"] * 2 * tells_late, "losses"]
    assert told[-1]["__ppm_late"] == 2
    if tells_late:
        assert sorted(_micros(one["at"]) // MS for one in told[:2]) == [2, 3]
        assert sorted(e["id"] for one in told[:2] for _, es in one["stages"] for e in es) == [0, 1]
    end = looked_for.step(done.state, rows_of(looked_for, second.slice(0, 0)), FOREVER)
    [match] = told_by(end)
    assert (_micros(match["start"]), _micros(match["end"])) == (1 * MS, 4 * MS)


def test_state_stays_flat_over_a_long_stream() -> None:
    looked_for = detection(
        [declare("a -> b{1,3} -> c within 40"), named(declare("a => c !-> b within 30"), "q", {})],
        duplicates_within=50 * MS,
    )
    random, state, sizes = Random(5), None, []
    for batch in range(120):
        start = batch * 100
        table = pa.table(
            {
                "subject": [f"s{random.randrange(7)}" for _ in range(100)],
                "time": pa.array([(start + at) * MS for at in range(100)]),
                "id": range(start, start + 100),
                "kind": [random.choice("abcx") for _ in range(100)],
                "price": [0.0] * 100,
            }
        )
        state = looked_for.step(state, rows_of(looked_for, table), (start - 10) * MS).state
        assert state is not None
        sizes.append(len(state))
    assert max(sizes[60:]) <= 1.1 * max(sizes[10:60])
    gone = looked_for.step(state, rows_of(looked_for, table.slice(0, 0)), 10**6 * MS)
    assert gone.wake_at is None
    assert len(gone.state or b"") < min(sizes)


def test_a_detection_can_be_sent_to_a_worker() -> None:
    looked_for = detection([declare("a -> b within 9")], measures={"n": "count(a)"})
    table = table_of({"one": events("a@1 b@2")}, ids="number")
    there = pickle.loads(pickle.dumps(looked_for))  # noqa: S301
    assert at_once(there, table) == at_once(looked_for, table)
    assert there.owner == looked_for.owner
