"""The functions a predicate may call: a closed list, each with one meaning in every evaluator.

Left out on purpose: everything whose last bit differs between a JVM and C (exp, ln, sin), and
everything whose result depends on the machine (now, random, session time zone).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What a value is; the word is the one that messages use."""

    ANY = "a value"
    NUMBER = "a number"
    INTEGER = "a whole number"
    TEXT = "text"
    BOOLEAN = "a truth value"
    TIME = "a time"
    LOCAL_TIME = "a time without zone"


@dataclass(frozen=True, slots=True)
class Function:
    """How a function is called, and what it gives."""

    arguments: tuple[tuple[Kind, ...], ...]
    result: Kind
    doc: str
    variadic: bool = False
    """The last argument may be repeated."""
    fewest: int | None = None
    """Fewest arguments, where not all are needed."""

    def argument(self, position: int) -> tuple[Kind, ...]:
        """The kinds allowed at a position."""
        return self.arguments[min(position, len(self.arguments) - 1)]

    def accepts(self, count: int) -> bool:
        """Whether that many arguments may be given."""
        fewest = len(self.arguments) if self.fewest is None else self.fewest
        return count >= fewest and (self.variadic or count <= len(self.arguments))


_NUMBER, _TEXT, _TIME = (Kind.NUMBER,), (Kind.TEXT,), (Kind.TIME, Kind.LOCAL_TIME)

FUNCTIONS: dict[str, Function] = {
    "abs": Function((_NUMBER,), Kind.NUMBER, "abs(x): x without its sign"),
    "ceil": Function((_NUMBER,), Kind.NUMBER, "ceil(x): the next whole number up"),
    "coalesce": Function(
        ((Kind.ANY,), (Kind.ANY,)), Kind.ANY, "coalesce(x, y, ...): the first not null", True
    ),
    "distance": Function(
        (_NUMBER, _NUMBER, (Kind.NUMBER, Kind.TEXT), _NUMBER),
        Kind.NUMBER,
        "distance(lat, lon, 'zone') or distance(lat, lon, lat0, lon0): metres to a zone's centre "
        "or a point, on the plane that touches the earth there",
        fewest=3,
    ),
    "floor": Function((_NUMBER,), Kind.NUMBER, "floor(x): the next whole number down"),
    "hour": Function((_TIME,), Kind.INTEGER, "hour(t): 0 to 23, in the policy's time zone"),
    "in_zone": Function(
        (_NUMBER, _NUMBER, _TEXT), Kind.BOOLEAN, "in_zone(lat, lon, 'zone'): inside a declared zone"
    ),
    "length": Function((_TEXT,), Kind.INTEGER, "length(s): characters in a text"),
    "lower": Function((_TEXT,), Kind.TEXT, "lower(s): A to Z in small letters"),
    "minute": Function((_TIME,), Kind.INTEGER, "minute(t): 0 to 59, in the policy's time zone"),
    "sqrt": Function((_NUMBER,), Kind.NUMBER, "sqrt(x): null below zero"),
    "trim": Function((_TEXT,), Kind.TEXT, "trim(s): without spaces at both ends"),
    "upper": Function((_TEXT,), Kind.TEXT, "upper(s): a to z in capital letters"),
    "weekday": Function((_TIME,), Kind.INTEGER, "weekday(t): 1 is Monday, 7 is Sunday"),
}


MINUTE = 60_000_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR
WEEK = 7 * DAY
"""In microseconds."""

ZONE_RULES = (0, 2_145_830_400_000_000)
"""1970-01-01 and 2037-12-31 in UTC: between them, copies of the time zone database agree.

Before and after, a zone keeps the offset that it has at the nearer end.
"""


@dataclass(frozen=True, slots=True)
class ClockPart:
    """What hour(), minute() or weekday() reads off a clock: the whole units since a period began.

    >>> (25 * HOUR - CLOCK["hour"].start) % CLOCK["hour"].period // CLOCK["hour"].unit
    1
    """

    period: int
    unit: int
    start: int = 0
    """When a period begins, counted from 1970-01-01T00:00 on the clock."""
    first: int = 0
    """The number of a period's first unit."""


CLOCK: dict[str, ClockPart] = {
    "hour": ClockPart(DAY, HOUR),
    "minute": ClockPart(HOUR, MINUTE),
    "weekday": ClockPart(WEEK, DAY, start=4 * DAY, first=1),  # 1970-01-05 was a Monday
}


@dataclass(frozen=True, slots=True)
class StageFunction:
    """What may be asked of the events that a stage took, and what it is when it took none."""

    doc: str
    needs_number: bool
    empty: int | None
    """The value over no events; None stands for null."""


STAGE_FUNCTIONS: dict[str, StageFunction] = {
    "avg": StageFunction("avg(a.x): the mean of x", True, None),
    "count": StageFunction("count(a): how many events", False, 0),
    "first": StageFunction("first(a.x): x of the earliest event", False, None),
    "last": StageFunction("last(a.x): x of the latest event", False, None),
    "max": StageFunction("max(a.x): the largest x", True, None),
    "min": StageFunction("min(a.x): the smallest x", True, None),
    "sum": StageFunction("sum(a.x): the sum of x, 0 over no events", True, 0),
}
