"""A small project without faults, for tests that spoil it in one place."""

from __future__ import annotations

from pathlib import Path

from ppm.protect.check import Checked, check_project

VISIT = "patterns/visit.yaml"
ERRAND = "patterns/errand.yaml"
POLICY = "policies/town.yaml"
CONSUMER = "consumers/app.yaml"

FILES = {
    VISIT: """\
name: visit
events:
  clinic: {where: place = 'clinic', stand_in: {place: clinic}}
  pharmacy: {where: place = 'pharmacy', stand_in: {place: pharmacy}}
sequence: clinic -> pharmacy
within: 2 h
""",
    ERRAND: """\
name: errand
events:
  shop: {where: place = 'shop', stand_in: {place: shop}}
  post: {where: place = 'post', stand_in: {place: post}}
sequence: shop -> post
within: 1 h
""",
    POLICY: """\
name: town
version: 1
stream:
  subject: person
  time: ts
  slot: 15 min
  from: 2026-03-01T00:00:00+01:00
  lateness: 2 min
  subjects: [ada, bo]
  columns: {person: string, ts: timestamp, place: string, age: integer, lat: double, lon: double}
  zones: {home: {center: [59.9, 10.7], radius: 100 m}}
communities:
  friends:
    protect:
      visit: {mechanism: response, epsilon: 1}
      errand: {mechanism: response, epsilon: 1}
""",
    CONSUMER: """\
name: app
policy: town
community: friends
model: transparent
queries:
  - name: visits
    pattern: visit
""",
}

SURVEY = """\
name: survey
source: a survey of forty towns
subjects: 40
from: 2026-02-01T00:00:00+01:00
until: 2026-03-01T00:00:00+01:00
slot: 15 min
of: [clinic, pharmacy, shop, gym]
together:
  - { types: [], slots: 500 }
  - { types: [clinic, pharmacy], slots: 150 }
  - { types: [clinic, pharmacy, shop], slots: 50 }
  - { types: [clinic], slots: 50 }
  - { types: [shop], slots: 250 }
"""
"""A prior that the town may use."""

Edit = tuple[str, str, str]
"""A file, a text in it, and what stands there instead."""

SHARED_CLINIC: tuple[Edit, ...] = (
    (ERRAND, "shop: {where: place = 'shop', stand_in: {place: shop}}",
     "clinic: {where: place = 'clinic', stand_in: {place: clinic}}"),
    (ERRAND, "sequence: shop", "sequence: clinic"),
)  # fmt: skip
"""The two patterns have the type clinic in common."""


NAMED: Edit = (POLICY, "communities:\n", "prior: survey\ncommunities:\n")
"""The town uses the survey as its prior."""


def with_survey(root: Path, survey: str = SURVEY) -> None:
    """Write the prior into a project."""
    (root / "priors").mkdir(parents=True, exist_ok=True)
    (root / "priors/survey.yaml").write_text(survey, "utf-8")


def in_friends(key: str, *lines: str) -> Edit:
    """More keys at the end of the community, which is the end of the policy."""
    last = "      errand: {mechanism: response, epsilon: 1}\n"
    return (POLICY, last, last + "".join(f"    {line}\n" for line in (key, *lines)))


def another_community(name: str, line: str) -> Edit:
    """A second community, before the first one."""
    return (POLICY, "communities:\n", f"communities:\n  {name}:\n    {line}\n")


def in_stream(line: str) -> Edit:
    """One more line of the stream."""
    return (POLICY, "  lateness: 2 min\n", f"  lateness: 2 min\n  {line}\n")


def mechanism(pattern: str, other: str) -> Edit:
    """Another mechanism for one pattern."""
    return (POLICY, f"{pattern}: {{mechanism: response", f"{pattern}: {{mechanism: {other}")


def query(lines: str) -> Edit:
    """Other lines in place of the consumer's query for the pattern visit."""
    return (CONSUMER, "pattern: visit", lines)


def check_town(root: Path, *edits: Edit) -> Checked:
    """Write the project with some edits, and check it."""
    files = dict(FILES)
    for file, old, new in edits:
        assert old in files[file], f"{file} does not hold {old!r}"
        files[file] = files[file].replace(old, new)
    for file, text in files.items():
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return check_project(root)
