"""A second reading of the rules: a match as a statement about a whole stream, with no runs at all.

Every choice of events is looked at, and kept if each event may be taken, and each event between
may be left out. It shares the row evaluator with the interpreter, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product

from ppm.cep.match import Event
from ppm.cep.rowwise import answer
from ppm.spec.pattern import Pattern
from ppm.spec.stage import Stage

Choice = tuple[tuple[int, int], ...]
"""A stage's position in the pattern and an event's position in the stream, for each event taken."""


def all_matches(pattern: Pattern, events: list[Event]) -> set[tuple[tuple[str, object], ...]]:
    """Every match as stage names and event ids."""
    claim = _Claim(pattern, sorted(events, key=lambda event: event.order))
    return {
        tuple((str(pattern.stages[stage].label), claim.events[at].id) for stage, at in choice)
        for choice in claim.choices()
        if claim.holds(choice)
    }


@dataclass(frozen=True, slots=True)
class _Claim:
    pattern: Pattern
    events: list[Event]

    def choices(self) -> Iterator[Choice]:
        """Every way to lay the stages over the stream, whether it is allowed or not."""
        most = len(self.events)
        ranges = []
        for position, stage in enumerate(self.pattern.stages):
            fewest, limit = stage.times.fewest, min(stage.times.most or most, most)
            counts = [0] if stage.is_absence else [*range(fewest, limit + 1)]
            if stage.optional and 0 not in counts:
                counts.append(0)
            ranges.append([[position] * count for count in counts])
        for parts in product(*ranges):
            stages = [position for part in parts for position in part]
            if 0 < len(stages) <= most:
                for places in combinations(range(most), len(stages)):
                    yield tuple(zip(stages, places, strict=True))

    def holds(self, choice: Choice) -> bool:
        first, last = self.events[choice[0][1]], self.events[choice[-1][1]]
        if last.time >= self._window_end(first) or not self._takes(choice, 0):
            return False
        return all(
            self._takes(choice, step) and self._waited(choice, step)
            for step in range(1, len(choice))
        ) and self._ended(choice)

    def _takes(self, choice: Choice, step: int) -> bool:
        return self._satisfies(choice[:step], choice[step][1], choice[step][0])

    def _satisfies(self, before: Choice, at: int, position: int) -> bool:
        """Whether an event fits a stage, as seen by a run that took `before`."""
        stage, event = self.pattern.stages[position], self.events[at]
        taken: dict[str, list[Mapping[str, object]]] = {}
        for earlier, place in before:
            label = str(self.pattern.stages[earlier].label)
            taken.setdefault(label, []).append(self.events[place].row)
        trees = [self.pattern.events[str(stage.event)].where.tree]
        trees += [stage.where.tree] if stage.where else []
        fits = all(answer(tree, event.row, timezone="UTC", taken=taken) for tree in trees)
        least = stage.gap.min.microseconds if stage.gap and stage.gap.min else 0
        return fits and (not before or event.time - self.events[before[-1][1]].time >= least)

    def _waited(self, choice: Choice, step: int) -> bool:
        """Whether nothing stopped the wait from one event to the next."""
        before, (position, at) = choice[:step], choice[step]
        came_from, since = before[-1]
        stage, between = self.pattern.stages[position], range(since + 1, at)
        longest = stage.gap.max if stage.gap else None
        if longest and self.events[at].time - self.events[since].time >= longest.microseconds:
            return False
        taken = sum(earlier == position for earlier, _ in before)
        how: str = stage.contiguity if taken == 0 else stage.loop or "relaxed"
        if how in ("next", "consecutive") and between:
            return False
        if how in ("followed_by", "relaxed") and any(
            self._satisfies(before, place, position) for place in between
        ):
            return False
        if taken:
            absences = self._absences(position + 1, self._next_taking(position))
            looked_at = [a for a in absences if self._is_never(a) or taken >= stage.times.fewest]
            completes = False
        else:
            absences = looked_at = self._absences(came_from + 1, position)
            completes = step == len(choice) - 1 and not self._absences(
                position + 1, len(self.pattern.stages)
            )
        for absence in looked_at:
            if self._is_never(absence):
                places = between if completes else range(since + 1, at + 1)
            else:
                places = range(since + 1, since + 2)
            if any(self._satisfies(before, place, absence) for place in places):
                return False
        return True

    def _ended(self, choice: Choice) -> bool:
        """Whether the absences at the end of the pattern are certain."""
        position, at = choice[-1]
        first, last = self.events[choice[0][1]], self.events[at]
        absences = self._absences(position + 1, len(self.pattern.stages))
        window = self._window_end(first)
        for absence in absences:
            if self._is_never(absence):
                lasting = self.pattern.stages[absence].lasting
                end = window if lasting is None else last.time + lasting.microseconds
                if end > window:
                    return False
                later = [p for p in range(at + 1, len(self.events)) if self.events[p].time < end]
            else:
                later = [at + 1]
                if at + 1 >= len(self.events) or self.events[at + 1].time >= window:
                    return False
            if any(self._satisfies(choice, place, absence) for place in later):
                return False
        return True

    def _window_end(self, first: Event) -> float:
        within = self.pattern.within
        return float("inf") if within is None else first.time + within.microseconds

    def _absences(self, start: int, stop: int) -> list[int]:
        return [p for p in range(start, stop) if self.pattern.stages[p].is_absence]

    def _next_taking(self, position: int) -> int:
        stages: tuple[Stage, ...] = self.pattern.stages
        later = (p for p in range(position + 1, len(stages)) if not stages[p].is_absence)
        return next(later, len(stages))

    def _is_never(self, absence: int) -> bool:
        return self.pattern.stages[absence].contiguity == "not_followed_by"
