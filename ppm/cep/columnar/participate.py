"""Which events are in at least one match, and which stretches of time matches cover.

Both are asked of the skip-till-any reading of a pattern: whatever may be between two events of a
match may be left out, and no match is dropped for another. That is every match that somebody who
sees the stream could point at. Strict stages stay strict, and absences stay absences.

Two passes answer it without listing matches. Forward, each place knows the latest start of a run
that waits there; backward, the earliest moment at which such a run can be a match. A later start is
never worse for the window, so an event takes part if the two fit together. Gaps, conditions on
earlier events and absences that end by time break this, and there matches are listed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ppm.cep.columnar.columns import Layout, Rows, micros, sort_rows
from ppm.cep.columnar.conditions import Ints
from ppm.cep.columnar.engine import MOST_MATCHES, MOST_RUNS, find_columns, relevant_rows
from ppm.cep.columnar.jit import kernel
from ppm.cep.columnar.tables import (
    COMPLETE,
    FOREVER,
    IGNORES_ANY,
    IGNORES_OTHERS,
    PENDING,
    UNDECIDED,
    Compiled,
    Tables,
    compile_pattern,
)
from ppm.spec.pattern import Pattern

Flags = npt.NDArray[np.bool_]

MOST_PLACES = 256
"""The passes keep a number for each event of a subject and each place."""
_ONE = np.uint64(1)


@dataclass(frozen=True, slots=True)
class Spans:
    """Stretches of time, both ends included; those of a subject are apart, and in order."""

    subjects: pa.Array = field(repr=False)
    """The different subjects of the batch, ascending."""
    subject: Ints
    """Whose a stretch is: a place in `subjects`."""
    start: Ints = field(repr=False)
    end: Ints = field(repr=False)


def any_reading(pattern: Pattern) -> Pattern:
    """The pattern with skip-till-any in place of skip-till-next, and with no match dropped.

    >>> any_reading(Pattern(name="p", events={"a": "x > 1", "b": "x < 0"}, sequence="a -> b+")).text
    'a => b{1,}'
    """
    stages = []
    for place, stage in enumerate(pattern.stages):
        changed: dict[str, str] = {}
        if place and stage.contiguity == "followed_by":
            changed["contiguity"] = "followed_by_any"
        if stage.is_loop and stage.loop in (None, "relaxed"):
            changed["loop"] = "combinations"
        stages.append(stage.model_copy(update=changed))
    return pattern.model_copy(update={"stages": tuple(stages), "skip": None, "preset": None})


def needs_listing(compiled: Compiled) -> bool:
    """Whether only a list of all matches can tell which events take part."""
    tables = compiled.tables
    return bool(
        compiled.programs.ops.size
        or tables.least_gap.any()
        or (tables.gap < FOREVER).any()
        or (tables.ending == PENDING).any()
        or len(tables.stage) > MOST_PLACES
    )


def participates(
    compiled: Compiled,
    batch: pa.Table | pa.RecordBatch,
    *,
    layout: Layout | None = None,
    watermark: int | None = None,
    max_runs: int = MOST_RUNS,
    max_matches: int = MOST_MATCHES,
) -> Flags:
    """For each row of a batch, whether it is in at least one match of the skip-till-any reading.

    >>> from ppm.spec.expression.kinds import ColumnType
    >>> steps = Pattern(name="p", events={"a": "x = 1", "b": "x = 2"}, sequence="a -> b")
    >>> compiled = compile_pattern(
    ...     steps, types={"x": ColumnType.INTEGER}, zones={}, timezone="UTC"
    ... )
    >>> rows = pa.table({"subject": [7] * 4, "id": [1, 2, 3, 4], "time": [1, 2, 3, 4],
    ...                  "x": [2, 1, 2, 2]})
    >>> participates(compiled, rows).tolist()
    [False, True, True, True]
    """
    layout, reading = layout or Layout(), _read_as_any(compiled)
    takes_part = np.zeros(batch.num_rows, np.bool_)
    if needs_listing(reading):
        found = find_columns(
            reading,
            batch,
            layout=layout,
            watermark=watermark,
            max_runs=max_runs,
            max_matches=max_matches,
        )
        takes_part[found.event] = True
        return takes_part
    ordered = sort_rows(batch, layout)
    rows, origin, _ = relevant_rows(reading, batch, ordered, _horizon(watermark))
    takes_part[origin] = passes(reading.tables, rows)[0]
    return takes_part


def touched_spans(
    compiled: Compiled,
    batch: pa.Table | pa.RecordBatch,
    *,
    layout: Layout | None = None,
    watermark: int | None = None,
    max_runs: int = MOST_RUNS,
    max_matches: int = MOST_MATCHES,
) -> Spans:
    """The stretches of time that matches of the skip-till-any reading cover, subject by subject.

    A match covers the time from its first event to its last. One that was certain only later,
    because of an absence, covers its whole window; without a window, the time until then.
    """
    layout, reading = layout or Layout(), _read_as_any(compiled)
    is_absent_at_end = np.isin(reading.tables.ending, (PENDING, UNDECIDED)).any()
    if needs_listing(reading) or is_absent_at_end:
        found = find_columns(
            reading,
            batch,
            layout=layout,
            watermark=watermark,
            max_runs=max_runs,
            max_matches=max_matches,
        )
        times = micros(batch, layout.time)
        subjects, subject, start = found.subjects, found.subject, times[found.first]
        within, last = reading.tables.within, times[found.last]
        certain = found.at if within == FOREVER else start + within
        end = np.where(found.at > last, certain, last)
    else:
        ordered = sort_rows(batch, layout)
        rows, _, _ = relevant_rows(reading, batch, ordered, _horizon(watermark))
        takes_part, is_crossed = passes(reading.tables, rows)
        codes = np.repeat(np.arange(len(ordered.subjects)), np.diff(rows.subject_from))
        # Each event that takes part, and each step between two rows that a match goes across.
        alone, crossed = np.flatnonzero(takes_part), np.flatnonzero(is_crossed)
        subjects, subject = ordered.subjects, np.concatenate([codes[alone], codes[crossed]])
        start = np.concatenate([rows.times[alone], rows.times[crossed - 1]])
        end = np.concatenate([rows.times[alone], rows.times[crossed]])
    order = np.lexsort((start, subject))
    return Spans(subjects, *merged(subject[order], start[order], end[order]))


def _read_as_any(compiled: Compiled) -> Compiled:
    return compile_pattern(
        any_reading(compiled.pattern),
        types=compiled.types,
        zones=compiled.zones,
        timezone=compiled.timezone,
    )


def _horizon(watermark: int | None) -> int:
    return FOREVER - 1 if watermark is None else min(watermark, FOREVER - 1)


@kernel
def merged(subject: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints, Ints]:
    """Stretches that touch become one; they must come sorted by subject and start."""
    kept = -1
    subjects, starts, ends = subject.copy(), start.copy(), end.copy()
    for at in range(subject.size):
        if kept >= 0 and subject[at] == subjects[kept] and start[at] <= ends[kept]:
            ends[kept] = max(ends[kept], end[at])
        else:
            kept += 1
            subjects[kept], starts[kept], ends[kept] = subject[at], start[at], end[at]
    return subjects[: kept + 1], starts[: kept + 1], ends[: kept + 1]


@kernel
def passes(tables: Tables, rows: Rows) -> tuple[Flags, Flags]:
    """For each row: is it in a match, and does a match come across to it from the row before."""
    stage_of, ignores_of, cleared_of = tables.stage, tables.ignores, tables.cleared
    not_next_of, never_of, ending_of = tables.not_next, tables.never, tables.ending
    forks_from, forks, starts = tables.forks_from, tables.forks, tables.starts
    times, masks, within, n_places = rows.times, rows.masks, tables.within, tables.stage.size
    takes_part, is_crossed = np.zeros(times.size, np.bool_), np.zeros(times.size, np.bool_)
    longest = 0
    for subject in range(rows.subject_from.size - 1):
        longest = max(longest, rows.subject_from[subject + 1] - rows.subject_from[subject])
    latest = np.empty((longest + 1, n_places), np.int64)
    soonest, before = np.empty(n_places, np.int64), np.empty(n_places, np.int64)

    for subject in range(rows.subject_from.size - 1):
        low, high = rows.subject_from[subject], rows.subject_from[subject + 1]
        latest[: high - low + 1] = -FOREVER

        for row in range(low, high):
            here, after = latest[row - low], latest[row - low + 1]
            for place in range(n_places):
                start, stage = here[place], stage_of[place]
                if start == -FOREVER or times[row] - start >= within or stage < 0:
                    continue
                if not_next_of[place] & masks[row]:
                    continue
                is_absent = (never_of[place] & masks[row]) != 0
                takes = ((masks[row] >> np.uint64(stage)) & _ONE) != 0
                if is_absent:
                    continue
                if takes:
                    for at in range(forks_from[place], forks_from[place + 1]):
                        after[forks[at]] = max(after[forks[at]], start)
                ignores = ignores_of[place]
                if ignores == IGNORES_ANY or (ignores == IGNORES_OTHERS and not takes):
                    after[cleared_of[place]] = max(after[cleared_of[place]], start)
            for place in starts:
                if (masks[row] >> np.uint64(stage_of[place])) & _ONE:
                    for at in range(forks_from[place], forks_from[place + 1]):
                        after[forks[at]] = times[row]

        soonest[:] = FOREVER
        for row in range(high - 1, low - 1, -1):
            here = latest[row - low]
            for place in range(n_places):
                stage, before[place] = stage_of[place], FOREVER
                if not_next_of[place] & masks[row]:
                    continue
                is_absent = (never_of[place] & masks[row]) != 0
                if stage < 0:
                    # R9: a pattern that ends with not_next is complete at the next event.
                    if not is_absent and ending_of[cleared_of[place]] == COMPLETE:
                        before[place] = times[row]
                    continue
                takes = ((masks[row] >> np.uint64(stage)) & _ONE) != 0
                if takes:
                    best = FOREVER
                    for at in range(forks_from[place], forks_from[place + 1]):
                        if ending_of[forks[at]] == COMPLETE:
                            best = times[row]
                        elif not is_absent:
                            best = min(best, soonest[forks[at]])
                    if best < FOREVER and here[place] > -FOREVER and best - here[place] < within:
                        takes_part[row] = True
                    before[place] = best
                ignores = ignores_of[place]
                if not is_absent and (
                    ignores == IGNORES_ANY or (ignores == IGNORES_OTHERS and not takes)
                ):
                    before[place] = min(before[place], soonest[cleared_of[place]])
            for place in starts:
                if (masks[row] >> np.uint64(stage_of[place])) & _ONE:
                    for at in range(forks_from[place], forks_from[place + 1]):
                        fork = forks[at]
                        best = times[row] if ending_of[fork] == COMPLETE else soonest[fork]
                        if best < FOREVER and best - times[row] < within:
                            takes_part[row] = True
            for place in range(n_places):
                soonest[place] = before[place]
                if (
                    stage_of[place] >= 0
                    and here[place] > -FOREVER
                    and before[place] < FOREVER
                    and before[place] - here[place] < within
                ):
                    is_crossed[row] = True
    return takes_part, is_crossed
