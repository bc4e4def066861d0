"""Random patterns of everything that the engine supports, and random streams to run them on."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ppm.cep.match import Event
from ppm.spec.pattern import Pattern
from ppm.spec.stage import Skip
from tests.cep.notation import MS

TYPES = ("a", "b", "c")
EVENTS = {one: f"kind LIKE '%{one}%'" for one in TYPES}
SKIPS = ("no_skip", "skip_to_next", "skip_past_last")

WINDOWS = st.integers(5, 12)
"""Longer than every gap, so that the two always fit together."""

_times = st.sampled_from([1, 1, 1, 2, 2, "1..2", "2..3", "1..", "2.."])
_gaps = st.sampled_from([(None, None)] * 6 + [(1, None), (2, None), (None, 3), (1, 3), (2, 5)])


@st.composite
def core_patterns(draw: st.DrawFn, *, always_within: bool = False) -> Pattern:
    """Any pattern of what the engine supports, without skip; valid by construction."""
    stages: list[dict[str, Any]] = []
    # One stage must occur: which, is drawn first.
    size = draw(st.integers(1, 4))
    certain = draw(st.integers(0, size - 1))
    for position in range(size):
        after_optional = position > 0 and bool(stages[-1].get("optional"))
        can_be_absent = position > 0 and position != certain and not after_optional
        if can_be_absent and draw(st.integers(0, 2)) == 0:
            stages.append(_absence(draw, position))
        else:
            stages.append(_stage(draw, position, is_certain=position == certain))
    if stages[-1].get("contiguity") == "not_followed_by" and draw(st.booleans()):
        stages[-1]["lasting"] = "3 ms"
    needs_window = always_within or any(
        stage.get("contiguity") == "not_followed_by" for stage in stages
    )
    within = draw(WINDOWS if needs_window else st.none() | WINDOWS)
    window = {} if within is None else {"within": f"{within} ms"}
    return Pattern.model_validate({"name": "p", "events": EVENTS, "stages": stages, **window})


def _absence(draw: st.DrawFn, position: int) -> dict[str, Any]:
    contiguity = draw(st.sampled_from(["not_next", "not_followed_by"]))
    event = draw(st.sampled_from(TYPES))
    return {"event": event, "name": f"s{position}", "contiguity": contiguity}


def _stage(draw: st.DrawFn, position: int, *, is_certain: bool) -> dict[str, Any]:
    stage: dict[str, Any] = {"event": draw(st.sampled_from(TYPES)), "name": f"s{position}"}
    stage["times"] = draw(_times)
    stage["optional"] = not is_certain and draw(st.integers(0, 2)) == 0
    if stage["times"] != 1:
        stage["loop"] = draw(st.sampled_from(["relaxed", "consecutive", "combinations"]))
    if position == 0:
        return stage
    stage["contiguity"] = draw(st.sampled_from(["next", "followed_by", "followed_by_any"]))
    least, longest = draw(_gaps)
    if least or longest:
        limits = {"min": least, "max": longest}
        stage["gap"] = {key: f"{limit} ms" for key, limit in limits.items() if limit}
    if draw(st.integers(0, 4)) == 0:
        stage["where"] = "price >= coalesce(last(s0.price), 0)"
    return stage


@st.composite
def streams(draw: st.DrawFn, *, most: int = 9) -> list[Event]:
    """Events in order; some are of two types, some come at one time."""
    time, stream = 0, []
    for position in range(draw(st.integers(0, most))):
        time += draw(st.sampled_from([0, 1, 1, 1, 2, 5]))
        kind = draw(st.sampled_from([*TYPES, *TYPES, "ab", "bc", "x"]))
        price = draw(st.sampled_from([None, 1.0, 2.0]))
        stream.append(Event(position, time * MS, {"kind": kind, "price": price}))
    return stream


ways = st.sampled_from(
    [
        {"preset": "all"},
        {"preset": "first"},
        {"preset": "non-overlapping"},
        {"skip": Skip.parse("skip_to_next")},
    ]
)
"""What is told of overlapping matches."""
