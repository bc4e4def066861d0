"""Patterns that can be written but mean nothing, each refused with a sentence.

The rules are Flink CEP's where Flink has one; the rest keep a pattern from silently never matching.
"""

from __future__ import annotations

from collections.abc import Iterator

from ppm.errors import did_you_mean
from ppm.spec.expression.declared import Condition
from ppm.spec.expression.nodes import stage_values_of
from ppm.spec.expression.text import to_sql
from ppm.spec.stage import MOST_NESTING, MOST_STAGES, Skip, Stage, stages_with_places
from ppm.spec.values import Duration

Place = tuple[str | int, ...]
Found = Iterator[tuple[Place, str]]


def incoherences(
    stages: tuple[Stage, ...],
    types: frozenset[str],
    *,
    within: Duration | None,
    skip: Skip | None,
    preset: str | None,
) -> Found:
    """Everything about a pattern that makes no sense, each with its place."""
    everything = [inner for stage in stages for inner in stage.walk()]
    if len(everything) > MOST_STAGES:
        yield ("stages",), f"has {len(everything)} stages; at most {MOST_STAGES} are possible"
        return
    yield from _in_row(stages, ("stages",), depth=0)
    yield from _names(stages, types)
    if not any(_must_occur(stage) for stage in stages):
        yield ("stages",), "can all be left out; at least one stage must occur"
    yield from _windows(stages, within)
    if skip is not None and preset is not None:
        yield ("preset",), "and skip say the same thing; keep one of them"
    labels = [stage.label for stage in everything if stage.label and not stage.is_absence]
    if skip is not None and skip.stage is not None and skip.stage not in labels:
        yield (
            ("skip",),
            f"names {skip.stage}, which is not a stage{did_you_mean(skip.stage, labels)}",
        )


def _in_row(stages: tuple[Stage, ...], place: Place, depth: int) -> Found:
    """Stages that follow one another, at the top or inside a group."""
    if depth > MOST_NESTING:
        yield place, f"is nested deeper than {MOST_NESTING} groups"
        return
    if not stages:
        yield place, "is empty; a stage is needed"
        return
    yield from _first(stages[0], (*place, 0))
    for position, stage in enumerate(stages):
        here = (*place, position)
        yield from _alone(stage, here, depth)
        before = stages[position - 1] if position else None
        if before is not None and before.optional and stage.is_absence:
            yield here, f"is {stage.contiguity} right after an optional stage; put a stage between"
        if before is not None and before.greedy and stage.optional:
            yield here, "is optional right after a greedy stage; make one of them plain"


def _first(stage: Stage, here: Place) -> Found:
    if stage.contiguity != "followed_by":
        yield (*here, "contiguity"), f"is {stage.contiguity}; nothing comes before the first stage"
    if stage.gap is not None:
        yield (*here, "gap"), "stands on the first stage; nothing comes before it"


def _alone(stage: Stage, here: Place, depth: int) -> Found:
    """What is wrong with a stage whatever stands around it."""
    if stage.is_absence:
        yield from _absence(stage, here)
    elif stage.lasting is not None:
        yield (*here, "lasting"), "is for not_followed_by only; use gap for a wait"
    if stage.event is None and stage.where is not None:
        yield (*here, "where"), "stands on a group; put it on the stages inside"
    if stage.loop is not None and not stage.is_loop:
        yield (*here, "loop"), "stands on a stage that occurs once; say times as well"
    if stage.until is not None and not stage.times.is_unbounded:
        yield (*here, "until"), "needs a repetition without end, such as times: 1.."
    if stage.greedy:
        yield from _greedy(stage, here)
    if stage.group is not None:
        yield from _in_row(stage.group, (*here, "group"), depth + 1)
    for key, members in (("any_of", stage.any_of), ("all_of", stage.all_of)):
        if members is not None:
            yield from _choice(members, (*here, key), depth)


def _absence(stage: Stage, here: Place) -> Found:
    if stage.event is None:
        yield here, f"is {stage.contiguity} with a group; it takes one event type"
    given = {
        "times": not stage.times.is_once,
        "optional": stage.optional,
        "loop": stage.loop is not None,
        "greedy": stage.greedy,
        "until": stage.until is not None,
        "gap": stage.gap is not None,
    }
    for key, is_given in given.items():
        if is_given:
            yield (*here, key), f"stands on {stage.contiguity}; what does not occur has no {key}"
    if stage.contiguity == "not_next" and stage.lasting is not None:
        yield (*here, "lasting"), "is for not_followed_by only; not_next looks at one event"


def _greedy(stage: Stage, here: Place) -> Found:
    place = (*here, "greedy")
    if stage.event is None:
        yield place, "stands on a group; only a single event type can be greedy"
    elif not stage.is_loop or stage.times.fewest == stage.times.most:
        yield place, "needs a repetition that can vary, such as times: 1.. or times: 2..4"
    elif stage.loop == "combinations":
        yield place, "and loop: combinations exclude each other"


def _choice(members: tuple[Stage, ...], place: Place, depth: int) -> Found:
    if depth >= MOST_NESTING:
        yield place, f"is nested deeper than {MOST_NESTING} groups"
        return
    if len(members) < 2:
        yield place, "needs at least two stages to choose from"
    for position, member in enumerate(members):
        here = (*place, position)
        yield from _first(member, here)
        yield from _alone(member, here, depth + 1)
        if member.optional:
            yield (*here, "optional"), "stands inside a choice; put it on the choice itself"


def _names(stages: tuple[Stage, ...], types: frozenset[str]) -> Found:
    """Names that are unknown or taken, and conditions that ask stages they cannot know."""
    seen: dict[str, Stage] = {}
    for stage, here in stages_with_places(stages):
        if stage.event is not None and stage.event not in types:
            yield (
                (*here, "event"),
                f"is {stage.event}, which events does not have"
                + did_you_mean(stage.event, sorted(types)),
            )
        if stage.label is not None:
            if stage.label in seen:
                yield (
                    here,
                    f"is called {stage.label} like a stage before; give it a name of its own",
                )
            seen[stage.label] = stage
        rivals = _rivals(stages, here)
        known = {name: one for name, one in seen.items() if one not in rivals}
        for key, condition in (("where", stage.where), ("until", stage.until)):
            if condition is not None:
                yield from _references(condition, stage, (*here, key), known)


def _rivals(stages: tuple[Stage, ...], here: Place) -> list[Stage]:
    """The stages of other branches of a choice, which cannot have taken anything.

    In a repetition they can: an earlier round may have gone the other way.
    """
    found: list[Stage] = []
    members, repeats = stages, False
    for key, position in zip(here[::2], here[1::2], strict=True):
        assert isinstance(position, int)
        if key == "any_of" and not repeats:
            others = [one for at, one in enumerate(members) if at != position]
            found += [inner for other in others for inner in other.walk()]
        repeats = repeats or members[position].is_loop
        members = members[position].members
    return found


def _references(condition: Condition, stage: Stage, here: Place, seen: dict[str, Stage]) -> Found:
    for value in stage_values_of(condition.tree):
        asked = seen.get(value.stage)
        known = [name for name, one in seen.items() if one.event is not None and not one.is_absence]
        if asked is None or asked.event is None or asked.is_absence:
            yield (
                here,
                f"asks {to_sql(value)}, but no stage before it is called {value.stage}"
                + did_you_mean(value.stage, known),
            )
        elif asked is stage and not stage.is_loop:
            yield here, f"asks {to_sql(value)} of its own stage, which has taken no event yet"


def _must_occur(stage: Stage) -> bool:
    if stage.is_absence or stage.optional:
        return False
    if stage.group is not None:
        return any(_must_occur(member) for member in stage.group)
    if stage.any_of is not None:
        return all(_must_occur(member) for member in stage.any_of)
    return stage.event is not None or any(_must_occur(member) for member in stage.all_of or ())


def _windows(stages: tuple[Stage, ...], within: Duration | None) -> Found:
    if within is None:
        for place in _open_ends(stages, ("stages",)):
            yield (
                place,
                "ends the pattern with not_followed_by; within or lasting must say for how long",
            )
        return
    for stage, here in stages_with_places(stages):
        if stage.gap is not None and stage.gap.max is not None and stage.gap.max > within:
            yield (*here, "gap", "max"), f"is {stage.gap.max}, longer than within, {within}"
        if stage.gap is not None and stage.gap.min is not None and stage.gap.min >= within:
            yield (*here, "gap", "min"), f"is {stage.gap.min}, not shorter than within, {within}"
        if stage.lasting is not None and stage.lasting > within:
            yield (*here, "lasting"), f"is {stage.lasting}, longer than within, {within}"


def _open_ends(stages: tuple[Stage, ...], place: Place) -> Iterator[Place]:
    """Absences that a match can end with, and that nothing ever decides."""
    for position in reversed(range(len(stages))):
        yield from _open_end(stages[position], (*place, position))
        if _must_occur(stages[position]):
            return


def _open_end(stage: Stage, here: Place) -> Iterator[Place]:
    if stage.contiguity == "not_followed_by" and stage.lasting is None:
        yield here
    if stage.group is not None:
        yield from _open_ends(stage.group, (*here, "group"))
    for key, members in (("any_of", stage.any_of), ("all_of", stage.all_of)):
        for position, member in enumerate(members or ()):
            yield from _open_end(member, (*here, key, position))
