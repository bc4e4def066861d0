"""Rows that never happened: of a private type with a payload to be recognised by, or public."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ppm.audit.rows import Columns, Kinds, Row, Value
from ppm.protect.compile import private_types
from ppm.protect.plan import Plan
from ppm.spec.expression.kinds import ColumnType

Subject = str | int


class Inventor:
    """Makes rows of a stream up."""

    def __init__(self, plan: Plan, columns: Columns, rng: np.random.Generator) -> None:
        self._stream, self._columns, self._rng = plan.policy.stream, columns, rng
        self._kinds, self._types = Kinds(plan, columns), private_types(plan)
        self._read = frozenset(c for one in self._types.values() for c in one.where.columns)

    def private(self, type_: str, subject: Subject, time: int) -> Row:
        """A row of one private type and of no other.

        What predicates read is as in its stand-in, which passes for no other type; everything else
        is a payload that no other row has.
        """
        stand_in = self._types[type_].stand_in or {}
        return self._row({name: stand_in.get(name) for name in self._read}, subject, time)

    def public(self, subject: Subject, time: int) -> Row | None:
        """A row of no private type; None if neither nulls nor chance make one."""
        for known in (dict.fromkeys(self._read), {}):
            row = self._row(known, subject, time)
            if not self._kinds.of(row):
                return row
        return None

    def any(self, subject: Subject, time: int) -> Row:
        """A row of whatever type."""
        return self.public(subject, time) or self._row({}, subject, time)

    def subject(self, number: int) -> Subject:
        """A subject that does not exist."""
        is_text = self._columns[self._stream.subject] is ColumnType.STRING
        return f"canary-{number}" if is_text else number

    def _row(self, known: Mapping[str, Value], subject: Subject, time: int) -> Row:
        own = {**known, self._stream.subject: subject, self._stream.time: time}
        return tuple(
            own[name] if name in own else self._payload(kind, time)
            for name, kind in self._columns.items()
        )

    def _payload(self, kind: ColumnType, time: int) -> Value:
        match kind:
            case ColumnType.STRING:
                return f"payload {self._rng.integers(1 << 62):x}"
            case ColumnType.DOUBLE:
                return float(self._rng.uniform(0, 1_000))
            case ColumnType.INTEGER:
                return int(self._rng.integers(1 << 31))
            case ColumnType.BOOLEAN:
                return bool(self._rng.integers(2))
        return time - int(self._rng.integers(1 << 40))
