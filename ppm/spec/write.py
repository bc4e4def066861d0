"""Specs as YAML that a person would have written, and that reads back as the very same spec."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ppm.errors import SpecError
from ppm.spec.base import Spec
from ppm.spec.consumer import Consumer, Query
from ppm.spec.document import plain_scalar, read_document
from ppm.spec.pattern import Pattern
from ppm.spec.prior import Prior
from ppm.spec.sequence import parse_sequence, sequence_text
from ppm.spec.stage import Stage

WIDTH = 96
"""Texts that would make a line longer than this are folded."""

_LONGEST_KEY = 1_000
"""YAML looks for the colon after a key no further than 1,024 characters."""

_HARMLESS = re.compile(r"[A-Za-z_]([A-Za-z0-9_.,()'<>=+*/% -]*[A-Za-z0-9_.()'])?")


class _Row(dict[str, Any]):
    """A mapping that reads best on one line, because many like it stand below each other."""


def to_yaml(spec: Spec) -> str:
    """The file that declares a spec.

    >>> events = {"a": "x > 1", "b": "x < 0"}
    >>> pattern = Pattern(name="p", events=events, sequence="a -> b+", within="90 min")
    >>> print(to_yaml(pattern), end="")
    name: p
    events:
      a: x > 1
      b: x < 0
    sequence: a -> b{1,}
    within: 90 min
    """
    return "".join(f"{line}\n" for line in _mapping(_shortened(spec)))


def _shortened(spec: Spec) -> dict[str, Any]:
    """The plain values of a spec, with the short forms where they say the same."""
    plain = spec.as_plain()
    if isinstance(spec, Pattern):
        plain["events"] = {
            name: event["where"] if set(event) == {"where"} else event
            for name, event in plain["events"].items()
        }
        sequence = _sequence(spec.stages)
        if sequence is not None:
            short = {"stages": ("sequence", sequence)}
            plain = dict(short.get(key, (key, value)) for key, value in plain.items())
    elif isinstance(spec, Query) and isinstance(spec.pattern, Pattern):
        plain["pattern"] = _shortened(spec.pattern)
    elif isinstance(spec, Consumer) and spec.queries:
        plain["queries"] = [_shortened(query) for query in spec.queries]
    elif isinstance(spec, Prior):
        plain["together"] = [_Row(row) for row in plain["together"]]
    return plain


def _sequence(stages: tuple[Stage, ...]) -> str | None:
    """The short form of stages, if it can say all that they say."""
    text = sequence_text(stages)
    try:
        read = tuple(Stage.model_validate(stage) for stage in parse_sequence(text))
    except ValueError:
        return None
    return text if read == stages else None


def _mapping(values: dict[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        key = name if _is_bare(name, "{}: 1", {name: 1}) else _quoted(name)
        if len(key) > _LONGEST_KEY:
            yield f"? {key}"
            key = ""
        first, *rest = _value(value, len(key) + 2)
        yield f"{key}: {first}" if first else f"{key}:"
        yield from (f"  {line}" if line else "" for line in rest)


def _list(values: list[Any]) -> Iterator[str]:
    for value in values:
        if value and isinstance(value, dict) and not isinstance(value, _Row):
            first, *rest = _mapping(value)
        else:
            first, *rest = _value(value, 2)
        yield f"- {first}" if first else "-"
        yield from (f"  {line}" if line else "" for line in rest)


def _value(value: Any, column: int) -> list[str]:
    """A value in lines: the first goes after the key or dash, the others below it."""
    if isinstance(value, _Row):
        return [_in_brackets(value)]
    if isinstance(value, dict):
        return ["", *_mapping(value)] if value else ["{}"]
    if isinstance(value, list):
        if not value or all(isinstance(number, float) for number in value):
            return [f"[{', '.join(repr(number) for number in value)}]"]
        return ["", *_list(value)]
    if isinstance(value, str):
        return _text(value, column)
    return [repr(value).lower()]


def _in_brackets(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key}: {_in_brackets(one)}' for key, one in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_in_brackets, value))}]"
    if isinstance(value, str):
        return value if _is_bare(value, "[{}]", [value]) else _quoted(value)
    return repr(value)


def _text(text: str, column: int) -> list[str]:
    lines = text.removesuffix("\n").split("\n")
    if not _is_block(lines):
        return [_quoted(text)]
    if "\n" in text:
        return ["|" if text.endswith("\n") else "|-", *lines]
    if column + len(text) > WIDTH and " " in text and "  " not in text:
        return [">-", *_folded(text.split(" "))]
    return [text if _is_bare(text, "a: {}", {"a": text}) else _quoted(text)]


def _is_block(lines: list[str]) -> bool:
    """Whether lines that are only indented stay what they are."""
    if not lines[0] or not lines[-1]:
        return False
    return all(line.isprintable() and line == line.strip() for line in lines)


def _folded(words: list[str]) -> Iterator[str]:
    line = words[0]
    for word in words[1:]:
        if len(line) + 1 + len(word) > WIDTH - 8:
            yield line
            line = word
        else:
            line = f"{line} {word}"
    yield line


def _is_bare(text: str, place: str, meant: object) -> bool:
    """Whether our own reader takes a text without quotes for what it is."""
    if _HARMLESS.fullmatch(text):
        return isinstance(plain_scalar(text), str)
    if not text.isprintable():
        return False
    try:
        return bool(read_document(place.format(text), "").values == meant)
    except SpecError:
        return False


def _quoted(text: str) -> str:
    return '"' + "".join(_escaped(char) for char in text) + '"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    if char.isprintable():
        return char
    short = {"\n": "\\n", "\t": "\\t"}
    code = ord(char)
    return short.get(char) or (f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
