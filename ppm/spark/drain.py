"""What a stopped stream still holds: the slots that no watermark has closed."""

from __future__ import annotations

import json

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_type

from ppm.cep.seal import Owner
from ppm.errors import CheckpointError
from ppm.protect.open_slots import gathered_schema
from ppm.protect.state import SEAL
from ppm.protect.step import Protection
from ppm.spark.protect import Pipeline
from ppm.spark.shards import START_OF_TIME, STATE, delay_of, finish_shards
from ppm.spec.values import Duration


def states_in(session: SparkSession, checkpoint: str) -> DataFrame:
    """The state of every shard, as a stopped stream left it."""
    try:
        state = session.read.format("statestore").option("stateVarName", STATE)
        states = state.load(checkpoint).select("key.shard", "value.blob")
        if states.isEmpty():
            raise CheckpointError(f"{checkpoint} holds no state yet; there is nothing to drain")
    except PySparkException:
        raise CheckpointError(
            f"{checkpoint} is not the checkpoint folder of a protected stream"
        ) from None
    return states


def owner_in(states: DataFrame) -> Owner:
    """What the state belongs to."""
    first = states.first()
    assert first is not None
    return SEAL.owner_of(bytes(first.blob))


def drained(states: DataFrame, pipeline: Pipeline, *, end: int) -> DataFrame:
    """The stand-ins of all slots up to an end, in microseconds."""
    program, subject = pipeline.program, pipeline.plan.policy.stream.subject
    told = finish_shards(
        states,
        Protection(program),
        rows=gathered_schema(program, to_arrow_type(pipeline.columns[subject].dataType)),
        end=end,
        output=pipeline.released,
    )
    return pipeline.shaped(pipeline.stand_ins(told))


def newest_row(session: SparkSession, checkpoint: str, lateness: Duration) -> int:
    """The latest moment that the stream's newest row can have, from Spark's log of commits.

    Spark counts the watermark in milliseconds, and 0 says that there was no row.
    """
    log = session.read.text(f"{checkpoint}/commits", wholetext=True)
    commits = log.select("_metadata.file_name", "value").collect()
    numbered = [(int(one.file_name), one.value) for one in commits if one.file_name.isdigit()]
    if not numbered:
        raise CheckpointError(f"{checkpoint} has no finished batch; there is nothing to drain")
    _, text = max(numbered)
    _version, _, said = text.partition("\n")
    watermark = int(json.loads(said)["nextBatchWatermarkMs"])
    return 1000 * (watermark + delay_of(lateness)) + 999 if watermark else START_OF_TIME
