"""Where a protected stream's time goes: longer and longer parts of it, each run to its end."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame

import ppm.spark.protect
from engines.breakdown import Spent
from engines.spark import run
from ppm.cep.step import Step, Turn
from ppm.spark import shards


@dataclass(frozen=True)
class _Calls:
    """The call of the operator that a pipeline makes, and what it does with the result."""

    pipeline: Any
    rows: DataFrame
    step: Step
    options: dict[str, Any]

    def released(self, step: Step | None = None) -> DataFrame:
        return shards.run_in_shards(self.rows, step or self.step, **self.options)


@dataclass(frozen=True)
class _Nothing(Step):
    """Gathers rows as another step does, keeps nothing, releases nothing."""

    step: Step

    def __call__(self, state: bytes | None, rows: pa.Table, watermark: int) -> Turn:  # noqa: ARG002
        return Turn(None)

    def packed_schema(self, rows: pa.Schema) -> pa.Schema:
        return self.step.packed_schema(rows)

    def gather(self, rows: pa.Table) -> tuple[pa.Table, npt.NDArray[np.int64] | None]:
        return self.step.gather(rows)


@dataclass(frozen=True)
class _Silent(_Nothing):
    """A step that does all of its work, and keeps what it releases to itself."""

    def begin(self, seeds: pa.Table | None) -> bytes | None:
        return self.step.begin(seeds)

    def __call__(self, state: bytes | None, rows: pa.Table, watermark: int) -> Turn:
        turn = self.step(state, rows, watermark)
        deque(turn.released, maxlen=0)  # pieces are made only when they are asked for
        return replace(turn, released=())


def parts_of_stream(protect: Callable[[DataFrame], DataFrame], rows: DataFrame) -> dict[str, Spent]:
    """The seconds and the seconds of all cores that each part of a protected stream adds."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file
    calls = _calls_of(protect, rows)
    pipelines = {
        "plan and log, with no rows": rows.where("id < 0"),
        "find private rows in the JVM": calls.rows,
        "gather and pack": shards.Shards.packed(calls.options["shards"], calls.rows, calls.step),
        "shuffle, unpack, call a step that does nothing, commit": calls.released(
            _Nothing(calls.step)
        ),
        "the step itself, with its state": calls.released(_Silent(calls.step)),
        "hand over stand-ins": calls.pipeline.stand_ins(calls.released()),
        "public rows: read all rows again, join": protect(rows),
    }
    ends = [Spent(0.0, 0.0), *map(_least, pipelines.values())]
    return dict(zip(pipelines, (after - before for before, after in pairwise(ends)), strict=True))


def _least(frame: DataFrame) -> Spent:
    """Of two runs, because differences are small and the first one may still compile."""
    runs = [run(frame) for _ in range(2)]
    return Spent(min(one.seconds for one in runs), min(one.cpu_seconds for one in runs))


def _calls_of(protect: Callable[[DataFrame], DataFrame], rows: DataFrame) -> _Calls:
    found: list[_Calls] = []
    pipelines: list[Any] = []

    def noted(happened: DataFrame, step: Step, **options: Any) -> DataFrame:
        found.append(_Calls(pipelines[0], happened, step, options))
        return found[0].released()

    happened = ppm.spark.protect.Pipeline.happened

    def told(pipeline: Any, frame: DataFrame) -> DataFrame:
        pipelines.append(pipeline)
        return happened(pipeline, frame)

    with (
        mock.patch.object(ppm.spark.protect, "run_in_shards", noted),
        mock.patch.object(ppm.spark.protect.Pipeline, "happened", told),
    ):
        protect(rows)
    return found[0]
