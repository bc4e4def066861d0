"""Predicates and conditions as values of a declaration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from ppm.spec.expression.kinds import ExpressionError
from ppm.spec.expression.nodes import Node, columns_of, stage_values_of, zones_of
from ppm.spec.expression.parse import parse_predicate
from ppm.spec.expression.text import to_sql
from ppm.spec.values import Written


@dataclass(frozen=True, slots=True)
class Condition(Written):
    """Says yes or no about a row, and may ask what earlier stages of the same match took.

    >>> Condition.parse("price > last(a.price)")
    Condition('price > last(a.price)')
    """

    tree: Node

    json_schema: ClassVar[dict[str, Any]] = {
        "type": ["string", "boolean"],
        "description": "SQL over one row; may ask earlier stages: price > last(a.price).",
        "examples": ["price > last(a.price)", "count(a) < 3"],
    }

    @classmethod
    def parse(cls, written: object) -> Self:
        if isinstance(written, bool):
            written = "TRUE" if written else "FALSE"
        if not isinstance(written, str):
            raise ValueError("SQL is needed, such as speed > 2.5")
        return cls(parse_predicate(written))

    def __str__(self) -> str:
        return to_sql(self.tree)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    @property
    def columns(self) -> frozenset[str]:
        """The columns it reads of the row at hand."""
        return columns_of(self.tree)

    @property
    def all_columns(self) -> frozenset[str]:
        """The columns it reads of any row, those of earlier stages included."""
        earlier = (value.column for value in stage_values_of(self.tree))
        return self.columns | {column for column in earlier if column is not None}

    @property
    def zones(self) -> frozenset[str]:
        """The zones it names."""
        return zones_of(self.tree)


@dataclass(frozen=True, slots=True, repr=False)
class Predicate(Condition):
    """Says yes or no about one row, and sees nothing else."""

    json_schema: ClassVar[dict[str, Any]] = {
        "type": ["string", "boolean"],
        "description": "SQL over one row: comparisons, AND, OR, NOT, IN, BETWEEN, LIKE, IS NULL, "
        "arithmetic and a closed list of functions.",
        "examples": ["in_zone(lat, lon, 'clinic')", "speed > 2.5 AND kind IN ('walk', 'run')"],
    }

    @classmethod
    def parse(cls, written: object) -> Self:
        # Not super(): a dataclass with slots is made twice, and super() would name the first one.
        condition = Condition.parse(written)
        for value in stage_values_of(condition.tree):
            raise ExpressionError(
                f"asks about other events ({to_sql(value)}); it sees one row: "
                "put this into where of a stage"
            )
        return cls(condition.tree)
