"""Values with a unit: what people may write, and what is refused with which words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import jsonschema
import pytest
from pydantic import TypeAdapter, ValidationError

from ppm.spec.expression.declared import Condition, Predicate
from ppm.spec.stage import Skip, Stage
from ppm.spec.values import Distance, Duration, Identifier, Instant, Name, Share, Times

KINDS: dict[str, TypeAdapter[Any]] = {
    "duration": TypeAdapter(Duration),
    "distance": TypeAdapter(Distance),
    "times": TypeAdapter(Times),
    "share": TypeAdapter(Share),
    "instant": TypeAdapter(Instant),
    "name": TypeAdapter(Name),
    "identifier": TypeAdapter(Identifier),
    "skip": TypeAdapter(Skip),
}

DURATION = "a duration is needed, such as 30 s, 15 min, 2 h or 30 d"
DURATION_RANGE = "a duration must be more than 0 and at most 100 years of 365.25 days"
DISTANCE = "a distance is needed, such as 200 m or 1.5 km"
DISTANCE_RANGE = "a distance must be whole millimetres, more than 0 and at most 20000 km"
TIMES = "a count is needed: 3, 2..4, or 1.. for once or more"
TIMES_RANGE = "it must start at 1 or more and not end before it starts"
SHARE = "a share is needed, such as 90 % or 0.9"
SHARE_RANGE = "a share between 0 % and 100 % is needed, such as 90 % or 0.9"
INSTANT = "a time with its offset is needed, such as 2026-03-01T08:00:00+01:00"
NAME = "a name is up to 64 small letters, digits, - and _, not starting with - or _"
IDENTIFIER = "a name is up to 64 letters, digits and _, not starting with a digit"
SKIP = (
    "allowed are no_skip, skip_to_next, skip_past_last, skip_to_first(stage), skip_to_last(stage)"
)
MARCH = datetime(2026, 3, 1, tzinfo=UTC)

ACCEPTED = [
    pytest.param("duration", "15 min", Duration(900_000_000), id="minutes"),
    pytest.param("duration", "15min", Duration(900_000_000), id="no blank before the unit"),
    pytest.param("duration", "1.5 h", Duration(5_400_000_000), id="a fraction of an hour"),
    pytest.param("duration", "0.001 ms", Duration(1), id="the shortest duration"),
    pytest.param("duration", "0.000001 s", Duration(1), id="the shortest, in seconds"),
    pytest.param("duration", "36525 d", Duration(Duration.longest), id="a hundred years"),
    pytest.param(
        "duration", "3155759999999.999 ms", Duration(Duration.longest - 1), id="just below that"
    ),
    pytest.param("distance", "200 m", Distance(200_000), id="metres"),
    pytest.param("distance", "0.2km", Distance(200_000), id="a fraction of a kilometre"),
    pytest.param("distance", "20000 km", Distance(20_000_000_000), id="half around the earth"),
    pytest.param("times", 3, Times(3, 3), id="three times"),
    pytest.param("times", "3..3", Times(3, 3), id="three to three times"),
    pytest.param("times", "2..4", Times(2, 4), id="two to four times"),
    pytest.param("times", "1..", Times(1, None), id="once or more"),
    pytest.param("times", "1000..", Times(1_000, None), id="the highest count"),
    pytest.param("share", "90 %", 0.9, id="percent"),
    pytest.param("share", "90%", 0.9, id="percent without a blank"),
    pytest.param("share", "33.333333 %", 0.33333333, id="percent with six digits"),
    pytest.param("share", "0%", 0.0, id="none of it"),
    pytest.param("share", 1, 1.0, id="all of it, as a whole number"),
    pytest.param("share", 0.25, 0.25, id="a quarter, as a number"),
    pytest.param("instant", "2026-03-01T00:00:00Z", MARCH, id="Z"),
    pytest.param("instant", "2026-03-01 01:00+01:00", MARCH, id="a blank and no seconds"),
    pytest.param(
        "instant",
        "2026-03-01T00:00:00.5Z",
        MARCH + timedelta(milliseconds=500),
        id="half a second",
    ),
    pytest.param("name", "clinic-visit_2", "clinic-visit_2", id="letters, digits, - and _"),
    pytest.param("name", "2nd", "2nd", id="a name may start with a digit"),
    pytest.param("name", "a" * 64, "a" * 64, id="the longest name"),
    pytest.param("identifier", "_Clinic2", "_Clinic2", id="letters, digits and _"),
    pytest.param("skip", "skip_past_last", Skip("skip_past_last"), id="a plain strategy"),
    pytest.param("skip", "skip_to_last(b)", Skip("skip_to_last", "b"), id="an aimed strategy"),
]

MISSPELLED = [
    pytest.param("duration", 15, DURATION, id="a bare number"),
    pytest.param("duration", True, DURATION, id="a truth value"),
    pytest.param("duration", "15", DURATION, id="no unit"),
    pytest.param("duration", "15 minutes", DURATION, id="an unknown unit"),
    pytest.param("duration", "-1 s", DURATION, id="a negative duration"),
    pytest.param("duration", "1e3 s", DURATION, id="an exponent"),
    pytest.param("duration", " 1 s", DURATION, id="a blank in front"),
    pytest.param("duration", "1\ts", DURATION, id="a tab between"),
    pytest.param("duration", "\u0661 s", DURATION, id="digits of another script"),
    pytest.param("duration", "nan s", DURATION, id="not a number of seconds"),
    pytest.param("distance", 200, DISTANCE, id="a distance without unit"),
    pytest.param("distance", "200 miles", DISTANCE, id="miles"),
    pytest.param("times", "3", TIMES, id="a count in quotes"),
    pytest.param("times", True, TIMES, id="true times"),
    pytest.param("times", "..3", TIMES, id="a range without start"),
    pytest.param("times", "1 .. 2", TIMES, id="blanks in a range"),
    pytest.param("times", None, TIMES, id="no count"),
    pytest.param("share", "90", SHARE, id="no percent sign"),
    pytest.param("share", "1.0000005 %", SHARE, id="too many digits"),
    pytest.param("share", 1.5, SHARE_RANGE, id="more than one"),
    pytest.param("share", -0.1, SHARE_RANGE, id="less than nothing"),
    pytest.param("share", True, SHARE_RANGE, id="a true share"),
    pytest.param("share", None, SHARE_RANGE, id="no share"),
    pytest.param("instant", "2026-03-01T00:00:00", INSTANT, id="no offset"),
    pytest.param("instant", "2026-03-01", INSTANT, id="a date"),
    pytest.param("instant", "\u0662026-03-01T00:00:00Z", INSTANT, id="a digit of another script"),
    pytest.param("instant", 1_772_323_200, INSTANT, id="seconds since 1970"),
    pytest.param("name", "Clinic", NAME, id="a capital letter"),
    pytest.param("name", "-a", NAME, id="starts with -"),
    pytest.param("name", "a" * 65, NAME, id="too long a name"),
    pytest.param("name", "", NAME, id="an empty name"),
    pytest.param("name", "é", NAME, id="a letter that is not ASCII"),
    pytest.param("identifier", "2nd", IDENTIFIER, id="starts with a digit"),
    pytest.param("identifier", "a-b", IDENTIFIER, id="a - in an event type"),
    pytest.param("skip", "skip_to_first", SKIP, id="an aim is missing"),
    pytest.param("skip", "skip_to_first(a", SKIP, id="a bracket is missing"),
    pytest.param("skip", "skip_to_first( a )", SKIP, id="blanks in the brackets"),
    pytest.param("skip", "skip_past_last(a)", SKIP, id="an aim that nobody asked for"),
    pytest.param("skip", "skip_to_last(é)", SKIP, id="an aim that cannot be a name"),
    pytest.param("skip", 1, SKIP, id="a number is no strategy"),
]

IMPOSSIBLE = [
    pytest.param("duration", "1 s\n", DURATION, id="a line end behind"),
    pytest.param("duration", "0 s", DURATION_RANGE, id="no time at all"),
    pytest.param("duration", "36526 d", DURATION_RANGE, id="more than a hundred years"),
    pytest.param("duration", "9999999999999999 d", DURATION_RANGE, id="longer than the universe"),
    pytest.param(
        "duration",
        "0.0005 ms",
        "a duration must be whole microseconds; 0.001 ms is the shortest",
        id="half a microsecond",
    ),
    pytest.param("distance", "0 m", DISTANCE_RANGE, id="no distance"),
    pytest.param("distance", "0.5 mm", DISTANCE_RANGE, id="half a millimetre"),
    pytest.param("distance", "20001 km", DISTANCE_RANGE, id="further than the earth is wide"),
    pytest.param("times", 1.0, TIMES, id="a count with a fraction"),
    pytest.param("times", 0, TIMES_RANGE, id="zero times"),
    pytest.param("times", -1, TIMES_RANGE, id="minus one time"),
    pytest.param("times", "0..", TIMES_RANGE, id="zero or more; say optional"),
    pytest.param("times", "4..2", TIMES_RANGE, id="a range that ends before it starts"),
    pytest.param("times", 1_001, "at most 1000 are possible", id="too many times"),
    pytest.param("times", "1..1001", "at most 1000 are possible", id="too wide a range"),
    pytest.param("share", "101 %", SHARE_RANGE, id="more than all"),
    pytest.param("share", float("nan"), SHARE_RANGE, id="a share that is not a number"),
    pytest.param("instant", "2026-02-30T00:00:00Z", INSTANT, id="no such day"),
    pytest.param("instant", "2026-03-01T24:00:00Z", INSTANT, id="no such hour"),
    pytest.param("instant", "2026-03-01T00:00:00+24:00", INSTANT, id="no such offset"),
    pytest.param("instant", "0001-01-01T00:00:00+01:00", INSTANT, id="before year 1 in UTC"),
    pytest.param("instant", "9999-12-31T23:59:59-01:00", INSTANT, id="after year 9999 in UTC"),
    pytest.param("instant", datetime(2026, 3, 1), INSTANT, id="a datetime without zone"),
    pytest.param("name", "a\n", NAME, id="a name with a line end"),
]
"""Spelled well enough for a schema, which knows neither calendars nor Python's values."""


def schema_accepts(kind: str, written: object) -> bool:
    validator = jsonschema.Draft202012Validator(KINDS[kind].json_schema())
    return bool(validator.is_valid(written))


@pytest.mark.parametrize(("kind", "written", "value"), ACCEPTED)
def test_a_value_is_read(kind: str, written: object, value: object) -> None:
    assert KINDS[kind].validate_python(written) == value


@pytest.mark.parametrize(("kind", "written", "sentence"), MISSPELLED + IMPOSSIBLE)
def test_a_value_is_refused(kind: str, written: object, sentence: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        KINDS[kind].validate_python(written)
    assert [str(error["ctx"]["error"]) for error in refusal.value.errors()] == [sentence]


@pytest.mark.parametrize(("kind", "written", "value"), ACCEPTED)
def test_an_editor_accepts_what_the_reader_accepts(
    kind: str, written: object, value: object
) -> None:
    assert schema_accepts(kind, written), value


@pytest.mark.parametrize(("kind", "written", "sentence"), MISSPELLED)
def test_an_editor_refuses_what_is_misspelled(kind: str, written: object, sentence: str) -> None:
    assert not schema_accepts(kind, written), sentence


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(Duration(5_400_000_000), "90 min", id="the largest unit that is whole"),
        pytest.param(Duration(7_200_000_000), "2 h", id="whole hours"),
        pytest.param(Duration(1), "0.001 ms", id="a microsecond"),
        pytest.param(Duration(Duration.longest), "36525 d", id="a hundred years"),
        pytest.param(Distance(1_500_000), "1500 m", id="whole metres"),
        pytest.param(Distance(1), "1 mm", id="a millimetre"),
        pytest.param(Times(1, None), "1..", id="once or more"),
        pytest.param(Skip("skip_to_first", "a"), "skip_to_first(a)", id="an aimed skip"),
    ],
)
def test_a_value_is_written(value: Duration | Distance | Times | Skip, text: str) -> None:
    assert str(value) == value.written() == text
    assert type(value).parse(text) == value


def test_a_fixed_number_of_times_is_written_as_a_number() -> None:
    assert Times(3, 3).written() == 3


def test_durations_are_ordered_by_length() -> None:
    assert Duration.parse("59 s") < Duration.parse("1 min") < Duration.parse("1 h")


def test_equal_values_have_equal_hashes() -> None:
    assert len({Duration.parse("60 min"), Duration.parse("1 h")}) == 1
    assert len({Times.parse(3), Times.parse("3..3")}) == 1
    assert len({Predicate.parse("x>1"), Predicate.parse("( x > 1 )")}) == 1


def test_a_zone_with_summer_time_becomes_its_offset() -> None:
    twice_on_the_clock = datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Oslo"))
    read = KINDS["instant"].validate_python(twice_on_the_clock)
    assert read == datetime(2026, 10, 25, 2, 30, tzinfo=timezone(timedelta(hours=1)))
    assert KINDS["instant"].validate_python(KINDS["instant"].dump_python(read)) == read


def test_an_offset_with_seconds_is_refused() -> None:
    odd = timezone(timedelta(hours=1, seconds=30))
    with pytest.raises(ValidationError, match="a time with its offset is needed"):
        KINDS["instant"].validate_python(datetime(2026, 3, 1, tzinfo=odd))


def test_a_predicate_that_stands_for_a_condition_is_equal_to_one() -> None:
    given = Stage(event="a", where=Predicate.parse("x > 1"))
    assert given == Stage.model_validate({"event": "a", "where": "x > 1"})
    assert type(given.where) is Condition
