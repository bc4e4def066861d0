"""A stream of answers that is killed goes on, and answers every query once.

Two kills, one of them between the sink's write and the checkpoint's commit. For more of them:
`PPM_KILLS=20 .venv/bin/pytest tests/spark/test_answer_killed.py`.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import ppm
from ppm.dp.purpose import Purpose
from ppm.dp.secret import SecretRef, write_new_secret
from ppm.dp.source import Source, Stream
from ppm.protect.answering import Answering
from ppm.protect.tally import Tally
from tests.spark.answered_house import QUERIES, answered, write_project
from tests.spark.house_events import frame_of, house_rows, last_watermark, stream_of, write_files
from tests.spark.killing import (
    committed,
    kill_between_write_and_commit,
    run,
    running,
    wait_for_batches,
    written,
)

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
    random = Random(5)
    caught = []
    for kill in range(KILLS):
        with running("answer_job", house) as job:
            wait_for_batches(job, house, 3 * kill + 1)
            if kill % 3 == 0:
                batch = kill_between_write_and_commit(job, house)
                assert batch in written(house) - committed(house)
                caught.append(batch)
            else:
                time.sleep(random.random())
        assert len(committed(house)) < FILES
    assert caught
    run("answer_job", house)
    assert committed(house) >= set(caught)
    assert answered(spark.read.parquet(str(house / "out"))) == expected
    assert {query for _, _, query, _ in expected} == {*QUERIES}
    assert max(expected.values()) == 1


def answered_to_a_sink_that_fails_once(
    spark: SparkSession, house: Path, folder: Path
) -> list[Answered]:
    """Each batch as often as it was told, in few batches; the second fails."""
    from pyspark.errors import StreamingQueryException

    seen: list[tuple[int, Answered]] = []

    def tell(batch: DataFrame, number: int) -> None:
        seen.append((number, answered(batch)))
        if len(seen) == 2:
            raise RuntimeError("the sink has failed")

    def run_to_the_end() -> None:
        stream = stream_of(spark, house / "in", files_at_once=FILES // 2 + 1)
        (
            guard_of(house)
            .answer(stream, "board", shards=7)
            .writeStream.foreachBatch(tell)
            .option("checkpointLocation", str(folder))
            .trigger(availableNow=True)
            .start()
            .awaitTermination()
        )

    spark.conf.set("spark.sql.shuffle.partitions", 3)
    try:
        with pytest.raises(StreamingQueryException, match="the sink has failed"):
            run_to_the_end()
        run_to_the_end()
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", 2)
    assert [number for number, _ in seen] == [0, 1, 1, 2]
    return [told for _, told in seen]


def test_a_replayed_batch_is_the_same_with_other_shards_and_partitions_too(
    spark: SparkSession, house: Path, expected: Answered, tmp_path: Path
) -> None:
    first, failed, replayed, last = answered_to_a_sink_that_fails_once(spark, house, tmp_path)
    assert failed == replayed
    assert first + replayed + last == expected


class FreshSource(Source):
    """Known to be bad: words that no second attempt draws again."""

    def stream(self, purpose: Purpose) -> Stream:  # noqa: ARG002
        return Stream(os.urandom(32))


def fresh(noise: object) -> Source:
    assert isinstance(noise, SecretRef)
    return FreshSource(noise.resolve(), mode="production")


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
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
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
