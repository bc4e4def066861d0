"""Small tables: aligned for a terminal, or as markdown for docs/performance.md."""

from __future__ import annotations

from collections.abc import Sequence


def shown(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], markdown: bool) -> str:
    """A table with its title; the first column is words, the others are figures."""
    if markdown:
        rule = ["---", *["---:"] * (len(header) - 1)]
        return "\n".join([f"### {title}", "", *map(_piped, [header, rule, *rows]), ""])
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
        for row in (header, *rows)
    ]
    return "\n".join([title, *(f"  {line.rstrip()}" for line in lines), ""])


def count(number: float | None) -> str:
    return "" if number is None else f"{number:,.0f}"


def ratio(speed: float, base: float | None) -> str:
    """How many times as fast."""
    if base is None:
        return ""
    return f"{speed / base:,.0f}x" if speed >= 10 * base else f"{speed / base:.2g}x"


def _piped(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
