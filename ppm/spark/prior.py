"""History counted: in how many slots of its subjects each set of event types occurred."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ppm.cep.step import BITS_IN_A_COLUMN
from ppm.errors import BindingError, counted
from ppm.spark.binding import bit_words, column_names, need_columns, refuse_types
from ppm.spark.files import Watch, watched
from ppm.spark.predicate import column_type
from ppm.spark.shards import quoted
from ppm.spec.expression.lower import bind
from ppm.spec.instant import microseconds_since_1970
from ppm.spec.pattern import EventType
from ppm.spec.stream import Stream

_SUBJECT, _SLOT, _BITS = "__ppm_subject", "__ppm_slot", "__ppm_bits"
_WHOLE, _NULL, _LIVE = -1, -2, -3
"""They stand in place of a set's bits, so that one pass counts all: a subject, a row without
subject or time, and a row of the live stream. These rows are nobody's."""


@dataclass(frozen=True, slots=True)
class History:
    """Which types came together in the slots of the past, and whose slots these were."""

    subjects: int
    first: int
    """The first slot in which there was a row, counted from the start of the stream's slots; the
    past is negative."""
    last: int
    together: Mapping[frozenset[str], int]
    """How many slots there were of each set of types, the empty one included."""
    nulls: int
    """How many rows were left out, because they had no subject or no time."""

    @property
    def slots(self) -> int:
        """How many slots were counted, over all subjects."""
        return sum(self.together.values())


def count_together(
    rows: DataFrame, types: Mapping[str, EventType], stream: Stream, *, watch: Watch | None = None
) -> History:
    """Count the sets of types that occurred in a slot.

    Of each subject all slots count from that of its first row to that of its last row, whatever
    these rows are. Slots are those of the stream, continued into the past. Rows from where the
    stream starts are refused: they are what it protects.
    """
    _refuse_misfits(rows, types, stream)
    if len(types) > BITS_IN_A_COLUMN:
        raise BindingError(f"{len(types)} types are too many to count; choose {BITS_IN_A_COLUMN}")
    found = _sets(_bits(rows, types, stream))
    told = watched(rows.sparkSession, found.collect, watch)
    sets = {row["bits"]: row["slots"] for row in told}
    nulls, live = sets.pop(_NULL, 0), sets.pop(_LIVE, 0)
    _refuse_rows(nulls, live, stream)
    if not sets:
        raise BindingError("there are no rows to count")
    past = [row for row in told if row["first"] is not None]
    return History(
        subjects=sets.pop(_WHOLE),
        first=min(row["first"] for row in past),
        last=max(row["last"] for row in past),
        together={_types_of(bits, [*types]): slots for bits, slots in sets.items() if slots},
        nulls=nulls,
    )


def _refuse_misfits(rows: DataFrame, types: Mapping[str, EventType], stream: Stream) -> None:
    """Columns that are not there, or are something else than types need; every fault at once."""
    roles = [("stream.subject", stream.subject), ("stream.time", stream.time)]
    faults: list[str] = []
    try:
        need_columns(column_names(rows), roles)
        refuse_types(rows.schema, subject=stream.subject, time=stream.time, event_id=None)
    except BindingError as error:
        faults += str(error).split("\n")
    given = [(field.name, column_type(field.dataType)) for field in rows.schema]
    for name, event in types.items():
        try:
            bind(event.where.tree, given)
        except BindingError as error:
            faults.append(f"the event type {name}: {error}")
    if faults:
        raise BindingError("\n".join(faults))


def _bits(rows: DataFrame, types: Mapping[str, EventType], stream: Stream) -> DataFrame:
    """Whose each row is, in which slot and of which types; or what is wrong with it."""
    predicates = [event.where.tree for event in types.values()]
    (word,) = bit_words(predicates, rows.schema, zones=stream.zones, timezone=stream.timezone)
    start = F.lit(microseconds_since_1970(stream.from_))
    since = F.unix_micros(F.col(quoted(stream.time))) - start
    own = rows.select(
        F.col(quoted(stream.subject)).alias(_SUBJECT), since.alias(_SLOT), word.alias(_BITS)
    )
    lost = F.when(F.col(_SUBJECT).isNull() | F.col(_SLOT).isNull(), F.lit(_NULL))
    lost = lost.when(F.col(_SLOT) >= 0, F.lit(_LIVE)).cast("long")
    return own.select(
        F.when(lost.isNull(), F.col(_SUBJECT)).alias(_SUBJECT),
        F.coalesce(lost, _floored(F.col(_SLOT), stream.slot.microseconds)).alias(_SLOT),
        F.coalesce(lost, F.col(_BITS)).alias(_BITS),
    )


def _sets(bits: DataFrame) -> DataFrame:
    """Each set of bits with the number of its slots; subjects and lost rows are sets as well."""
    is_lost = F.col(_SUBJECT).isNull()
    slots = bits.groupBy(_SUBJECT, _SLOT).agg(
        F.bit_or(_BITS).alias(_BITS), F.count("*").alias("rows")
    )
    kinds = slots.groupBy(_SUBJECT, _BITS).agg(
        F.when(is_lost, F.sum("rows")).otherwise(F.count("*")).alias("slots"),
        F.when(~is_lost, F.min(_SLOT)).alias("first"),
        F.when(~is_lost, F.max(_SLOT)).alias("last"),
    )
    subjects = kinds.groupBy(_SUBJECT).agg(
        F.collect_list(_set(F.col(_BITS), F.col("slots"))).alias("sets"),
        F.sum("slots").alias("seen"),
        F.min("first").alias("first"),
        F.max("last").alias("last"),
    )
    silent = F.col("last") - F.col("first") + 1 - F.col("seen")
    more = F.array(_set(F.lit(0), silent), _set(F.lit(_WHOLE), F.lit(1)))
    whole = F.when(is_lost, F.col("sets")).otherwise(F.concat("sets", more))
    each = subjects.select(F.explode(whole).alias("set"), "first", "last")
    return each.groupBy(F.col("set.bits").alias("bits")).agg(
        F.sum("set.slots").alias("slots"),
        F.min("first").alias("first"),
        F.max("last").alias("last"),
    )


def _set(bits: SparkColumn, slots: SparkColumn) -> SparkColumn:
    return F.struct(bits.cast("long").alias("bits"), slots.cast("long").alias("slots"))


def _floored(number: SparkColumn, by: int) -> SparkColumn:
    """A whole number divided by another, rounded down in whole numbers, negative ones too."""
    whole = number - F.pmod(number, F.lit(by))
    return F.call_function("div", whole, F.lit(by))


def _refuse_rows(nulls: int, live: int, stream: Stream) -> None:
    faults = []
    if nulls and stream.on_null == "refuse":
        faults.append(
            f"{counted(nulls, 'row')} without {stream.subject} or {stream.time}; fill these "
            "columns, or leave such rows out with on_null: drop in the policy's stream"
        )
    if live:
        faults.append(
            f"{counted(live, 'row')} from stream.from, {stream.from_.isoformat()}, on: this is the "
            "live stream, and whatever is learnt from it tells of it beyond every epsilon; give "
            "history that ends before"
        )
    if faults:
        raise BindingError("\n".join(faults))


def _types_of(bits: int, names: list[str]) -> frozenset[str]:
    return frozenset(name for place, name in enumerate(names) if bits >> place & 1)
