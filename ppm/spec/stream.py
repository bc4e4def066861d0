"""How a policy reads the stream: whose rows, when, in which slots, and where on the map."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from ppm.errors import did_you_mean
from ppm.spec.base import FROZEN, FrozenDict, Refusal, Spec, Table
from ppm.spec.columns import ColumnName
from ppm.spec.expression.kinds import ColumnType
from ppm.spec.values import Duration, Instant, Name
from ppm.spec.zone import Zone

TypeWord = Literal["string", "integer", "double", "boolean", "timestamp", "local_timestamp"]


def _time_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError("a time zone is needed, such as Europe/Oslo or UTC") from None
    return name


def _subjects(written: object) -> object:
    if written == "seen":
        return written
    if not isinstance(written, list | tuple) or not all(
        isinstance(name, str) and name for name in written
    ):
        raise ValueError("seen is needed, or a list of subjects (numbers in quotes)")
    if len(set(written)) < len(written):
        raise ValueError("a subject stands twice in the list")
    return written


class Stream(Spec):
    """The binding of a policy to the columns and the time of a stream."""

    noun: ClassVar[str] = "stream"

    subject: ColumnName
    """The column that says whose row it is."""
    time: ColumnName
    """The event-time column."""
    event_id: ColumnName | None = None
    """The column that tells rows apart, if there is one."""
    slot: Duration
    """The length of a slot: the unit in which patterns are protected."""
    from_: Annotated[Instant, Field(alias="from")]
    """Where the first slot starts; protection holds from here on."""
    lateness: Duration
    """How much later than newer rows a row may come; later ones are dropped and counted."""
    timezone: Annotated[str, AfterValidator(_time_zone)] = "UTC"
    """The time zone of hour(), minute() and weekday()."""
    subjects: Annotated[
        Literal["seen"]
        | Annotated[tuple[str, ...], Field(strict=False, min_length=1, max_length=10_000)],
        BeforeValidator(_subjects),
    ] = "seen"
    """The known subjects: declared here, or seen (from a subject's first public row on)."""
    sampled_every: Duration | None = None
    """Set it if rows come at regular times, such as GPS; then a missing row shows."""
    on_null: Literal["refuse", "drop"] = "refuse"
    """What happens to rows without subject or time: refuse the stream, or drop and count them."""
    columns: Annotated[dict[ColumnName, TypeWord], Field(min_length=1), FROZEN] | None = None
    """The stream's columns and types; with them, predicates are checked before there is data."""
    zones: Table[Name, Zone] = Field(default_factory=FrozenDict)
    """Places that predicates can name."""

    @model_validator(mode="after")
    def _has_its_columns(self) -> Self:
        roles = {"subject": self.subject, "time": self.time, "event_id": self.event_id}
        given = [column for column in roles.values() if column is not None]
        if len(set(given)) < len(given):
            raise Refusal.at((), "uses one column for two of subject, time and event_id")
        if self.columns is None:
            return self
        faults: list[tuple[tuple[str | int, ...], str]] = []
        for role, column in roles.items():
            if column is not None and column not in self.columns:
                hint = did_you_mean(column, list(self.columns))
                faults.append(((role,), f"is {column}, which columns does not have{hint}"))
        if self.columns.get(self.time, "timestamp") != "timestamp":
            kind = self.columns[self.time]
            faults.append((("time",), f"is {self.time}, which is {kind}; a timestamp is needed"))
        if faults:
            raise Refusal(faults)
        return self

    @property
    def types(self) -> dict[str, ColumnType] | None:
        """The declared columns as predicates see them."""
        if self.columns is None:
            return None
        return {name: ColumnType(word) for name, word in self.columns.items()}
