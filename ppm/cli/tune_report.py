"""Budgets and what they buy, on a terminal: a bar for each budget that was tried."""

from __future__ import annotations

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from ppm.cli.numbers import share
from ppm.cli.output import Column, Row, say, show_table
from ppm.errors import listed
from ppm.protect.tune import Aim, Cost, Point, Tuned, Tuning
from ppm.protect.words import number

WIDTH = 20
"""How long the bar of everything is."""
_SIDES = {"recall": "recall", "precision": "precision", "q": "Q"}


def show(out: Console, tuning: Tuning) -> None:
    """Everything that was asked about one consumer."""
    say(
        out,
        Text.assemble((tuning.consumer, "bold"), f", a consumer of {tuning.community}"),
        indent=0,
    )
    for one in tuning.queries:
        out.print()
        out.print(Rule(Text(one.query, "bold cyan"), align="left", style="cyan"))
        _show_query(out, one)
    if tuning.costs:
        out.print()
        say(out, Text("What the protection of each pattern costs this consumer", "bold"))
        columns = (
            Column("pattern"),
            Column("epsilon", is_number=True),
            Column("quality lost", is_number=True),
        )
        show_table(out, columns, [_cost_row(cost) for cost in tuning.costs])


def _show_query(out: Console, one: Tuned) -> None:
    say(out, one.reason)
    if not one.declared:
        say(out, "No private pattern concerns it: no budget makes it better or worse.")
        return
    budgets = [f"{name} {number(epsilon)}" for name, epsilon in one.declared.items()]
    say(out, f"Declared budgets: {listed(budgets)}.")
    for aim in one.aims:
        say(out, _aim_text(aim))
    known = [point for point in one.curve if point.quality or point.deviation is not None]
    if known:
        out.print()
        title = "epsilon" if len(one.declared) == 1 else "largest"
        show_table(out, _columns(known, title), [_point_row(out, one, point) for point in known])


def _columns(points: list[Point], title: str) -> tuple[Column, ...]:
    return (
        Column(title, is_number=True),
        Column("recall", is_number=True),
        Column("" if points[0].quality else " "),
        Column("precision", is_number=True),
        Column("Q", is_number=True),
        Column("standard deviation", is_number=True),
        Column("  "),
    )


def _point_row(out: Console, one: Tuned, point: Point) -> Row:
    quality = point.quality
    is_declared = point.epsilon == max(one.declared.values())
    return Row(
        (
            Text(number(point.epsilon), "bold" if is_declared else ""),
            Text("" if quality is None else share(quality.recall)),
            Text("") if quality is None else _bar(out, quality.recall),
            Text("" if quality is None or quality.precision is None else share(quality.precision)),
            Text("" if quality is None or quality.q is None else share(quality.q)),
            Text("" if point.deviation is None else number(point.deviation)),
            Text("declared" if is_declared else "", "dim"),
        )
    )


def _bar(out: Console, part: float) -> Text:
    """A bar for a part of a whole, with dots for the rest."""
    full, rest = ("#", ".") if out.options.ascii_only else ("█", "·")
    length = round(WIDTH * part)
    return Text.assemble((full * length, "cyan"), (rest * (WIDTH - length), "dim"))


def _aim_text(aim: Aim) -> str:
    what = f"{_SIDES[aim.side]} of {share(aim.least)}"
    if aim.possible is None:
        return f"For a {what}: {_SIDES[aim.side]} is not predicted."
    if aim.epsilons is None:
        return f"A {what} is reached by no budget up to 16; {share(aim.possible)} is possible."
    budgets = [f"{name} {number(epsilon)}" for name, epsilon in aim.epsilons.items()]
    return f"For a {what}: {listed(budgets)}."


def _cost_row(cost: Cost) -> Row:
    lost = "-" if cost.lost is None else f"{100 * cost.lost:.1f} points"
    return Row((Text(cost.pattern, "bold"), Text(number(cost.epsilon)), Text(lost)))
