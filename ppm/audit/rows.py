"""What rows of a policy's stream look like, and which private types a row is of."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import product

from ppm.cep.rowwise import answer
from ppm.errors import BindingError
from ppm.protect.compile import private_types
from ppm.protect.plan import Plan
from ppm.spec.columns import columns_of_rule
from ppm.spec.expression.kinds import ColumnType
from ppm.spec.expression.lower import bind, lower
from ppm.spec.expression.nodes import Node

Value = str | int | float | bool | None
"""What a column holds; times are microseconds since 1970."""
Row = tuple[Value, ...]
"""The values of a row in the order of the stream's columns."""
Columns = Mapping[str, ColumnType]

_OF_VALUE = {
    bool: ColumnType.BOOLEAN,
    int: ColumnType.INTEGER,
    float: ColumnType.DOUBLE,
    str: ColumnType.STRING,
}
_MOST_GUESSED = 4
"""How many columns' types are found by trying."""


def columns_of(plan: Plan) -> Columns:
    """The stream's columns and types: as declared, or else as predicates and stand-ins need them.

    A `BindingError` if nothing fits.
    """
    stream = plan.policy.stream
    if stream.types is not None:
        return stream.types
    predicates = [event.where for event in private_types(plan).values()]
    known = {stream.subject: ColumnType.STRING, stream.time: ColumnType.TIMESTAMP}
    for column, kind in (*_of_stand_ins(plan), *_of_rules(plan)):
        if {kind, known.setdefault(column, kind)} == {ColumnType.INTEGER, ColumnType.DOUBLE}:
            known[column] = ColumnType.DOUBLE
    unknown = sorted({column for one in predicates for column in one.columns} - known.keys())
    if len(unknown) <= _MOST_GUESSED:
        for kinds in product(ColumnType, repeat=len(unknown)):
            tried = known | dict(zip(unknown, kinds, strict=True))
            if all(_fits(one.tree, tried) for one in predicates):
                return tried
    raise BindingError(
        f"what the columns of {plan.policy.name} hold cannot be guessed from its predicates; "
        "declare them with columns: in the policy's stream"
    )


def _of_stand_ins(plan: Plan) -> Iterator[tuple[str, ColumnType]]:
    for event in private_types(plan).values():
        for column, value in (event.stand_in or {}).items():
            yield column, _OF_VALUE[type(value)]


def _of_rules(plan: Plan) -> Iterator[tuple[str, ColumnType]]:
    for terms in plan.terms.values():
        for term in terms.columns:
            yield from ((column, ColumnType.DOUBLE) for column in columns_of_rule(term.rule))


def _fits(tree: Node, columns: Columns) -> bool:
    try:
        bind(tree, columns.items())
    except BindingError:
        return False
    return True


class Kinds:
    """Tells which private types of a plan a row is of, by all columns or by some of them."""

    def __init__(self, plan: Plan, columns: Columns, *, but_for: Collection[str] = ()) -> None:
        zones = plan.policy.stream.zones
        self._columns, self._timezone = columns, plan.policy.stream.timezone
        self._predicates = {
            name: lower(event.where.tree, zones)
            for name, event in private_types(plan).items()
            if event.where.columns.isdisjoint(but_for)
        }

    def of(self, row: Row) -> frozenset[str]:
        """The names of the types."""
        named = dict(zip(self._columns, row, strict=True))
        return frozenset(
            name
            for name, predicate in self._predicates.items()
            if answer(predicate, named, timezone=self._timezone, types=self._columns) is True
        )
