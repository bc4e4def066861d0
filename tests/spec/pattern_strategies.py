"""Any pattern that makes sense: every operator, groups and choices included."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from ppm.spec.pattern import Pattern
from ppm.spec.values import ONCE, Duration, Times
from tests.spec.expression_strategies import COLUMNS, conditions, predicates

EVENTS = ("a", "b", "leave_home", "Clinic_2", "_x", "on", "NO", "true", "null", "y")
_HOUR = 3_600_000_000

names = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,15}", fullmatch=True)
short = st.integers(1, _HOUR).map(Duration)
long = st.integers(2 * _HOUR, Duration.longest).map(Duration)
characters = st.characters(exclude_categories=["Cs"])
prose = st.lists(st.sampled_from(["the", "clinic:", "#1", "-", "'so'", "é", "visit"]), max_size=40)
texts = st.text(characters, max_size=30) | prose.map(" ".join) | prose.map("\n".join)
publics = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
)
column_names = st.sampled_from(COLUMNS) | st.text(characters, min_size=1, max_size=30)

windows = st.one_of(
    st.builds(lambda size: {"kind": "time", "size": size}, short),
    st.builds(lambda size, slide: {"kind": "time", "size": size, "slide": slide}, long, short),
    st.builds(lambda size: {"kind": "count", "size": size}, st.integers(1, 1_000_000)),
    st.builds(
        lambda size, slide: {"kind": "count", "size": size, "slide": slide},
        st.integers(500, 1_000_000),
        st.integers(1, 500),
    ),
    st.builds(lambda gap: {"kind": "session", "gap": gap}, long),
    st.builds(
        lambda column, by: {"kind": "delta", "column": column, "by": by},
        column_names,
        st.floats(0, 1e300, exclude_min=True),
    ),
    st.builds(lambda closes: {"kind": "punctuation", "closes": closes}, predicates()),
)


@st.composite
def patterns(draw: st.DrawFn) -> Pattern:
    """Patterns that are valid by construction."""
    types = draw(st.lists(st.sampled_from(EVENTS), min_size=1, max_size=4, unique=True))
    row = _Row(draw, types, within=draw(st.none() | long))
    stages = row.stages(depth=2)
    # Everything else can be left out, but one stage must occur.
    certain = {"event": draw(st.sampled_from(types)), "name": "certain"}
    stages.insert(draw(st.sampled_from([0, len(stages)])), certain)
    declared: dict[str, Any] = {
        "name": draw(names),
        "doc": draw(texts),
        "events": {name: draw(_event_types()) for name in types},
        "stages": stages,
        "within": row.within,
        "window": draw(st.none() | windows),
        "max_matches": draw(st.none() | st.integers(1, 1_000_000_000)),
    }
    skips = ["no_skip", "skip_to_next", "skip_past_last"]
    skips += [f"skip_to_{end}({label})" for end in ("first", "last") for label in row.asked]
    presets = ["all", "first", "longest", "non-overlapping"]
    after = st.sampled_from(skips).map(lambda one: {"skip": one})
    after |= st.sampled_from(presets).map(lambda one: {"preset": one})
    return Pattern.model_validate(declared | draw(after | st.just({})))


@st.composite
def simple_patterns(draw: st.DrawFn) -> Pattern:
    """Patterns that the short form can say."""
    types = draw(st.lists(st.sampled_from(EVENTS), min_size=1, max_size=4, unique=True))
    stages: list[dict[str, Any]] = []
    for position in range(draw(st.integers(1, 5))):
        stage: dict[str, Any] = {"event": draw(st.sampled_from(types)), "name": f"s{position}"}
        follows = ["followed_by", "next", "followed_by_any"]
        if position and not stages[-1].get("optional"):
            follows += ["not_next", "not_followed_by"]
        stage["contiguity"] = draw(st.sampled_from(follows)) if position else "followed_by"
        if "not" not in stage["contiguity"]:
            stage["times"] = draw(times())
            stage["optional"] = position > 0 and draw(st.booleans())
        stages.append(stage)
    events = {name: {"where": draw(predicates())} for name in types}
    return Pattern.model_validate(
        {"name": "p", "events": events, "stages": stages, "within": "1 d"}
    )


@st.composite
def _event_types(draw: st.DrawFn) -> dict[str, Any]:
    stand_ins = st.dictionaries(column_names, publics, min_size=1, max_size=3)
    declared: dict[str, Any] = {"where": draw(predicates())}
    return declared | draw(st.just({}) | stand_ins.map(lambda one: {"stand_in": one}))


@st.composite
def times(draw: st.DrawFn) -> Times:
    """Once, a fixed number of times, a range, or without end."""
    fewest = draw(st.integers(1, 5) | st.integers(1, Times.highest))
    most = draw(st.just(fewest) | st.integers(fewest, Times.highest) | st.none())
    return draw(st.sampled_from([ONCE, Times(fewest, most)]))


@dataclass
class _Row:
    """Draws stages in the order they are written, and remembers the names that are taken."""

    draw: st.DrawFn
    types: list[str]
    within: Duration | None
    asked: list[str] = field(default_factory=list)
    """The stages so far that conditions can ask."""
    labels: set[str] = field(default_factory=set)

    def chance(self, sides: int = 2) -> bool:
        return self.draw(st.integers(1, sides)) == sides

    def stages(self, depth: int) -> list[dict[str, Any]]:
        row: list[dict[str, Any]] = []
        for _ in range(self.draw(st.integers(1, 3))):
            before = row[-1] if row else None
            if before is not None and not before.get("optional") and self.chance(4):
                row.append(self.absence())
            else:
                row.append(self.stage(depth, before))
        return row

    def absence(self) -> dict[str, Any]:
        stage = self.event()
        stage["contiguity"] = self.draw(st.sampled_from(["not_next", "not_followed_by"]))
        is_open = stage["contiguity"] == "not_followed_by"
        if is_open and (self.within is None or self.chance()):
            stage["lasting"] = self.draw(short)
        if self.asked and self.chance():
            stage["where"] = self.draw(conditions(self.asked))
        return stage

    def stage(self, depth: int, before: dict[str, Any] | None) -> dict[str, Any]:
        stage = self.member(depth)
        if before is not None:
            follows = ["next", "followed_by", "followed_by_any"]
            stage["contiguity"] = self.draw(st.sampled_from(follows))
            if self.chance():
                stage["gap"] = self.draw(gaps())
        if (before is None or not before.get("greedy")) and self.chance(3):
            stage["optional"] = True
        return stage

    def member(self, depth: int) -> dict[str, Any]:
        """A stage as a choice may hold it: without contiguity, gap and optional."""
        bodies = ["event", "event", "group", "any_of", "all_of"] if depth else ["event"]
        asked = list(self.asked)
        body = self.draw(st.sampled_from(bodies))
        if body == "event":
            return self.single()
        if body == "group":
            stage: dict[str, Any] = {"group": self.stages(depth - 1)}
        else:
            stage = {body: self.members(depth - 1, are_rivals=body == "any_of")}
        if self.chance():
            stage["name"] = self.fresh()
        return stage | self.repetition(asked)

    def members(self, depth: int, *, are_rivals: bool) -> list[dict[str, Any]]:
        found, before, after = [], list(self.asked), list(self.asked)
        for _ in range(self.draw(st.integers(2, 3))):
            # A branch cannot ask what the branches beside it took.
            self.asked = list(before) if are_rivals else self.asked
            found.append(self.member(depth))
            after += [label for label in self.asked if label not in after]
        self.asked = after
        return found

    def single(self) -> dict[str, Any]:
        stage = self.event()
        label = stage.get("name", stage["event"])
        repetition = self.repetition([*self.asked, label])
        often: Times = repetition["times"]
        varies = often.fewest != often.most and repetition.get("loop") != "combinations"
        if varies and self.chance():
            repetition["greedy"] = True
        if self.asked and self.chance():
            stage["where"] = self.draw(conditions(self.asked))
        self.asked.append(label)
        return stage | repetition

    def event(self) -> dict[str, Any]:
        stage = {"event": self.draw(st.sampled_from(self.types))}
        if stage["event"] in self.labels:
            return stage | {"name": self.fresh()}
        self.labels.add(stage["event"])
        return stage | ({"name": stage["event"]} if self.chance(4) else {})

    def repetition(self, asked: list[str]) -> dict[str, Any]:
        often = self.draw(times())
        repetition: dict[str, Any] = {"times": often}
        if often != ONCE and self.chance():
            repetition["loop"] = self.draw(
                st.sampled_from(["relaxed", "consecutive", "combinations"])
            )
        if often.is_unbounded and self.chance():
            repetition["until"] = self.draw(conditions(asked))
        return repetition

    def fresh(self) -> str:
        self.labels.add(f"s{len(self.labels)}")
        return f"s{len(self.labels) - 1}"


@st.composite
def gaps(draw: st.DrawFn) -> dict[str, Duration]:
    """At least, less than, or both."""
    low, high = sorted(draw(st.lists(short, min_size=2, max_size=2, unique=True)))
    return draw(st.sampled_from([{"min": low}, {"max": high}, {"min": low, "max": high}]))
