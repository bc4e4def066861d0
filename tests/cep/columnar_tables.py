"""Streams of many subjects as one table, and matches of both engines in one form."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Literal, TypeAlias

import pyarrow as pa

from ppm.cep.columnar.engine import Matches, find_columns
from ppm.cep.columnar.tables import Compiled, compile_pattern
from ppm.cep.match import Event
from ppm.cep.reference import find
from ppm.spec.expression.kinds import ColumnType
from ppm.spec.pattern import Pattern
from tests.cep.notation import MS
from tests.cep.pattern_streams import TYPES

COLUMNS = {"kind": ColumnType.STRING, "price": ColumnType.DOUBLE}

Shown: TypeAlias = tuple[str, int, list[tuple[str, object]]]
"""A match: whose, when it was certain, and which stage took which event."""


def random_streams(seed: int, *, count: int, most: int = 9) -> dict[str, list[Event]]:
    """Short streams of many subjects, in the manner of `pattern_streams.streams`, but quickly."""
    random = Random(seed)
    found = {}
    for subject in range(count):
        time, stream = random.choice([-3, 0, 0]), []
        for position in range(random.randint(0, most)):
            time += random.choice([0, 1, 1, 1, 2, 5])
            kind = random.choice([*TYPES, *TYPES, "ab", "bc", "x"])
            row = {"kind": kind, "price": random.choice([None, 1.0, 2.0])}
            stream.append(Event(position, time * MS, row))
        found[f"subject {subject:03}"] = stream
    return found


def table_of(
    streams: dict[str, list[Event]], *, seed: int = 0, ids: Literal["own", "number"] = "own"
) -> pa.Table:
    """All events in one table, in no order at all; with their own ids, or numbered."""
    rows = [(subject, event) for subject, stream in streams.items() for event in stream]
    if ids == "number":
        rows = [(subject, replace(event, id=at)) for at, (subject, event) in enumerate(rows)]
    Random(seed).shuffle(rows)
    ids_of_rows = [event.id for _, event in rows]
    is_text = any(isinstance(one, str) for one in ids_of_rows)
    return pa.table(
        {
            "subject": pa.array([subject for subject, _ in rows], pa.string()),
            "time": pa.array([event.time for _, event in rows], pa.int64()),
            "id": pa.array(ids_of_rows, pa.string() if is_text else pa.int64()),
            "kind": pa.array([event.row["kind"] for _, event in rows], pa.string()),
            "price": pa.array([event.row["price"] for _, event in rows], pa.float64()),
        }
    )


def compiled(pattern: Pattern) -> Compiled:
    """A pattern over kinds and prices."""
    return compile_pattern(pattern, types=COLUMNS, zones={}, timezone="UTC")


def shown(pattern: Pattern, found: Matches, table: pa.Table) -> list[Shown]:
    """What the columnar engine found."""
    subjects, ids = found.subjects.to_pylist(), table["id"].to_pylist()
    matches: list[Shown] = [
        (subjects[subject], int(at), [])
        for subject, at in zip(found.subject, found.at, strict=True)
    ]
    for match, stage, event in zip(found.match, found.stage, found.event, strict=True):
        matches[match][2].append((str(pattern.stages[stage].label), ids[event]))
    for (_, _, taken), first, last in zip(matches, found.first, found.last, strict=True):
        assert (taken[0][1], taken[-1][1]) == (ids[first], ids[last])
    return matches


def by_columns(
    pattern: Pattern, streams: dict[str, list[Event]], *, watermark: int | None = None
) -> list[Shown]:
    """What the columnar engine finds."""
    table = table_of(streams)
    found = find_columns(compiled(pattern), table, watermark=watermark)
    return shown(pattern, found, table)


def by_reference(
    pattern: Pattern, streams: dict[str, list[Event]], *, watermark: int | None = None
) -> list[Shown]:
    """What the reference interpreter finds, subject by subject."""
    return [
        (subject, match.at, [(stage, event.id) for stage, es in match.stages for event in es])
        for subject, stream in sorted(streams.items())
        for match in find(
            pattern, stream, zones={}, timezone="UTC", types=COLUMNS, watermark=watermark
        )
    ]
