"""Catalyst and Arrow give one predicate one meaning, on the most awkward rows we could think of."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from ppm.cep.predicate import column_type, evaluate
from ppm.errors import BindingError
from ppm.spec.expression.functions import Kind
from ppm.spec.expression.kinds import ColumnType, kind_of
from ppm.spec.expression.nodes import (
    Arithmetic,
    Call,
    Column,
    Compare,
    In,
    IsNull,
    Like,
    Literal,
    Logic,
    Moment,
    Negate,
    Node,
    Not,
    columns_of,
)
from ppm.spec.expression.parse import parse
from ppm.spec.expression.text import to_sql
from ppm.spec.zone import Zone

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

INF, NAN = float("inf"), float("nan")
LARGEST = 2**63 - 1
HOUR = 3_600_000_000
SPRING, AUTUMN = 1_774_746_000_000_000, 1_792_890_000_000_000
"""When clocks change in Oslo: 2026-03-29T01:00Z and 2026-10-25T01:00Z."""

TEXTS = [
    *(None, "", " ", "a", "A", "b", "walk", "WALK", " walk ", "walk\n", "a\nb", "\ta\t", "\r\n"),
    *("%", "_", "a%b", "a_b", "a\\b", "\\", "\\%", "100%", "[a]", "(a|b)*", "^a$", ".", "a'b", '"'),
    *("ß", "SS", "ẞ", "İ", "i̇", "\u0131", "I", "ǅ", "ΑΣ", "ας", "é", "e\u0301", "\u0301", "ﬁ"),
    *("😀", "a😀b", "👩‍👩‍👧", "\U0010ffff", "\uffff", "\ud7ff"),
    *("\u3000a\u3000", "\u00a0", "\u2028"),
]
INTEGERS = [
    *(None, 0, 1, -1, 2, 3, 7, 23, 59, 2**53, 2**53 + 1, -(2**53) - 1),
    *(LARGEST, LARGEST - 1, -LARGEST - 1),
]
BYTES = [None, 0, 1, -1, 7, 127, -128]
DOUBLES = [
    *(None, NAN, INF, -INF, 0.0, -0.0, 0.1, 0.5, -0.5, 1.0, 1.5, -1.5, 2.5, 7.0, 1e-320, 5e-324),
    *(4503599627370495.5, 2.0**53, 2.0**63, -(2.0**63), 1e16),
    *(1e300, -1e300, 1.7976931348623157e308),
]
FLOATS = [None, NAN, INF, 0.0, -0.0, 0.10000000149011612, 1.5, 16777216.0, 3.4028234663852886e38]
LATITUDES = [None, NAN, INF, 59.9, 59.91, 59.92, 59.914, 59.93, 60.0, -17.0, 0.0, 90.0, -90.0]
LONGITUDES = [None, NAN, -INF, 10.7, 10.75, 10.8, 10.74, 10.745, 11.0, 179.999, -179.999, 0.0]
TIMES = [
    *(None, 0, -1, 1, SPRING - 1, SPRING, SPRING + HOUR, AUTUMN - HOUR, AUTUMN - 1, AUTUMN),
    *(AUTUMN + HOUR, 1_772_323_199_999_999, 1_772_323_200_000_000, -86_400_000_001),
    *(-14_182_940_000_000_000, 2_145_830_400_000_000, 2_155_000_000_000_000, 4_000_000_000_000_000),
    *(-2_208_988_800_000_000, -62_135_596_800_000_000, 253_402_300_799_999_999),
    *(LARGEST, LARGEST - 1, -LARGEST - 1, -LARGEST),
]
COLUMNS = {
    "text": pa.array(TEXTS, pa.string()),
    "other text": pa.array(TEXTS, pa.string()),
    "whole": pa.array(INTEGERS, pa.int64()),
    "whole2": pa.array(INTEGERS, pa.int64()),
    "tiny": pa.array(BYTES, pa.int8()),
    "x": pa.array(DOUBLES, pa.float64()),
    "y": pa.array(DOUBLES, pa.float64()),
    "single": pa.array(FLOATS, pa.float32()),
    "lat": pa.array(LATITUDES, pa.float64()),
    "lon": pa.array(LONGITUDES, pa.float64()),
    "flag": pa.array([None, True, False], pa.bool_()),
    "flag2": pa.array([True, None, False], pa.bool_()),
    "at": pa.array(TIMES, pa.timestamp("us", "UTC")),
    "at2": pa.array(TIMES, pa.timestamp("us", "UTC")),
    "wall": pa.array(TIMES, pa.timestamp("us")),
}
SCHEMA = """
    text string, `other text` string, whole bigint, whole2 bigint, tiny tinyint, x double, y double,
    single float, lat double, lon double, flag boolean, flag2 boolean, at timestamp, at2 timestamp,
    wall timestamp_ntz
"""
ROWS = 150


def awkward_rows() -> pa.Table:
    """Every awkward value of each column, each time in other company."""
    strides = itertools.cycle((1, 3, 5, 7, 11))
    return pa.table(
        {
            name: values.take([(row * stride + row // 30) % len(values) for row in range(ROWS)])
            for (name, values), stride in zip(COLUMNS.items(), strides, strict=False)
        }
    )


TABLE = awkward_rows()
TYPES = {field.name: ColumnType(column_type(field.type)) for field in TABLE.schema}
ZONES = {
    "clinic": Zone.model_validate({"center": [59.914, 10.745], "radius": "500 m"}),
    "dateline": Zone.model_validate({"center": [-17.0, 179.999], "radius": "1 km"}),
    "box": Zone.model_validate({"corners": [[59.9, 10.7], [59.9, 10.8], [60, 10.8], [60, 10.7]]}),
    "arrow": Zone.model_validate(
        {"corners": [[59.9, 10.7], [59.92, 10.75], [59.9, 10.8], [59.91, 10.74], [60.0, 10.75]]}
    ),
}
TIMEZONES = ["Europe/Oslo", "UTC", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kathmandu"]

WRITTEN: dict[Kind, list[Node]] = {
    Kind.TEXT: [Literal(text) for text in TEXTS if text is not None],
    Kind.INTEGER: [
        Literal(whole) for whole in INTEGERS if whole is not None and abs(whole) < 10**18
    ],
    Kind.NUMBER: [
        Literal(number) for number in DOUBLES if number is not None and abs(number) < INF
    ],
    Kind.BOOLEAN: [Literal(True), Literal(False)],
    Kind.TIME: [Moment(time) for time in TIMES if time is not None and 0 < time < 10**17],
    Kind.LOCAL_TIME: [],
}
LITERALS = {kind: st.sampled_from(some) if some else st.nothing() for kind, some in WRITTEN.items()}
PIECES = ["%", "_", "\\%", "\\_", "\\\\", "a", "b", "walk", "\n", "😀", "ß", "e", "́", ".", "["]
PATTERNS = st.lists(st.sampled_from(PIECES), max_size=5).map("".join)
CLOCK_VALUES = {"hour": range(24), "minute": (0, 14, 15, 29, 30, 44, 45, 59), "weekday": range(8)}
NUMBERS = (Kind.INTEGER, Kind.NUMBER)
COMPARABLE = st.sampled_from(
    [(kind, kind) for kind in LITERALS] + list(itertools.product(NUMBERS, NUMBERS))
)


@cache
def expressions(kind: Kind, depth: int) -> SearchStrategy[Node]:
    """Any expression of a kind, at most so deep."""
    columns = [name for name in TYPES if kind_of(Column(name), TYPES) is kind]
    reads = st.sampled_from([Column(name) for name in columns])
    leaves = st.one_of(reads, reads, LITERALS[kind])
    if depth == 0:
        return leaves
    below = {one: expressions(one, depth - 1) for one in LITERALS}
    times = below[Kind.TIME] | below[Kind.LOCAL_TIME]
    number = below[Kind.NUMBER] | below[Kind.INTEGER]
    zone = st.sampled_from([Literal(name) for name in ZONES])
    coalesced = st.builds(
        call, st.just("coalesce"), *[number if kind is Kind.NUMBER else below[kind]] * 2
    )
    match kind:
        case Kind.TEXT:
            functions = st.sampled_from(["lower", "upper", "trim"])
            return leaves | coalesced | st.builds(call, functions, below[Kind.TEXT])
        case Kind.INTEGER:
            clock = st.sampled_from(["hour", "minute", "weekday"])
            length = st.builds(call, st.just("length"), below[Kind.TEXT])
            return leaves | coalesced | length | st.builds(call, clock, times)
        case Kind.NUMBER:
            signs = st.sampled_from("+-*/")
            functions = st.sampled_from(["abs", "ceil", "floor", "sqrt"])
            return st.one_of(
                leaves,
                coalesced.filter(is_not_whole),
                st.builds(Arithmetic, signs, number, number),
                st.builds(Negate, number).filter(lambda node: not is_number(node.operand)),
                st.builds(call, functions, number),
                st.builds(call, st.just("distance"), number, number, zone),
                st.just(parse("distance(lat, lon, 59.9, -170)")),
            )
        case Kind.BOOLEAN:
            return st.one_of(
                leaves,
                coalesced,
                st.builds(Not, below[Kind.BOOLEAN]),
                st.builds(
                    Logic, st.sampled_from(["AND", "OR"]), below[Kind.BOOLEAN], below[Kind.BOOLEAN]
                ),
                COMPARABLE.flatmap(lambda kinds: comparisons(*kinds, depth - 1)),
                COMPARABLE.flatmap(lambda kinds: memberships(*kinds, depth - 1)),
                st.builds(Like, below[Kind.TEXT], PATTERNS),
                st.sampled_from(list(LITERALS)).flatmap(lambda one: st.builds(IsNull, below[one])),
                st.builds(call, st.just("in_zone"), number, number, zone),
                zone.map(lambda name: call("in_zone", Column("lat"), Column("lon"), name)),
            )
    return leaves | coalesced


def comparisons(one: Kind, other: Kind, depth: int) -> SearchStrategy[Node]:
    signs = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
    return st.builds(Compare, signs, expressions(one, depth), expressions(other, depth))


def memberships(one: Kind, other: Kind, depth: int) -> SearchStrategy[Node]:
    if one in (Kind.TIME, Kind.LOCAL_TIME):
        return st.builds(IsNull, expressions(one, depth))
    listed = st.lists(LITERALS[one] | LITERALS[other], min_size=1, max_size=15).map(tuple)
    return st.builds(In, expressions(one, depth), listed)


def call(name: str, *arguments: Node) -> Node:
    return Call(name, arguments)


def is_not_whole(node: Node) -> bool:
    return kind_of(node, TYPES) is Kind.NUMBER


def is_number(node: Node) -> bool:
    return isinstance(node, Literal) and not isinstance(node.value, str | bool)


@pytest.fixture(scope="module")
def awkward(spark: SparkSession) -> Iterator[DataFrame]:
    frame = spark.createDataFrame(TABLE, SCHEMA).coalesce(1).cache()
    frame.count()
    yield frame
    frame.unpersist()


@pytest.fixture(
    params=[
        pytest.param({"ansi.enabled": True, "session.timeZone": "UTC"}, id="ANSI"),
        pytest.param(
            {"ansi.enabled": False, "session.timeZone": "America/New_York"}, id="not ANSI"
        ),
        pytest.param(
            {
                "ansi.enforceReservedKeywords": True,
                "parser.escapedStringLiterals": True,
                "session.timeZone": "Asia/Tokyo",
            },
            id="another reader of SQL",
        ),
    ]
)
def session(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[SparkSession]:
    """A session with settings that must not matter."""
    before = {f"spark.sql.{key}": spark.conf.get(f"spark.sql.{key}") for key in request.param}
    for key, value in request.param.items():
        spark.conf.set(f"spark.sql.{key}", value)
    yield spark
    for key, setting in before.items():
        spark.conf.set(key, setting or "")


def answers(frame: DataFrame, predicates: list[Node], timezone: str) -> list[list[bool | None]]:
    """What Catalyst says to each predicate, in one job."""
    from ppm.spark.predicate import to_column

    columns = [
        to_column(node, frame.schema, zones=ZONES, timezone=timezone).alias(f"p{place}")
        for place, node in enumerate(predicates)
    ]
    found: list[list[bool | None]] = [c.to_pylist() for c in frame.select(*columns).toArrow()]
    return found


def shown(name: str, row: int) -> str:
    value = TABLE[name][row]
    return str(value.value) if isinstance(value, pa.TimestampScalar) else repr(value.as_py())


def disagreements(frame: DataFrame, predicates: list[Node], timezone: str) -> list[str]:
    """The predicates that have two meanings, the shortest first."""
    found = []
    for node, in_spark in zip(predicates, answers(frame, predicates, timezone), strict=True):
        in_arrow = evaluate(node, TABLE, zones=ZONES, timezone=timezone).to_pylist()
        for row, (one, other) in enumerate(zip(in_spark, in_arrow, strict=True)):
            if one is not other:
                values = [f"{name} {shown(name, row)}" for name in sorted(columns_of(node))]
                found.append(
                    f"{to_sql(node)} in {timezone} with {', '.join(values)}: "
                    f"Spark says {one}, Arrow {other}"
                )
                break
    return sorted(found, key=len)


def small_predicates() -> Iterator[Node]:
    """Every function and operator by itself, asked for every value that might be telling."""
    numbers, integers = WRITTEN[Kind.NUMBER], WRITTEN[Kind.INTEGER]
    for literal in WRITTEN[Kind.TEXT]:
        yield Compare("<", Column("text"), literal)
        for function in ("lower", "upper", "trim"):
            yield Compare("=", call(function, Column("text")), literal)
    for parts in itertools.product(PIECES, repeat=2):
        yield Like(Column("text"), "".join(parts))
    for count in range(8):
        yield Compare("=", call("length", Column("text")), Literal(count))
    for column in ("at", "wall"):
        for function, values in CLOCK_VALUES.items():
            for value in values:
                yield Compare("=", call(function, Column(column)), Literal(value))
    for function, column in itertools.product(("abs", "ceil", "floor", "sqrt"), ("x", "whole")):
        yield IsNull(call(function, Column(column)))
        yield from (Compare("=", call(function, Column(column)), number) for number in numbers)
    for sign, column in itertools.product("+-*/", ("y", "whole")):
        result = Arithmetic(sign, Column("x"), Column(column))
        yield IsNull(result)
        yield from (Compare("<", result, number) for number in numbers[::3])
    for column, number in itertools.product(("x", "whole"), (*numbers, *integers)):
        yield Compare("=", Column(column), number)
        yield Compare("<", Negate(Column(column)), number)
    for zone in ZONES:
        yield call("in_zone", Column("lat"), Column("lon"), Literal(zone))


@pytest.mark.parametrize(
    "session", [{"session.timeZone": "Asia/Tokyo"}], indirect=True, ids=["ANSI"]
)
@pytest.mark.usefixtures("session")
def test_every_function_has_one_meaning(awkward: DataFrame) -> None:
    predicates = list(small_predicates())
    for start in range(0, len(predicates), 250):
        assert disagreements(awkward, predicates[start : start + 250], "Europe/Oslo") == []


@settings(
    max_examples=4,
    # One batch holds many predicates, and the message names the shortest that fails.
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    predicates=st.lists(expressions(Kind.BOOLEAN, 4), min_size=30, max_size=40),
    timezone=st.sampled_from(TIMEZONES),
)
@pytest.mark.usefixtures("session")
def test_nested_predicates_have_one_meaning(
    awkward: DataFrame, predicates: list[Node], timezone: str
) -> None:
    assert disagreements(awkward, predicates, timezone) == []


@given(expressions(Kind.BOOLEAN, 4))
def test_a_predicate_reads_back_from_its_text(node: Node) -> None:
    assert parse(to_sql(node)) == node


def test_a_collation_does_not_change_what_is_equal(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    frame = spark.range(1).select(F.collate(F.lit("WALK "), "UTF8_LCASE_RTRIM").alias("text"))
    predicates = [
        "text = 'walk'",
        "text IN ('walk ')",
        "text LIKE 'walk_'",
        "lower(text) = 'walk '",
    ]
    found = answers(frame, [parse(sql) for sql in predicates], "UTC")
    assert found == [[False], [False], [False], [True]]


def test_names_are_taken_literally(spark: SparkSession) -> None:
    frame = spark.range(1).selectExpr("1 AS `a.b`", "2 AS `c``d e`")
    found = answers(frame, [Compare("<", Column("a.b"), Column("c`d e"))], "UTC")
    assert found == [[True]]


def test_zones_stay_in_catalyst(awkward: DataFrame) -> None:
    from ppm.spark.predicate import to_column

    node = parse("in_zone(lat, lon, 'clinic') OR in_zone(lat, lon, 'box') AND hour(at) > 7")
    column = to_column(node, awkward.schema, zones=ZONES, timezone="Europe/Oslo")
    plan = awkward.filter(column)._jdf.queryExecution().executedPlan().toString()
    assert "Filter" in plan
    assert "Python" not in plan
    assert "UDF" not in plan.upper()


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ("x decimal(9,2)", r"column x is decimal\(9,2\); cast it to one of boolean, double"),
        ("x date", "column x is date; cast it to"),
        ("x string", "compares text with a whole number"),
        ("y int", "column x is missing"),
    ],
)
def test_a_column_that_does_not_fit_is_refused(
    spark: SparkSession, schema: str, fault: str
) -> None:
    with pytest.raises(BindingError, match=fault):
        answers(spark.createDataFrame([], schema), [parse("x > 0")], "UTC")
