"""What every operator asks of a caller's DataFrame before anything starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from ppm.cep.step import BITS_IN_A_COLUMN
from ppm.errors import BindingError, did_you_mean
from ppm.spark.predicate import column_type, to_column
from ppm.spark.shards import quoted
from ppm.spec.expression.kinds import ColumnType
from ppm.spec.expression.nodes import Node
from ppm.spec.zone import Zone


def column_names(rows: DataFrame) -> list[str]:
    """The columns of a DataFrame; Spark takes names that differ in case for one."""
    plain = [name.casefold() for name in rows.columns]
    for name in rows.columns:
        if plain.count(name.casefold()) > 1:
            raise BindingError(f"the column {name} is there twice; rename one of them")
        if name.casefold().startswith("__ppm_"):
            raise BindingError(f"the column {name} has a name that ppm needs; rename it")
    return rows.columns


def arrow_schema(rows: DataFrame) -> pa.Schema:
    """Names and types alone: comments and watermarks may change while a stream goes on."""
    try:
        schema = to_arrow_schema(rows.schema, timezone="UTC")
    except PySparkTypeError:
        raise BindingError(
            "a column that was asked for has a type that Arrow does not know; cast it, or leave "
            "it out"
        ) from None
    return pa.schema([pa.field(one.name, one.type, one.nullable) for one in schema])


def need_columns(names: list[str], roles: Iterable[tuple[str, str | None]]) -> None:
    """All named columns must be there."""
    faults = [
        f"{role} is {name}, which the DataFrame does not have{did_you_mean(name, names)}"
        for role, name in roles
        if name is not None and name not in names
    ]
    if faults:
        raise BindingError("\n".join(faults))


def refuse_types(schema: T.StructType, *, subject: str, time: str, event_id: str | None) -> None:
    """Subject and event id must be texts or whole numbers, and the time a timestamp."""
    faults = [
        f"{role} is {name}, which is {schema[name].dataType.simpleString()}; text or a whole "
        "number is needed: cast it to string"
        for role, name in (("subject", subject), ("event_id", event_id))
        if name is not None
        and column_type(schema[name].dataType) not in (ColumnType.STRING, ColumnType.INTEGER)
    ]
    if column_type(schema[time].dataType) is not ColumnType.TIMESTAMP:
        found = schema[time].dataType.simpleString()
        faults.append(f"time is {time}, which is {found}; cast it to timestamp")
    if len({subject, time, event_id}) < 3:
        faults.append("subject, time and event_id must be different columns")
    if faults:
        raise BindingError("\n".join(faults))


def bit_words(
    predicates: Sequence[Node], schema: T.StructType, *, zones: Mapping[str, Zone], timezone: str
) -> list[SparkColumn]:
    """One bit for each predicate that a row meets, in as few whole numbers as they fit."""
    count = max(1, -(-len(predicates) // BITS_IN_A_COLUMN))
    words = [F.lit(0).cast("long") for _ in range(count)]
    for place, predicate in enumerate(predicates):
        bit = F.lit(1 << place % BITS_IN_A_COLUMN).cast("long")
        is_met = to_column(predicate, schema, zones=zones, timezone=timezone)
        word = place // BITS_IN_A_COLUMN
        words[word] = words[word].bitwiseOR(F.when(is_met, bit).otherwise(F.lit(0).cast("long")))
    return words


def content_hash(rows: DataFrame, *, instead: str) -> SparkColumn:
    """A hash of a whole row. Spark's skips nulls, so that each column says whether it has one."""
    parts = []
    for field in rows.schema:
        column = F.col(quoted(field.name))
        if isinstance(field.dataType, T.ArrayType | T.StructType):
            column = F.to_json(F.struct(column.alias("c")), {"ignoreNullFields": "false"})
        elif isinstance(field.dataType, T.MapType | T.VariantType):
            raise BindingError(
                f"rows are told apart by all their columns, and {field.name} cannot be compared; "
                f"{instead}"
            )
        parts += [column.isNull(), column]
    return F.xxhash64(*parts)


def never(time: str) -> SparkColumn:
    """A condition that no row meets, to be put beside others.

    A filter that names the time stays above the watermark, so that all rows move it; "is null"
    alone does not name it, because Spark drops that where no null can be.
    """
    return F.col(quoted(time)) < F.expr("timestamp_micros(-4611686018427387904L)")
