"""Documents that are right, for tests that spoil them in one place."""

from __future__ import annotations

import pytest

from ppm.errors import SpecError
from ppm.spec.base import Declaration
from ppm.spec.load import parse

PATTERN = """\
name: visit
events:
  clinic: place = 'clinic'
  pharmacy: place = 'pharmacy'
sequence: clinic -> pharmacy
within: 2 h
"""
POLICY = """\
name: town
version: 1
stream:
  subject: person
  time: ts
  slot: 15 min
  from: 2026-03-01T00:00:00+01:00
  lateness: 2 min
communities:
  friends:
    protect:
      visit: {mechanism: response, epsilon: 1}
"""
CONSUMER = """\
name: app
policy: town
community: friends
model: transparent
queries:
  - name: visits
    pattern: visit
"""
PRIOR = """\
name: households
source: a public survey
subjects: 40
from: 2025-11-01T00:00:00+01:00
until: 2025-12-01T00:00:00+01:00
slot: 1 h
of: [bed, door]
together:
  - { types: [], slots: 20000 }
  - { types: [bed], slots: 8000 }
  - { types: [bed, door], slots: 800 }
"""
STAGES = """\
name: visit
events: {a: x = 1, b: x = 2, c: x = 3}
stages:
"""


def faults(text: str, model: type[Declaration]) -> list[str]:
    """What is said of a document: lines and words, without the file."""
    with pytest.raises(SpecError) as refused:
        parse(text, model, file="f.yaml")
    return [str(fault).removeprefix("f.yaml:") for fault in refused.value.faults]


def spoilt(document: str, old: str, new: str) -> str:
    """A document with one text replaced, or with one more at its end."""
    assert old in document
    return document.replace(old, new, 1) if old else document + new
