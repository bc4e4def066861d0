"""How far the matches of a pattern reach: which rows can change them, in how many slots."""

from __future__ import annotations

from ppm.dp.decoy import slots_of_match
from ppm.spec.pattern import Pattern


def sees_every_row(pattern: Pattern) -> bool:
    """Whether rows of other types can change its matches: strict order, until, most windows."""
    return any(
        stage.contiguity in ("next", "not_next")
        or stage.loop == "consecutive"
        or stage.until is not None
        for stage in pattern.all_stages
    ) or (pattern.window is not None and pattern.window.kind != "time")


def slots_spanned(pattern: Pattern, slot: int) -> int | None:
    """The most slots that one match touches; None if nothing bounds it."""
    stages, window = pattern.all_stages, pattern.window
    if window is not None and window.kind == "time" and window.slide is not None:
        return slots_of_match(window.size.microseconds, slot)  # a row lies in many windows
    if len(stages) == 1 and not stages[0].is_loop:
        return 1
    if pattern.within is not None:
        return slots_of_match(pattern.within.microseconds, slot)
    if window is not None and window.kind == "time":
        return slots_of_match(window.size.microseconds, slot)
    return None
