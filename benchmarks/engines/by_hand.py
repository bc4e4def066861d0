"""What one writes without ppm: `applyInPandasWithState`, one call for each key and micro-batch.

It is correct: events wait for the watermark, are taken in order of time, and open runs live until
the window ends. Irrelevant events are left out before the shuffle, as one would do by hand.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd
from pyspark import cloudpickle
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from engines.data import LATENESS_MS, WITHIN_MS

_OUTPUT = "subject bigint, times array<bigint>, ids array<bigint>"
_STATE = "open string"  # JSON, because pyspark 4.3 cannot read a state that has arrays


def detect_by_hand(events: DataFrame) -> DataFrame:
    """All A -> B -> C within the window, for each subject of a stream."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file
    events = events.withWatermark("ts", f"{LATENESS_MS} milliseconds")
    relevant = events.where(F.col("label").isin("A", "B", "C"))
    return relevant.groupBy("subject").applyInPandasWithState(
        _of_one_subject, _OUTPUT, _STATE, "append", GroupStateTimeout.EventTimeTimeout
    )


def _of_one_subject(
    key: tuple[int], frames: Iterator[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    held, after_a, after_b = json.loads(state.get[0]) if state.exists else ([], [], [])
    for frame in frames:
        times = frame["ts"].to_numpy("datetime64[ms]").astype(np.int64).tolist()
        held += zip(times, frame["id"].tolist(), frame["label"].tolist(), strict=True)
    held.sort(key=itemgetter(0))
    watermark = state.getCurrentWatermarkMs()
    ready = [event for event in held if event[0] <= watermark]
    held, found = held[len(ready) :], []
    for time, number, label in ready:
        after_a, after_b = _alive(after_a, time), _alive(after_b, time)
        if label == "A":
            after_a.append([(time, number)])
        elif label == "B":
            after_b += [[*run, (time, number)] for run in after_a]
            after_a = []
        else:
            found += [[*run, (time, number)] for run in after_b]
            after_b = []
    _keep(state, held, after_a, after_b)
    if found:
        times, ids = ([[event[part] for event in run] for run in found] for part in (0, 1))
        yield pd.DataFrame({"subject": key[0], "times": times, "ids": ids})


def _alive(runs: list[Any], time: int) -> list[Any]:
    return [run for run in runs if time - run[0][0] < WITHIN_MS]


def _keep(state: GroupState, held: list[Any], after_a: list[Any], after_b: list[Any]) -> None:
    """Save what is open, and ask for a call when the watermark reaches a held event or an end."""
    if not (held or after_a or after_b):
        if state.exists:
            state.remove()
        return
    state.update((json.dumps((held, after_a, after_b)),))
    ends = [run[0][0] + WITHIN_MS for run in (*after_a[:1], *after_b[:1])]
    next_call = min(ends + [event[0] for event in held[:1]])
    state.setTimeoutTimestamp(max(next_call, state.getCurrentWatermarkMs() + 1))
