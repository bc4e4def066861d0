"""Through Spark Connect, ppm tells the same rows, counts and faults as in classic Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import ppm
from ppm.dp.secret import write_new_secret
from tests.spark import house_events as house
from tests.spark import town_events as town
from tests.spark.answered_house import QUERIES, answered
from tests.spark.killing import run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HOUSE, TOWN = house.house_rows(600), town.town_rows(600)
OPEN = house.START + 19 * house.SLOT
"""The slot that the newest row is in, which no watermark closes."""


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a job has written that spoke to Spark through Connect."""
    made = tmp_path_factory.mktemp("connect")
    write_new_secret(made / "secret")
    house.write_files(made / "house" / "in", HOUSE, files=4)
    town.write_files(spark, made / "town" / "in", TOWN, files=4)
    run("connect_job", made)
    return made


@pytest.fixture(scope="module")
def report(folder: Path) -> dict[str, Any]:
    """What the job has counted, and the faults that it has met."""
    found: dict[str, Any] = json.loads((folder / "report.json").read_text("utf-8"))
    assert found["session"] == "pyspark.sql.connect.session"
    return found


def test_protected_rows_are_those_of_classic_spark(spark: SparkSession, folder: Path) -> None:
    guard = ppm.load(house.POLICY, secret=folder / "secret")
    rows = house.frame_of(spark, folder / "house" / "in")
    in_batch, rest = (
        house.told(spark.read.parquet(str(folder / "house" / name))) for name in ("batch", "rest")
    )
    streamed = house.told_in(spark, folder / "house")
    assert in_batch == house.told(guard.protect_all(rows))
    assert in_batch == streamed  # a batch ends as a stream does
    assert rest
    assert streamed + rest == house.told(guard.protect_all(rows, until=OPEN + house.SLOT))


def test_answers_are_those_of_classic_spark(
    spark: SparkSession, folder: Path, report: dict[str, Any]
) -> None:
    policy = folder / "project" / "policies" / "quiet-house.yaml"
    ward = ppm.load(policy, secret=folder / "secret")
    rows = house.frame_of(spark, folder / "house" / "in")
    in_batch, streamed = (
        answered(spark.read.parquet(str(folder / "ward" / name))) for name in ("batch", "out")
    )
    assert in_batch == answered(ward.answer(rows, "board"))
    assert in_batch == streamed
    assert {query for _, _, query, _ in streamed} == {*QUERIES}
    assert report["answered stream"]["answers"] == sum(streamed.values())


def test_matches_are_those_of_classic_spark(spark: SparkSession, folder: Path) -> None:
    matches = ppm.detect(
        spark.createDataFrame(TOWN, town.SCHEMA), town.RISE, subject="who", time="ts", event_id="n"
    )
    assert town.told(spark.read.parquet(str(folder / "town" / "batch"))) == town.told(matches)
    assert town.told_in(spark, folder / "town") == town.told(town.certain(matches, TOWN))


def test_metrics_can_be_read(spark: SparkSession, folder: Path, report: dict[str, Any]) -> None:
    protected = spark.read.parquet(str(folder / "house" / "batch"))
    streamed = spark.read.parquet(str(folder / "house" / "out"))
    private = [row for row in HOUSE if row[2] in house.PRIVATE]
    strangers = [row for row in private if row[0] == "flat-9"]
    left = [row for row in private if row[1] >= OPEN and row[0] != "flat-9"]
    lost = {"late": 0, "nulls": 0, "unknown": len(strangers), "before": 0, "after": 0}
    assert report["protected stream"] == {**lost, "stand_ins": stand_ins(streamed)}
    lost["after"] = len(left)
    assert report["protected batch"] == {**lost, "stand_ins": stand_ins(protected)}
    found = len(town.told_in(spark, folder / "town"))
    assert report["detected stream"] == {"matches": found, "late": 0, "nulls": 0, "duplicates": 0}


def stand_ins(rows: DataFrame) -> int:
    return rows.where(rows.sensor.isin(*house.PRIVATE)).count()


def test_faults_are_told_in_our_words(report: dict[str, Any]) -> None:
    assert report["community"] == (
        "PpmError: insurers is not a community of quiet-house; did you mean insurer?"
    )
    assert report["column"].startswith(
        "BindingError: stream.columns has watts, which the DataFrame does not have; "
        "did you mean wats?"
    )
    assert report["subject"] == (
        "BindingError: subject is whom, which the DataFrame does not have; did you mean who?"
    )


def test_a_fault_in_a_worker_tells_no_value(report: dict[str, Any]) -> None:
    assert "rows without subject or time; fill these columns" in report["worker"]
    assert "flat-" not in report["worker"]
