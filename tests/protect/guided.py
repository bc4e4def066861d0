"""The town with budgets that follow its consumers' queries."""

from __future__ import annotations

from pathlib import Path

from tests.protect.town import CONSUMER, POLICY, Edit

RATES = "{clinic: 5 %, pharmacy: 10 %, shop: 40 %, post: 10 %}"
HISTORY: Edit = (
    POLICY,
    "communities:\n",
    f"prior: {{source: a survey, rates: {RATES}}}\ncommunities:\n",
)


def guided(how: str = "response", allocation: str = "optimal") -> tuple[Edit, ...]:
    """Both patterns under one mechanism, with an allocation and a prior."""
    return HISTORY, *(
        (
            POLICY,
            f"{name}: {{mechanism: response,",
            f"{name}: {{mechanism: {how}, allocation: {allocation},",
        )
        for name in ("visit", "errand")
    )


def pattern_for(*types: str) -> str:
    """A pattern for some types of the town, one after the other."""
    events = ", ".join(f"{name}: place = '{name}'" for name in types)
    return f"{{name: q, events: {{{events}}}, sequence: {' -> '.join(types)}, within: 1 h}}"


def asking(name: str, *types: str, more: str = "") -> Edit:
    """One more query of the town's consumer."""
    visits = "    pattern: visit\n"
    return (
        CONSUMER,
        visits,
        f"{visits}  - name: {name}\n    pattern: {pattern_for(*types)}\n{more}",
    )


def add_consumer(
    root: Path,
    name: str,
    *types: str,
    community: str = "friends",
    model: str = "transparent",
    more: str = "",
) -> None:
    """A second consumer, with one query."""  # fmt: skip
    file = root / f"consumers/{name}.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        f"name: {name}\npolicy: town\ncommunity: {community}\nmodel: {model}\nqueries:\n"
        f"  - name: q\n    pattern: {pattern_for(*types)}\n{more}",
        "utf-8",
    )
