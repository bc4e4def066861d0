"""The quiet house with a ward that gets answers: a project, and ways to read what was answered."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.spark.house_events import POLICY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WARD = """\
communities:
  ward:
    protect:
      medicine-taken: { mechanism: answers, epsilon: 4 }
      visitor: { mechanism: answers, epsilon: 4 }
      restless: { epsilon: 2 }
"""
BOARD = """\
name: board
policy: quiet-house
community: ward
model: transparent
queries:
  - { name: taken, pattern: medicine-taken, ask: existence }
  - { name: visits, pattern: visitor, ask: count, cap: 3 }
  - name: nights
    pattern:
      name: up
      events: { bed: sensor = 'bed', bathroom: sensor = 'bathroom' }
      sequence: bed -> bathroom
      within: 3 h
  - name: baking
    pattern: { name: baking, events: { oven: sensor = 'oven' AND watts > 800 }, sequence: oven }
    ask: count
    cap: 5
"""
QUERIES = ("taken", "visits", "nights", "baking")


def write_project(folder: Path) -> Path:
    """The project; gives the file of its policy."""
    for name in ("patterns", "priors"):
        shutil.copytree(POLICY.parents[1] / name, folder / name)
    for name, text in (
        ("policies/quiet-house.yaml", POLICY.read_text().replace("communities:\n", WARD)),
        ("consumers/board.yaml", BOARD),
    ):
        (folder / name).parent.mkdir()
        (folder / name).write_text(text)
    return folder / "policies" / "quiet-house.yaml"


def answered(frame: DataFrame) -> Counter[tuple[Any, ...]]:
    """What a frame says, each answer as often as it stands there."""
    rows = frame.selectExpr("flat", "unix_micros(slot) AS slot", "query", "answer")
    return Counter(map(tuple, rows.collect()))
