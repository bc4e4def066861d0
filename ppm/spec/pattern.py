"""A pattern: the complex event that a producer wants hidden, or a consumer wants to see."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from ppm.spec.base import FROZEN, Declaration, Refusal, Spec, Text
from ppm.spec.coherence import incoherences
from ppm.spec.columns import ColumnName
from ppm.spec.expression.declared import Predicate
from ppm.spec.sequence import parse_sequence, sequence_text
from ppm.spec.stage import MostMatches, Preset, Skip, Stage
from ppm.spec.values import Duration, Identifier
from ppm.spec.window import Window


def _plain_value(written: object) -> object:
    if not isinstance(written, bool | int | float | str):
        raise ValueError("a plain value is needed: text, a number, true or false")
    # Or pydantic's union would go on to the next branch, and read it as a float.
    if isinstance(written, int) and not -(2**63) <= written < 2**63:
        raise ValueError("a whole number of at most 64 bits is needed")
    if isinstance(written, float) and not math.isfinite(written):
        raise ValueError("a finite number is needed")
    return written


Public = Annotated[bool | int | float | Text, BeforeValidator(_plain_value)]
"""A value that everybody may know."""


class EventType(Spec):
    """A kind of row, told apart by a predicate."""

    noun: ClassVar[str] = "event type"

    where: Predicate
    """Which rows are of this type."""
    stand_in: Annotated[dict[ColumnName, Public], Field(min_length=1), FROZEN] | None = None
    """Public column values of the row that is released in place of a real one."""

    @model_validator(mode="before")
    @classmethod
    def _accept_a_bare_predicate(cls, declared: Any) -> Any:
        return {"where": declared} if isinstance(declared, str | bool) else declared

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"anyOf": [Predicate.json_schema, handler.resolve_ref_schema(handler(core))]}


class Pattern(Declaration):
    """A complex event: event types, the order they come in, and how long it may take."""

    noun: ClassVar[str] = "pattern"
    short_forms: ClassVar[Mapping[str, str]] = {"sequence": "stages"}

    doc: Text = ""
    """What it means, for people."""
    events: Annotated[dict[Identifier, EventType], Field(min_length=1, max_length=64), FROZEN]
    """The event types. All of them are protected if the pattern is private, used in a stage or
    not: a type that gives the pattern away can be listed for that alone."""
    stages: Annotated[tuple[Stage, ...], Field(strict=False, min_length=1)]
    """The steps, in order; or `sequence`, the short form."""
    within: Duration | None = None
    """The whole match takes less than this."""
    window: Window | None = None
    """The stretch of the stream inside which a match must lie."""
    skip: Skip | None = None
    """Which matches are dropped once one was found; no_skip if nothing is said."""
    preset: Preset | None = None
    """In place of skip: all, first, longest or non-overlapping matches."""
    max_matches: MostMatches | None = None
    """List at most so many matches of one subject and window; the count stays exact."""

    @model_validator(mode="before")
    @classmethod
    def _expand_the_short_form(cls, declared: Any) -> Any:
        if not isinstance(declared, dict) or "sequence" not in declared:
            return declared
        if "stages" in declared:
            raise Refusal.at(("sequence",), "and stages say the same thing; keep one of them")
        rest = {key: value for key, value in declared.items() if key != "sequence"}
        try:
            return {**rest, "stages": parse_sequence(declared["sequence"])}
        except ValueError as error:
            raise Refusal.at(("sequence",), f"cannot be read: {error}") from None

    @model_validator(mode="after")
    def _is_coherent(self) -> Self:
        faults = list(
            incoherences(
                self.stages,
                frozenset(self.events),
                within=self.within,
                skip=self.skip,
                preset=self.preset,
            )
        )
        if faults:
            raise Refusal(faults)
        return self

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        schema = handler.resolve_ref_schema(handler(core))
        schema["properties"]["sequence"] = {
            "type": "string",
            "description": "The stages in short: leave_home -> clinic{1,} !-> pharmacy. "
            "-> followed by, >> next, => followed by any, !-> not followed by, !>> not next; "
            "{n} {m,n} {n,} + * ? how often; name:event names a stage.",
            "examples": ["leave_home -> clinic -> pharmacy"],
        }
        schema["required"] = [name for name in schema["required"] if name != "stages"]
        schema["oneOf"] = [{"required": ["stages"]}, {"required": ["sequence"]}]
        return schema

    @property
    def text(self) -> str:
        """The pattern on one line.

        >>> Pattern(name="p", events={"a": "x > 1", "b": "x < 0"}, sequence="a -> b+").text
        'a -> b{1,}'
        """
        text = sequence_text(self.stages)
        return f"{text} within {self.within}" if self.within else text

    @property
    def types(self) -> tuple[str, ...]:
        """The names of the event types, sorted."""
        return tuple(sorted(self.events))

    @property
    def columns(self) -> frozenset[str]:
        """Every column that a predicate or condition of the pattern reads."""
        found = {column for event in self.events.values() for column in event.where.columns}
        for stage in self.all_stages:
            for condition in (stage.where, stage.until):
                found |= condition.all_columns if condition is not None else set()
        if self.window is not None:
            found |= {self.window.column} if self.window.kind == "delta" else set()
            found |= self.window.closes.columns if self.window.kind == "punctuation" else set()
        return frozenset(found)

    @property
    def all_stages(self) -> tuple[Stage, ...]:
        """Every stage, those inside groups included, in the order they are written."""
        return tuple(inner for stage in self.stages for inner in stage.walk())
