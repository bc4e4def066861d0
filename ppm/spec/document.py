"""A YAML file as plain values that remember their lines; the strict half of reading.

PyYAML only cuts the text into events here. What they mean is decided below, because YAML lies
quietly: it lets the second of two equal keys win, and reads NO as False and 12:30 as 750.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from ppm.errors import Fault, SpecError

MAX_BYTES = 256 * 1024
MAX_DEPTH = 40
MAX_VALUES = 20_000
"""Counted after aliases are followed, so that a small file cannot stand for a huge document."""

Path = tuple[str | int, ...]

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,30})")
_FLOAT = re.compile(r"[-+]?(0|[1-9][0-9]{0,30})(\.[0-9]{1,40})?([eE][-+]?[0-9]{1,3})?")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}


@dataclass(slots=True)
class Node:
    """One value of the document: a scalar, a list of nodes, or a mapping of keys to nodes."""

    line: int
    value: Any
    key_lines: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Document:
    """The plain values of one file, and where each of them stands."""

    file: str
    root: Node

    @property
    def values(self) -> Any:
        """Dictionaries, lists and scalars, ready to be validated."""
        return _plain(self.root)

    def has(self, path: Path) -> bool:
        """Whether something was written at this place.

        >>> read_document("a: [1]", "x.yaml").has(("a", 0))
        True
        """
        node = self.root
        for part in path:
            if isinstance(node.value, dict) and part in node.value:
                node = node.value[str(part)]
            elif isinstance(node.value, list) and isinstance(part, int) and part < len(node.value):
                node = node.value[part]
            else:
                return False
        return True

    def line(self, path: Path) -> int:
        """The line of a key, or of the nearest thing around it that exists.

        Parts of the path that the file does not have are passed over: pydantic names the
        branches of a union there, which nobody wrote.
        """
        node, line = self.root, self.root.line
        for part in path:
            if isinstance(node.value, dict) and str(part) in node.value:
                line, node = node.key_lines[str(part)], node.value[str(part)]
            elif isinstance(node.value, list) and isinstance(part, int) and part < len(node.value):
                node = node.value[part]
                line = node.line
        return line


def read_document(text: bytes | str, file: str) -> Document:
    """Read one YAML document, or raise a `SpecError` that says where it stops making sense."""
    try:
        return Document(file, _compose(_decode(text)))
    except _Refused as refused:
        raise SpecError([Fault(refused.message, file, refused.line)]) from None


class _Refused(Exception):
    def __init__(self, message: str, line: int) -> None:
        self.message, self.line = message, line


def _decode(text: bytes | str) -> str:
    # A character is up to four bytes; whoever hands over text need not know how many it has.
    size = len(text.encode("utf-8", "replace")) if isinstance(text, str) else len(text)
    if size > MAX_BYTES:
        raise _Refused(f"the file is larger than {MAX_BYTES // 1024} KiB; split it", 1)
    if isinstance(text, str):
        return text
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = text[: error.start].count(b"\n") + 1
        raise _Refused("the file is not UTF-8; save it as UTF-8", line) from None


def _compose(text: str) -> Node:
    try:
        return _Composer(text).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context or "it cannot be read"
        hint = next((hint for sign, hint in _HINTS.items() if sign in problem), "")
        raise _Refused(f"not YAML: {problem}{hint}", mark.line + 1 if mark else 1) from None
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        raise _Refused("not YAML: it has a character that YAML does not allow", line) from None
    except (ValueError, OverflowError):
        # PyYAML's scanner hands escapes such as "\UFFFFFFFF" to chr() unchecked.
        raise _Refused("not YAML: it has an escape or a directive that means nothing", 1) from None


_HINTS = {
    "'\\t'": "; indent with spaces, not with tabs",
    "mapping values are not allowed": "; a text with a colon and a blank in it needs quotes",
    "found '<scalar>'": "; a text that starts with a quote must be quoted as a whole",
}
"""What helps with the faults that people make most often."""


class _Composer:
    """Builds nodes from PyYAML's events, so that depth, aliases and tags are ours to judge."""

    def __init__(self, text: str) -> None:
        self.events: Iterator[yaml.Event] = yaml.parse(text, Loader=yaml.SafeLoader)
        self.anchors: dict[str, Node] = {}
        self.unfinished: list[Node] = []
        self.sizes: dict[int, int] = {}
        self.total = 0

    def document(self) -> Node:
        root: Node | None = None
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent) and root is not None:
                raise _Refused(
                    "a second document starts here; one file is one document", _at(event)
                )
            if isinstance(event, yaml.NodeEvent):
                root = self.node(event, depth=0)
        if root is None:
            raise _Refused("the file is empty", 1)
        return root

    def node(self, event: yaml.NodeEvent, *, depth: int) -> Node:
        line = _at(event)
        if depth > MAX_DEPTH:
            raise _Refused(f"nested deeper than {MAX_DEPTH} levels", line)
        if isinstance(event, yaml.AliasEvent):
            return self.alias(event, line)
        if event.anchor is not None and event.anchor in self.anchors:
            raise _Refused(f"the anchor &{event.anchor} is given twice", line)
        tag = getattr(event, "tag", None)
        if tag is not None:
            raise _Refused(f"the tag {_short(_tag_text(tag))} is not used here; remove it", line)
        node = Node(line, None)
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        self.unfinished.append(node)
        before = self.total
        self.count(1, line)
        if isinstance(event, yaml.ScalarEvent):
            node.value = _scalar(event, line)
        elif isinstance(event, yaml.SequenceStartEvent):
            node.value = [
                self.node(item, depth=depth + 1) for item in self.until(yaml.SequenceEndEvent)
            ]
        else:
            node.value = {}
            self.mapping(node, depth)
        self.unfinished.pop()
        self.sizes[id(node)] = self.total - before
        return node

    def mapping(self, node: Node, depth: int) -> None:
        for event in self.until(yaml.MappingEndEvent):
            line = _at(event)
            if not isinstance(event, yaml.ScalarEvent):
                raise _Refused("a key must be a plain word", line)
            key = self.node(event, depth=depth + 1).value
            if key == "<<" and event.implicit[0]:
                raise _Refused("<< is not supported; use extends, or repeat the keys", line)
            if not isinstance(key, str):
                raise _Refused(
                    f"the key {_short(event.value)} reads as {kind_of(key)}; write it in quotes",
                    line,
                )
            if key in node.value:
                first = node.key_lines[key]
                raise _Refused(f"the key {_short(key)} stands twice (first in line {first})", line)
            node.key_lines[key] = line
            node.value[key] = self.node(self.next_node(), depth=depth + 1)

    def alias(self, event: yaml.AliasEvent, line: int) -> Node:
        node = self.anchors.get(event.anchor or "")
        if node is None:
            raise _Refused(
                f"the alias *{event.anchor} has no anchor &{event.anchor} before it", line
            )
        if any(node is open_node for open_node in self.unfinished):
            raise _Refused(f"the alias *{event.anchor} stands inside its own anchor", line)
        self.count(self.sizes[id(node)], line)
        return node

    def count(self, values: int, line: int) -> None:
        self.total += values
        if self.total > MAX_VALUES:
            raise _Refused(
                f"the document holds more than {MAX_VALUES} values, aliases included", line
            )

    def until(self, end: type[yaml.Event]) -> Iterator[yaml.NodeEvent]:
        for event in self.events:
            if not isinstance(event, yaml.NodeEvent):
                assert isinstance(event, end), "PyYAML's events are balanced"
                return
            yield event

    def next_node(self) -> yaml.NodeEvent:
        event = next(self.events)
        assert isinstance(event, yaml.NodeEvent), "a key is followed by its value"
        return event


def _scalar(event: yaml.ScalarEvent, line: int) -> object:
    text: str = event.value
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise _Refused("half of a surrogate pair is not a character", line)
    value = plain_scalar(text) if event.implicit[0] else text
    if isinstance(value, float) and math.isinf(value):
        raise _Refused(f"{_short(text)} is too large a number", line)
    return value


def plain_scalar(text: str) -> str | bool | int | float | None:
    """What a word without quotes stands for.

    >>> [plain_scalar(word) for word in ("true", "NO", "1.5", "12:30", "017")]
    [True, 'NO', 1.5, '12:30', '017']
    """
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _plain(node: Node) -> Any:
    if isinstance(node.value, dict):
        return {key: _plain(child) for key, child in node.value.items()}
    if isinstance(node.value, list):
        return [_plain(child) for child in node.value]
    return node.value


def _tag_text(tag: str) -> str:
    return tag.replace("tag:yaml.org,2002:", "!!", 1)


def _at(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def kind_of(value: object) -> str:
    """What a YAML reader would call a value.

    >>> kind_of(True), kind_of(3), kind_of(["a"])
    ('true', 'the number 3', 'a list')
    """
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str):
        return repr(_short(value))
    if isinstance(value, Mapping):
        return "a mapping"
    return "a list" if isinstance(value, list | tuple) else f"a {type(value).__name__}"


def path_text(path: Sequence[str | int]) -> str:
    """A path as a person would write it.

    >>> path_text(("stages", 0, "event"))
    'stages[0].event'
    """
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
