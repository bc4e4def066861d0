"""The ways in which the town is protected, and what every measurement of them needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from pyspark.sql import DataFrame, Observation, SparkSession

from engines import guarded
from engines.table import shown
from engines.town import COMMUNITIES, POOLED, Policies, Town

FAMILY = COMMUNITIES[0]


@dataclass(frozen=True)
class Sizes:
    """How much is read."""

    towns: tuple[Town, ...]
    latency: Town
    """Few events in small micro-batches."""
    batches: tuple[int, ...]
    """In how many micro-batches the first town is read."""

    def with_events(self, number: int) -> Sizes:
        towns = (replace(one, events=number) for one in self.towns)
        return replace(self, towns=tuple(towns))


FULL = Sizes(
    towns=(Town(5_000_000, 20_000), Town(5_000_000, 1_000_000)),
    latency=Town(120_000, 2_000, slots=3, batches=30),
    batches=(20, 10, 5, 2),
)
QUICK = Sizes(
    towns=(Town(100_000, 2_000, slots=2, batches=2),),
    latency=Town(20_000, 500, slots=2, batches=4),
    batches=(4, 2),
)


@dataclass(frozen=True)
class Bench:
    """What every measurement needs."""

    spark: SparkSession
    policies: Policies
    cache: Path
    sizes: Sizes
    markdown: bool
    runs: int

    def read(self, town: Town, *, stream: bool) -> DataFrame:
        return town.read(self.spark, self.cache, stream=stream)

    def best(self, run: Callable[[], guarded.Ran]) -> guarded.Ran:
        """The quickest of some runs: the first one on so much data still warms up."""
        return min((run() for _ in range(self.runs)), key=lambda one: one.seconds)

    def show(self, title: str, header: list[str], rows: list[list[str]]) -> None:
        print(shown(title, header, rows, self.markdown), flush=True)


Metrics = str | Observation
Protected = Callable[[Bench, Town, DataFrame, Metrics], DataFrame]


def _until(town: Town, rows: DataFrame) -> datetime | None:
    """A batch is told the end that a stream's last row stands for."""
    return None if rows.isStreaming else town.end


def one_declared(
    bench: Bench, town: Town, rows: DataFrame, metrics: str | Observation
) -> DataFrame:
    guard, everybody = bench.policies.one_by_one, town.everybody(bench.spark, bench.cache)
    until = _until(town, rows)
    return guard.protect(rows, FAMILY, subjects=everybody, until=until, metrics=metrics)


def one_seen(bench: Bench, town: Town, rows: DataFrame, metrics: Metrics) -> DataFrame:
    guard = bench.policies.one_by_one
    return guard.protect(rows, FAMILY, until=_until(town, rows), metrics=metrics)


def four(bench: Bench, town: Town, rows: DataFrame, metrics: Metrics) -> DataFrame:
    guard, everybody = bench.policies.one_by_one, town.everybody(bench.spark, bench.cache)
    until = _until(town, rows)
    return guard.protect_all(rows, subjects=everybody, until=until, metrics=metrics)


def joint(bench: Bench, town: Town, rows: DataFrame, metrics: Metrics) -> DataFrame:
    guard, everybody = bench.policies.pooled, town.everybody(bench.spark, bench.cache)
    until = _until(town, rows)
    return guard.protect(rows, POOLED, subjects=everybody, until=until, metrics=metrics)


SEEN = "one community, subjects seen"
WAYS: dict[str, tuple[Protected, int]] = {
    "one community": (one_declared, 1),
    SEEN: (one_seen, 1),
    "four communities": (four, len(COMMUNITIES)),
    "one community, joint-response": (joint, 1),
}
"""What is measured, and how often a public row comes out."""
