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
from ppm.dp.source import Mode, Seed, source_of
from ppm.errors import BindingError, PpmError, SecretError, did_you_mean
from ppm.protect.compile import program_of
from ppm.protect.explain import Explanation, explain
from ppm.protect.find import find_plan
from ppm.protect.open_slots import SUBJECT
from ppm.protect.plan import Plan
from ppm.protect.runnable import refuse_what_does_not_run, told_rows
from ppm.protect.state import SEAL
from ppm.spark.drain import drained, last_watermark, owner_in, states_in
from ppm.spark.protect import COMMUNITY, Pipeline
from ppm.spark.shards import quoted
from ppm.spark.streams import binding_faults, plain_schema
from ppm.spec.instant import microseconds_since_1970, parse_instant

SHARDS = 16
"""A fixed number, because a stream must keep it when it goes on elsewhere."""
METRICS = "ppm.protect"
"""The name of the query's observed metrics."""
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
    if mode == "evaluation":
        if seed is None or secret is not None:
            raise SecretError("mode='evaluation' takes a seed and no secret")
        log.warning("%s runs in mode evaluation: its noise hides nothing", plan.policy.name)
        return Guard(plan, Seed(seed))
    if mode != "production":
        raise SecretError(f"mode is {mode}{did_you_mean(mode, ['production', 'evaluation'])}")
    if seed is not None:
        raise SecretError(
            "a seed was given in production: noise that anybody can compute again hides nothing; "
            "give a secret, or say mode='evaluation'"
        )
    if secret is None:
        return Guard(plan, SecretRef.variable(VARIABLE))
    return Guard(plan, secret if isinstance(secret, SecretRef) else SecretRef.file(secret))


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
        a batch; without it, a batch ends with the slot of its newest public row. The query's
        observed metrics (`metrics`) count stand-ins and what was lost: they are for whoever runs
        ppm, and not for readers.
        """
        if community not in self.plan.terms:
            hint = did_you_mean(community, sorted(self.plan.terms))
            raise PpmError(f"{community} is not a community of {self.plan.policy.name}{hint}")
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

    def drain(self, checkpoint: str | Path, *, session: SparkSession | None = None) -> DataFrame:
        """What a stopped stream still holds, as a batch: slots that no watermark has closed.

        The columns are those that the stream had. All slots up to that of the newest row are told,
        with the noise that the stream would have drawn. Afterwards, start anew with a checkpoint of
        its own and a later `from`: a stream that went on would tell these slots a second time.
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
        delay = -(-self.plan.policy.stream.lateness.microseconds // 1000)
        newest = 1000 * (last_watermark(running, place) + delay)
        return drained(states, Pipeline(self.plan, program, METRICS), newest=newest)

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
        return Pipeline(self.plan, program, metrics).protected(
            rows, subjects=known, until=None if until is None else _microseconds(until)
        )

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
            return subjects.select(F.col(quoted(stream.subject)).cast(kind).alias(SUBJECT))
        if subjects is None and stream.subjects == "seen":
            return None
        values = stream.subjects if subjects is None else subjects
        return _frame_of(rows.sparkSession, values, kind)


def _frame_of(session: SparkSession, values: Iterable[str | int], kind: T.DataType) -> DataFrame:
    is_text = isinstance(kind, T.StringType)
    try:
        typed = [(str(value) if is_text else int(value),) for value in values]
    except ValueError:
        raise BindingError("a declared subject is no whole number, as the column holds") from None
    schema = T.StructType([T.StructField(SUBJECT, T.StringType() if is_text else T.LongType())])
    frame = session.createDataFrame(typed, schema)
    return frame.select(F.col(SUBJECT).cast(kind).alias(SUBJECT))


def _microseconds(moment: str | datetime) -> int:
    if isinstance(moment, datetime):
        if moment.tzinfo is None:
            raise BindingError("until is a time without a zone; give it one")
        return microseconds_since_1970(moment)
    try:
        return microseconds_since_1970(parse_instant(moment))
    except ValueError as error:
        raise BindingError(f"until is {moment}; {error}") from None
