"""The columnar engine at its edges: worked examples, forms of batches, limits and the cache."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ppm.cep.columnar.columns import Layout
from ppm.cep.columnar.engine import TooManyError, find_columns
from ppm.errors import BindingError
from tests.cep import test_worked_examples
from tests.cep.columnar_tables import by_columns, by_reference, compiled, table_of
from tests.cep.notation import MS, declare, events

ROOT = Path(__file__).parents[2]
[EXAMPLES] = test_worked_examples.test_example.pytestmark
ABC = table_of({"one": events("a@1 b@2 c@3"), "two": events("b@1 a@2 b@4")})


def found(pattern: str, table: Any, **settings: Any) -> list[tuple[int, int]]:
    matches = find_columns(compiled(declare(pattern)), table, **settings)
    return list(zip(matches.first.tolist(), matches.last.tolist(), strict=True))


@pytest.mark.parametrize(*EXAMPLES.args)
def test_worked_example(pattern: str, settings: dict[str, Any], stream: str, matches: str) -> None:
    declared, streams = declare(pattern, **settings), {"one": events(stream)}
    told = by_columns(declared, streams)
    shown = [" ".join(str(event) for _, event in taken) for _, _, taken in told]
    assert sorted(shown) == sorted(matches.split("; ") if matches else [])
    assert told == by_reference(declared, streams)


def test_worked_example_23() -> None:
    pattern = declare("a -> c -> b", b={"where": "price = first(a.price)"}, skip="skip_to_first(c)")
    streams = {"one": events("a1(0) c1 a2(1) c2 b1(1) b2(0)")}
    assert [[e for _, e in taken] for _, _, taken in by_columns(pattern, streams)] == [
        ["a1", "c1", "b2"],
        ["a2", "c2", "b1"],
    ]


def test_the_form_of_a_batch_does_not_matter() -> None:
    expected = found("a -> b", ABC)
    assert len(expected) == 2
    [batch] = ABC.combine_chunks().to_batches()
    assert found("a -> b", batch) == expected
    times = pa.chunked_array([ABC["time"].combine_chunks().cast(pa.timestamp("us", "UTC"))])
    assert found("a -> b", ABC.set_column(1, "time", times)) == expected
    coded = ABC.set_column(0, "subject", ABC["subject"].dictionary_encode())
    coded = coded.set_column(3, "kind", coded["kind"].dictionary_encode())
    assert found("a -> b", coded) == expected
    assert found("a -> b", pa.concat_tables([ABC.slice(0, 2), ABC.slice(2)])) == expected
    assert found("a -> b", ABC.slice(0, 0)) == []


def test_without_a_tie_break_rows_of_equal_time_stay_in_order() -> None:
    table = pa.table({"who": [1, 1], "when": [5, 5], "kind": ["b", "a"], "price": [0.0, 0.0]})
    layout = Layout(subject="who", time="when", order=None)
    assert found("a -> b", table, layout=layout) == []
    assert found("a -> b", table.take([1, 0]), layout=layout) == [(0, 1)]


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        pytest.param(ABC.drop_columns(["kind"]), "column kind is there 0 times", id="missing"),
        pytest.param(
            ABC.set_column(1, "time", ABC["time"].cast(pa.timestamp("ns"))),
            r"cast it to timestamp\('us'\)",
            id="nanoseconds",
        ),
        pytest.param(
            ABC.set_column(1, "time", pa.array([1, None, 2, 3, 4, 5], pa.int64())),
            "1 nulls",
            id="no time",
        ),
        pytest.param(pa.concat_tables([ABC, ABC.slice(0, 2)]), "2 rows came twice", id="twins"),
        pytest.param(
            ABC.set_column(3, "kind", pa.array([1] * 6)), "compiled for string", id="other type"
        ),
    ],
)
def test_a_batch_that_does_not_fit_is_refused(table: pa.Table, fault: str) -> None:
    with pytest.raises(BindingError, match=fault):
        found("a -> b", table)


def test_an_explosion_is_an_error_and_not_the_end_of_memory() -> None:
    stream = table_of({"one": events(" ".join(f"a{at}" for at in range(200)))})
    with pytest.raises(TooManyError, match="more than 1000 runs at a time"):
        found("x:a => y:a => z:a", stream, max_runs=1000)
    with pytest.raises(TooManyError, match="more than 1000 matches"):
        found("x:a => y:a", stream, max_matches=1000)


def test_more_runs_and_events_than_there_was_room_for() -> None:
    text = " ".join(f"{'ab'[at % 2]}{at}" for at in range(60))
    pattern, streams = declare("a -> b{1,} -> a2:a"), {"one": events(text)}
    assert by_columns(pattern, streams) == by_reference(pattern, streams)


@pytest.mark.parametrize(
    ("preset", "count"),
    [
        pytest.param("all", 10_000, id="all are told"),
        pytest.param("non-overlapping", 1, id="all are held, then dropped"),
    ],
)
def test_one_run_waits_while_thousands_come_and_go(preset: str, count: int) -> None:
    # a(9) waits for b(9), which comes last; every other a has its b right after it.
    size = 20_000
    kinds, prices = np.tile(["a", "b"], size // 2), np.zeros(size)
    kinds[1:-1], prices[[0, -1]] = np.tile(["a", "b"], size // 2 - 1), 9
    table = pa.table(
        {
            "subject": np.zeros(size, np.int64),
            "time": np.arange(size) * MS,
            "id": np.arange(size),
            "kind": kinds,
            "price": prices,
        }
    )
    pattern = declare("a -> b", b={"where": "price = first(a.price)"}, preset=preset)
    matches = find_columns(compiled(pattern), table)
    assert len(matches) == count
    assert (matches.first[-1], matches.last[-1]) == (0, size - 1)
    others = np.arange(1, size - 1, 2)[: count - 1]
    assert matches.first[:-1].tolist() == others.tolist()
    assert matches.last[:-1].tolist() == (others + 1).tolist()


def test_without_a_cache_folder_kernels_are_compiled_in_memory_and_one_warning_is_given() -> None:
    program = """
import warnings
import numba.core.caching as caching
caching.CacheImpl._locator_classes = []  # as if no folder were writable
with warnings.catch_warnings(record=True) as given:
    warnings.simplefilter("always")
    from ppm.cep.columnar.jit import kernel
    one, two = kernel(lambda x: x + 1), kernel(lambda x: x + 2)
assert one(1) == 2 and two(1) == 3
found = [str(one.message) for one in given if "NUMBA_CACHE_DIR" in str(one.message)]
assert len(found) == 1, found
"""
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
