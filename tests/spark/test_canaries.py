"""Planted values and the secret are in no error, log, repr, metric or plan."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ppm.dp.secret import write_new_secret
from tests.protect.asking import STROLLED, STROLLS, asks
from tests.protect.running import NEIGHBOURS
from tests.protect.town import check_town
from tests.spark.town_stream import SCHEMA, START

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOB = Path(__file__).with_name("canary_job.py")
CANARIES: dict[str, Any] = {
    "subject": "canary-subject-7f3a",
    "place": "canary-place-91bc",
    "number": 918273645546372819,
}


def rows() -> list[tuple[Any, ...]]:
    people = ("ada", "bo", CANARIES["subject"])
    places = ("clinic", "pharmacy", "shop", CANARIES["place"])
    return [
        (
            people[number % 3],
            START + timedelta(seconds=200 * number, microseconds=123_457),
            places[number % 4],
            CANARIES["number"],
            59.123456789,
            2.0,
        )
        for number in range(60)
    ]


@pytest.fixture(scope="module")
def seen(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """All that the job printed and logged, and the folder that it worked in."""
    folder = tmp_path_factory.mktemp("canaries")
    check_town(folder, NEIGHBOURS, asks("name: visits\npattern: visit", STROLLED, STROLLS))
    write_new_secret(folder / "secret")
    (folder / "canary").write_text(CANARIES["subject"])
    half = len(rows()) // 2
    for name, extra in (("good", []), ("nulls", [(None, *rows()[0][1:])])):
        for part in (rows()[:half] + extra, rows()[half:]):
            frame = spark.createDataFrame(part, SCHEMA).coalesce(1)
            frame.write.mode("append").parquet(str(folder / name))
    done = subprocess.run(
        [sys.executable, str(JOB), str(folder)],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout, folder


def test_the_job_failed_and_logged_where_it_should(seen: tuple[str, Path]) -> None:
    text, _ = seen
    assert sum(line.startswith("FAILED") for line in text.splitlines()) == 3
    assert "1 row without subject or time; fill these columns" in text
    assert "a worker failed: ArrowInvalid" in text
    assert "REFUSED" in text
    assert "TransformWithState" in text
    assert " INFO " in text
    assert '"observedMetrics"' in text


@pytest.mark.parametrize("name", sorted(CANARIES))
def test_no_row_value_is_seen(seen: tuple[str, Path], name: str) -> None:
    text, folder = seen
    # The job is started with the canaries as its argument, which Spark logs as its command.
    told = [
        line for line in text.splitlines() if str(folder) not in line or "canary_job" not in line
    ]
    assert not [line[:200] for line in told if str(CANARIES[name]) in line]
    assert "59.123456789" not in text


def test_neither_is_the_secret(seen: tuple[str, Path]) -> None:
    text, folder = seen
    secret = (folder / "secret").read_text().strip()
    assert secret not in text
    assert secret.upper() not in text
    assert repr(bytes.fromhex(secret)) not in text


def test_what_is_released_has_public_values_alone(
    seen: tuple[str, Path], spark: SparkSession
) -> None:
    _, folder = seen
    released = spark.read.parquet(str(folder / "good-out"))
    private = released.where("place IN ('clinic', 'pharmacy', 'shop', 'post')").collect()
    assert len(private) > 20
    assert {row.person for row in private} <= {"ada", "bo"}
    assert {(row.age, row.lat, row.lon) for row in private} == {(None, None, None)}


def test_answers_have_known_subjects_and_numbers_alone(
    seen: tuple[str, Path], spark: SparkSession
) -> None:
    _, folder = seen
    answers = spark.read.parquet(str(folder / "answers-out")).collect()
    assert {row["query"] for row in answers} == {"visits", "strolled", "strolls"}
    assert {row.person for row in answers} <= {"ada", "bo", None}
    assert {row.answer for row in answers} <= {*range(100)}
