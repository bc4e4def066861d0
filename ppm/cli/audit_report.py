"""What `ppm audit` measured, for people and for programs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from ppm.audit.plan import Audited
from ppm.cli.output import Column, Row, say, show_table
from ppm.errors import counted, listed
from ppm.protect.words import number

COLUMNS = (
    Column("told of"),
    Column("mechanism"),
    Column("per"),
    Column("claim", is_number=True),
    Column("exact", is_number=True),
    Column("audited", is_number=True),
    Column("verdict"),
)
EXPLAINED = (
    "Claim: the epsilon of the policy, with budgets split evenly over event types. Exact: the "
    "largest log-ratio of the whole-number tables that will draw. Audited: what the runs prove is "
    "told at least; with more runs it comes nearer to the exact value from below."
)
UNGUARDED = "declared without a guarantee: which rows it changes tells more than what it draws"
SCOPE = (
    "Audited are the mechanisms of the plan, with a seed in place of the secret: not yet the "
    "protected stream end to end. No data of yours was read."
)


@dataclass(frozen=True, slots=True)
class Report:
    """An audit, with all that is needed to repeat it."""

    policy: str
    version: int
    communities: tuple[str, ...]
    alone: tuple[Audited, ...]
    """What each community is told."""
    together: tuple[Audited, ...]
    """What communities that compare notes are told by the chains that they share."""
    runs: int
    alpha: float
    seed: int

    @property
    def audited(self) -> tuple[Audited, ...]:
        """Everything that was run."""
        return self.alone + self.together

    @property
    def holds(self) -> bool:
        """Whether no claim was exceeded."""
        return all(one.holds for one in self.audited)


def show(out: Console, report: Report) -> None:
    """A table of claims and what became of them, and the verdict."""
    title = Text.assemble((report.policy, "bold"), f", version {report.version}: ")
    title.append(
        f"{report.runs:,} runs in each of two worlds, alpha {report.alpha:g}, seed {report.seed}",
        "dim",
    )
    say(out, title, indent=0)
    if report.audited:
        show_table(out, COLUMNS, [*_rows(report)])
    out.print()
    for text in (EXPLAINED, _blame(report), SCOPE) if report.audited else (SCOPE,):
        say(out, text, indent=0, style="dim")
    out.print()
    say(out, _verdict(report), indent=0)


def as_plain(report: Report) -> dict[str, object]:
    """The same as plain values; null stands for an exact value that is infinite."""
    return {
        "policy": report.policy,
        "version": report.version,
        "audits": "mechanisms",
        "runs": report.runs,
        "alpha": report.alpha,
        "seed": report.seed,
        "ok": report.holds,
        "alone": [_as_plain(one) for one in report.alone],
        "together": [_as_plain(one) for one in report.together],
    }


def _as_plain(one: Audited) -> dict[str, object]:
    release, bound = one.release, one.bound
    return {
        "community": release.community,
        "of": release.of,
        "mechanism": release.mechanism,
        "one_sided": release.is_one_sided,
        "per": release.per,
        "claim": release.claim,
        "exact": float(release.exact) if release.exact.is_finite() else None,
        "audited": bound.epsilon,
        "has_guarantee": release.has_guarantee,
        "event": {"on": bound.feature, "hits": bound.hits, "tested": bound.runs},
        "ok": one.holds,
    }


def _rows(report: Report) -> Iterator[Row | Text]:
    for community in report.communities:
        found = [one for one in report.alone if one.release.community == community]
        said = "" if found else ", for whom nothing is drawn"
        yield Text.assemble((community, "bold"), (said, "dim"))
        yield from map(_row, found)
    for community in dict.fromkeys(one.release.community for one in report.together):
        yield Text.assemble((community, "bold"), (" together, by the chains they share", "dim"))
        yield from (_row(one) for one in report.together if one.release.community == community)


def _row(one: Audited) -> Row:
    release = one.release
    exact = number(float(release.exact)) if release.exact.is_finite() else "infinite"
    return Row(
        (
            Text(f"  {_names(release.of)}"),
            Text(f"{release.mechanism}, one-sided" if release.is_one_sided else release.mechanism),
            Text(release.per),
            Text(number(release.claim)),
            Text(exact, "" if release.is_kept else "red"),
            Text(at_least(one.bound.epsilon), "" if one.holds else "red"),
            Text("holds", "green") if one.holds else Text("exceeded", "bold red"),
        ),
        note=_note(one),
    )


def _note(one: Audited) -> str:
    if not one.holds:
        return str(one.bound)
    return "" if one.release.has_guarantee else UNGUARDED


def _names(names: tuple[str, ...]) -> str:
    return listed(names) if len(names) < 3 else f"{names[0]} and {len(names) - 1} more"


def at_least(bound: float) -> str:
    """A lower bound, rounded down: what is told as proven must be.

    >>> at_least(0.95287), at_least(0.0)
    ('0.952', '0')
    """
    return f"{math.floor(bound * 1000) / 1000:.3f}" if bound else "0"


def _blame(report: Report) -> str:
    tested = len(report.audited)
    chance = f"{tested * report.alpha:.2g}"
    return (
        f"With {counted(tested, 'test')}, a policy that is right is blamed with chance {chance} at "
        "most."
    )


def _verdict(report: Report) -> Text:
    if not report.audited:
        return Text(f"nothing to audit: no noise is drawn for {listed(report.communities)}")
    exceeded = sum(not one.holds for one in report.audited)
    if not exceeded:
        return Text(f"{counted(len(report.audited), 'claim')} audited: none was exceeded", "green")
    return Text(
        f"{exceeded} of {counted(len(report.audited), 'claim')} exceeded: the policy tells more "
        "than it says",
        "bold red",
    )
