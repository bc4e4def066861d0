"""How often private types truly occurred together, estimated from rows that were released.

All of it stays in Catalyst: a score for each subject-slot that shows something, the same score for
all that show nothing, and sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import reduce

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ppm.errors import BindingError
from ppm.protect.estimation import Asked, Part, asked_of
from ppm.protect.parameters import Parameters, StandIn
from ppm.spark.binding import need_columns
from ppm.spark.known import known_subjects
from ppm.spark.parameters import COMMUNITY, is_for_several, parameters_of
from ppm.spark.periods import ends_of, moment_of, slots_of, with_interval
from ppm.spark.shards import quoted

_SLOT, _SUBJECT, _PATTERN, _PERIOD = "__ppm_slot", "__ppm_subject", "__ppm_pattern", "__ppm_period"
_SUMS = ("__ppm_score", "__ppm_variance", "__ppm_least", "__ppm_shown")
_NUMBER = "__ppm_number"


def estimate(
    released: DataFrame,
    types: Sequence[str],
    *,
    parameters: Parameters | None = None,
    community: str | None = None,
    subjects: int | DataFrame | None = None,
    by: str = "slot",
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    level: float = 0.95,
) -> DataFrame:
    """In how many slots of how many subjects all of some private types truly occurred.

    `released` is what a community was told, as a batch. Its parameters come with it, or are given.
    A row comes out for each slot, for each period (`by="1 d"`, counted from the first slot on), or
    one for all (`by="all"`): `start`, an unbiased `estimate`, the `standard_error` that the noise
    gives it, `low` and `high`, between which the truth lies with about the probability `level`, and
    the `subject_slots` that it stands for.

    Slots that show nothing count too, so it must be known whose there are. Where the policy does
    not declare its subjects, `subjects` is how many are known throughout, or a DataFrame with the
    subject's column and, in a column `since`, when each became known. A DataFrame may also choose
    some of the declared ones.

    All slots from the policy's start (or `since`) to the last one that shows anything are counted,
    or to the last that has ended by `until`. Give `until` if you know up to when you were told: the
    last slots may have shown nothing. Slots that a horizon closed are left out.
    """
    if released.isStreaming:
        raise BindingError("released is a stream; read what it wrote, as a batch, and give that")
    public = parameters or parameters_of(released)
    asked = asked_of(public, types)
    known = known_subjects(public, subjects)
    period = slots_of(public, by)
    first, last = ends_of(public, since, until)
    rows = _of_community(released, public, community).select(
        F.col(quoted(public.subject)).alias(_SUBJECT),
        _slot(F.col(quoted(public.time)), public).alias(_SLOT),
        _pattern(released, public, asked).alias(_PATTERN),
    )
    rows = rows.where(F.col(_PATTERN).isNotNull() & (F.col(_SLOT) >= first))
    if last is None:
        ends = rows.agg(F.max(_SLOT).alias(_SLOT)).where(F.col(_SLOT).isNotNull())
        slots = ends.select(F.explode(F.sequence(F.lit(first).cast("long"), _SLOT)).alias(_SLOT))
    else:
        slots = released.sparkSession.range(first, last + 1).toDF(_SLOT)
        rows = rows.where(F.col(_SLOT) <= last)
    told = slots.transform(lambda each: known.in_slots(each, first, slot=_SLOT, number=_NUMBER))
    told = told.where(_is_open(asked))
    shown = known.own(rows, subject=_SUBJECT, slot=_SLOT)
    joined = told.join(_scored(shown, asked), _SLOT, "left")
    return _summed(joined, public, asked, period, level)


def _of_community(released: DataFrame, public: Parameters, community: str | None) -> DataFrame:
    need_columns(released.columns, [("subject", public.subject), ("time", public.time)])
    if community is not None and community != public.community:
        raise BindingError(f"the parameters are those of {public.community}, not of {community}")
    if is_for_several(released, if_unsaid=community is not None):
        return released.where(F.col(COMMUNITY) == public.community)
    return released


def _slot(time: SparkColumn, public: Parameters) -> SparkColumn:
    """The slot that starts at a time; null inside slots, where no stand-in lies."""
    since = F.unix_micros(time) - F.lit(public.start)
    is_start = F.pmod(since, F.lit(public.slot)) == 0
    return F.when(is_start, (since / F.lit(public.slot)).cast("long"))


def _pattern(released: DataFrame, public: Parameters, asked: Asked) -> SparkColumn:
    """The bit of the type that a row stands in for; 0 for types that are not asked, else null."""
    found = F.lit(None).cast("long")
    for name in public.types:
        known_by, is_asked = public.stand_ins[name], name in asked.types
        if known_by is None or not (is_asked or known_by.keys() <= set(released.columns)):
            continue  # it would only show that its slot was told of
        need_columns(released.columns, [(f"a stand-in of {name}", one) for one in known_by])
        bit = 1 << asked.types.index(name) if is_asked else 0
        is_one = _is_stand_in(released, known_by)
        found = F.when(is_one, F.lit(bit).cast("long")).otherwise(found)
    return found


def _is_stand_in(released: DataFrame, known_by: StandIn) -> SparkColumn:
    tests = (
        F.col(quoted(name)).eqNullSafe(F.lit(value).cast(released.schema[name].dataType))
        for name, value in known_by.items()
    )
    return reduce(SparkColumn.__and__, tests, F.lit(True))


def _is_open(asked: Asked) -> SparkColumn:
    tests = (F.pmod(F.col(_SLOT), F.lit(one.period)) < one.paid for one in asked.open)
    return reduce(SparkColumn.__and__, tests, F.lit(True))


def _scored(rows: DataFrame, asked: Asked) -> DataFrame:
    """For each slot the sums over subjects that show something."""
    patterns = rows.groupBy(_SLOT, _SUBJECT).agg(F.bit_or(_PATTERN).alias(_PATTERN))
    score, is_exact = F.lit(1.0), F.lit(1.0)
    for part in asked.parts:
        own = _score(part)
        score = score * own
        is_exact = is_exact * own if part.score.is_exact else is_exact
    values = score, score * (score - 1), is_exact * float(asked.matches.least_noise), F.lit(1)
    sums = [F.sum(one).alias(name) for one, name in zip(values, _SUMS, strict=True)]
    return patterns.groupBy(_SLOT).agg(*sums)


def _score(part: Part) -> SparkColumn:
    """The score of one unit, by what a pattern shows of it."""
    score, pattern = part.score, F.shiftright(F.col(_PATTERN), part.first)
    values = [F.lit(float(one)) for one in score.values]
    if not score.is_by_vector:
        asked = F.lit(score.asked).cast("long")
        return F.when(pattern.bitwiseAND(asked) == asked, values[1]).otherwise(values[0])
    vector = pattern.bitwiseAND(F.lit((1 << len(part.types)) - 1).cast("long"))
    return F.element_at(F.array(*values), (vector + 1).cast("int"))


def _summed(
    slots: DataFrame, public: Parameters, asked: Asked, period: int | None, level: float
) -> DataFrame:
    """The sums of periods, those that show nothing included, as estimates."""
    score, variance, least, shown = (F.coalesce(F.sum(name), F.lit(0)) for name in _SUMS)
    none = float(asked.matches.at([0] * len(asked.parts)))
    is_noisy = not any(part.score.is_exact for part in asked.parts)
    least_of_none = float(asked.matches.least_noise) * is_noisy
    number = F.sum(_NUMBER)
    blank = (
        F.when(number >= shown, number - shown)
        .otherwise(F.raise_error("more subjects show stand-ins than there are; correct subjects"))
        .cast("double")
    )
    total = score + blank * none
    spread = F.greatest(variance + blank * (none * (none - 1)), least + blank * least_of_none)
    error = F.sqrt(F.greatest(spread, F.lit(0.0)))
    place = F.lit(0) if period is None else F.floor(F.col(_SLOT) / F.lit(period))
    found = slots.groupBy(place.cast("long").alias(_PERIOD)).agg(
        F.min(_SLOT).alias(_SLOT),
        total.alias("estimate"),
        error.alias("standard_error"),
        number.cast("long").alias("subject_slots"),
    )
    start = F.col(_SLOT) if period is None else F.col(_PERIOD) * F.lit(period)
    found = found.withColumn("start", moment_of(start, public))
    return with_interval(found, level, of="subject_slots")
