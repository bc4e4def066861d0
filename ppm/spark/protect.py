"""A protected DataFrame: public rows as they are, private types by what their slots tell.

Rows of no private type stay in the JVM, but for whose they are and when, where that makes a subject
known. The others become bits, go through the packed-shard operator, and come back as stand-ins,
which Catalyst writes out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_type

from ppm.protect.compile import private_types
from ppm.protect.open_slots import SLOT, SUBJECT, TIME, bit_names
from ppm.protect.parameters import Parameters
from ppm.protect.plan import Plan
from ppm.protect.program import Program
from ppm.protect.published import published_of
from ppm.protect.step import LOSSES, TOLD, Protection, released_schema
from ppm.spark.binding import bit_words, never
from ppm.spark.parameters import COMMUNITY, metadata
from ppm.spark.predicate import to_column
from ppm.spark.shards import Shards, delay_of, quoted, run_in_shards, with_watermark
from ppm.spec.columns import Drop, Snap
from ppm.spec.pattern import EventType

_TO = "__ppm_to"
"""To whom a row is told, while it is made."""


@dataclass(frozen=True)
class Pipeline:
    """A plan and its program, bound to the columns of a stream."""

    plan: Plan
    program: Program
    metrics: str | Observation

    @property
    def shards(self) -> Shards:
        """How what happened is spread over shards."""
        return Shards(SUBJECT, TIME, self.plan.policy.stream.lateness, self.program.shards)

    @cached_property
    def types(self) -> Mapping[str, EventType]:
        """The private types in the order of the program's bits."""
        return private_types(self.plan)

    @cached_property
    def columns(self) -> T.StructType:
        """The stream's own columns."""
        return T.StructType.fromJson(json.loads(self.program.columns))

    @property
    def released(self) -> T.StructType:
        """What the operator gives out."""
        subject = self.columns[self.plan.policy.stream.subject].dataType
        return from_arrow_schema(released_schema(to_arrow_type(subject)))

    def protected(
        self, rows: DataFrame, *, subjects: DataFrame | None, until: int | None
    ) -> DataFrame:
        """The rows that the program's communities are told."""
        told = run_in_shards(
            self.happened(rows),
            Protection(self.program),
            shards=self.shards,
            output=self.released,
            seeds=subjects,
            end=None if rows.isStreaming else self.end_of_batch(rows, until),
        )
        return self.shaped(self._public(rows).unionByName(self.stand_ins(told)))

    def happened(self, rows: DataFrame) -> DataFrame:
        """Whose, when and which bits, of the rows that the operator must see."""
        stream = self.plan.policy.stream
        marked = with_watermark(rows, stream.time, stream.lateness)
        predicates = [event.where.tree for event in self.types.values()]
        words = bit_words(predicates, rows.schema, zones=stream.zones, timezone=stream.timezone)
        bits = bit_names(len(words))
        found = marked.select(
            F.col(quoted(stream.subject)).alias(SUBJECT),
            F.col(quoted(stream.time)).alias(TIME),
            *(word.alias(name) for name, word in zip(bits, words, strict=True)),
        )
        if not self.program.knows_subjects:
            return found  # a public row makes its subject known
        is_lost = F.col(SUBJECT).isNull() | F.col(TIME).isNull()
        is_private = reduce(SparkColumn.__or__, (F.col(name) != 0 for name in bits), is_lost)
        return found.where(is_private | never(TIME))

    def stand_ins(self, told: DataFrame) -> DataFrame:
        """What was released as rows of the stream: public values, and the slot's start as time."""
        kinds = len(self.program.communities)
        shown = self._counted(told).where(F.col(TOLD) >= 0)
        type_ = F.floor(F.col(TOLD) / F.lit(kinds)).cast("int")
        community = F.lit(self.program.communities[0])
        for number, name in enumerate(self.program.communities[1:], start=1):
            community = F.when(F.col(TOLD) % kinds == number, F.lit(name)).otherwise(community)
        return shown.select(
            *(self.value(field, type_).alias(field.name) for field in self.columns),
            community.alias(_TO),
        )

    def shaped(self, rows: DataFrame) -> DataFrame:
        """The rows in the form that callers get, after the rules for columns."""
        community = F.col(_TO)
        told = metadata(self.program, self._parameters)
        subject = self.plan.policy.stream.subject
        columns = [
            self._ruled(field, community).alias(field.name, metadata=told)
            if field.name == subject
            else self._ruled(field, community).alias(field.name)
            for field in self.columns
        ]
        named = [community.alias(COMMUNITY)] if self.program.names_communities else []
        return rows.select(*columns, *named)

    @property
    def _parameters(self) -> Parameters | None:
        """What the readers of a frame for one community need; answers go another way."""
        if self.program.names_communities:
            return None
        [community] = self.program.communities
        return replace(published_of(self.plan, self.program, community), answers=())

    def _public(self, rows: DataFrame) -> DataFrame:
        """The rows that communities see as they are, once for each of them."""
        stream = self.plan.policy.stream
        is_there = (
            F.col(quoted(stream.subject)).isNotNull() & F.col(quoted(stream.time)).isNotNull()
        )
        seen = [
            F.when(self.is_public(rows, self.private_to(name)), F.lit(name))
            for name in self.program.communities
        ]
        own = [F.col(quoted(field.name)) for field in self.columns]
        if len(seen) == 1:
            marked = rows.select(*own, seen[0].alias(_TO))
            return marked.where(F.col(_TO).isNotNull() & is_there | never(stream.time))
        communities = F.filter(F.array(*seen), lambda name: name.isNotNull())
        marked = rows.select(*own, communities.alias(_TO))
        kept = marked.where((F.size(_TO) > 0) & is_there | never(stream.time))
        return kept.select(*own, F.explode(_TO).alias(_TO))

    def private_to(self, community: str) -> Sequence[EventType]:
        """The types that a community is kept from."""
        return [*self.plan.types(self.plan.terms[community]).values()]

    def is_public(self, rows: DataFrame, types: Sequence[EventType]) -> SparkColumn:
        """Whether a row satisfies none of some predicates; unknown is not yes."""
        stream = self.plan.policy.stream
        met = (
            to_column(event.where.tree, rows.schema, zones=stream.zones, timezone=stream.timezone)
            for event in types
        )
        unmet = (~F.coalesce(one, F.lit(False)) for one in met)
        return reduce(SparkColumn.__and__, unmet, F.lit(True))

    def end_of_batch(self, rows: DataFrame, until: int | None) -> DataFrame:
        """The last moment of a batch: given, or the watermark that its newest public row gives.

        So it ends where a stream would, before slots that may still fill. A private row must not
        decide it: that a slot is told of at all would give the row away.
        """
        if until is not None:
            return rows.sparkSession.range(1).select(F.lit(until - 1).cast("long"))
        stream = self.plan.policy.stream
        is_there = F.col(quoted(stream.subject)).isNotNull()
        newest = F.max(F.unix_millis(F.col(quoted(stream.time))))
        public = rows.where(self.is_public(rows, [*self.types.values()]) & is_there)
        return public.select((newest - F.lit(delay_of(stream.lateness))) * 1000 - 1)

    def _counted(self, told: DataFrame) -> DataFrame:
        """The same rows; the query's metrics count stand-ins and losses."""
        counts = [F.count_if(F.col(TOLD) >= 0).alias("stand_ins")]
        for number, name in enumerate(LOSSES, start=1):
            lost = F.sum(F.when(F.col(TOLD) == -number, F.col(SLOT)))
            counts.append(F.coalesce(lost, F.lit(0)).alias(name))
        return told.observe(self.metrics, *counts)

    def value(self, field: T.StructField, type_: SparkColumn) -> SparkColumn:
        """What a stand-in has in a column."""
        stream = self.plan.policy.stream
        if field.name == stream.subject:
            return F.col(SUBJECT)
        if field.name == stream.time:
            since = F.lit(self.program.start) + F.col(SLOT) * F.lit(self.program.slot)
            return F.timestamp_micros(since)
        value = F.lit(None).cast(field.dataType)
        for number, event in enumerate(self.types.values()):
            if event.stand_in is not None and field.name in event.stand_in:
                public = F.lit(event.stand_in[field.name]).cast(field.dataType)
                value = F.when(type_ == number, public).otherwise(value)
        return value

    def _ruled(self, field: T.StructField, community: SparkColumn) -> SparkColumn:
        """A column after the rules of each community."""
        value = F.col(quoted(field.name))
        for name, ruled in self.rules(field):
            value = F.when(community == name, ruled).otherwise(value)
        return value

    def rules(self, field: T.StructField) -> Iterator[tuple[str, SparkColumn]]:
        """A column as its communities see it, for those that see it changed."""
        own = F.col(quoted(field.name))
        for name in self.program.communities:
            for term in self.plan.terms[name].rules_on(field.name):
                match term.rule:
                    case Drop():
                        yield name, F.lit(None).cast(field.dataType)
                    case Snap(grid=grid):
                        moved = F.rint(own.cast("double") / F.lit(grid)) * F.lit(grid)
                        yield name, moved.try_cast(field.dataType)
