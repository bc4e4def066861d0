"""What `ppm detect` found, for people."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from rich.console import Console
from rich.text import Text

from ppm.cli.output import Column, Row, clean, say, show_table
from ppm.errors import counted

_NOTHING = "-"
_LOSSES = {
    "late": ("late row", "late rows"),
    "nulls": ("row without subject, time or id", "rows without subject, time or id"),
    "duplicates": ("duplicate", "duplicates"),
}


@dataclass(frozen=True, slots=True)
class Found:
    """A run as people want to know it."""

    rows: Sequence[str]
    """The matches that are shown, each as a JSON object."""
    counts: Mapping[tuple[str, str | None], int]
    """How many there are of each kind and pattern."""
    patterns: Sequence[str]
    losses: Mapping[str, int]
    timezone: str = "UTC"
    watermark: str | None = None
    is_stream: bool = False


def show(out: Console, found: Found) -> None:
    """A table of matches, how many there are, and what was left out."""
    zone = ZoneInfo(found.timezone)
    rows = [json.loads(row) for row in found.rows]
    if rows:
        has_kinds = any(row["kind"] != "match" for row in rows)
        measures = list(rows[0])[8:]
        titles = [next(iter(rows[0])), "pattern", "kind", "start", "end", "stages", *measures]
        numbers = {name for name in measures if any(_is_number(row[name]) for row in rows)}
        columns = [Column(clean(title), title in numbers) for title in titles]
        show_table(out, columns, [_row(row, measures, zone, has_kinds=has_kinds) for row in rows])
        out.print()
        say(out, Text(_shown(found), "dim"), indent=0)
    say(out, Text(_totals(found), "bold"), indent=0)
    show_losses(out, found)
    if found.is_stream:
        say(out, _what_is_held_back(found, zone), indent=0)


def show_losses(out: Console, found: Found) -> None:
    """Rows that were left out, if there are any."""
    said = [f"{count} {_LOSSES[name][count != 1]}" for name, count in found.losses.items() if count]
    if said:
        say(out, Text(f"left out: {', '.join(said)}", "yellow"), indent=0)


def _row(row: dict[str, Any], measures: list[str], zone: ZoneInfo, *, has_kinds: bool) -> Row:
    start, end = _instant(row["start"], zone), _instant(row["end"], zone)
    cells = [
        _text(next(iter(row.values()))),
        _text(row["pattern"]),
        row["kind"].replace("_", " ") if has_kinds else "",
        _written(start),
        _written(end, start),
        " -> ".join(_stage(name, taken, start, zone) for name, taken in row["stages"].items()),
        *(_text(row[name]) for name in measures),
    ]
    return Row(tuple(Text(clean(cell)) for cell in cells))


def _stage(name: str, taken: list[dict[str, Any]], start: datetime, zone: ZoneInfo) -> str:
    """A stage, when it took its first event, and how many if there are several."""
    several = f" ({len(taken)})" if len(taken) > 1 else ""
    return f"{name} {_written(_instant(taken[0]['time'], zone), start)}{several}"


def _instant(written: str, zone: ZoneInfo) -> datetime:
    return datetime.fromisoformat(written).astimezone(zone)


def _written(instant: datetime, start: datetime | None = None) -> str:
    """A time as short as can be: without its day, if that is the day of the start."""
    clock = instant.strftime("%H:%M:%S")
    if instant.microsecond:
        clock += f".{instant.microsecond:06}".rstrip("0")
    is_same_day = start is not None and instant.date() == start.date()
    return clock if is_same_day else f"{instant.date()} {clock}"


def _text(value: object) -> str:
    if value is None:
        return _NOTHING
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(found: Found) -> str:
    total = sum(found.counts.values())
    part = f"{len(found.rows)} of {total} shown, the earliest; " if total > len(found.rows) else ""
    return f"{part}times are in {found.timezone}"


def _totals(found: Found) -> str:
    matches = {name: found.counts.get(("match", name), 0) for name in found.patterns}
    said = [f"{n} {'match' if n == 1 else 'matches'} of {name}" for name, n in matches.items()]
    partial = sum(n for (kind, _), n in found.counts.items() if kind == "timed_out")
    if partial:
        said.append(f"{counted(partial, 'partial one')} timed out")
    return ", ".join(said)


def _what_is_held_back(found: Found, zone: ZoneInfo) -> str:
    if found.watermark is None:
        return "No row came, so nothing is certain yet."
    until = _written(_instant(found.watermark, zone))
    return (
        f"The watermark is {until}: what happened later is told once newer rows move it on; a "
        "stream does not know that it has ended."
    )
