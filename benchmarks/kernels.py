"""How fast patterns are found in columns, against the reference interpreter, in one run.

    .venv/bin/python benchmarks/kernels.py

Windows count events of one subject. The columnar engine reads 2,000,000 events of 1,000 subjects,
the interpreter the first 20,000 of them, because it would take an hour for all.
"""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa

from ppm.cep.columnar.engine import find_columns
from ppm.cep.columnar.tables import compile_pattern
from ppm.cep.match import Event
from ppm.cep.reference import find
from ppm.spec.expression.kinds import ColumnType
from ppm.spec.pattern import Pattern

EVENTS, SUBJECTS, LABELS, SAMPLE = 2_000_000, 1_000, 8, 20_000
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
    print(f"{'pattern':14} {'window':>6} {'matches':>10} {'columnar':>12} {'reference':>12} ratio")
    for sequence in ("a -> b -> c", "a >> b", "a => b => c"):
        for window in (20, 100) if "=>" not in sequence else (20,):
            within = f"{window * SUBJECTS / 1000:g} ms"
            pattern = Pattern(name="p", events=TYPES, sequence=sequence, within=within)
            fast, matches = columnar_speed(pattern, rows)
            slow = reference_speed(pattern, rows.slice(0, SAMPLE))
            print(
                f"{sequence:14} {window:>6} {matches:>10,} {fast:>10,.0f}/s {slow:>10,.0f}/s "
                f"{fast / slow:,.0f}"
            )


def columnar_speed(pattern: Pattern, rows: pa.Table) -> tuple[float, int]:
    """Events a second, sorting and predicates included, and the number of matches."""
    types = {"label": ColumnType.INTEGER}
    compiled = compile_pattern(pattern, types=types, zones={}, timezone="UTC")
    find_columns(compiled, rows.slice(0, 1_000))  # compiles the kernels, if nobody did before
    start = time.perf_counter()
    found = find_columns(compiled, rows)
    return rows.num_rows / (time.perf_counter() - start), len(found)


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
