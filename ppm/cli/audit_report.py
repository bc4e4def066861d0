"""What `ppm audit` measured, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from ppm.audit.plan import Audited
from ppm.audit.stream import AuditedStream
from ppm.cli.audit_stream_report import as_plain_stream, at_least, show_stream
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
    "All with a seed in place of the secret, and no data of yours was read. Not looked at: late "
    "rows, restarts, changes of several slots at once, and what public rows tell that go along "
    "with private ones."
)
MECHANISMS_ONLY = (
    "Audited are the mechanisms of the plan, with a seed in place of the secret, and not the "
    "protected stream. No data of yours was read."
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
    stream: AuditedStream | None
    """What readers of the protected stream received; None if it was left out."""
    runs: int
    alpha: float
    seed: int

    @property
    def mechanisms(self) -> tuple[Audited, ...]:
        """All mechanisms that were run."""
        return self.alone + self.together

    @property
    def verdicts(self) -> tuple[bool, ...]:
        """For each claim, whether it holds."""
        claims = () if self.stream is None else self.stream.claims
        return (*(one.holds for one in self.mechanisms), *(one.holds for one in claims))

    @property
    def holds(self) -> bool:
        """Whether no claim was exceeded."""
        return all(self.verdicts)

    @property
    def tests(self) -> int:
        """How often something right could be blamed: claims on the stream are tested twice."""
        return len(self.mechanisms) + 2 * (len(self.verdicts) - len(self.mechanisms))


def show(out: Console, report: Report) -> None:
    """A table of claims and what became of them, and the verdict."""
    title = Text.assemble((report.policy, "bold"), f", version {report.version}: ")
    title.append(
        f"{report.runs:,} runs in each of two worlds, alpha {report.alpha:g}, seed {report.seed}",
        "dim",
    )
    say(out, title, indent=0)
    if report.mechanisms:
        show_table(out, COLUMNS, [*_rows(report)])
    out.print()
    if report.mechanisms:
        say(out, EXPLAINED, indent=0, style="dim")
        out.print()
    if report.stream is not None:
        show_stream(out, report.stream)
    if report.tests:
        say(out, _blame(report), indent=0, style="dim")
    has_stream = report.stream is not None and report.stream.measured
    say(out, SCOPE if has_stream else MECHANISMS_ONLY, indent=0, style="dim")
    out.print()
    say(out, _verdict(report), indent=0)


def as_plain(report: Report) -> dict[str, object]:
    """The same as plain values; null stands for an exact value that is infinite."""
    return {
        "policy": report.policy,
        "version": report.version,
        "audits": "mechanisms" if report.stream is None else "mechanisms and stream",
        "runs": report.runs,
        "alpha": report.alpha,
        "seed": report.seed,
        "ok": report.holds,
        "alone": [_as_plain(one) for one in report.alone],
        "together": [_as_plain(one) for one in report.together],
        "stream": None if report.stream is None else as_plain_stream(report.stream),
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


def _blame(report: Report) -> str:
    chance = f"{report.tests * report.alpha:.2g}"
    return (
        f"With {counted(report.tests, 'test')}, a policy that is right is blamed with chance "
        f"{chance} at most."
    )


def _verdict(report: Report) -> Text:
    claims = len(report.verdicts)
    if not claims:
        return Text(f"nothing to audit: no noise is drawn for {listed(report.communities)}")
    exceeded = report.verdicts.count(False)
    if not exceeded:
        return Text(f"{counted(claims, 'claim')} audited: none was exceeded", "green")
    return Text(
        f"{exceeded} of {counted(claims, 'claim')} exceeded: the policy tells more than it says",
        "bold red",
    )
