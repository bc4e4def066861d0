"""What all commands print with: a console, faults as lines, tables that survive a narrow window."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ppm.errors import Fault

INDENT = 2
WIDEST = 110
"""Sentences in longer lines are hard to follow from one line to the next."""


def console(*, stderr: bool = False) -> Console:
    """Where a command prints: in colours on a terminal, and plain everywhere else."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


def clean(text: str) -> str:
    r"""Text that cannot steer the terminal it is shown on.

    >>> clean("a\x1b[31mb")
    'a?[31mb'
    """
    return "".join(char if char.isprintable() else "?" for char in text)


def as_json(value: object) -> str:
    """One JSON document, the same at each run."""
    return json.dumps(value, indent=2, allow_nan=False) + "\n"


def from_here(faults: Iterable[Fault], folder: Path) -> list[Fault]:
    """Faults whose files can be opened from the current folder."""
    return [
        fault if fault.file is None else replace(fault, file=os.path.normpath(folder / fault.file))
        for fault in faults
    ]


def show_faults(out: Console, faults: Iterable[Fault]) -> None:
    """One line for each fault, unbroken, so that an editor can jump to it."""
    for fault in faults:
        place = str(replace(fault, message="", is_warning=False))
        line = Text(clean(str(fault)), "yellow" if fault.is_warning else "red")
        line.stylize("bold", 0, len(place))
        show_line(out, line)


def show_line(out: Console, line: Text, *, indent: int = 0) -> None:
    """A line as it is: never wrapped, cut or filled up with blanks."""
    line.rstrip()
    out.print(Text(" " * indent).append_text(line), soft_wrap=True)


def say(out: Console, text: str | Text, *, indent: int = INDENT, style: str = "") -> None:
    """Sentences, wrapped at the window's edge; nothing if there is nothing to say."""
    words = Text(clean(text), style) if isinstance(text, str) else text
    if not words:
        return
    for line in words.wrap(out, max(20, min(out.width, WIDEST) - indent)):
        show_line(out, line, indent=indent)


def say_list(out: Console, items: Iterable[str], *, style: str = "") -> None:
    """Sentences with a dash before each."""
    for item in items:
        lines = Text(clean(item), style).wrap(out, max(20, min(out.width, WIDEST) - 2 * INDENT))
        for mark, line in zip(["- ", *["  "] * len(lines)], lines, strict=False):
            show_line(out, Text(mark, style).append_text(line), indent=INDENT)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    title: str
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table, and what is remarked below it."""

    cells: tuple[Text, ...]
    note: str = ""


def show_table(out: Console, columns: Sequence[Column], rows: Sequence[Row | Text]) -> None:
    """A table; or, where the window is too narrow for one, each row as a short paragraph.

    A text among the rows is a heading for those below it.
    """
    # A column in which nothing is said only takes width from the others.
    cells = [row.cells for row in rows if isinstance(row, Row)]
    used = [place for place in range(len(columns)) if any(row[place] for row in cells)]
    titles = [columns[place] for place in used]
    picked = [
        Row(tuple(row.cells[place] for place in used), row.note) if isinstance(row, Row) else row
        for row in rows
    ]
    widths = [
        max(len(column.title), *(row[place].cell_len for row in cells))
        for place, column in zip(used, titles, strict=True)
    ]
    total = sum(widths) + 2 * (len(widths) - 1)
    below = INDENT * (2 if len(cells) == len(rows) else 3)
    if INDENT + total > out.width:
        _show_paragraphs(out, titles, picked, below=below)
        return
    if used:
        header = tuple(Text(column.title, "bold") for column in titles)
        show_line(out, _aligned(header, titles, widths), indent=INDENT)
        show_line(out, Text(("-" if out.options.ascii_only else "─") * total, "dim"), indent=INDENT)
    for row in picked:
        line = _aligned(row.cells, titles, widths) if isinstance(row, Row) else row
        show_line(out, line, indent=INDENT)
        if isinstance(row, Row):
            say(out, row.note, indent=below, style="dim")


def _aligned(cells: tuple[Text, ...], columns: Sequence[Column], widths: Sequence[int]) -> Text:
    def padded() -> Iterator[Text]:
        for cell, column, width in zip(cells, columns, widths, strict=True):
            blank = Text(" " * (width - cell.cell_len))
            yield Text.assemble(blank, cell) if column.is_number else Text.assemble(cell, blank)

    return Text("  ").join(padded())


def _show_paragraphs(
    out: Console, columns: Sequence[Column], rows: Sequence[Row | Text], *, below: int
) -> None:
    for row in rows:
        if not isinstance(row, Row):
            say(out, row)
            continue
        name, *others = row.cells
        say(out, name)
        said = [
            Text.assemble((f"{column.title} ", "dim"), cell)
            for column, cell in zip(columns[1:], others, strict=True)
            if cell
        ]
        say(out, Text(", ").join(said), indent=below)
        say(out, row.note, indent=below, style="dim")
