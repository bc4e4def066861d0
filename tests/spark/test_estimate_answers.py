"""Estimates from answers: the numpy estimators' numbers, period by period."""

from __future__ import annotations

from datetime import UTC, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import ppm
from ppm.dp.estimate.counts import CountLaw
from ppm.dp.estimate.law import law_of_bit
from ppm.dp.estimate.matches import Matches
from ppm.dp.estimate.score import score_of
from ppm.dp.mechanisms.binary import BinaryResponse
from ppm.dp.mechanisms.laplace import DiscreteLaplace
from ppm.errors import PpmError
from ppm.protect.parameters import AnswerParameters, Parameters
from tests.spark.town_stream import START, town_guard

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

SCHEMA = "query string, person string, slot timestamp, answer bigint"
BIT = BinaryResponse(1.0)
NOISE = DiscreteLaplace.capped(1.0, 2, cells=21)
SLOTS, PEOPLE = 40, 30
TRUTH = np.random.default_rng(50).random((SLOTS, PEOPLE)) < 0.3
COUNTS = TRUTH.sum(axis=1).clip(0, 20)


def words(rows: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**64, (rows, 1), dtype=np.uint64)


EXISTS = BIT.release(TRUTH.ravel().astype(np.int64), words(SLOTS * PEOPLE, 51))
OFTEN = NOISE.release(COUNTS.astype(np.int64), words(SLOTS, 52))


@pytest.fixture
def public(tmp_path: Path) -> Parameters:
    own = town_guard(tmp_path).parameters("friends")
    answers = (
        AnswerParameters("app", "visits", "existence", 1.0, None, law_of_bit(BIT)),
        AnswerParameters("app", "often", "count", 1.0, 2, CountLaw.of(NOISE)),
        AnswerParameters("app", "parks", "count", 0.0, 2, None),
        AnswerParameters("app", "coin", "existence", 0.0, None, law_of_bit(BinaryResponse(0.0))),
    )
    return Parameters(**{**own.__dict__, "subjects": PEOPLE, "answers": answers})


@pytest.fixture
def answers(spark: SparkSession) -> DataFrame:
    rows: list[tuple[str, str | None, object, int]] = []
    for number, answer in enumerate(EXISTS):
        at = START + timedelta(minutes=15 * (number // PEOPLE))
        rows.append(("visits", f"p{number % PEOPLE}", at, int(answer)))
    for slot, answer in enumerate(OFTEN):
        at = START + timedelta(minutes=15 * slot)
        rows += [("often", None, at, int(answer)), ("parks", None, at, 7)]
    return spark.createDataFrame(rows, SCHEMA)


def only(frame: DataFrame) -> Row:
    (row,) = frame.collect()
    return row


def test_existence_and_counts_are_read_as_numpy_reads_them(
    answers: DataFrame, public: Parameters
) -> None:
    matches = Matches((score_of(law_of_bit(BIT), 1),))
    for query, expected, happened in (
        ("visits", matches.estimate([EXISTS]), TRUTH.sum()),
        ("often", CountLaw.of(NOISE).estimate(OFTEN), COUNTS.sum()),
    ):
        row = only(ppm.estimate_answers(answers, parameters=public, query=query, by="all"))
        assert row.estimate == pytest.approx(expected.count)
        assert row.standard_error == pytest.approx(expected.standard_error)
        assert (row.low, row.high) == pytest.approx(expected.interval())
        assert row.answers == expected.of
        # Beyond 5 standard errors with probability 6e-7; the seeds are fixed.
        assert abs(row.estimate - happened) < 5 * row.standard_error


def test_answers_are_summed_by_period(answers: DataFrame, public: Parameters) -> None:
    hours = ppm.estimate_answers(
        answers, "often", parameters=public, by="1 h",
        since=START + timedelta(hours=1), until=START + timedelta(hours=4, minutes=30),
    ).collect()  # fmt: skip
    starts = [row.start.astimezone(UTC) for row in hours]
    assert starts == [START + timedelta(hours=hour) for hour in (1, 2, 3, 4)]
    assert [row.answers for row in hours] == [4, 4, 4, 2]
    scores = CountLaw.of(NOISE).scores(OFTEN)
    assert [row.estimate for row in hours] == pytest.approx(
        [scores[at : min(at + 4, 18)].sum() for at in (4, 8, 12, 16)]
    )


def test_exact_answers_have_no_error(answers: DataFrame, public: Parameters) -> None:
    row = only(ppm.estimate_answers(answers, parameters=public, query="parks", by="all"))
    assert (row.estimate, row.standard_error, row.low, row.high) == (7.0 * SLOTS, 0, 280, 280)


def test_queries_that_are_not_answered_are_told(answers: DataFrame, public: Parameters) -> None:
    with pytest.raises(PpmError, match=r"visit is no query that .*; did you mean visits"):
        ppm.estimate_answers(answers, parameters=public, query="visit")
    with pytest.raises(PpmError, match="coin cannot be estimated: epsilon is 0"):
        ppm.estimate_answers(answers, parameters=public, query="coin")
    with pytest.raises(PpmError, match="slot of answers is slot, which the DataFrame does not"):
        ppm.estimate_answers(answers.drop("slot"), parameters=public, query="visits")


def test_an_answer_that_cannot_have_been_told_stops_it(
    spark: SparkSession, public: Parameters
) -> None:
    wrong = spark.createDataFrame([("often", None, START, 21)], SCHEMA)
    with pytest.raises(Exception, match="an answer of often is not between 0 and 20"):
        ppm.estimate_answers(wrong, parameters=public, query="often").collect()


def test_answers_that_were_left_out_or_doubled_are_noticed(
    answers: DataFrame, public: Parameters
) -> None:
    kept = answers.where("query <> 'visits' OR answer = 1")
    for wrong, query in ((kept, "visits"), (answers.union(answers), "often")):
        with pytest.raises(Exception, match="are not one for each subject and slot: keep those"):
            ppm.estimate_answers(wrong, query, parameters=public, by="all").collect()
