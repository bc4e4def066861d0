"""A protected stream that is killed goes on, and tells every community everything once.

Three kills, one of them between the sink's write and the checkpoint's commit. For more of them:
`PPM_KILLS=20 .venv/bin/pytest tests/spark/test_protect_killed.py`.
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
from ppm.protect.step import Protection
from tests.spark.house_events import (
    FLATS,
    POLICY,
    PRIVATE,
    frame_of,
    house_rows,
    last_watermark,
    stream_of,
    told,
    told_in,
    write_files,
)
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

KILLS = int(os.environ.get("PPM_KILLS", "3"))
FILES = 3 * KILLS + 1
"""Each is a batch."""
ROWS = house_rows()

Told = Counter[tuple[Any, ...]]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rows as files, and a secret."""
    folder = tmp_path_factory.mktemp("house")
    write_files(folder / "in", ROWS, files=FILES)
    write_new_secret(folder / "secret")
    return folder


@pytest.fixture(scope="module")
def expected(spark: SparkSession, house: Path) -> Told:
    """What a batch tells of the slots that a stream of the same rows has closed in the end."""
    guard = ppm.load(POLICY, secret=house / "secret")
    return told(guard.protect_all(frame_of(spark, house / "in"), until=last_watermark(ROWS)))


def test_a_killed_stream_tells_what_a_batch_tells(
    spark: SparkSession, house: Path, expected: Told
) -> None:
    random = Random(5)
    caught = []
    for kill in range(KILLS):
        with running("protect_job", house) as job:
            wait_for_batches(job, house, 3 * kill + 1)
            if kill % 3 == 0:
                batch = kill_between_write_and_commit(job, house)
                assert batch in written(house) - committed(house)
                caught.append(batch)
            else:
                time.sleep(random.random())
        assert len(committed(house)) < FILES
    assert caught
    run("protect_job", house)
    assert committed(house) >= set(caught)
    assert told_in(spark, house) == expected


def test_every_declared_flat_has_stand_ins_for_every_community(expected: Told) -> None:
    stand_ins = [row for row in expected if row[3] in PRIVATE]
    assert {(community, flat) for community, flat, *_ in stand_ins} == {
        (community, flat)
        for community in ("care-team", "energy-adviser", "insurer")
        for flat in FLATS[:3]
    }
    assert len({slot for _, _, slot, _, _ in stand_ins}) > 90


def told_to_a_sink_that_fails_once(
    spark: SparkSession, house: Path, folder: Path
) -> list[tuple[int, Told]]:
    """Each batch as often as it was told, with its number, in few batches; the second fails."""
    from pyspark.errors import StreamingQueryException

    guard = ppm.load(POLICY, secret=house / "secret")
    seen: list[tuple[int, Told]] = []

    def tell(batch: DataFrame, number: int) -> None:
        seen.append((number, told(batch)))
        if len(seen) == 2:
            raise RuntimeError("the sink has failed")

    def run_to_the_end() -> None:
        stream = stream_of(spark, house / "in", files_at_once=FILES // 2 + 1)
        (
            guard.protect_all(stream, shards=7)
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
    return seen


def test_a_replayed_batch_is_the_same_with_other_shards_and_partitions_too(
    spark: SparkSession, house: Path, expected: Told, tmp_path: Path
) -> None:
    (_, first), (_, failed), (_, replayed), (_, last) = told_to_a_sink_that_fails_once(
        spark, house, tmp_path
    )
    assert failed == replayed
    assert first + replayed + last == expected


class FreshSource(Source):
    """Known to be bad: words that no second attempt draws again."""

    def stream(self, purpose: Purpose) -> Stream:  # noqa: ARG002
        return Stream(os.urandom(32))


class FreshNoise(Protection):
    """Known to be bad: a step that draws from such a source."""

    @property
    def source(self) -> Source:
        assert isinstance(self.program.noise, SecretRef)
        return FreshSource(self.program.noise.resolve(), mode="production")


def test_fresh_noise_in_a_replayed_batch_would_be_noticed(
    spark: SparkSession,
    house: Path,
    expected: Told,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from pyspark import cloudpickle

    # Workers cannot import a test's module, so its classes are pickled whole.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    monkeypatch.setattr("ppm.spark.protect.Protection", FreshNoise)
    (_, first), (_, failed), (_, replayed), (_, last) = told_to_a_sink_that_fails_once(
        spark, house, tmp_path
    )
    # Two draws of all these bits are equal with a probability far below 10^-50.
    assert failed != replayed
    assert first + replayed + last != expected
    assert public(first + replayed + last) == public(expected)


def public(rows: Told) -> Told:
    return Counter({row: count for row, count in rows.items() if row[3] not in PRIVATE})
