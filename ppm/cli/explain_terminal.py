"""A policy's promise on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from ppm.cli.numbers import (
    match_text,
    mechanism_text,
    numbers_stand_for,
    remark,
    rows_text,
    share,
    spent_text,
    together_text,
)
from ppm.cli.output import INDENT, Column, Row, say, say_list, show_table
from ppm.protect.explain import CommunityPromise, Explanation, PatternPromise, Use
from ppm.protect.words import number

SPENT = (
    Column("type"),
    Column("a slot", is_number=True),
    Column("released by"),
)
USES = (
    Column("query"),
    Column("asks"),
    Column("recall", is_number=True),
    Column("precision", is_number=True),
    Column("Q", is_number=True),
    Column("minimum"),
)


def _pattern_columns(horizon: str | None) -> tuple[Column, ...]:
    return (
        Column("pattern"),
        Column("mechanism"),
        Column("a slot", is_number=True),
        Column("one match", is_number=True),
        Column("a day", is_number=True),
        Column(f"over {horizon}", is_number=True),
        Column("together", is_number=True),
    )


def show(out: Console, promise: Explanation) -> None:
    """The whole promise, community by community."""
    say(out, Text.assemble((promise.policy, "bold"), f", version {promise.version}"), indent=0)
    say(out, promise.meaning, indent=0)
    for one in promise.communities:
        out.print()
        out.print(Rule(Text(one.community, "bold cyan"), align="left", style="cyan"))
        _show_community(out, one)
    out.print()
    say(out, numbers_stand_for(promise), indent=0, style="dim")


def _show_community(out: Console, one: CommunityPromise) -> None:
    say(out, one.meaning)
    say(out, rows_text(one))
    _heading(out, "What it may learn, as epsilons")
    if one.patterns:
        columns = _pattern_columns(one.horizon)
        show_table(out, columns, [_pattern_row(pattern) for pattern in one.patterns])
        if len(one.patterns) > 1:
            say(out, one.at_once)
        for pattern in one.patterns:
            _show_pattern(out, pattern)
    else:
        say(out, "Every pattern: this community is kept from none.")
    if one.spent:
        _heading(out, f"Where the budget goes, by the {one.allocation} allocation")
        rows = [
            Row((Text(", ".join(s.types)), Text(number(s.epsilon)), Text(spent_text(s))))
            for s in one.spent
        ]
        show_table(out, SPENT, rows)
    if one.columns:
        _heading(out, "What happens to columns")
        say_list(out, one.columns)
    if one.uses:
        _heading(out, "What consumers may expect")
        show_table(out, USES, [*_use_rows(out, one.uses)])
    if one.not_covered:
        _heading(out, "Not covered", style="dim")
        say_list(out, one.not_covered, style="dim")


def _heading(out: Console, text: str, *, style: str = "bold") -> None:
    out.print()
    say(out, Text(text, style))


def _show_pattern(out: Console, one: PatternPromise) -> None:
    out.print()
    say(out, Text.assemble((one.pattern, "bold"), "  ", (one.sequence, "cyan")))
    say(out, one.meaning, indent=2 * INDENT, style="italic")
    say(out, one.words, indent=2 * INDENT)


def _pattern_row(one: PatternPromise) -> Row:
    numbers = one.numbers
    return Row(
        (
            Text(one.pattern, "bold"),
            Text(mechanism_text(numbers)),
            Text(number(numbers.slot)),
            Text(match_text(numbers)),
            Text(number(numbers.day)),
            Text("" if numbers.horizon is None else number(numbers.horizon)),
            Text(together_text(numbers), "red" if numbers.together.raw else ""),
        )
    )


def _use_rows(out: Console, uses: Iterable[Use]) -> Iterator[Row | Text]:
    consumer = None
    for use in uses:
        if use.consumer != consumer:
            consumer = use.consumer
            yield Text.assemble((use.consumer, "bold"), (f", {use.model}", "dim"))
        quality = use.quality
        yield Row(
            (
                Text(f"  {use.query}"),
                Text(use.asks),
                Text("" if quality is None else share(quality.recall)),
                Text("" if quality is None else share(quality.precision)),
                Text("" if quality is None else share(quality.q)),
                _minimum(out, use),
            ),
            note=remark(use),
        )


def _minimum(out: Console, use: Use) -> Text:
    least = use.minimum or ""
    if use.reaches_minimum is None:
        return Text(least)
    yes, no = ("reached", "missed") if out.options.ascii_only else ("✓", "✗")
    mark = (yes, "green") if use.reaches_minimum else (no, "bold red")
    return Text.assemble(f"{least} ", mark)
