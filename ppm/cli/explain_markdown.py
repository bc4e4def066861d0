"""A policy's promise as a document that can be filed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ppm.cli.numbers import (
    NOTHING,
    match_text,
    mechanism_text,
    numbers_stand_for,
    remark,
    rows_text,
    share,
    spent_text,
    together_text,
)
from ppm.protect.explain import CommunityPromise, Explanation, PatternPromise, Spent, Use
from ppm.protect.words import number


def document(promise: Explanation) -> str:
    """The whole promise; the same policy gives the same document."""
    blocks = [f"# Policy {escaped(promise.policy)}, version {promise.version}"]
    blocks += [_paragraph(promise.meaning)] if promise.meaning else []
    blocks += [_paragraph(numbers_stand_for(promise))]
    for one in promise.communities:
        blocks += _community(one)
    return "\n\n".join(blocks) + "\n"


def _community(one: CommunityPromise) -> Iterator[str]:
    yield f"## Community {escaped(one.community)}"
    if one.meaning:
        yield _paragraph(one.meaning)
    yield _paragraph(rows_text(one))
    yield "### What it may learn"
    if one.patterns:
        yield _patterns(one.patterns, one.horizon)
        if len(one.patterns) > 1:
            yield escaped(one.at_once)
        yield from (_promise(pattern) for pattern in one.patterns)
    else:
        yield "Every pattern: this community is kept from none."
    if one.spent:
        yield "### Where the budget goes"
        yield f"By the {one.allocation} allocation."
        yield _spent(one.spent)
    if one.columns:
        yield "### What happens to columns"
        yield _list(one.columns)
    if one.uses:
        yield "### What consumers may expect"
        yield _uses(one.uses)
    if one.not_covered:
        yield "### What is not covered"
        yield _list(one.not_covered)


def _patterns(patterns: Sequence[PatternPromise], horizon: str | None) -> str:
    titles = ["pattern", "mechanism", "epsilon per slot", "one match", "a day"]
    titles += [f"over {horizon}"] if horizon else []
    titles += ["if communities compare notes"]
    rows = []
    for one in patterns:
        numbers = one.numbers
        row = [one.pattern, mechanism_text(numbers), number(numbers.slot)]
        row += [match_text(numbers), number(numbers.day)]
        if horizon:
            row.append(NOTHING if numbers.horizon is None else number(numbers.horizon))
        rows.append([*row, together_text(numbers)])
    return _table(titles, rows)


def _promise(one: PatternPromise) -> str:
    meaning = f" {escaped(one.meaning)}" if one.meaning else ""
    return (
        f"**{escaped(one.pattern)}** ({_code(one.sequence)}).{_ended(meaning)} {escaped(one.words)}"
    )


def _spent(spent: Sequence[Spent]) -> str:
    rows = [[", ".join(one.types), number(one.epsilon), spent_text(one)] for one in spent]
    return _table(["type", "epsilon per slot", "released by"], rows)


def _uses(uses: Sequence[Use]) -> str:
    titles = ["consumer", "model", "query", "asks", "recall", "precision", "Q"]
    titles += ["minimum", "because"]
    return _table(
        titles,
        [
            [
                use.consumer,
                use.model,
                use.query,
                use.asks,
                *_quality(use),
                _minimum(use),
                remark(use),
            ]
            for use in uses
        ],
    )


def _minimum(use: Use) -> str:
    said = {None: "", True: " (reached)", False: " (missed)"}
    return f"{use.minimum}{said[use.reaches_minimum]}" if use.minimum else NOTHING


def _quality(use: Use) -> list[str]:
    if use.quality is None:
        return [NOTHING] * 3
    return [share(use.quality.recall), share(use.quality.precision), share(use.quality.q)]


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *([escaped(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _list(items: Iterable[str]) -> str:
    return "\n".join(f"- {_paragraph(item)}" for item in items)


def _paragraph(text: str) -> str:
    """Text of its own, which must not start a heading, a list or a quotation."""
    return re.sub(r"^([#+-]|[0-9]+[.)])", lambda found: f"\\{found[0]}", escaped(text))


def _ended(text: str) -> str:
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


def _code(text: str) -> str:
    return f"`{text}`"


def escaped(text: str) -> str:
    r"""Text that reads the same in markdown, inside a table or out of one.

    >>> escaped("a|b <c> [d] in_zone *")
    'a\\|b \\<c\\> \\[d\\] in_zone \\*'
    """
    text = re.sub(r"[\\`*<>|\[\]]", lambda found: f"\\{found[0]}", text)
    # Inside a word an underscore is only an underscore.
    return re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", text)
