"""Several patterns over one stream: what they ask of a row alone is asked once, a bit for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ppm.cep.columnar.tables import Compiled, Masks
from ppm.cep.predicate import evaluate
from ppm.cep.step import BITS_IN_A_COLUMN
from ppm.errors import Fault, SpecError
from ppm.spec.expression.nodes import Node, columns_of

CONTENT = "__ppm_content"
"""A hash of a whole row: orders rows that no id tells apart."""
TWIN = "__ppm_twin"
"""The number of a row among those of equal content."""


@dataclass(frozen=True, slots=True)
class Watched:
    """Patterns that are looked for at once."""

    patterns: tuple[Compiled, ...]
    predicates: tuple[Node, ...]
    """The different predicates of all their stages; each is a bit of every row."""
    needs: tuple[tuple[tuple[int, ...], ...], ...]
    """For each pattern and stage, the places of the predicates that a row must meet."""

    @property
    def bit_columns(self) -> tuple[str, ...]:
        """The columns that hold the bits."""
        return tuple(
            f"__ppm_bits_{at}" for at in range(-(-len(self.predicates) // BITS_IN_A_COLUMN))
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that conditions on earlier events read."""
        cells = [cell.source for pattern in self.patterns for cell in pattern.cells]
        return tuple(sorted({name for source in cells for name in columns_of(source)}))

    @property
    def needs_every_event(self) -> bool:
        """Whether a row that no stage wants can still matter."""
        return any(pattern.needs_every_event for pattern in self.patterns)

    def with_bits(self, rows: pa.Table) -> pa.Table:
        """The rows with their bits: what Spark computes before rows come to Python."""
        words = [np.zeros(rows.num_rows, np.int64) for _ in self.bit_columns]
        for place, predicate in enumerate(self.predicates):
            first = self.patterns[0]
            said = evaluate(predicate, rows, zones=first.zones, timezone=first.timezone)
            # Unknown is not yes.
            is_met = pc.fill_null(said, False).to_numpy(zero_copy_only=False)
            words[place // BITS_IN_A_COLUMN] |= is_met.astype(np.int64) << place % BITS_IN_A_COLUMN
        for name, word in zip(self.bit_columns, words, strict=True):
            rows = rows.append_column(name, pa.array(word))
        return rows

    def is_wanted(self, rows: pa.Table) -> npt.NDArray[np.bool_]:
        """Which rows meet some predicate."""
        words = [rows[name].to_numpy() for name in self.bit_columns]
        is_wanted: npt.NDArray[np.bool_] = np.logical_or.reduce([word != 0 for word in words])
        return is_wanted

    def stage_masks(self, pattern: int, bits: Sequence[npt.NDArray[np.int64]], count: int) -> Masks:
        """One bit for each stage of a pattern, of so many rows with these bits."""
        masks = np.zeros(count, np.uint64)
        for stage, places in enumerate(self.needs[pattern]):
            is_wanted = np.ones(count, np.bool_)
            for column, word in enumerate(bits):
                wanted = sum(
                    1 << place % BITS_IN_A_COLUMN
                    for place in places
                    if place // BITS_IN_A_COLUMN == column
                )
                if wanted:
                    is_wanted &= word & wanted == wanted
            masks |= is_wanted.astype(np.uint64) << np.uint64(stage)
        return masks


def watch(patterns: Sequence[Compiled]) -> Watched:
    """Patterns to be looked for at once; their names must differ."""
    names = [one.pattern.name for one in patterns]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice or not names:
        said = f"two patterns are called {twice[0]}" if twice else "there is no pattern to look for"
        raise SpecError([Fault(said)])
    every = [node for one in patterns for stage in one.predicates for node in stage]
    predicates = tuple(dict.fromkeys(every))
    place = {node: at for at, node in enumerate(predicates)}
    needs = tuple(
        tuple(tuple(place[node] for node in stage) for stage in one.predicates) for one in patterns
    )
    return Watched(tuple(patterns), predicates, needs)
