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
from ppm.spark.shards import STATE, finish_shards


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


def drained(states: DataFrame, pipeline: Pipeline, *, newest: int) -> DataFrame:
    """The stand-ins of all slots up to that of the newest row, in microseconds."""
    program, subject = pipeline.program, pipeline.plan.policy.stream.subject
    told = finish_shards(
        states,
        Protection(program),
        rows=gathered_schema(program, to_arrow_type(pipeline.columns[subject].dataType)),
        end=program.end_of(program.first_open(newest)),
        output=pipeline.released,
    )
    return pipeline.shaped(pipeline.stand_ins(told))


def last_watermark(session: SparkSession, checkpoint: str) -> int:
    """The watermark that the stream reached, in milliseconds, from Spark's log of commits."""
    log = session.read.text(f"{checkpoint}/commits", wholetext=True)
    commits = log.select("_metadata.file_name", "value").collect()
    numbered = [(int(one.file_name), one.value) for one in commits if one.file_name.isdigit()]
    if not numbered:
        raise CheckpointError(f"{checkpoint} has no finished batch; there is nothing to drain")
    _, text = max(numbered)
    _version, _, said = text.partition("\n")
    return int(json.loads(said)["nextBatchWatermarkMs"])
