"""Nanoseconds a draw: one shard of the town, micro-batch by micro-batch, in this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import ppm
from engines.breakdown import Clock, Spent
from engines.data import FILES_PER_BATCH, LATENESS_MS
from engines.town import Town
from ppm.dp.mechanisms import kary
from ppm.dp.source import Stream
from ppm.protect import open_slots, step
from ppm.protect.compile import program_of
from ppm.protect.open_slots import SUBJECT, TIME, bit_names
from ppm.protect.program import Program
from ppm.protect.state import State
from ppm.protect.step import Protection
from ppm.spark.guard import SHARDS
from ppm.spark.shards import START_OF_TIME

_PARTS: dict[str, tuple[Any, str]] = {
    "gather rows, before they travel": (Protection, "gather"),
    "read the state": (step, "from_bytes"),
    "find subjects": (State, "places_of"),
    "merge rows and open slots": (open_slots, "merged"),
    "cut open slots": (open_slots.Slots, "where"),
    "words (AES)": (Stream, "words"),
    "release (compare words)": (kary.Swap, "release"),
    "write the state": (step, "to_bytes"),
}
_TOLD = "spread, sort and name what is told"
_REST = "the rest"
ROWS_AT_ONCE = 200_000
"""As the operator packs them."""


@dataclass(frozen=True)
class Drawn:
    """What one shard of a town costs, over all of its micro-batches."""

    draws: int
    """One for each community, known subject, closed slot and type, or vector of types."""
    stand_ins: int
    spent: dict[str, Spent]
    state_bytes: tuple[int, ...]
    """After each micro-batch."""

    @property
    def cpu_seconds(self) -> float:
        return sum(one.cpu_seconds for one in self.spent.values())


def drawn_in_one_shard(
    guard: ppm.Guard, communities: Sequence[str], town: Town, cache: Path
) -> Drawn:
    """The step of a guard on every 16th subject of a town, part by part."""
    program = program_of(
        guard.plan,
        communities,
        noise=guard.noise,
        columns="{}",
        shards=SHARDS,
        knows_subjects=True,
        names_communities=len(communities) > 1,
    )
    protection, clock = Protection(program), Clock()
    everybody = pa.table({SUBJECT: np.arange(0, town.subjects, SHARDS)})
    batches = [*_micro_batches(program, town, cache)]
    state, told, sizes = protection.begin(everybody), 0, []
    protection(state, protection.gather(batches[0][0].slice(0, 1))[0], START_OF_TIME)  # warms up
    with ExitStack() as patched:
        for name, (owner, function) in _PARTS.items():
            timed = clock.timed(name, getattr(owner, function))
            patched.enter_context(mock.patch.object(owner, function, timed))
        timed_step = clock.timed(_REST, Protection.__call__)
        all_told = clock.timed(_TOLD, lambda turn: [*turn.released])  # made when asked for
        for rows, watermark in batches:
            turn = timed_step(protection, state, _gathered(protection, rows), watermark)
            state, told = turn.state, told + sum(piece.num_rows for piece in all_told(turn))
            sizes.append(len(state))
    stages = sum(len(unit.purposes) for unit in program.units)
    return Drawn(everybody.num_rows * town.slots * stages, told, clock.spent, tuple(sizes))


def _gathered(protection: Protection, rows: pa.Table) -> pa.Table:
    parts = range(0, max(1, rows.num_rows), ROWS_AT_ONCE)
    return pa.concat_tables(protection.gather(rows.slice(at, ROWS_AT_ONCE))[0] for at in parts)


def _micro_batches(program: Program, town: Town, cache: Path) -> Iterator[tuple[pa.Table, int]]:
    """The shard's private rows of each micro-batch with its watermark, and a last one without."""
    files = sorted((town.folder(cache) / "events").glob("*.parquet"))
    watermark, none = START_OF_TIME, None
    for start in range(0, len(files), FILES_PER_BATCH):
        whole = pa.concat_tables(map(pq.read_table, files[start : start + FILES_PER_BATCH]))
        rows = _private_rows(program, whole)
        none = rows.slice(0, 0)
        yield rows, watermark
        newest = int(pc.max(whole["ts"]).cast(pa.int64()).as_py())
        watermark = max(watermark, newest - 1000 * LATENESS_MS - 1)
    yield none, watermark


def _private_rows(program: Program, whole: pa.Table) -> pa.Table:
    bits = np.zeros(whole.num_rows, np.int64)
    for place, name in enumerate(program.types):
        bits |= pc.equal(whole["label"], name).to_numpy().astype(np.int64) << place
    is_mine = (bits != 0) & (whole["subject"].to_numpy() % SHARDS == 0)
    columns = {SUBJECT: whole["subject"], TIME: whole["ts"], bit_names(1)[0]: pa.array(bits)}
    return pa.table(columns).filter(pa.array(is_mine)).combine_chunks()
