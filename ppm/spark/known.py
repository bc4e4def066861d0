"""Whose slots an estimate counts: how many subjects were known in each of them."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.window import Window

from ppm.errors import BindingError, did_you_mean
from ppm.protect.parameters import Parameters
from ppm.spark.shards import quoted

SINCE = "since"
"""The column that says when a subject became known."""
_WHO, _FROM = "__ppm_who", "__ppm_from"


@dataclass(frozen=True)
class Known:
    """So many subjects, or these, each from a slot on."""

    number: int
    frame: DataFrame | None
    """The subjects, each once, with the first slot that is told of them."""

    def in_slots(self, slots: DataFrame, first: int, *, slot: str, number: str) -> DataFrame:
        """Slots, each with the number of subjects that are known in it."""
        if self.frame is None:
            return slots.withColumn(number, F.lit(self.number))
        began = self.frame.groupBy(F.greatest(F.col(_FROM), F.lit(first)).alias(slot))
        joined = slots.join(began.agg(F.count("*").alias(number)), slot, "left")
        so_far = F.sum(F.coalesce(F.col(number), F.lit(0))).over(Window.orderBy(slot))
        return joined.withColumn(number, so_far)

    def own(self, rows: DataFrame, *, subject: str, slot: str) -> DataFrame:
        """The rows of known subjects."""
        if self.frame is None:
            return rows
        is_own = (F.col(subject) == F.col(_WHO)) & (F.col(slot) >= F.col(_FROM))
        return rows.join(self.frame, is_own, "left_semi")


def known_subjects(parameters: Parameters, given: int | DataFrame | None) -> Known:
    """The subjects of a community's stream; if it does not say them, its reader must."""
    declared = parameters.subjects
    if isinstance(given, DataFrame):
        return Known(0, _since(parameters, given))
    if given is None and isinstance(declared, int):
        return Known(declared, None)
    if given is None:
        raise BindingError(
            f"the parameters do not say whose slots there are (subjects: {declared}); give "
            f"subjects=NUMBER, or a DataFrame with {parameters.subject} and {SINCE}"
        )
    if type(given) is not int or given < 0:
        raise BindingError("subjects must be a number of subjects, or a DataFrame of them")
    if isinstance(declared, int) and given != declared:
        raise BindingError(f"subjects is {given}, but {declared} are declared; leave it out")
    return Known(given, None)


def _since(parameters: Parameters, given: DataFrame) -> DataFrame:
    """Each subject with the slot that it became known in; without a time, it always was."""
    if given.isStreaming or parameters.subject not in given.columns:
        hint = did_you_mean(parameters.subject, given.columns)
        raise BindingError(f"subjects must be a batch with a column {parameters.subject}{hint}")
    first = F.lit(0).cast("long")
    if SINCE in given.columns:
        unsaid = F.raise_error(f"a subject has no {SINCE}; leave out subjects that are not known")
        moment = F.coalesce(F.unix_micros(F.col(SINCE)), unsaid.cast("long"))
        after = F.floor((moment - F.lit(parameters.start)) / F.lit(parameters.slot))
        first = F.greatest(after, first)
    elif parameters.subjects == "seen":
        raise BindingError(f"subjects has no column {SINCE}: when did each become known?")
    who = F.col(quoted(parameters.subject))
    each = given.select(who.alias(_WHO), first.alias(_FROM)).where(who.isNotNull())
    return each.groupBy(_WHO).agg(F.min(_FROM).alias(_FROM))
