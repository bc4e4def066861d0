"""What stands between a stream and its readers: a policy, ready to be put around DataFrames."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ppm.dp.secret import SecretRef
from ppm.dp.source import Mode, Seed, reference, source_of
from ppm.errors import BindingError, PpmError, did_you_mean, listed
from ppm.protect.compile import program_of
from ppm.protect.compile_answers import asked_by
from ppm.protect.explain import Explanation, explain
from ppm.protect.find import find_plan
from ppm.protect.nesting import sharing_with
from ppm.protect.open_slots import SUBJECT
from ppm.protect.parameters import Parameters
from ppm.protect.plan import Plan
from ppm.protect.program import Program
from ppm.protect.published import published
from ppm.protect.runnable import refuse_what_does_not_run, told_rows
from ppm.protect.state import SEAL
from ppm.spark.answer import Answers, refuse_subject
from ppm.spark.binding import need_columns, refuse_types
from ppm.spark.drain import drained, newest_row, owner_in, states_in
from ppm.spark.moments import microseconds
from ppm.spark.parameters import COMMUNITY, is_protected
from ppm.spark.predicate import column_type
from ppm.spark.protect import Pipeline
from ppm.spark.shards import quoted
from ppm.spark.streams import binding_faults, plain_schema

SHARDS = 16
"""A fixed number, because a stream must keep it when it goes on elsewhere."""
METRICS = "ppm.protect"
"""The name of the query's observed metrics."""
ANSWER_METRICS = "ppm.answer"
"""The same for answers."""
VARIABLE = "PPM_SECRET"
"""Where the secret is looked for if nothing else is said."""
Subjects = DataFrame | Iterable[str | int]

log = logging.getLogger(__name__)


def load(
    policy: str | Path,
    *,
    secret: str | Path | SecretRef | None = None,
    mode: Mode = "production",
    seed: int | None = None,
) -> Guard:
    """A guard for a policy, given by its file in policies/ or by its name.

    `secret` is the file that holds the secret (`ppm secret new FILE`), or a `SecretRef`; without
    it, the variable PPM_SECRET holds it. Workers read it themselves, from the same place.
    `mode="evaluation"` takes a seed instead: noise that anybody can compute again, for experiments
    only, and what it makes says so.
    """
    plan = find_plan(policy)
    place = SecretRef.file(secret) if isinstance(secret, str | Path) else secret
    if place is None and mode == "production":
        place = SecretRef.variable(VARIABLE)
    noise = reference(mode, secret=place, seed=seed)
    if isinstance(noise, Seed):
        log.warning("%s runs in mode evaluation: its noise hides nothing", plan.policy.name)
    return Guard(plan, noise)


@dataclass(frozen=True)
class Guard:
    """A policy that can be put around DataFrames, batch or streaming."""

    plan: Plan
    noise: SecretRef | Seed

    def __repr__(self) -> str:
        mode = "evaluation" if isinstance(self.noise, Seed) else "production"
        return f"Guard({self.plan.policy.name!r}, version {self.plan.policy.version}, {mode})"

    def explain(self, community: str | None = None) -> Explanation:
        """What the policy promises, as `ppm explain` prints it."""
        return explain(self.plan, community=community)

    def parameters(self, community: str) -> Parameters:
        """What readers of a community may know of its noise, and need for estimates.

        Nothing in it is secret. `write` makes a small file of it, to go with the stream; the
        DataFrames that `protect` gives carry it as well.
        """
        return published(self.plan, community, noise=self.noise)

    def protect(
        self,
        rows: DataFrame,
        community: str,
        *,
        subjects: Subjects | None = None,
        until: str | datetime | None = None,
        shards: int = SHARDS,
        metrics: str | Observation = METRICS,
    ) -> DataFrame:
        """What one community sees of a stream: the same columns, and rows that it may see.

        Rows of no private type pass as they are. Of private types, each slot of each known subject
        gives stand-ins, once the watermark has passed its end.

        `subjects` are the known subjects, if the policy does not declare them: values, or a
        DataFrame with the subject's column, which is read when a stream first starts. `until` ends
        a batch; without it, a batch tells the slots that a stream would have told whose newest row
        is its newest public one. The query's observed metrics (`metrics`) count stand-ins and what
        was lost: they are for whoever runs ppm, and not for readers.

        Streams of communities that are nested belong into one query, `protect_all`: in two of
        them, other rows may be late, and readers who compare notes could tell.
        """
        if community not in self.plan.terms:
            hint = did_you_mean(community, sorted(self.plan.terms))
            raise PpmError(f"{community} is not a community of {self.plan.policy.name}{hint}")
        others = sharing_with(self.plan, community)
        if rows.isStreaming and others:
            log.warning(
                "%s is nested with %s: if each has a query of its own, rows that are late in one "
                "and not in the other tell readers who compare notes; protect_all avoids that",
                community,
                listed(others),
            )
        return self._protected(rows, (community,), subjects, until, shards, metrics, named=False)

    def protect_all(
        self,
        rows: DataFrame,
        *,
        subjects: Subjects | None = None,
        until: str | datetime | None = None,
        shards: int = SHARDS,
        metrics: str | Observation = METRICS,
    ) -> DataFrame:
        """What every community that gets rows sees, in one pass, with a column `community`."""
        every = told_rows(self.plan)
        return self._protected(rows, every, subjects, until, shards, metrics, named=True)

    def answer(
        self,
        rows: DataFrame,
        consumer: str,
        *,
        subjects: Subjects | None = None,
        until: str | datetime | None = None,
        shards: int = SHARDS,
        metrics: str | Observation = ANSWER_METRICS,
    ) -> DataFrame:
        """What a transparent consumer's queries are answered, slot by slot.

        One row for each answer: the subject (null for counts), the start of the `slot`, the name of
        the `query`, and the `answer`. Queries that ask for `matches` look at what the consumer's
        community is told, which costs nothing, and give the number of matches where there are
        some. `existence` (0 or 1, for every known subject and slot) and `count` (over all known
        subjects, for every slot) look at the truth; their noise is what `ppm explain` prints, and
        an answer that no private row can change is exact.

        A match counts in the slot in which it became certain. `subjects`, `until` and `shards` are
        those of `protect`; the query's observed metrics count answers and what was lost.
        """
        asked = asked_by(self.plan, consumer)
        community, stream = asked[0].community, self.plan.policy.stream
        refuse_subject(stream.subject)
        faults = [*binding_faults(rows, self.plan, taken=[])]
        if stream.event_id is not None and not faults:
            need_columns(rows.columns, [("stream.event_id", stream.event_id)])
            refuse_types(
                rows.schema, subject=stream.subject, time=stream.time, event_id=stream.event_id
            )
        if rows.isStreaming and not all(one.is_answered_on_truth for one in asked):
            log.warning(
                "%s asks for matches in what %s is told: if another stream tells that too, rows "
                "that are late in one and not in the other tell whoever reads both; look for "
                "matches in what protect has written, or let nobody else have it",
                consumer,
                community,
            )
        program, known = self._bound(rows, [community], subjects, until, shards, faults)
        pipeline = Pipeline(self.plan, program, metrics)
        return Answers(pipeline, asked, metrics).answered(rows, subjects=known, until=_end(until))

    def drain(
        self,
        checkpoint: str | Path,
        *,
        until: str | datetime | None = None,
        session: SparkSession | None = None,
    ) -> DataFrame:
        """What a stopped stream still holds, as a batch: slots that no watermark has closed.

        The columns are those that the stream had. All slots up to `until` are told, or up to that
        of the newest row, with the noise that the stream would have drawn. Afterwards, start anew
        with a new checkpoint folder, a new version and a later `from`: a stream that went on would
        tell these slots a second time.
        """
        running = session or SparkSession.active()
        place = str(checkpoint)
        states = states_in(running, place)
        owner = owner_in(states)
        program = program_of(
            self.plan,
            owner["the set of communities"].split(","),
            noise=self.noise,
            columns=owner["the set of columns"],
            shards=int(owner["the number of shards"]),
            knows_subjects=owner["the declaration of subjects"] == "True",
            names_communities=owner["the column community"] == "True",
        )
        SEAL.refuse_another(owner, program.owner(source_of(self.noise)))
        if until is None:
            newest = newest_row(running, place, self.plan.policy.stream.lateness)
            end = program.end_of((newest - program.start) // program.slot)
        else:
            end = microseconds(until, "until") - 1
        return drained(states, Pipeline(self.plan, program, METRICS), end=end)

    def _protected(
        self,
        rows: DataFrame,
        communities: Sequence[str],
        subjects: Subjects | None,
        until: str | datetime | None,
        shards: int,
        metrics: str | Observation,
        *,
        named: bool,
    ) -> DataFrame:
        refuse_what_does_not_run(self.plan, communities)
        faults = [*binding_faults(rows, self.plan, taken=[COMMUNITY] if named else [])]
        program, known = self._bound(
            rows, communities, subjects, until, shards, faults, named=named
        )
        return Pipeline(self.plan, program, metrics).protected(
            rows, subjects=known, until=_end(until)
        )

    def _bound(
        self,
        rows: DataFrame,
        communities: Sequence[str],
        subjects: Subjects | None,
        until: str | datetime | None,
        shards: int,
        faults: Sequence[str],
        *,
        named: bool = False,
    ) -> tuple[Program, DataFrame | None]:
        """The program for a DataFrame, and the known subjects, if they are declared."""
        if is_protected(rows):
            raise BindingError("the DataFrame was protected already; give the rows as they came")
        if faults:
            raise BindingError("\n".join(faults))
        if until is not None and rows.isStreaming:
            raise BindingError("until ends a batch; a stream goes on until it is stopped")
        source_of(self.noise)  # a missing secret is told here, not by a worker
        known = self._known(rows, subjects)
        program = program_of(
            self.plan,
            communities,
            noise=self.noise,
            columns=plain_schema(rows).json(),
            shards=shards,
            knows_subjects=known is not None,
            names_communities=named,
        )
        return program, known

    def _known(self, rows: DataFrame, subjects: Subjects | None) -> DataFrame | None:
        """The declared subjects as a frame with one column; None if they become known by rows."""
        stream = self.plan.policy.stream
        if subjects is not None and stream.subjects != "seen":
            raise BindingError(
                f"subjects are declared by the policy {self.plan.policy.name} already; leave them "
                "out here, or say subjects: seen there"
            )
        kind = rows.schema[stream.subject].dataType
        if isinstance(subjects, DataFrame):
            if stream.subject not in subjects.columns or subjects.isStreaming:
                raise BindingError(
                    f"subjects must be a batch DataFrame with a column {stream.subject}"
                )
            given = subjects.schema[stream.subject].dataType
            if column_type(given) != column_type(kind):
                raise BindingError(
                    f"subjects has {stream.subject} as {given.simpleString()}, and the stream has "
                    f"it as {kind.simpleString()}; cast one of them"
                )
            # A number that is too large for the stream's column is nobody's there.
            return subjects.select(F.col(quoted(stream.subject)).try_cast(kind).alias(SUBJECT))
        if subjects is None and stream.subjects == "seen":
            return None
        values = stream.subjects if subjects is None else subjects
        return _frame_of(rows.sparkSession, values, kind)


def _frame_of(session: SparkSession, values: Iterable[str | int], kind: T.DataType) -> DataFrame:
    is_text = isinstance(kind, T.StringType)
    given = None if isinstance(values, str | bytes) else [*values]
    typed = [(one if is_text else _whole_number(one),) for one in given or ()]
    if given is None or not all(type(one) is (str if is_text else int) for (one,) in typed):
        raise BindingError(
            "subjects must be a list of texts, or of whole numbers where the stream's column "
            "holds them, or a DataFrame"
        )
    schema = T.StructType([T.StructField(SUBJECT, T.StringType() if is_text else T.LongType())])
    frame = session.createDataFrame(typed, schema)
    return frame.select(F.col(SUBJECT).cast(kind).alias(SUBJECT))


def _end(until: str | datetime | None) -> int | None:
    return None if until is None else microseconds(until, "until")


def _whole_number(value: object) -> object:
    """A policy writes numbers as texts."""
    is_written = isinstance(value, str) and value.lstrip("-").isdecimal()
    return int(str(value)) if is_written else value
