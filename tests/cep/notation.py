"""Patterns and streams in the notation of the worked examples: "a -> b{1,}C", "a1@1 b@5"."""

from __future__ import annotations

import re
from typing import Any

from ppm.cep.match import Event, Match
from ppm.cep.reference import find
from ppm.spec.pattern import Pattern
from ppm.spec.sequence import parse_sequence

MS = 1_000
"""Times are written in milliseconds."""

_LOOPS = {"S": "consecutive", "C": "combinations"}
_TOKEN = re.compile(r"(?P<id>(?P<kind>[a-z]+)\d*)(\((?P<price>-?[\d.]+)\))?(@(?P<time>-?\d+))?")
_FLAG = re.compile(r"(?<=[}?])([SC])")


def events(text: str) -> list[Event]:
    """A stream: names are ids, their letters are the kind of row, (3) is a price, @5 a time.

    Without times, one event comes each millisecond.
    """
    stream = []
    for place, token in enumerate(text.split(), start=1):
        found = _TOKEN.fullmatch(token)
        assert found, f"{token} is not an event"
        row = {"kind": found["kind"], "price": float(found["price"]) if found["price"] else None}
        stream.append(Event(found["id"], int(found["time"] or place) * MS, row))
    return stream


def declare(text: str, **settings: Any) -> Pattern:
    """A pattern; settings that are named like a stage belong to that stage.

    A type of one letter is satisfied by every kind that has the letter: bx is a b and an x.
    """
    sequence, _, within = text.partition(" within ")
    stages = parse_sequence(_FLAG.sub("", sequence))
    for stage, written in zip(stages, re.split(r"!?->|!?>>|=>", sequence), strict=True):
        flag = _FLAG.search(written)
        stage.update({"loop": _LOOPS[flag[1]]} if flag else {})
        stage.update(settings.pop(stage.get("name", stage["event"]), {}))
    types = {stage["event"] for stage in stages}
    if within:
        settings["within"] = f"{within} ms"
    return Pattern.model_validate(
        {"name": "p", "events": {one: _where(one) for one in types}, "stages": stages, **settings}
    )


def _where(event_type: str) -> str | bool:
    if event_type == "any":
        return True
    if len(event_type) == 1:
        return f"kind LIKE '%{event_type}%'"
    return f"kind = '{event_type}'"


def shown(matches: list[Match]) -> list[str]:
    """Matches as the events they took."""
    return [" ".join(str(event.id) for event in match.events) for match in matches]


def matched(
    pattern: Pattern, stream: str, *, watermark: int | None = None, timed_out: bool = False
) -> list[str]:
    """What is found in a stream, in the order in which it is told."""
    found = find(
        pattern,
        events(stream),
        zones={},
        timezone="UTC",
        watermark=None if watermark is None else watermark * MS,
        timed_out=timed_out,
    )
    kept = [match for match in found if timed_out is (match.kind == "timed_out")]
    return shown(kept)
