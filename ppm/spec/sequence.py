"""The short form of a pattern, `leave_home -> clinic{1,} -> pharmacy`, read and written."""

from __future__ import annotations

import re
from typing import Any

from ppm.spec.stage import Stage

OPERATORS = {
    "->": "followed_by",
    ">>": "next",
    "=>": "followed_by_any",
    "!->": "not_followed_by",
    "!>>": "not_next",
}
_SIGNS = {contiguity: sign for sign, contiguity in OPERATORS.items()}
_STEP = re.compile(
    r"(?:(?P<name>[A-Za-z_]\w*)\s*:\s*)?(?P<event>[A-Za-z_]\w*)"
    r"\s*(?:\{\s*(?P<fewest>\d{1,4})\s*(?:(?P<comma>,)\s*(?:(?P<most>\d{1,4})\s*)?)?\}"
    r"|(?P<mark>[+*]))?"
    r"\s*(?P<optional>\?)?",
    re.ASCII,
)
_OPERATOR = re.compile(r"!?(?:->|>>)|=>")


def parse_sequence(text: object) -> list[dict[str, Any]]:
    """The stages that a short form stands for, as they would be written in full.

    >>> parse_sequence("a -> b{2,} !-> c")[1]
    {'event': 'b', 'times': '2..'}
    """
    if not isinstance(text, str):
        raise ValueError("a sequence is needed, such as leave_home -> clinic -> pharmacy")
    stages: list[dict[str, Any]] = []
    position = _blank(text, 0)
    contiguity: str | None = None
    while True:
        step = _STEP.match(text, position)
        if step is None:
            raise ValueError(_unreadable(text, position, "an event type"))
        stages.append(_stage(step, contiguity))
        position = _blank(text, step.end())
        if position == len(text):
            return stages
        operator = _OPERATOR.match(text, position)
        if operator is None:
            raise ValueError(_unreadable(text, position, "->, >>, =>, !-> or !>>"))
        contiguity = OPERATORS[operator.group()]
        position = _blank(text, operator.end())


def _stage(step: re.Match[str], contiguity: str | None) -> dict[str, Any]:
    stage: dict[str, Any] = {"event": step["event"]}
    if step["name"]:
        stage["name"] = step["name"]
    if contiguity not in (None, "followed_by"):
        stage["contiguity"] = contiguity
    if step["fewest"]:
        if not step["comma"]:
            stage["times"] = int(step["fewest"])
        else:
            stage["times"] = f"{int(step['fewest'])}..{step['most'] or ''}"
    elif step["mark"]:
        stage["times"] = "1.."
    if step["optional"] or step["mark"] == "*":
        stage["optional"] = True
    return stage


def _blank(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def _unreadable(text: str, position: int, expected: str) -> str:
    near = text[position : position + 20]
    found = f"{near!r} stands" if near else "it ends"
    return f"{found} where {expected} is expected; groups and the like are written as stages"


def sequence_text(stages: tuple[Stage, ...]) -> str:
    """Any stages in the notation of the short form, with brackets for what it cannot say."""
    text = ""
    for position, stage in enumerate(stages):
        text += f" {_SIGNS[stage.contiguity]} " if position else ""
        text += _body_text(stage)
    return text


def _body_text(stage: Stage) -> str:
    if stage.event is not None:
        named = stage.name is not None and stage.name != stage.event
        body = f"{stage.name}:{stage.event}" if named else stage.event
    elif stage.group is not None:
        body = f"({sequence_text(stage.group)})"
    else:
        sign = " | " if stage.any_of is not None else " & "
        body = "(" + sign.join(_body_text(member) for member in stage.members) + ")"
    if not stage.times.is_once:
        most = "" if stage.times.most is None else stage.times.most
        exact = stage.times.fewest == stage.times.most
        body += f"{{{stage.times.fewest}}}" if exact else f"{{{stage.times.fewest},{most}}}"
    return body + ("?" if stage.optional else "")
