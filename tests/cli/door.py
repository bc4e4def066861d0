"""A small project about a smart door, and what a command leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

FILES = {
    "patterns/house-empty.yaml": """\
name: house-empty
doc: Locked | from outside, then armed
events:
  lock: {where: "kind = 'locked'", stand_in: {kind: locked}}
  arm: {where: "kind = 'armed'", stand_in: {kind: armed}}
sequence: lock -> arm
within: 10 min
""",
    "policies/smart-door.yaml": """\
name: smart-door
version: 2
doc: What others learn from a front door.
stream:
  subject: door
  time: at
  slot: 1 h
  from: 2026-01-01T00:00:00Z
  lateness: 5 min
  columns: {door: string, at: timestamp, kind: string, watts: double}
communities:
  services:
    doc: Companies that were booked.
    protect:
      house-empty: {mechanism: response, epsilon: 2}
    columns:
      - {rule: drop, column: watts}
  researchers:
    rows: withheld
    protect:
      house-empty: {mechanism: answers, epsilon: 1}
    horizon: {over: 30 d, epsilon: 50, then: withhold}
prior:
  source: the makers' own doors
  rates: {lock: 15 %, arm: 12 %}
""",
    "consumers/heating.yaml": """\
name: heating
policy: smart-door
community: services
model: transparent
queries:
  - {name: turn-down, pattern: house-empty, minimum: {recall: 50 %}}
  - name: new-battery
    pattern: {name: low, events: {low: "kind = 'low'"}, sequence: low}
""",
    "consumers/study.yaml": """\
name: study
policy: smart-door
community: researchers
model: transparent
queries:
  - {name: how-many, pattern: house-empty, ask: count, cap: 2}
""",
}


@dataclass(frozen=True, slots=True)
class Run:
    """What a command left behind."""

    code: int
    out: str
    err: str


Ppm = Callable[..., Run]


def edit(file: Path, old: str, new: str) -> None:
    """Change one place of a file."""
    text = file.read_text("utf-8")
    assert text.count(old) == 1
    file.write_text(text.replace(old, new), "utf-8")
