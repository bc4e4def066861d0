"""Estimates over released rows: the numpy estimator's, and near the truth that protection saw."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import ppm
from ppm.dp.estimate.law import TableLaw
from ppm.dp.mechanisms.channel import Channel
from ppm.errors import BindingError, PpmError
from ppm.protect.estimation import asked_of
from ppm.protect.parameters import Parameters, UnitParameters
from tests.protect.running import JOINT, NEIGHBOURS, SEEN, Event
from tests.protect.town import Edit, in_friends
from tests.spark.town_stream import START, frame_of, town_guard

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

SLOTS = 200
PEOPLE = 12
UNTIL = START + timedelta(minutes=15 * SLOTS)
MANY: Edit = (
    "policies/town.yaml",
    "subjects: [ada, bo]",
    f"subjects: [{', '.join(f'p{number}' for number in range(PEOPLE))}]",
)
STRONG: tuple[Edit, ...] = tuple(
    ("policies/town.yaml", f"{name}: {{mechanism: response, epsilon: 1}}",
     f"{name}: {{mechanism: response, epsilon: 4}}")
    for name in ("visit", "errand")
)  # fmt: skip
PLACES = ("clinic", "pharmacy", "shop", "post")


def crowd() -> list[Event]:
    """Who goes to the clinic in a slot mostly goes to the pharmacy as well."""
    random, events = Random(4), list[Event]()
    for number in range(PEOPLE):
        for slot in range(SLOTS):
            ill = random.random() < 0.2
            for place in PLACES:
                likely = 0.8 if ill and place in ("clinic", "pharmacy") else 0.1
                if random.random() < likely:
                    events.append((f"p{number}", 900.0 * slot + random.uniform(0, 899), place))
            if slot % 5 == 0:
                events.append((f"p{number}", 900.0 * slot + 1, "park"))
    return events


EVENTS = crowd()


def truth(types: list[str], slots: range = range(SLOTS)) -> int:
    shown: dict[tuple[str | None, int], set[str]] = defaultdict(set)
    for who, at, place in EVENTS:
        assert at is not None
        shown[who, int(at // 900)].add(place)
    return sum(slot in slots and {*types} <= seen for (_, slot), seen in shown.items())


def patterns(rows: list[Row], types: tuple[str, ...]) -> np.ndarray:
    """For each subject and slot what is shown of some types; those that show nothing included."""
    found = np.zeros((PEOPLE, SLOTS), np.int64)
    for row in rows:
        if row.place in types:
            slot = (row.ts.astimezone(UTC) - START) // timedelta(minutes=15)
            found[int(row.person[1:]), slot] |= 1 << types.index(row.place)
    return found.ravel()


def protected(spark: SparkSession, root: Path, *edits: Edit) -> tuple[ppm.Guard, DataFrame]:
    guard = town_guard(root, *edits)
    return guard, guard.protect(frame_of(spark, EVENTS), "friends", until=UNTIL)


def only(frame: DataFrame) -> Row:
    (row,) = frame.collect()
    return row


@pytest.mark.parametrize(
    ("edits", "types"),
    [
        pytest.param((NEIGHBOURS, *STRONG), ["clinic", "pharmacy"], id="response, nested"),
        pytest.param((*STRONG, *JOINT), ["pharmacy"], id="joint, one of two types"),
        pytest.param((*STRONG, *JOINT), ["clinic", "pharmacy", "shop"], id="joint, two groups"),
    ],
)
def test_a_reader_with_the_sidecar_alone_comes_near_the_truth(
    spark: SparkSession, tmp_path: Path, edits: tuple[Edit, ...], types: list[str]
) -> None:
    guard, safe = protected(spark, tmp_path, MANY, *edits)
    safe.write.parquet(str(tmp_path / "out"))
    guard.parameters("friends").write(tmp_path / "friends.json")

    released = spark.read.parquet(str(tmp_path / "out"))
    public = ppm.read_parameters(tmp_path / "friends.json")
    assert ppm.parameters_of(released) == public
    row = only(ppm.estimate(released, types, parameters=public, until=UNTIL, by="all"))
    asked = asked_of(public, types)
    told = patterns(released.collect(), asked.types)
    expected = asked.matches.estimate(asked.vectors(told))
    assert row.estimate == pytest.approx(expected.count)
    assert row.standard_error == pytest.approx(expected.standard_error)
    assert (row.low, row.high) == pytest.approx(expected.interval())
    assert row.subject_slots == PEOPLE * SLOTS
    assert row.start.astimezone(UTC) == START
    # Beyond 5 standard errors with probability 6e-7; the seed is fixed.
    assert abs(row.estimate - truth(types)) < 5 * row.standard_error


def test_a_table_is_read_as_numpy_reads_it(spark: SparkSession, tmp_path: Path) -> None:
    channel = Channel.rounded(2.0, [[4, 1, 2, 1], [1, 5, 1, 1], [1, 2, 4, 1], [1, 1, 1, 5]])
    own = town_guard(tmp_path, MANY).parameters("friends")
    bit = next(unit for unit in own.units if unit.types == ("shop",))
    vector = UnitParameters("channel", 2.0, ("clinic", "pharmacy"), TableLaw.of(channel), None)
    public = Parameters(**{**own.__dict__, "units": (bit, vector)})
    told = np.random.default_rng(60).integers(0, 8, PEOPLE * SLOTS)
    rows = [
        (f"p{number // SLOTS}", START + timedelta(minutes=15 * (number % SLOTS)), place)
        for number, one in enumerate(told)
        for bit_number, place in enumerate(("shop", "clinic", "pharmacy"))
        if one >> bit_number & 1
    ]
    released = spark.createDataFrame(rows, "person string, ts timestamp, place string")
    for types in (["clinic"], ["pharmacy", "shop"], ["clinic", "pharmacy"]):
        asked = asked_of(public, types)
        shown = {"shop": told & 1, "clinic": told >> 1 & 1, "pharmacy": told >> 2 & 1}
        found = sum(shown[name] << place for place, name in enumerate(asked.types))
        expected = asked.matches.estimate(asked.vectors(np.asarray(found)))
        row = only(ppm.estimate(released, types, parameters=public, until=UNTIL, by="all"))
        assert row.estimate == pytest.approx(expected.count)
        assert row.standard_error == pytest.approx(expected.standard_error)


def test_periods_add_up_and_a_period_may_be_a_slot(spark: SparkSession, tmp_path: Path) -> None:
    _, safe = protected(spark, tmp_path, MANY, *STRONG)
    safe = safe.cache()
    types = ["clinic", "pharmacy"]
    whole = only(ppm.estimate(safe, types, until=UNTIL, by="all"))
    days = ppm.estimate(safe, types, until=UNTIL, by="1 d").collect()
    slots = ppm.estimate(safe, types, until=UNTIL).collect()
    starts = [row.start.astimezone(UTC) for row in days]
    assert starts == [START + timedelta(days=day) for day in range(3)]
    assert [row.subject_slots for row in days] == [96 * PEOPLE, 96 * PEOPLE, 8 * PEOPLE]
    assert len(slots) == SLOTS
    assert {row.subject_slots for row in slots} == {PEOPLE}
    for parts in (days, slots):
        assert sum(row.estimate for row in parts) == pytest.approx(whole.estimate)
    squares = sum(row.standard_error**2 for row in days)
    assert squares == pytest.approx(whole.standard_error**2)
    since = only(ppm.estimate(safe, types, since=START + timedelta(days=1), until=UNTIL, by="all"))
    assert since.estimate == pytest.approx(sum(row.estimate for row in days[1:]))
    # Without `until` it ends with the last slot that shows anything: here the very last one.
    same = only(ppm.estimate(safe, types, by="all"))
    assert same.estimate == pytest.approx(whole.estimate)
    assert same.subject_slots == whole.subject_slots


def test_slots_that_a_horizon_closed_are_left_out(spark: SparkSession, tmp_path: Path) -> None:
    horizon = in_friends("horizon: {over: 2 h, epsilon: 12, then: withhold}")
    guard, safe = protected(spark, tmp_path, horizon, MANY, *STRONG)
    stop = guard.parameters("friends").units[0].open
    assert stop is not None
    assert (stop.paid, stop.period) == (3, 9)
    row = only(ppm.estimate(safe, ["clinic"], until=UNTIL, by="all"))
    open_slots = [slot for slot in range(SLOTS) if slot % 9 < 3]
    assert row.subject_slots == PEOPLE * len(open_slots)
    happened = sum(truth(["clinic"], range(slot, slot + 1)) for slot in open_slots)
    assert abs(row.estimate - happened) < 5 * row.standard_error
    assert abs(row.estimate - truth(["clinic"])) > 5 * row.standard_error


def test_subjects_that_become_known_are_counted_from_then_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    late = [e for e in EVENTS if not (e[0] == "p1" and (e[1] or 0) < 900 * 100)]
    guard = town_guard(tmp_path, SEEN, *STRONG)
    safe = guard.protect(frame_of(spark, late), "friends", until=UNTIL).cache()
    with pytest.raises(BindingError, match=r"do not say whose slots there are \(subjects: seen"):
        ppm.estimate(safe, ["clinic"])
    began = [(f"p{n}", START + timedelta(minutes=15 * 100 * (n == 1))) for n in range(PEOPLE)]
    known = spark.createDataFrame(began, "person string, since timestamp")
    row = only(ppm.estimate(safe, ["clinic"], subjects=known, until=UNTIL, by="all"))
    assert row.subject_slots == (PEOPLE - 1) * SLOTS + 100
    happened = len({(e[0], (e[1] or 0) // 900) for e in late if e[2] == "clinic"})
    assert abs(row.estimate - happened) < 5 * row.standard_error
    one = known.where("person = 'p2'")
    own = only(ppm.estimate(safe, ["clinic"], subjects=one, until=UNTIL, by="all"))
    assert own.subject_slots == SLOTS
    with pytest.raises(Exception, match="more subjects show stand-ins than there are"):
        ppm.estimate(safe, ["clinic"], subjects=1, until=UNTIL).collect()


def test_each_community_of_one_frame_is_read_by_its_own_parameters(
    spark: SparkSession, tmp_path: Path
) -> None:
    guard = town_guard(tmp_path, MANY, NEIGHBOURS)
    every = guard.protect_all(frame_of(spark, EVENTS), until=UNTIL)
    every.write.partitionBy("community").parquet(str(tmp_path / "out"))
    released = spark.read.parquet(str(tmp_path / "out"))
    said = released.schema["person"].metadata["ppm"]
    assert "parameters" not in said
    with pytest.raises(BindingError, match="carries the parameters of none; give"):
        ppm.estimate(released, ["clinic"])
    for community in ("friends", "neighbours"):
        own = guard.protect(frame_of(spark, EVENTS), community, until=UNTIL)
        expected = only(ppm.estimate(own, ["clinic"], until=UNTIL, by="all"))
        public = guard.parameters(community)
        given = ppm.estimate(released, ["clinic"], parameters=public, until=UNTIL, by="all")
        assert only(given).estimate == pytest.approx(expected.estimate)
        bare = spark.createDataFrame(released.collect(), ", ".join(map(" ".join, released.dtypes)))
        named = ppm.estimate(
            bare, ["clinic"], parameters=public, community=community, until=UNTIL, by="all"
        )
        assert only(named).estimate == pytest.approx(expected.estimate)


def test_a_column_community_of_the_streams_own_is_left_alone(
    spark: SparkSession, tmp_path: Path
) -> None:
    guard, own = town_guard(tmp_path, MANY), frame_of(spark, EVENTS[:40])
    safe = guard.protect(own.withColumn("community", own.place), "friends", until=UNTIL)
    plain = only(ppm.estimate(safe, ["clinic"], until=UNTIL, by="all"))
    named = ppm.estimate(safe, ["clinic"], community="friends", until=UNTIL, by="all")
    assert only(named).estimate == pytest.approx(plain.estimate)


def test_parameters_are_a_frame_for_sql(spark: SparkSession, tmp_path: Path) -> None:
    frame = town_guard(tmp_path, MANY, *JOINT).parameters("friends").frame(spark)
    row = only(frame.where("type = 'clinic'"))
    assert (row.mechanism, row.epsilon) == ("joint-response", 1.0)
    assert row.together == ["clinic", "pharmacy"]
    assert row.flip == pytest.approx(2 / (np.e + 3))
    assert (row.stand_in, row.open_slots) == ('{"place": "clinic"}', None)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        pytest.param({"types": ["clinik"]}, "did you mean clinic", id="misspelt"),
        pytest.param({"by": "20 min"}, "by is 20 min; it must be whole slots, of 15 min", id="by"),
        pytest.param({"by": "often"}, "a duration is needed, .* or slot, or all", id="no time"),
        pytest.param({"subjects": 3}, "subjects is 3, but 2 are declared", id="another number"),
        pytest.param({"until": "now"}, "until is now; a time with its offset", id="until"),
        pytest.param({"community": "foes"}, "those of friends, not of foes", id="community"),
        pytest.param({"level": 1.0}, "level is 1.0; it must lie between", id="level"),
    ],
)
def test_what_cannot_be_estimated_is_refused(
    spark: SparkSession, tmp_path: Path, asked: dict[str, Any], sentence: str
) -> None:
    safe = town_guard(tmp_path).protect(frame_of(spark, EVENTS[:20]), "friends", until=UNTIL)
    with pytest.raises((PpmError, ValueError), match=sentence):
        ppm.estimate(safe, **{"types": ["clinic"], **asked})


def test_a_frame_must_be_whole_and_carry_its_parameters(
    spark: SparkSession, tmp_path: Path
) -> None:
    guard, safe = protected(spark, tmp_path, MANY)
    with pytest.raises(BindingError, match="a stand-in of clinic is place, which the DataFrame"):
        ppm.estimate(safe.drop("place"), ["clinic"])
    plain = frame_of(spark, EVENTS[:10])
    with pytest.raises(BindingError, match="carries no parameters"):
        ppm.estimate(plain, ["clinic"])
    with pytest.raises(BindingError, match="not of neighbours"):
        ppm.estimate(
            plain, ["clinic"], parameters=guard.parameters("friends"), community="neighbours"
        )


def test_an_estimate_of_nothing_is_empty(spark: SparkSession, tmp_path: Path) -> None:
    _, safe = protected(spark, tmp_path, MANY)
    assert ppm.estimate(safe.where("place = 'park'"), ["clinic"]).count() == 0
    before = datetime(2026, 1, 1, tzinfo=UTC)
    assert ppm.estimate(safe, ["clinic"], until=before).count() == 0
