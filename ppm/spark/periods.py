"""What estimates have in common: the periods that they are for, and how they are told."""

from __future__ import annotations

from datetime import datetime

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ppm.dp.estimate.result import deviations
from ppm.errors import PpmError
from ppm.protect.parameters import Parameters
from ppm.spark.moments import microseconds
from ppm.spec.values import Duration


def slots_of(public: Parameters, by: str) -> int | None:
    """How many slots a period has; None if there is one period."""
    if by in ("slot", "all"):
        return 1 if by == "slot" else None
    try:
        length = Duration.parse(by).microseconds
    except ValueError as error:
        raise PpmError(f"by is {by}; {error}, or slot, or all") from None
    slots, rest = divmod(length, public.slot)
    if rest or not slots:
        raise PpmError(f"by is {by}; it must be whole slots, of {Duration(public.slot)} each")
    return slots


def ends_of(
    public: Parameters, since: str | datetime | None, until: str | datetime | None
) -> tuple[int, int | None]:
    """The first slot that starts by `since`, and the last that ends by `until`."""
    first, last = 0, None
    if since is not None:
        first = max(0, -(-(microseconds(since, "since") - public.start) // public.slot))
    if until is not None:
        last = (microseconds(until, "until") - public.start) // public.slot - 1
    return first, last


def moment_of(slot: SparkColumn, public: Parameters) -> SparkColumn:
    """When a slot starts."""
    return F.timestamp_micros(F.lit(public.start) + slot * F.lit(public.slot))


def with_interval(found: DataFrame, level: float, *, of: str) -> DataFrame:
    """Estimates in the form that callers get; `of` is the column with what they stand for."""
    off = F.col("standard_error") * F.lit(deviations(level))
    return found.select(
        "start",
        "estimate",
        "standard_error",
        (F.col("estimate") - off).alias("low"),
        (F.col("estimate") + off).alias("high"),
        of,
    ).orderBy("start")
