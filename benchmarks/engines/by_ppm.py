"""ppm itself: `ppm.detect`, as a user calls it."""

from __future__ import annotations

from pyspark.sql import DataFrame

import ppm
from engines.data import LATENESS, WITHIN
from ppm.spec.pattern import Pattern


def sequence(labels: str) -> Pattern:
    """Three labels, one followed by the other, as ABC for A -> B -> C."""
    stages = dict(zip("abc", labels, strict=True))
    return Pattern(
        name=f"p-{'-'.join(str(ord(label)) for label in labels)}",
        events={stage: f"label = '{label}'" for stage, label in stages.items()},
        sequence=" -> ".join(stages),
        within=WITHIN,
    )


def detect_with_ppm(events: DataFrame, labels: list[str]) -> DataFrame:
    """All matches of some patterns, in one operator."""
    patterns = [sequence(one) for one in labels]
    return ppm.detect(
        events, patterns, subject="subject", time="ts", event_id="id", lateness=LATENESS
    )
