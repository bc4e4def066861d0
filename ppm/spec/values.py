"""Values with a unit: what people write as `15 min` or `200 m`, and what code can count with."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    GetCoreSchemaHandler,
    PlainSerializer,
    WithJsonSchema,
)
from pydantic_core import core_schema

from ppm.spec.instant import INSTANT_PATTERN, parse_instant


class Written:
    """A value that is written as one word in YAML, and is a typed value everywhere else."""

    json_schema: ClassVar[dict[str, Any]]

    @classmethod
    def parse(cls, written: object) -> Self:
        """Read what a person wrote; a ValueError says what is needed."""
        raise NotImplementedError

    def written(self) -> str | int:
        """The word that parses to this very value."""
        return str(self)

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: object, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        def validate(value: object) -> Written:
            if type(value) is cls:
                return value
            # A predicate may stand where a condition may, and must then be equal to one.
            return cls.parse(value.written() if isinstance(value, Written) else value)

        return core_schema.no_info_plain_validator_function(
            validate,
            serialization=core_schema.plain_serializer_function_ser_schema(cls.written),
            metadata={"pydantic_js_functions": [lambda _schema, _handler: cls.json_schema]},
        )


def _amount_pattern(units: dict[str, int]) -> str:
    """What a number with its unit looks like: `15 min`, `1.5h`."""
    return rf"[0-9]{{1,16}}(\.[0-9]{{1,6}})? *({'|'.join(units)})"


def _amount(written: object, units: dict[str, int], needed: str) -> Decimal:
    if not isinstance(written, str) or not re.fullmatch(_amount_pattern(units), written):
        raise ValueError(needed)
    unit = written.lstrip("0123456789. ")
    return Decimal(written.removesuffix(unit)) * units[unit]


def _in_largest_unit(amount: int, units: dict[str, int], smallest: str) -> str:
    for name, size in sorted(units.items(), key=lambda unit: -unit[1]):
        if amount % size == 0:
            return f"{amount // size} {name}"
    return f"{Decimal(amount) / units[smallest]} {smallest}"


@dataclass(frozen=True, slots=True, order=True)
class Duration(Written):
    """A length of time.

    >>> Duration.parse("1.5 h")
    Duration(microseconds=5400000000)
    >>> str(Duration.parse("90 min")), str(Duration.parse("120 min"))
    ('90 min', '2 h')
    """

    microseconds: int

    units: ClassVar[dict[str, int]] = {
        "ms": 1_000,
        "s": 1_000_000,
        "min": 60_000_000,
        "h": 3_600_000_000,
        "d": 86_400_000_000,
    }
    longest: ClassVar[int] = 36_525 * 86_400_000_000
    json_schema: ClassVar[dict[str, Any]] = {
        "type": "string",
        "pattern": f"^{_amount_pattern(units)}$",
        "description": "A duration, such as 15 min, 2 h or 30 d.",
        "examples": ["15 min", "2 h", "30 d"],
    }

    @classmethod
    def parse(cls, written: object) -> Duration:
        needed = "a duration is needed, such as 30 s, 15 min, 2 h or 30 d"
        micros = _amount(written, cls.units, needed)
        if micros != int(micros):
            raise ValueError("a duration must be whole microseconds; 0.001 ms is the shortest")
        if not 0 < micros <= cls.longest:
            raise ValueError("a duration must be more than 0 and at most 100 years of 365.25 days")
        return cls(int(micros))

    def __str__(self) -> str:
        return _in_largest_unit(self.microseconds, self.units, "ms")


@dataclass(frozen=True, slots=True, order=True)
class Distance(Written):
    """A length in space.

    >>> Distance.parse("0.2 km").metres
    200.0
    """

    millimetres: int

    units: ClassVar[dict[str, int]] = {"mm": 1, "m": 1_000, "km": 1_000_000}
    json_schema: ClassVar[dict[str, Any]] = {
        "type": "string",
        "pattern": f"^{_amount_pattern(units)}$",
        "description": "A distance, such as 200 m or 1.5 km.",
        "examples": ["200 m", "1.5 km"],
    }

    @classmethod
    def parse(cls, written: object) -> Distance:
        millimetres = _amount(written, cls.units, "a distance is needed, such as 200 m or 1.5 km")
        if not 0 < millimetres <= 20_000_000_000 or millimetres != int(millimetres):
            raise ValueError(
                "a distance must be whole millimetres, more than 0 and at most 20000 km"
            )
        return cls(int(millimetres))

    @property
    def metres(self) -> float:
        """The same length as a number."""
        return self.millimetres / 1000

    def __str__(self) -> str:
        return _in_largest_unit(self.millimetres, self.units, "mm")


@dataclass(frozen=True, slots=True)
class Times(Written):
    """How often a stage occurs in a row: `3`, `2..4`, or `1..` for once or more.

    >>> Times.parse("2..4"), Times.parse(3) == Times.parse("3..3"), str(Times(1, None))
    (Times(fewest=2, most=4), True, '1..')
    """

    fewest: int
    most: int | None

    highest: ClassVar[int] = 1_000
    json_schema: ClassVar[dict[str, Any]] = {
        "anyOf": [
            {"type": "integer", "minimum": 1, "maximum": 1_000},
            {"type": "string", "pattern": r"^[0-9]{1,4}\.\.([0-9]{1,4})?$"},
        ],
        "description": "How often: 3, 2..4, or 1.. for once or more.",
    }

    @classmethod
    def parse(cls, written: object) -> Times:
        if isinstance(written, int) and not isinstance(written, bool):
            return cls._checked(written, written)
        found = (
            re.fullmatch(r"([0-9]{1,4})\.\.([0-9]{1,4})?", written)
            if isinstance(written, str)
            else None
        )
        if found is None:
            raise ValueError("a count is needed: 3, 2..4, or 1.. for once or more")
        return cls._checked(int(found[1]), int(found[2]) if found[2] else None)

    @classmethod
    def _checked(cls, fewest: int, most: int | None) -> Times:
        if fewest < 1 or (most is not None and not fewest <= most):
            raise ValueError("it must start at 1 or more and not end before it starts")
        if max(fewest, most or 0) > cls.highest:
            raise ValueError(f"at most {cls.highest} are possible")
        return cls(fewest, most)

    def __str__(self) -> str:
        return f"{self.fewest}..{'' if self.most is None else self.most}"

    def written(self) -> str | int:
        return self.fewest if self.fewest == self.most else str(self)

    @property
    def is_once(self) -> bool:
        """Whether the stage takes exactly one event."""
        return self.fewest == self.most == 1

    @property
    def is_unbounded(self) -> bool:
        """Whether the stage may go on taking events."""
        return self.most is None


ONCE = Times(1, 1)


_PERCENT = r"[0-9]{1,3}(\.[0-9]{1,6})? *%"


def _share(written: object) -> object:
    if isinstance(written, str):
        if not re.fullmatch(_PERCENT, written):
            raise ValueError("a share is needed, such as 90 % or 0.9")
        written = float(Decimal(written.removesuffix("%")) / 100)
    if isinstance(written, bool) or not isinstance(written, int | float) or not 0 <= written <= 1:
        raise ValueError("a share between 0 % and 100 % is needed, such as 90 % or 0.9")
    return float(written)


Share = Annotated[
    float,
    BeforeValidator(_share),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0, "maximum": 1},
                {"type": "string", "pattern": f"^{_PERCENT}$"},
            ],
            "description": "A share, such as 90 % or 0.9.",
        }
    ),
]
"""A part of a whole, from 0 to 1; may be written with a percent sign."""


def _instant(written: object) -> datetime:
    if isinstance(written, datetime):
        # Through the written form: a zone with summer time would not compare equal to its offset.
        written = written.isoformat()
    return parse_instant(written if isinstance(written, str) else "")


Instant = Annotated[
    datetime,
    BeforeValidator(_instant),
    PlainSerializer(lambda moment: moment.isoformat(), return_type=str),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": f"^{INSTANT_PATTERN}$",
            "description": "A time with its offset, such as 2026-03-01T00:00:00+01:00.",
        }
    ),
]
"""A point in time; never without a zone."""


def _named(pattern: str, needed: str) -> Callable[[str], str]:
    def check(name: str) -> str:
        if not re.fullmatch(pattern, name):
            raise ValueError(needed)
        return name

    return check


_NAME_PATTERN = r"[a-z0-9][a-z0-9_-]{0,63}"
_NAME_NEEDED = "a name is up to 64 small letters, digits, - and _, not starting with - or _"
IDENTIFIER_PATTERN = r"[A-Za-z_][A-Za-z0-9_]{0,63}"
_IDENTIFIER_NEEDED = "a name is up to 64 letters, digits and _, not starting with a digit"

Name = Annotated[
    str,
    AfterValidator(_named(_NAME_PATTERN, _NAME_NEEDED)),
    WithJsonSchema({"type": "string", "pattern": f"^{_NAME_PATTERN}$"}),
]
"""What patterns, policies, communities, consumers, queries and zones are called."""

Identifier = Annotated[
    str,
    AfterValidator(_named(IDENTIFIER_PATTERN, _IDENTIFIER_NEEDED)),
    WithJsonSchema({"type": "string", "pattern": f"^{IDENTIFIER_PATTERN}$"}),
]
"""What event types and stages are called: predicates can name them."""
