"""What a guard refuses before anything starts: where, what was found, what to do."""

from __future__ import annotations

import logging
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import ppm
from ppm.dp.secret import SecretRef, write_new_secret
from tests.protect.running import NEIGHBOURS, SEEN
from tests.protect.town import POLICY, Edit, another_community, check_town, in_friends, mechanism
from tests.spark.town_stream import SCHEMA, frame_of, town_events, town_guard

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROOT = Path(__file__).parents[2]


def frame(spark: SparkSession, columns: str = SCHEMA) -> DataFrame:
    return spark.createDataFrame([], columns)


@pytest.mark.parametrize(
    ("columns", "faults"),
    [
        pytest.param(
            "who string, ts timestamp, place string, age bigint, lat double, lon double",
            [
                "stream.subject is person, which the DataFrame does not have; allowed are age, "
                "lat, lon, place, ts, who",
                "stream.columns has person, which the DataFrame does not have; allowed are age, "
                "lat, lon, place, ts, who",
            ],
            id="no subject",
        ),
        pytest.param(
            "person double, ts date, place int, age bigint, lat double, lon double",
            [
                "subject is person, which is double; text or a whole number is needed: cast it to "
                "string",
                "time is ts, which is date; cast it to timestamp",
                "the column person is double; the policy declares string",
                "the column ts is date; the policy declares timestamp",
                "the column place is integer; the policy declares string",
                "the event type clinic: place = 'clinic' does not fit the data: it has place = "
                "'clinic', which compares a whole number with text",
                "the stand-in of clinic has a place that is no integer",
            ],
            id="types that changed",
        ),
        pytest.param(
            f"{SCHEMA}, community string",
            ["the DataFrame has a column community, which ppm adds; rename it"],
            id="a name that is taken",
        ),
    ],
)
def test_a_frame_that_does_not_fit_is_refused_with_every_fault(
    spark: SparkSession, tmp_path: Path, columns: str, faults: list[str]
) -> None:
    guard = town_guard(tmp_path)
    with pytest.raises(ppm.BindingError) as refused:
        guard.protect_all(frame(spark, columns))
    said = str(refused.value).split("\n")
    assert [fault for fault in faults if fault not in said] == [], said


@pytest.mark.parametrize("name", ["__ppm_slot", "PLACE"])
def test_names_that_would_be_mixed_up_are_refused(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    with pytest.raises(ppm.BindingError, match="rename"):
        town_guard(tmp_path).protect(frame(spark, f"{SCHEMA}, `{name}` string"), "friends")


def test_another_watermark_than_the_policys_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    stream = spark.readStream.schema(SCHEMA).parquet(str(tmp_path)).withWatermark("ts", "1 hour")
    with pytest.raises(ppm.BindingError, match="has a watermark of 3600000 ms already"):
        town_guard(tmp_path).protect(stream, "friends")


def test_an_end_is_for_batches(spark: SparkSession, tmp_path: Path) -> None:
    guard = town_guard(tmp_path)
    stream = spark.readStream.schema(SCHEMA).parquet(str(tmp_path))
    with pytest.raises(ppm.BindingError, match="until ends a batch"):
        guard.protect(stream, "friends", until="2026-03-02T00:00:00+01:00")
    with pytest.raises(ppm.BindingError, match="until is soon; a time with its offset is needed"):
        guard.protect(frame(spark), "friends", until="soon")
    with pytest.raises(ppm.BindingError, match="until is a time without a zone"):
        guard.protect(frame(spark), "friends", until=datetime(2026, 3, 2))


def test_a_community_is_known_by_its_name(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(
        ppm.PpmError, match="frends is not a community of town; did you mean friends"
    ):
        town_guard(tmp_path).protect(frame(spark), "frends")


@pytest.mark.parametrize(
    ("subjects", "edits", "sentence"),
    [
        (["eve"], (), "subjects are declared by the policy town already"),
        (["eve", "7"], (SEEN, (POLICY, "person: string", "person: integer")), "list of texts"),
        ([7.5, True], (SEEN, (POLICY, "person: string", "person: integer")), "list of texts"),
        ("eve", (SEEN,), "must be a list of texts"),
        ([None], (SEEN,), "must be a list of texts"),
    ],
)
def test_subjects_that_do_not_fit_are_refused(
    spark: SparkSession, tmp_path: Path, subjects: Any, edits: tuple[Edit, ...], sentence: str
) -> None:
    guard = town_guard(tmp_path, *edits)
    columns = SCHEMA.replace("person string", "person int") if len(edits) > 1 else SCHEMA
    with pytest.raises(ppm.BindingError, match=sentence):
        guard.protect(frame(spark, columns), "friends", subjects=subjects)


def test_a_frame_of_subjects_needs_their_column(spark: SparkSession, tmp_path: Path) -> None:
    people = spark.createDataFrame([("ada",)], "name string")
    guard = town_guard(tmp_path, SEEN)
    with pytest.raises(ppm.BindingError, match="must be a batch DataFrame with a column person"):
        guard.protect(frame(spark), "friends", subjects=people)
    numbers = spark.createDataFrame([(7,)], "person int")
    with pytest.raises(ppm.BindingError, match="subjects has person as int, and the stream has it"):
        guard.protect(frame(spark), "friends", subjects=numbers)


def test_a_nested_community_is_warned_of_a_query_of_its_own(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    guard = town_guard(tmp_path, NEIGHBOURS)
    stream = spark.readStream.schema(SCHEMA).parquet(str(tmp_path))
    with caplog.at_level(logging.WARNING):
        guard.protect(stream, "friends")
    assert "friends is nested with neighbours: if each has a query of its own" in caplog.text
    caplog.clear()
    guard.protect_all(stream)
    guard.protect(frame(spark), "friends")
    assert "nested" not in caplog.text


def test_a_stand_in_must_fit_the_column(spark: SparkSession, tmp_path: Path) -> None:
    stand_in = "stand_in: {place: clinic}"
    wide = ("patterns/visit.yaml", stand_in, stand_in.replace("}", ", age: 300}"))
    narrow = frame(spark, SCHEMA.replace("age bigint", "age tinyint"))
    with pytest.raises(ppm.BindingError, match="clinic is too large for the column age"):
        town_guard(tmp_path, wide).protect(narrow, "friends")


@pytest.mark.parametrize(
    ("edits", "community", "fault"),
    [
        pytest.param(
            (mechanism("visit", "decoy-windows"),),
            "friends",
            "policies/town.yaml:15: communities.friends.protect.visit is protected by "
            "decoy-windows, which this version checks and explains, but does not run yet; streams "
            "run with response, joint-response and answers",
            id="decoys",
        ),
        pytest.param(
            (in_friends("columns:", "  - {rule: laplace, column: age, epsilon: 1, lower: 0, "
                        "upper: 99, missing: 0}"),),
            "friends",
            "policies/town.yaml:18: communities.friends.columns[0] is a laplace rule, which this "
            "version checks and explains, but does not run yet; streams run with drop and snap",
            id="noisy columns",
        ),
        pytest.param(
            (another_community("club", "rows: withheld"),),
            "club",
            "policies/town.yaml:13: communities.club gets no rows: they are withheld from it, and "
            "protect has nothing to give",
            id="no rows",
        ),
    ],
)  # fmt: skip
def test_what_this_version_does_not_run_is_said_with_its_line(
    spark: SparkSession, tmp_path: Path, edits: tuple[Edit, ...], community: str, fault: str
) -> None:
    guard = town_guard(tmp_path, *edits)
    with pytest.raises(ppm.SpecError) as refused:
        guard.protect(frame(spark), community)
    assert str(refused.value) == fault


def test_rows_of_answered_patterns_are_not_released(spark: SparkSession, tmp_path: Path) -> None:
    guard = town_guard(tmp_path, mechanism("visit", "answers"))
    safe = guard.protect(frame_of(spark, town_events(300)), "friends")
    places = {row.place for row in safe.select("place").distinct().collect()}
    assert not {"clinic", "pharmacy"} & places
    assert {"shop", "post", "park"} <= places


def test_columns_are_dropped_and_snapped_for_those_who_must_not_see_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    rules = in_friends("columns:", "  - {rule: drop, column: lon}",
                       "  - {rule: snap, column: age, grid: 10}")  # fmt: skip
    open_club = another_community("club", "protect: {visit: {mechanism: response, epsilon: 1}}")
    guard = town_guard(tmp_path, rules, open_club)
    source = frame_of(spark, town_events(300))
    safe = guard.protect_all(source).where("place = 'park'").cache()
    ages = sorted(row.age for row in source.where("place = 'park' AND age IS NOT NULL").collect())
    told = safe.where("community = 'friends'")
    assert [row.lon for row in told.where("lon IS NOT NULL").collect()] == []
    seen = sorted(row.age for row in told.where("age IS NOT NULL").collect())
    assert seen == sorted(round(age / 10) * 10 for age in ages)
    raw = safe.where("community = 'club' AND age IS NOT NULL").collect()
    assert sorted(row.age for row in raw) == ages


def test_a_secret_is_needed_and_read_before_anything_starts(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_town(tmp_path)
    policy = tmp_path / "policies" / "town.yaml"
    monkeypatch.delenv("PPM_SECRET", raising=False)
    with pytest.raises(ppm.SecretError, match="the variable PPM_SECRET is not set"):
        ppm.load(policy).protect(frame(spark), "friends")
    with pytest.raises(ppm.SecretError, match="cannot be read"):
        ppm.load(policy, secret=tmp_path / "nothing").protect(frame(spark), "friends")
    write_new_secret(tmp_path / "secret")
    assert (
        ppm.load(policy, secret=tmp_path / "secret").protect(frame(spark), "friends").count() == 0
    )
    monkeypatch.setenv("TOWN_SECRET", (tmp_path / "secret").read_text())
    named = ppm.load(policy, secret=SecretRef.variable("TOWN_SECRET"))
    assert named.protect(frame(spark), "friends").columns == frame(spark).columns


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"seed": 7}, "a seed was given in production"),
        ({"mode": "evaluation"}, "takes a seed and no secret"),
        ({"mode": "evaluation", "seed": 7, "secret": "file"}, "takes a seed and no secret"),
        ({"mode": "evaluating", "seed": 7}, "mode is evaluating; did you mean evaluation?"),
    ],
)
def test_a_seed_is_for_evaluation_only(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ppm.SecretError, match=sentence):
        ppm.load(ROOT / "policies" / "quiet-house.yaml", **given)


def test_evaluation_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        guard = town_guard(tmp_path)
    assert "town runs in mode evaluation: its noise hides nothing" in caplog.text
    assert repr(guard) == "Guard('town', version 1, evaluation)"


def test_a_policy_is_found_by_its_name_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_town(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert ppm.load("town").plan.policy.name == "town"
    with pytest.raises(ppm.PpmError, match="twon is not a policy of policies; did you mean town"):
        ppm.load("twon")


def test_a_policy_with_faults_is_no_guard(tmp_path: Path) -> None:
    check_town(tmp_path, (POLICY, "epsilon: 1", "epsilom: 1"))
    with pytest.raises(ppm.SpecError, match=r"policies/town.yaml:15: .*epsilom"):
        ppm.load(tmp_path / "policies" / "town.yaml")


def test_a_guard_explains_itself(tmp_path: Path) -> None:
    (only,) = town_guard(tmp_path).explain("friends").communities
    assert [one.numbers.slot for one in only.patterns] == [1.0, 1.0]


def test_what_was_protected_already_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    guard = town_guard(tmp_path)
    safe = guard.protect(frame_of(spark, [("ada", 5.0, "park")]), "friends")
    with pytest.raises(ppm.BindingError, match="the DataFrame was protected already"):
        guard.protect(safe, "friends")
