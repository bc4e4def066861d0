"""What a pattern may say although the engine cannot do it yet: refused, never ignored."""

from __future__ import annotations

from collections.abc import Iterator

from ppm.errors import Fault, SpecError
from ppm.spec.document import path_text
from ppm.spec.pattern import Pattern
from ppm.spec.stage import Stage, stages_with_places

Place = tuple[str | int, ...]

_BODIES = {
    "group": "is a group of stages",
    "any_of": "is a choice of stages (any_of)",
    "all_of": "is a set of stages in any order (all_of)",
}


def unsupported(pattern: Pattern) -> list[tuple[Place, str]]:
    """Everything that the engine cannot do yet, each with its place and a sentence.

    >>> looking_back = Pattern.model_validate(
    ...     {"name": "p", "events": {"a": True}, "sequence": "a", "max_matches": 3}
    ... )
    >>> unsupported(looking_back)
    [(('max_matches',), 'is set; the engine cannot cap matches yet: leave it out')]
    """
    return [*_of_stages(pattern.stages), *_of_the_whole(pattern)]


def refuse_unsupported(pattern: Pattern) -> None:
    """A `SpecError` with everything that the engine cannot do yet, if there is anything."""
    faults = [
        Fault(f"{pattern.name}: {path_text(place)} {sentence}")
        for place, sentence in unsupported(pattern)
    ]
    if faults:
        raise SpecError(faults)


def _of_stages(stages: tuple[Stage, ...]) -> Iterator[tuple[Place, str]]:
    for stage, here in stages_with_places(stages):
        for key, words in _BODIES.items():
            if getattr(stage, key) is not None:
                yield (*here, key), f"{words}; the engine takes single event types only so far"
        if stage.greedy:
            yield (*here, "greedy"), "is set; the engine tells every repetition so far"
        if stage.until is not None:
            yield (*here, "until"), "is set; the engine cannot end a repetition by an event yet"
    for position, stage in enumerate(stages):
        if stage.lasting is not None and any(not s.is_absence for s in stages[position + 1 :]):
            yield (
                ("stages", position, "lasting"),
                f"is {stage.lasting} before another stage; "
                "so far the engine can wait only at the end of a pattern",
            )


def _of_the_whole(pattern: Pattern) -> Iterator[tuple[Place, str]]:
    if pattern.window is not None:
        yield (
            ("window",),
            f"is a {pattern.window.kind} window; the engine has no windows yet: use within",
        )
    if pattern.preset == "longest":
        yield ("preset",), "is longest; the engine knows all, first and non-overlapping so far"
    if pattern.max_matches is not None:
        yield ("max_matches",), "is set; the engine cannot cap matches yet: leave it out"
