"""A bar that shows how far a long command is, on a terminal and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress

from ppm.cli.output import console


class Progress(Protocol):
    """How far something is."""

    @property
    def done(self) -> int: ...
    @property
    def total(self) -> int | None: ...
    @property
    def unit(self) -> str: ...


class Bar:
    """What is shown while a command works; it leaves nothing behind."""

    def __init__(self, shown: RichProgress | None) -> None:
        self._shown = shown
        self._task = None if shown is None else shown.add_task("", total=None, count="")

    @property
    def is_shown(self) -> bool:
        """Whether anybody sees it."""
        return self._shown is not None

    def say(self, what: str) -> None:
        """What is being done now, whose end nobody knows."""
        if self._shown is not None and self._task is not None:
            self._shown.update(self._task, description=what, total=None, completed=0, count="")

    def watch(self, progress: Progress) -> None:
        """How far it is."""
        if self._shown is not None and self._task is not None:
            of = "" if progress.total is None else f" of {progress.total}"
            self._shown.update(
                self._task,
                total=progress.total,
                completed=progress.done,
                count=f"{progress.done}{of} {progress.unit}" if progress.done or of else "",
            )

    def close(self) -> None:
        """Away with it, before something is printed."""
        if self._shown is not None:
            self._shown.stop()


@contextmanager
def bar() -> Iterator[Bar]:
    """A bar on stderr, if that is a terminal."""
    if not sys.stderr.isatty():
        yield Bar(None)
        return
    looks = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
    )
    with RichProgress(*looks, console=console(stderr=True), transient=True) as shown:
        yield Bar(shown)
