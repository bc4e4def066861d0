"""The answers that a consumer gets: its queries, asked inside the operator.

Catalyst says which rows meet the predicates of queries: on the truth as they came, and on what the
community is told after the rules for its columns. Rows that matter to nobody stay in the JVM.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce

import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_type

from ppm.errors import BindingError
from ppm.protect.answering import Answering
from ppm.protect.compile_answers import questions_of
from ppm.protect.found import ANSWER, ASKED, answer_schema
from ppm.protect.open_slots import SLOT, SUBJECT, TIME, bit_names
from ppm.protect.plan import Plan, Question
from ppm.protect.program import Program
from ppm.protect.published import published_of
from ppm.protect.questions import EVENT_ID, IS_TOLD, Questions, Side
from ppm.protect.step import LOSSES
from ppm.protect.tally import Tally
from ppm.spark.binding import bit_words, content_hash, never
from ppm.spark.gathered import gathered
from ppm.spark.parameters import KEY, metadata
from ppm.spark.predicate import column_type
from ppm.spark.protect import Pipeline
from ppm.spark.shards import quoted, run_in_shards, with_watermark
from ppm.spec.expression.kinds import ColumnType

COLUMNS = ("slot", "query", "answer")
"""What is told besides whose it is."""


@dataclass(frozen=True)
class Answers:
    """A consumer's queries, bound to the columns of a stream."""

    pipeline: Pipeline
    """What the community is told, and whose slots there are."""
    asked: Sequence[Question]
    metrics: str | Observation

    @property
    def plan(self) -> Plan:
        """The policy."""
        return self.pipeline.plan

    @property
    def program(self) -> Program:
        """What runs for its community."""
        return self.pipeline.program

    def answered(
        self, rows: DataFrame, *, subjects: DataFrame | None, until: int | None
    ) -> DataFrame:
        """One row for each answer."""
        questions = self.questions(rows)
        step = Answering(self.program, questions)
        answers = run_in_shards(
            self.wanted(rows, questions),
            step,
            shards=self.pipeline.shards,
            output=from_arrow_schema(answer_schema(self._subject_type)),
            seeds=subjects,
            end=None if rows.isStreaming else self.pipeline.end_of_batch(rows, until),
            then=partial(gathered, then=Tally(self.program, questions))
            if questions.counts
            else None,
        )
        return self.shaped(answers, questions)

    def questions(self, rows: DataFrame) -> Questions:
        """The queries, ready to run on these columns."""
        of_told = any(not one.is_answered_on_truth for one in self.asked)
        return questions_of(
            self.plan,
            self.asked,
            columns=[(field.name, column_type(field.dataType)) for field in rows.schema],
            stand_ins=self._stand_ins(rows.sparkSession) if of_told else None,
        )

    def wanted(self, rows: DataFrame, questions: Questions) -> DataFrame:
        """Whose, when, and what queries ask of it, of the rows that the operator must see."""
        stream, sides = self.plan.policy.stream, questions.sides
        marked = with_watermark(rows, stream.time, stream.lateness)
        predicates = [event.where.tree for event in self.pipeline.types.values()]
        words = bit_words(predicates, rows.schema, zones=stream.zones, timezone=stream.timezone)
        bits = bit_names(len(words))
        private = self.pipeline.private_to(self.program.communities[0])
        is_told = self.pipeline.is_public(rows, private)
        truth = marked.select(
            F.col(quoted(stream.subject)).alias(SUBJECT),
            F.col(quoted(stream.time)).alias(TIME),
            *(word.alias(name) for name, word in zip(bits, words, strict=True)),
            is_told.alias(IS_TOLD),
            *self._seen(marked, [side for side in sides if not side.is_told]),
            *self._after_rules(rows),
        )
        own = [field.name for field in rows.schema]
        hidden = [F.col(quoted(name)) for name in truth.columns if name not in own]
        told = [side for side in sides if side.is_told]
        after = truth.select(*(F.col(quoted(name)) for name in own))
        found = truth.select(*hidden, *self._seen(after, told))
        if not self.program.knows_subjects:
            return found  # a public row makes its subject known
        is_wanted = F.col(SUBJECT).isNull() | F.col(TIME).isNull()
        if told:
            is_wanted = reduce(SparkColumn.__or__, (F.col(name) != 0 for name in bits), is_wanted)
        for side in sides:
            met = (F.col(name) != 0 for name in side.bits.values())
            met_any = reduce(SparkColumn.__or__, met, F.lit(side.watched.needs_every_event))
            is_wanted |= met_any & F.col(IS_TOLD) if side.is_told else met_any
        return found.where(is_wanted | never(TIME))

    def shaped(self, answers: DataFrame, questions: Questions) -> DataFrame:
        """Answers in the form that callers get; the query's metrics count them and losses."""
        counts = [F.count_if(F.col(ASKED) >= 0).alias("answers")]
        for number, name in enumerate(LOSSES, start=1):
            lost = F.sum(F.when(F.col(ASKED) == -number, F.col(ANSWER)))
            counts.append(F.coalesce(lost, F.lit(0)).alias(name))
        names = F.array(*(F.lit(one.name) for one in questions.asked))
        since = F.lit(self.program.start) + F.col(SLOT) * F.lit(self.program.slot)
        community = self.asked[0].community
        public = published_of(self.plan, self.program, community)
        own = tuple(one for one in public.answers if one.consumer == questions.consumer)
        label = metadata(self.program, replace(public, answers=own))
        label[KEY]["consumer"] = questions.consumer
        told = answers.observe(self.metrics, *counts).where(F.col(ASKED) >= 0)
        return told.select(
            F.col(SUBJECT).alias(self.plan.policy.stream.subject, metadata=label),
            F.timestamp_micros(since).alias("slot"),
            F.element_at(names, F.col(ASKED) + 1).alias("query"),
            F.col(ANSWER).alias("answer"),
        )

    @property
    def _subject_type(self) -> pa.DataType:
        subject = self.plan.policy.stream.subject
        return to_arrow_type(self.pipeline.columns[subject].dataType)

    def _after_rules(self, rows: DataFrame) -> Iterator[SparkColumn]:
        """The stream's columns as the community sees them."""
        for field in rows.schema:
            yield self._after_rule(field).alias(field.name)

    def _after_rule(self, field: T.StructField) -> SparkColumn:
        changed = [value for _, value in self.pipeline.rules(field)]
        return [F.col(quoted(field.name)), *changed][-1]

    def _seen(self, rows: DataFrame, sides: Sequence[Side]) -> list[SparkColumn]:
        """What some queries need of rows, as they see them."""
        stream, found = self.plan.policy.stream, dict[str, SparkColumn]()
        for side in sides:
            for name, travels in side.columns.items():
                found[travels] = F.col(quoted(name))
            words = bit_words(
                side.watched.predicates,
                rows.schema,
                zones=stream.zones,
                timezone=stream.timezone,
            )
            found |= dict(zip(side.bits.values(), words, strict=True))
            found[side.content] = content_hash(rows, instead="drop it before answer")
            if side.has_ids:
                found[side.event_id] = self._id(rows.schema)
        return [column.alias(name) for name, column in found.items()]

    def _id(self, schema: T.StructType) -> SparkColumn:
        """The ids of rows; those without one come first."""
        name = self.plan.policy.stream.event_id
        assert name is not None
        if isinstance(schema[name].dataType, T.StringType):
            return F.coalesce(F.col(quoted(name)), F.lit(""))
        return F.coalesce(F.col(quoted(name)).cast("long"), F.lit(-(1 << 63)).cast("long"))

    def _stand_ins(self, session: SparkSession) -> pa.Table:
        """The stand-ins of all private types as the community sees them."""
        stream = self.plan.policy.stream
        fields = [
            field
            for field in self.pipeline.columns
            if field.name not in (stream.subject, stream.time)
            and isinstance(column_type(field.dataType), ColumnType)
        ]
        number = F.col("id").cast("int")
        types = session.range(len(self.pipeline.types)).select(
            number.alias(SLOT),
            *(self.pipeline.value(field, number).alias(field.name) for field in fields),
        )
        ruled = types.select(
            F.col(SLOT),
            *(self._after_rule(field).alias(field.name) for field in fields),
        )
        if stream.event_id is not None:
            ruled = ruled.withColumn(EVENT_ID, self._id(ruled.schema))
        return ruled.toArrow().sort_by(SLOT).drop_columns([SLOT])


def refuse_subject(subject: str) -> None:
    """A subject's column must not be called like what is told of it."""
    if subject.casefold() in COLUMNS:
        raise BindingError(
            f"the subject's column is called {subject}, like one of answers; rename it"
        )
