"""What noisy answers say about the true ones, summed over slots and subjects."""

from __future__ import annotations

from datetime import datetime

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ppm.dp.estimate.counts import CountLaw
from ppm.dp.estimate.law import Law
from ppm.dp.estimate.score import score_of
from ppm.errors import BindingError, PpmError
from ppm.protect.parameters import AnswerParameters, Parameters
from ppm.spark.binding import need_columns
from ppm.spark.parameters import consumer_of, parameters_of
from ppm.spark.periods import ends_of, moment_of, slots_of, with_interval

_COLUMNS = ("query", "slot", "answer")
_SLOT, _PERIOD = "__ppm_slot", "__ppm_period"


def estimate_answers(
    answers: DataFrame,
    query: str,
    *,
    parameters: Parameters | None = None,
    consumer: str | None = None,
    by: str = "slot",
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    level: float = 0.95,
) -> DataFrame:
    """The true answers of a query, summed over subjects and over the slots of each period.

    `answers` has the columns `query`, `slot` (when it starts) and `answer`: for `existence` a row
    for each known subject and slot, whether 0 or 1; for `count` a row for each slot. Its parameters
    come with it, or are given; then name the consumer if several have such a query. A row comes
    out for each period, as from `estimate`; `answers` is how many it was made from.
    """
    if answers.isStreaming:
        raise BindingError("answers is a stream; read what it wrote, as a batch, and give that")
    need_columns(answers.columns, [(f"{one} of answers", one) for one in _COLUMNS])
    known = parameters or parameters_of(answers)
    public = known.answer(query, consumer or consumer_of(answers))
    period = slots_of(known, by)
    first, last = ends_of(known, since, until)
    after = F.unix_micros("slot") - F.lit(known.start)
    slot = F.floor(after / F.lit(known.slot)).cast("long")
    score, variance = _scores(public)
    rows = answers.where(F.col("query") == query).withColumn(_SLOT, slot)
    rows = rows.where(F.col(_SLOT).between(first, (1 << 62) if last is None else last))
    place = F.lit(0) if period is None else F.floor(F.col(_SLOT) / F.lit(period))
    slots = rows.groupBy(_SLOT).agg(
        F.sum(score).alias("score"), F.sum(variance).alias("variance"), F.count("*").alias("rows")
    )
    found = slots.groupBy(place.cast("long").alias(_PERIOD)).agg(
        F.min(_SLOT).alias(_SLOT),
        F.sum("score").alias("estimate"),
        F.sqrt(F.sum("variance")).alias("standard_error"),
        _whole_number(known, public).alias("answers"),
    )
    start = F.col(_SLOT) if period is None else F.col(_PERIOD) * F.lit(period)
    found = found.withColumn("start", moment_of(start, known))
    return with_interval(found, level, of="answers")


def _whole_number(known: Parameters, public: AnswerParameters) -> SparkColumn:
    """How many answers there are; refused where some were left out, such as all zeros, or doubled.

    Whole subjects may be left out: then every slot lacks as many.
    """
    total = F.sum("rows")
    most = 1 if public.ask == "count" else known.subjects
    if not isinstance(most, int):
        return total  # subjects become known as time goes on
    is_whole = (F.max("rows") <= most) & (F.min("rows") == F.max("rows"))
    said = (
        f"answers of {public.query} are not one for each subject and slot: keep those that are 0, "
        "and each once"
    )
    return F.when(is_whole, total).otherwise(F.raise_error(said).cast("long"))


def _scores(public: AnswerParameters) -> tuple[SparkColumn, SparkColumn]:
    """For each answer its unbiased score, and the variance that the noise gives it."""
    law = public.law
    if law is None:
        return F.col("answer").cast("double"), F.lit(0.0)
    most = law.cells - 1 if isinstance(law, CountLaw) else 1
    unfit = F.raise_error(f"an answer of {public.query} is not between 0 and {most}")
    told = F.when(F.col("answer").between(0, most), F.col("answer")).otherwise(unfit.cast("long"))
    return _of_counts(told, law) if isinstance(law, CountLaw) else _of_bits(told, law, public)


def _of_counts(told: SparkColumn, law: CountLaw) -> tuple[SparkColumn, SparkColumn]:
    low, high = told == 0, told == law.cells - 1
    off = F.when(low, -law.overshoot).when(high, law.overshoot).otherwise(0.0)
    is_clamped = F.when(low | high, 1.0).otherwise(0.0)
    return law.score(told + off), law.variance(told + off, is_clamped)


def _of_bits(
    told: SparkColumn, law: Law, public: AnswerParameters
) -> tuple[SparkColumn, SparkColumn]:
    try:
        hidden, shown = map(float, score_of(law, 1).values)
    except ValueError as error:
        raise PpmError(f"{public.query} cannot be estimated: {error}") from None
    score = F.when(told == 1, shown).otherwise(hidden)
    return score, score * (score - 1)
