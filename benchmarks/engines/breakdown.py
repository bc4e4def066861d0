"""Where ppm's time goes: longer and longer parts of its own pipeline, each run to its end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import ppm.spark.detect
from engines.by_ppm import detect_with_ppm
from engines.data import LATENESS_MS
from engines.spark import read, run
from ppm.cep import detection, report
from ppm.cep.columnar import advance
from ppm.cep.step import Step, Turn
from ppm.spark import shards

_INSIDE: dict[str, tuple[Any, str]] = {
    "read the state": (detection, "from_bytes"),
    "sort": (advance, "sort_rows"),
    "kernel": (advance, "scan"),
    "tell matches": (report.Report, "of_matches"),
    "name matches": (report, "match_names"),
    "write the state": (detection, "to_bytes"),
}
_REST = "the rest: cut, join and number rows"


@dataclass(frozen=True)
class Spent:
    """Time of the clock on the wall, and of all cores."""

    seconds: float
    cpu_seconds: float

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.seconds + other.seconds, self.cpu_seconds + other.cpu_seconds)

    def __sub__(self, other: Spent) -> Spent:
        return Spent(self.seconds - other.seconds, self.cpu_seconds - other.cpu_seconds)


@dataclass(frozen=True)
class _Call:
    """The call of the packed-shard operator that `ppm.detect` makes."""

    rows: DataFrame
    step: Any
    options: dict[str, Any]

    def run_in_shards(self) -> DataFrame:
        return shards.run_in_shards(self.rows, self.step, **self.options)


@dataclass(frozen=True)
class _Nothing(Step):
    """Takes rows, keeps nothing, releases nothing."""

    def __call__(self, state: bytes | None, rows: pa.Table, watermark: int) -> Turn:  # noqa: ARG002
        return Turn(None)


@dataclass(frozen=True)
class _Silent(Step):
    """A step that does its work, and releases nothing."""

    step: Any

    def __call__(self, state: bytes | None, rows: pa.Table, watermark: int) -> Turn:
        return replace(self.step(state, rows, watermark), released=())


def parts(
    spark: SparkSession, folder: Path, labels: list[str], *, stream: bool
) -> dict[str, Spent]:
    """The seconds and the seconds of all cores that each part of the pipeline adds."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file
    call = _call_of(spark, folder, labels, stream=stream)
    pipelines = {
        "plan and log, with no rows": read(spark, folder, stream=stream).where("id < 0"),
        "read, and drop what is irrelevant, in the JVM": call.rows,
        "pack": _packed(call),
        "shuffle, unpack, call the step, commit": replace(call, step=_Nothing()).run_in_shards(),
        "the step itself": replace(call, step=_Silent(call.step)).run_in_shards(),
        "hand over matches": call.run_in_shards(),
    }
    ends = [Spent(0.0, 0.0), *map(_least, pipelines.values())]
    return dict(zip(pipelines, (after - before for before, after in pairwise(ends)), strict=True))


def inside_step(
    spark: SparkSession, folder: Path, labels: list[str], *, batches: int
) -> dict[str, Spent]:
    """The seconds of one shard's steps by what they do; here in the driver, batch by batch."""
    call, clock = _call_of(spark, folder, labels, stream=False), Clock()
    shard = F.pmod(F.xxhash64("subject"), F.lit(call.options["shards"].number))
    rows = call.rows.where(shard == 0).orderBy("id").toArrow()
    rows = rows.cast(call.step.rows)
    times = rows["ts"].cast(pa.int64()).to_numpy()
    borders = np.linspace(0, rows.num_rows, batches + 1).astype(int)
    call.step(None, rows.slice(0, 1_000), int(times.max()))  # loads the kernels
    with ExitStack() as patched:
        for name, (owner, function) in _INSIDE.items():
            timed = clock.timed(name, getattr(owner, function))
            patched.enter_context(mock.patch.object(owner, function, timed))
        step = clock.timed(_REST, call.step)
        state, watermark = None, shards.START_OF_TIME
        for start, end in pairwise(borders):
            state = step(state, rows.slice(start, end - start), watermark).state
            watermark = int(times[:end].max()) - 1000 * LATENESS_MS
    return clock.spent


def _least(frame: DataFrame) -> Spent:
    """Of two runs, because differences are small and the first one may still compile."""
    runs = [run(frame) for _ in range(2)]
    return Spent(min(one.seconds for one in runs), min(one.cpu_seconds for one in runs))


def _call_of(spark: SparkSession, folder: Path, labels: list[str], *, stream: bool) -> _Call:
    calls = []

    def noted(rows: DataFrame, step: shards.Step, **options: Any) -> DataFrame:
        calls.append(_Call(rows, step, options))
        return calls[0].run_in_shards()

    with mock.patch.object(ppm.spark.detect, "run_in_shards", noted):
        detect_with_ppm(read(spark, folder, stream=stream), labels)
    return calls[0]


def _packed(call: _Call) -> DataFrame:
    """The operator's own first half: what stands before its `groupBy`."""
    frames = []

    class Reached(Exception):
        pass

    def stop(rows: DataFrame, *_columns: str) -> Any:
        frames.append(rows)
        raise Reached

    with mock.patch.object(type(call.rows), "groupBy", stop):
        try:
            call.run_in_shards()
        except Reached:
            return frames[0]
    raise AssertionError("the operator has no groupBy any more")


@dataclass
class Clock:
    """Times functions, each without the timed functions that it calls."""

    spent: dict[str, Spent] = field(default_factory=dict)
    inner: list[Spent] = field(default_factory=list)

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **options: Any) -> Any:
            self.inner.append(Spent(0.0, 0.0))
            start = Spent(time.perf_counter(), time.thread_time())
            result = function(*arguments, **options)
            took = Spent(time.perf_counter(), time.thread_time()) - start
            self.spent[name] = self.spent.get(name, Spent(0.0, 0.0)) + (took - self.inner.pop())
            if self.inner:
                self.inner[-1] += took
            return result

        return wrapped
