"""The step with words that a test chooses, so that its whole law can be written down.

A stage of a chain looks at a word only through its table, so one word of each kind, with the number
of words of that kind, stands for all 2^64 of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise, product
from typing import Any

import numpy as np
import pyarrow as pa

from ppm.dp.mechanisms.channel import Channel
from ppm.dp.mechanisms.kary import Swap
from ppm.dp.purpose import Purpose
from ppm.dp.source import Source
from ppm.protect.open_slots import SLOT, SUBJECT, TIME, bit_names
from ppm.protect.program import Program, Unit
from ppm.protect.step import TOLD, Protection

WORD = 1 << 64
Output = frozenset[tuple[int, str, str]]
"""What is told of a subject: slot, type, and to whom."""


@dataclass(frozen=True)
class _Words:
    word: int

    def words(self, _tags: Any, moments: Any, _values: Any, *, rows: Any) -> Any:
        assert len(rows) == len(moments)
        return np.full((len(moments), 1), self.word, np.uint64)


@dataclass(frozen=True)
class _Script:
    """A source that says one word for each purpose."""

    script: Mapping[Purpose, int]
    fingerprint: str = "scripted"

    def tags(self, subjects: Sequence[str]) -> Any:
        return np.zeros((len(subjects), 2), np.uint64)

    def stream(self, purpose: Purpose) -> _Words:
        return _Words(self.script[purpose])


@dataclass(frozen=True)
class Scripted(Protection):
    """The step of a program, with words from a script."""

    script: Mapping[Purpose, int]

    @property
    def source(self) -> Source:
        return _Script(self.script)  # type: ignore[return-value]


def stages_of(unit: Unit) -> tuple[Swap | Channel, ...]:
    """The tables of a unit's chain, one for each of its purposes."""
    return (*unit.chain.stages,)


def kinds_of_words(stage: Swap | Channel) -> Iterator[tuple[int, int]]:
    """One word of each kind that a table tells apart, and how many there are."""
    if isinstance(stage, Channel):
        edges = sorted({edge for row in stage.rows for edge in accumulate(row, initial=0)})
        yield from ((one, other - one) for one, other in pairwise(edges))
        return
    others = stage.values - 1
    yield from ((other * stage.swaps, stage.swaps) for other in range(others) if stage.swaps)
    yield others * stage.swaps, stage.kept


def law(program: Program, *, seen_by: Callable[[str], bool]) -> list[list[Fraction]]:
    """P(y|x) of the whole step, for every slot x of a subject and every output y of a slot.

    Slots x are all subsets of the private types, in the order of their bits; outputs are what
    communities chosen by `seen_by` receive of the slot, together.
    """
    stages = [
        (purpose, stage)
        for unit in program.units
        for purpose, stage in zip(unit.purposes, stages_of(unit), strict=True)
    ]
    inputs = 1 << len(program.types)
    tables: list[dict[Output, Fraction]] = [{} for _ in range(inputs)]
    for choice in product(*(kinds_of_words(stage) for _, stage in stages)):
        script = {purpose: word for (purpose, _), (word, _) in zip(stages, choice, strict=True)}
        weight = Fraction(1)
        for _, count in choice:
            weight *= Fraction(count, WORD)
        for x, output in enumerate(_outputs(program, script, inputs, seen_by)):
            tables[x][output] = tables[x].get(output, Fraction(0)) + weight
    every = sorted({output for table in tables for output in table}, key=sorted)
    return [[table.get(output, Fraction(0)) for output in every] for table in tables]


def _outputs(
    program: Program, script: Mapping[Purpose, int], inputs: int, seen_by: Callable[[str], bool]
) -> list[Output]:
    """What each of as many subjects as there are slots x gets to be told of."""
    names = [f"{x:04}" for x in range(inputs)]
    rows = pa.table(
        {
            SUBJECT: names,
            TIME: pa.array([program.start] * inputs, pa.timestamp("us", "UTC")),
            bit_names(1)[0]: pa.array(range(inputs), pa.int64()),
        }
    )
    step = Scripted(program, script)
    state = step.begin(pa.table({SUBJECT: names}))
    pieces = step.finish(state, step.gather(rows)[0], program.end_of(0))
    released = [row for piece in pieces for row in piece.to_pylist()]
    found: list[set[tuple[int, str, str]]] = [set() for _ in names]
    for one in released:
        if one[TOLD] < 0:
            continue
        type_, number = divmod(one[TOLD], len(program.communities))
        if seen_by(program.communities[number]):
            told = (one[SLOT], program.types[type_], program.communities[number])
            found[int(one[SUBJECT])].add(told)
    return [frozenset(one) for one in found]
