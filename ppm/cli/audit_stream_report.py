"""What `ppm audit` measured on the protected stream, for people and for programs."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from ppm.audit.stream import AuditedStream
from ppm.audit.stream_bounds import Measured
from ppm.cli.output import Column, Row, say, show_table
from ppm.errors import counted, listed
from ppm.protect.words import number

COLUMNS = (
    Column("told of"),
    Column("claim", is_number=True),
    Column("two worlds", is_number=True),
    Column("one run", is_number=True),
    Column("verdict"),
)
EXPLAINED = (
    "A canary is a slot of a made-up subject, into which a match was planted or not by a fair "
    "coin. Two worlds: what rows of both kinds of slots prove is told at least. One run: what "
    "guesses prove which slots were planted. With more canaries both come nearer to the truth from "
    "below."
)
VOID = "not hidden: one of them sees the pattern as it is"


def show_stream(out: Console, stream: AuditedStream) -> None:
    """A table of claims and what became of them, and what could not be run."""
    if stream.measured:
        canaries = f"{stream.canaries:,} canaries of {_each(stream.patterns)} in one Spark job"
        say(out, Text.assemble(("The protected stream", "bold"), f": {canaries}"), indent=0)
        show_table(out, COLUMNS, [*_rows(stream)])
        out.print()
        say(out, EXPLAINED, indent=0, style="dim")
    for sentence in stream.left_out:
        say(out, f"{sentence}.", indent=0, style="yellow")


def as_plain_stream(stream: AuditedStream) -> dict[str, object]:
    """The same as plain values; null stands where nothing is promised."""
    return {
        "canaries": stream.canaries,
        "patterns": stream.patterns,
        "communities": stream.communities,
        "ok": stream.holds,
        "measured": [_as_plain(one) for one in stream.measured],
        "left_out": stream.left_out,
    }


def at_least(bound: float) -> str:
    """A lower bound, rounded down: what is told as proven must be.

    >>> at_least(0.95287), at_least(0.0)
    ('0.952', '0')
    """
    return f"{math.floor(bound * 1000) / 1000:.3f}" if bound else "0"


def _as_plain(one: Measured) -> dict[str, object]:
    worlds, guesses = one.worlds, one.one_run
    return {
        "communities": one.communities,
        "consumer": one.consumer,
        "of": one.pattern,
        "claim": one.claim,
        "two_worlds": None if worlds is None else worlds.epsilon,
        "event": None
        if worlds is None
        else {"on": worlds.feature, "hits": worlds.hits, "tested": worlds.runs},
        "one_run": None if guesses is None else guesses.epsilon,
        "guesses": None
        if guesses is None
        else {"about": guesses.canaries, "made": guesses.guesses, "right": guesses.right},
        "ok": one.holds,
    }


def _each(patterns: tuple[str, ...]) -> str:
    return patterns[0] if len(patterns) == 1 else f"each of {counted(len(patterns), 'pattern')}"


def _rows(stream: AuditedStream) -> Iterator[Row | Text]:
    for readers, consumer in dict.fromkeys(map(_readers, stream.measured)):
        said = ", who compare notes" if len(readers) > 1 else ""
        said = said if consumer is None else f", by answers to {consumer}"
        yield Text.assemble((listed(readers), "bold"), (said, "dim"))
        here = (readers, consumer)
        yield from (_row(one) for one in stream.measured if _readers(one) == here)


def _readers(one: Measured) -> tuple[tuple[str, ...], str | None]:
    return one.communities, one.consumer


def _row(one: Measured) -> Row:
    name = Text(f"  {one.pattern}")
    if one.claim is None or one.worlds is None or one.one_run is None:
        return Row((name, Text("none"), Text(), Text(), Text("void", "dim")), note=VOID)
    bounds = one.worlds, one.one_run
    exceeded = [bound for bound in bounds if bound.epsilon > one.claim]
    return Row(
        (
            name,
            Text(number(one.claim)),
            *(
                Text(at_least(bound.epsilon), "red" if bound in exceeded else "")
                for bound in bounds
            ),
            Text("holds", "green") if one.holds else Text("exceeded", "bold red"),
        ),
        note="; ".join(map(str, exceeded)),
    )
