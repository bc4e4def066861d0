"""A consumer: who reads a community's stream, what they ask of it, and how good it must be."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from ppm.spec.base import Declaration, Refusal, Spec, Text
from ppm.spec.pattern import Pattern
from ppm.spec.values import Name, Share

Weight = Annotated[float, Field(gt=0, le=1_000_000)]


class Quality(Spec):
    """What answers must reach to be of use."""

    noun: ClassVar[str] = "minimum"

    recall: Share | None = None
    """The share of true matches that are found."""
    precision: Share | None = None
    """The share of found matches that are true."""
    q: Share | None = None
    """preference * precision + (1 - preference) * recall."""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.recall is None and self.precision is None and self.q is None:
            raise Refusal.at((), "needs recall, precision or q")
        return self


class Query(Spec):
    """One question of a consumer: a pattern, by name or written out."""

    noun: ClassVar[str] = "query"

    name: Name
    """What answers and reports call it."""
    doc: Text = ""
    """What it is for, for people."""
    pattern: Annotated[
        Annotated[Name, Tag("name")] | Annotated[Pattern, Tag("pattern")],
        Discriminator(lambda written: "name" if isinstance(written, str) else "pattern"),
    ]
    """A pattern of patterns/, or one written here."""
    ask: Literal["matches", "existence", "count"] = "matches"
    """matches: run on the released stream. existence and count: answered by ppm on the truth, with
    noise; for transparent consumers of a community that protects by answers."""
    cap: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """For count: how many matches of one subject count in a slot."""
    weight: Weight = 1.0
    """How much it counts when queries compete for budget."""
    preference: Share = 0.5
    """1 wants precision only, 0 wants recall only."""
    minimum: Quality | None = None
    """What answers must reach to be of use."""

    @model_validator(mode="after")
    def _caps_counts(self) -> Self:
        if self.ask == "count" and self.cap is None:
            raise Refusal.at((), "needs cap, because ask is count")
        if self.ask != "count" and self.cap is not None:
            raise Refusal.at(("cap",), f"is for ask: count only; ask is {self.ask}")
        return self


class Consumer(Declaration):
    """Somebody who reads what one community may see."""

    noun: ClassVar[str] = "consumer"

    doc: Text = ""
    """Who asks and why, for people."""
    policy: Name
    """The policy of policies/ whose stream it reads."""
    community: Name
    """The community of that policy that it belongs to."""
    model: Literal["transparent", "opaque"]
    """transparent: ppm knows the queries, and spends budget where they need it. opaque: it does
    not; queries given here serve for predictions and evaluation only."""
    queries: Annotated[tuple[Query, ...], Field(strict=False, max_length=100)] = ()
    """What it asks; needed by a transparent consumer."""

    @model_validator(mode="after")
    def _asks_what_it_may(self) -> Self:
        faults: list[tuple[tuple[str | int, ...], str]] = []
        names = [query.name for query in self.queries]
        for position, query in enumerate(self.queries):
            if query.name in names[:position]:
                faults.append(
                    (("queries", position, "name"), f"is {query.name}, like a query before")
                )
            if self.model == "opaque" and query.ask != "matches":
                faults.append(
                    (
                        ("queries", position, "ask"),
                        f"is {query.ask}; only a transparent consumer can have answers",
                    )
                )
        if self.model == "transparent" and not self.queries:
            faults.append((("model",), "is transparent, but there are no queries to know"))
        if faults:
            raise Refusal(faults)
        return self
