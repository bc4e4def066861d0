"""Nothing that may be printed by accident shows what a row holds."""

from __future__ import annotations

import pyarrow as pa

from ppm.cep.columnar.advance import State, advance
from ppm.cep.columnar.columns import Layout, sort_rows
from ppm.cep.columnar.engine import find_columns, relevant_rows
from ppm.cep.columnar.participate import touched_spans
from ppm.cep.columnar.tables import compile_pattern
from ppm.cep.columnar.watch import watch
from ppm.cep.match import Event
from ppm.cep.reference import find
from ppm.spec.build import pattern
from ppm.spec.expression.kinds import ColumnType

CANARY, NUMBER = "canary-7f3a", 424242.0
DOOR = (
    pattern("door")
    .event("opens", "kind = 'opens'")
    .event("shuts", "kind = 'shuts'")
    .begin("opens")
    .followed_by("shuts", where="weight > last(opens.weight)")
    .within("5 s")
    .build()
)
TYPES = {"kind": ColumnType.STRING, "weight": ColumnType.DOUBLE}
ROWS = pa.table(
    {
        "subject": [CANARY, CANARY],
        "id": [1, 2],
        "time": [1_000_000, 2_000_000],
        "kind": ["opens", "shuts"],
        "weight": [NUMBER - 1, NUMBER],
    }
)


def tells(value: object) -> bool:
    return CANARY in repr(value) or "42424" in repr(value)


def test_the_table_itself_would_tell() -> None:
    assert tells(ROWS)


def test_what_the_columnar_engine_hands_around_tells_nothing() -> None:
    compiled = compile_pattern(DOOR, types=TYPES, zones={}, timezone="UTC")
    ordered = sort_rows(ROWS, Layout())
    found = find_columns(compiled, ROWS)
    watched = watch([compiled])
    rows = watched.with_bits(ROWS)
    progress = advance(watched, State(), rows, 3_000_000)
    assert len(found) == 1
    assert len(progress.matches[0]) == 1
    handed = [
        compiled,
        ordered,
        relevant_rows(compiled, ROWS, ordered, 3_000_000)[0],
        found,
        progress,
        watched,
        advance(watched, State(), rows, 1_500_000).state,
        touched_spans(compiled, ROWS),
    ]
    assert [type(one).__name__ for one in handed if tells(one)] == []


def test_what_the_reference_hands_around_tells_nothing() -> None:
    events = [
        Event(str(row["id"]), row["time"], {"kind": row["kind"], "weight": row["weight"]})
        for row in ROWS.to_pylist()
    ]
    (match,) = find(DOOR, events, subject=CANARY, zones={}, timezone="UTC")
    assert not tells(match)
    assert not tells(events)


def test_what_a_step_gives_back_tells_nothing() -> None:
    from ppm.cep.step import Turn

    assert not tells(Turn(CANARY.encode(), [ROWS]))
