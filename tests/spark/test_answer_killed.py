"""A stream of answers that is killed goes on, and answers every query once.

Two kills, one of them between the sink's write and the checkpoint's commit. For more of them:
`PPM_KILLS=20 .venv/bin/pytest tests/spark/test_answer_killed.py`.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import ppm
from ppm.dp.secret import write_new_secret
from ppm.dp.source import Source
from ppm.protect.answering import Answering
from ppm.protect.tally import Tally
from tests.spark import replaying
from tests.spark.answered_house import QUERIES, answered, write_project
from tests.spark.house_events import frame_of, house_rows, last_watermark, stream_of, write_files
from tests.spark.replaying import fresh, survive, told_to_a_sink_that_fails_once

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KILLS = int(os.environ.get("PPM_KILLS", "2"))
FILES = 3 * KILLS + 1
"""Each is a batch."""
ROWS = house_rows()

Answered = Counter[tuple[Any, ...]]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rows as files, a project and a secret."""
    folder = tmp_path_factory.mktemp("house")
    write_files(folder / "in", ROWS, files=FILES)
    write_new_secret(folder / "secret")
    write_project(folder / "project")
    return folder


def guard_of(house: Path) -> ppm.Guard:
    return ppm.load(house / "project/policies/quiet-house.yaml", secret=house / "secret")


@pytest.fixture(scope="module")
def expected(spark: SparkSession, house: Path) -> Answered:
    """What a batch answers of the slots that a stream of the same rows has closed in the end."""
    rows = frame_of(spark, house / "in")
    return answered(guard_of(house).answer(rows, "board", until=last_watermark(ROWS)))


def test_a_killed_stream_is_answered_as_a_batch_is(
    spark: SparkSession, house: Path, expected: Answered
) -> None:
    survive("answer_job", house, kills=KILLS, batches=FILES)
    assert answered(spark.read.parquet(str(house / "out"))) == expected
    assert {query for _, _, query, _ in expected} == {*QUERIES}
    assert max(expected.values()) == 1


def answered_to_a_sink_that_fails_once(
    spark: SparkSession, house: Path, folder: Path
) -> list[Answered]:
    def answers() -> DataFrame:
        stream = stream_of(spark, house / "in", files_at_once=FILES // 2 + 1)
        return guard_of(house).answer(stream, "board", shards=7)

    return told_to_a_sink_that_fails_once(spark, answers, folder, answered)


def test_a_replayed_batch_is_the_same_with_other_shards_and_partitions_too(
    spark: SparkSession, house: Path, expected: Answered, tmp_path: Path
) -> None:
    first, failed, replayed, last = answered_to_a_sink_that_fails_once(spark, house, tmp_path)
    assert failed == replayed
    assert first + replayed + last == expected


class FreshAnswers(Answering):
    """Known to be bad: a step that draws from such a source."""

    @property
    def source(self) -> Source:
        return fresh(self.program.noise)


class FreshSums(Tally):
    """Known to be bad: the same of sums."""

    @property
    def source(self) -> Source:
        return fresh(self.program.noise)


def test_fresh_noise_in_a_replayed_batch_would_be_noticed(
    spark: SparkSession,
    house: Path,
    expected: Answered,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from pyspark import cloudpickle

    # Workers cannot import a test's module, so its classes are pickled whole.
    for module in (sys.modules[__name__], replaying):
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    monkeypatch.setattr("ppm.spark.answer.Answering", FreshAnswers)
    monkeypatch.setattr("ppm.spark.answer.Tally", FreshSums)
    first, failed, replayed, last = answered_to_a_sink_that_fails_once(spark, house, tmp_path)
    for query in ("taken", "visits"):
        # Two draws of all these answers are equal with a probability far below 10^-20.
        assert of(failed, query) != of(replayed, query)
    for query in ("nights", "baking"):
        assert of(first + replayed + last, query) == of(expected, query)


def of(told: Answered, query: str) -> Answered:
    return Counter({row: count for row, count in told.items() if row[2] == query})
