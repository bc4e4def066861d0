"""A protected stream that is killed goes on, and tells every community everything once.

Three kills, one of them between the sink's write and the checkpoint's commit. For more of them:
`PPM_KILLS=20 .venv/bin/pytest tests/spark/test_protect_killed.py`.
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
from ppm.protect.step import Protection
from tests.spark import replaying
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
from tests.spark.replaying import fresh, survive, told_to_a_sink_that_fails_once

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
    survive("protect_job", house, kills=KILLS, batches=FILES)
    assert told_in(spark, house) == expected


def test_every_declared_flat_has_stand_ins_for_every_community(expected: Told) -> None:
    stand_ins = [row for row in expected if row[3] in PRIVATE]
    assert {(community, flat) for community, flat, *_ in stand_ins} == {
        (community, flat)
        for community in ("care-team", "energy-adviser", "insurer")
        for flat in FLATS[:3]
    }
    assert len({slot for _, _, slot, _, _ in stand_ins}) > 90


def protected_to_a_sink_that_fails_once(
    spark: SparkSession, house: Path, folder: Path
) -> list[Told]:
    guard = ppm.load(POLICY, secret=house / "secret")

    def safe() -> DataFrame:
        stream = stream_of(spark, house / "in", files_at_once=FILES // 2 + 1)
        return guard.protect_all(stream, shards=7)

    return told_to_a_sink_that_fails_once(spark, safe, folder, told)


def test_a_replayed_batch_is_the_same_with_other_shards_and_partitions_too(
    spark: SparkSession, house: Path, expected: Told, tmp_path: Path
) -> None:
    first, failed, replayed, last = protected_to_a_sink_that_fails_once(spark, house, tmp_path)
    assert failed == replayed
    assert first + replayed + last == expected


class FreshNoise(Protection):
    """Known to be bad: a step that draws from such a source."""

    @property
    def source(self) -> Source:
        return fresh(self.program.noise)


def test_fresh_noise_in_a_replayed_batch_would_be_noticed(
    spark: SparkSession,
    house: Path,
    expected: Told,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from pyspark import cloudpickle

    # Workers cannot import a test's module, so its classes are pickled whole.
    for module in (sys.modules[__name__], replaying):
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    monkeypatch.setattr("ppm.spark.protect.Protection", FreshNoise)
    first, failed, replayed, last = protected_to_a_sink_that_fails_once(spark, house, tmp_path)
    # Two draws of all these bits are equal with a probability far below 10^-50.
    assert failed != replayed
    assert first + replayed + last != expected
    assert public(first + replayed + last) == public(expected)


def public(rows: Told) -> Told:
    return Counter({row: count for row, count in rows.items() if row[3] not in PRIVATE})
