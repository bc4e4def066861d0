"""How fast patterns are found in columns, against the reference interpreter, in one run.

    .venv/bin/python benchmarks/kernels.py

Windows count events of one subject. The columnar engine reads 2,000,000 events of 1,000 subjects,
the interpreter the first 20,000 of them, because it would take an hour for all.

`columnar` is all of it: sorting, predicates, matching and listing. `kernel` is matching alone, with
rows sorted and predicates known, the best of some passes; it counts all events, and `rows` only
those that some stage wants, which are all that the kernel reads unless the pattern is strict.
"""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa

from ppm.cep.columnar.columns import Layout, sort_rows
from ppm.cep.columnar.engine import (
    MOST_MATCHES,
    MOST_RUNS,
    find_columns,
    nothing_open,
    relevant_rows,
)
from ppm.cep.columnar.kernels import scan
from ppm.cep.columnar.tables import FOREVER, Compiled, compile_pattern
from ppm.cep.match import Event
from ppm.cep.reference import find
from ppm.spec.expression.kinds import ColumnType
from ppm.spec.pattern import Pattern

EVENTS, SUBJECTS, LABELS, SAMPLE = 2_000_000, 1_000, 8, 20_000
PASSES = 5
COLUMNS = {"label": ColumnType.INTEGER}
TYPES = {name: f"label = {label}" for label, name in enumerate("abc")}


def main() -> None:
    random = np.random.default_rng(7)
    rows = pa.table(
        {
            "subject": random.integers(0, SUBJECTS, EVENTS),
            "time": np.arange(EVENTS),  # microseconds; one event of a subject each 1,000 of them
            "id": np.arange(EVENTS),
            "label": random.integers(0, LABELS, EVENTS),
        }
    )
    print(
        f"{'pattern':14} {'window':>6} {'matches':>10} {'kernel':>13} {'rows':>13} "
        f"{'columnar':>12} {'reference':>12} ratio"
    )
    for sequence in ("a -> b -> c", "a >> b", "a => b => c"):
        for window in (20, 100) if "=>" not in sequence else (20,):
            within = f"{window * SUBJECTS / 1000:g} ms"
            pattern = Pattern(name="p", events=TYPES, sequence=sequence, within=within)
            compiled = compile_pattern(pattern, types=COLUMNS, zones={}, timezone="UTC")
            fast, matches = columnar_speed(compiled, rows)
            alone, read = kernel_speed(compiled, rows)
            slow = reference_speed(pattern, rows.slice(0, SAMPLE))
            print(
                f"{sequence:14} {window:>6} {matches:>10,} {alone:>11,.0f}/s {read:>11,.0f}/s "
                f"{fast:>10,.0f}/s {slow:>10,.0f}/s {fast / slow:,.0f}"
            )


def columnar_speed(compiled: Compiled, rows: pa.Table) -> tuple[float, int]:
    """Events a second, sorting and predicates included, and the number of matches."""
    find_columns(compiled, rows.slice(0, 1_000))  # compiles the kernels, if nobody did before
    start = time.perf_counter()
    found = find_columns(compiled, rows)
    return rows.num_rows / (time.perf_counter() - start), len(found)


def kernel_speed(compiled: Compiled, rows: pa.Table) -> tuple[float, float]:
    """Events a second of the kernel alone, and rows a second that it reads of them."""
    read, _, constants = relevant_rows(compiled, rows, sort_rows(rows, Layout()), FOREVER - 1)
    best = float("inf")
    for _ in range(PASSES):
        start = time.perf_counter()
        scan(
            compiled.tables,
            compiled.programs,
            constants,
            read,
            read.subject_from[:-1],
            FOREVER - 1,
            nothing_open(),
            False,
            MOST_RUNS,
            MOST_MATCHES,
        )
        best = min(best, time.perf_counter() - start)
    return rows.num_rows / best, len(read.times) / best


def reference_speed(pattern: Pattern, rows: pa.Table) -> float:
    """Events a second of the interpreter, one subject after the other."""
    streams: dict[int, list[Event]] = {}
    for row in rows.to_pylist():
        event = Event(str(row["id"]), row["time"], {"label": row["label"]})
        streams.setdefault(row["subject"], []).append(event)
    start = time.perf_counter()
    for events in streams.values():
        find(pattern, events, zones={}, timezone="UTC")
    return rows.num_rows / (time.perf_counter() - start)


if __name__ == "__main__":
    main()
