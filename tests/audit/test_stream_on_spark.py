"""The audit of the real job: a stream on Spark, and bugs that travel to its workers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ppm.audit.observation import Received
from ppm.audit.planting import Planting, plant
from ppm.audit.stream import on_spark
from ppm.dp.source import Seed
from ppm.errors import InternalError
from ppm.protect.find import find_plan
from ppm.protect.plan import Plan
from ppm.protect.program import Program
from tests.audit import broken
from tests.audit.broken import one_word, times, to_types, with_bugs
from tests.audit.village import HOUSE, audited, blamed, in_process, village

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def house() -> Plan:
    return find_plan(HOUSE)


def planted_in(plan: Plan, canaries: int) -> Planting:
    return plant(plan, [*plan.patterns], canaries=canaries, rng=np.random.default_rng(7))


def split(planting: Planting, received: Iterable[Received]) -> tuple[Counter[Any], Counter[Any]]:
    """Stand-ins as they are, and whose and when public rows are; column rules change the rest."""
    stand_ins: Counter[Any] = Counter()
    public: Counter[Any] = Counter()
    for community, batch, row in received:
        subject, slot, offset = planting.grid.place_of(row)
        if offset:
            public[community, batch, subject, slot, offset] += 1
        else:
            stand_ins[community, batch, row] += 1
    return stand_ins, public


@pytest.mark.usefixtures("spark")
def test_the_shipped_policy_keeps_its_claims_and_the_job_does_what_the_step_does(
    house: Plan,
) -> None:
    """21 claims, two tests each: a false alarm comes with a chance below 5e-5."""
    planting = planted_in(house, 600)
    received = [*on_spark(house, [*house.terms], planting, Seed(7))]
    here = in_process(house, [*house.terms], planting, Seed(7))
    assert split(planting, received) == split(planting, here)
    found = audited(house, planting, received)
    assert len(found) == 21
    assert blamed(found) == set()


def test_bugs_inside_the_step_and_behind_it_are_caught(spark: SparkSession, tmp_path: Path) -> None:
    """Half the noise, one word for two stages, and private rows that pass to one community."""
    from pyspark import cloudpickle
    from pyspark.sql import functions as F

    from ppm.spark.protect import Pipeline
    from ppm.spark.trial import try_stream

    # Workers cannot import the tests, so what stands there is pickled whole.
    cloudpickle.register_pickle_by_value(broken)  # type: ignore[no-untyped-call]
    alter = with_bugs({("call",): times(2), **to_types(one_word, ("clinic", "pharmacy"))})

    class PassesRows(Pipeline):
        def protected(
            self, rows: DataFrame, *, subjects: DataFrame | None, until: int | None
        ) -> DataFrame:
            raw = rows.where("place = 'clinic'").withColumn("community", F.lit("press"))
            return super().protected(rows, subjects=subjects, until=until).unionByName(raw)

    def make(plan: Plan, program: Program, metrics: str) -> Pipeline:
        return PassesRows(plan, alter(program), metrics)

    plan = village(tmp_path)
    planting = planted_in(plan, 1_500)
    assert planting.subjects is None
    received = try_stream(
        plan,
        [*plan.terms],
        columns=planting.columns,
        files=planting.files,
        subjects=None,
        noise=Seed(7),
        make=make,
    )
    guilty = blamed(audited(plan, planting, received))
    assert {(("doctors",), "call"), (("doctors", "friends"), "visit"), (("press",), "visit")} <= (
        guilty
    )
    assert not {(("doctors",), "visit"), (("press",), "call")} & guilty
    assert spark.streams.active == []


class Stop(Exception):
    """What was wanted is known."""


def test_what_is_audited_is_what_a_guard_runs(
    spark: SparkSession, house: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ppm.spark import guard
    from ppm.spark.trial import try_stream

    programs: list[Program] = []

    def make(_plan: Plan, program: Program, _metrics: object) -> Any:
        programs.append(replace(program, meaning=""))
        raise Stop

    planting = planted_in(house, 100)
    with pytest.raises(Stop):
        next(
            try_stream(
                house,
                [*house.terms],
                columns=planting.columns,
                files=planting.files,
                subjects=planting.subjects,
                noise=Seed(7),
                make=make,
            )
        )
    monkeypatch.setattr(guard, "Pipeline", make)
    rows = spark.createDataFrame([], "flat string, ts timestamp, sensor string, watts double")
    with pytest.raises(Stop):
        guard.Guard(house, Seed(7)).protect_all(rows)
    assert programs[0] == programs[1]


def test_a_trial_whose_rows_get_lost_proves_nothing() -> None:
    from ppm.protect.step import LOSSES
    from ppm.spark.guard import METRICS
    from ppm.spark.trial import refuse_losses

    def run(late: int) -> Any:
        counts = dict.fromkeys(LOSSES, 0) | {"late": late}
        batch = {"batchId": 0, "observedMetrics": {METRICS: counts}}
        return SimpleNamespace(recentProgress=[batch, batch, {"batchId": 1, "observedMetrics": {}}])

    refuse_losses(run(late=0))
    with pytest.raises(InternalError, match="a made-up stream lost private rows: 3 late"):
        refuse_losses(run(late=3))
