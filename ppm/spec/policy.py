"""A policy: community by community, what may be learnt of a stream, and at what price."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Discriminator, Field, Tag

from ppm.spec.base import FROZEN, Declaration, FrozenDict, Many, Spec, Table, Text
from ppm.spec.columns import ColumnRule, Epsilon
from ppm.spec.prior import IndependentPrior
from ppm.spec.stream import Stream
from ppm.spec.values import Duration, Name

Mechanism = Literal["response", "joint-response", "decoy-windows", "answers", "none"]
Allocation = Literal["uniform", "adaptive", "optimal"]
Collusion = Literal["nested", "independent"]


class Protection(Spec):
    """How one community is kept from learning of one pattern. What is left out is inherited."""

    noun: ClassVar[str] = "protection"

    mechanism: Mechanism | None = None
    """response and joint-response (bits per slot), decoy-windows (whole slots withheld), answers
    (rows are never released; registered queries are answered, with noise), or none: this community
    sees the pattern as it is, although the rule that it inherits protects it."""
    epsilon: Epsilon | None = None
    """The budget of one slot."""
    allocation: Allocation | None = None
    """How the budget is split over the event types; uniform if nothing is said."""


class Horizon(Spec):
    """A budget over a longer time, and what happens when it is spent."""

    noun: ClassVar[str] = "horizon"

    over: Duration
    """How long the budget must last."""
    epsilon: Epsilon
    """What may be learnt of one subject and pattern over that time."""
    then: Literal["withhold"]
    """withhold: rows of private types are not released until the horizon starts anew."""


class Community(Spec):
    """What one closed group of readers sees. What is left out is inherited."""

    noun: ClassVar[str] = "community"

    doc: Text = ""
    """Who they are and what they may know, for people."""
    extends: Name | None = None
    """Another community whose rules hold here too, unless they are given anew."""
    protect: Table[Name, Protection] = Field(default_factory=FrozenDict)
    """The private patterns, and how each is protected."""
    columns: Many[ColumnRule] = ()
    """Rules for single columns."""
    rows: Literal["released", "withheld"] | None = None
    """withheld: this community gets answers to registered queries and no rows at all."""
    collusion: Collusion | None = None
    """nested: communities that compare notes learn what the best informed one knows, and no more.
    independent: their budgets add up. nested if nothing is said."""
    horizon: Horizon | None = None
    """A budget over a longer time."""


class Defaults(Spec):
    """What holds in every community, unless it is given anew there."""

    noun: ClassVar[str] = "default"

    protect: Table[Name, Protection] = Field(default_factory=FrozenDict)
    """The private patterns, and how each is protected."""
    columns: Many[ColumnRule] = ()
    """Rules for single columns."""
    collusion: Collusion | None = None
    """nested or independent; nested if nothing is said."""
    horizon: Horizon | None = None
    """A budget over a longer time."""


class Policy(Declaration):
    """Everything that ppm needs to know to stand between a stream and its readers."""

    noun: ClassVar[str] = "policy"

    version: Annotated[int, Field(ge=1, le=1_000_000)]
    """Counted up at each change: noise is drawn anew under a new version."""
    doc: Text = ""
    """What it is for, for people."""
    stream: Stream
    """Whose rows, when, in which slots."""
    defaults: Defaults = Defaults()
    """What holds in every community, unless it is given anew there."""
    communities: Annotated[dict[Name, Community], Field(min_length=1, max_length=100), FROZEN]
    """Who reads, and what they may learn."""
    prior: (
        Annotated[
            Annotated[Name, Tag("name")] | Annotated[IndependentPrior, Tag("independent")],
            Discriminator(lambda written: "name" if isinstance(written, str) else "independent"),
        ]
        | None
    ) = None
    """Public or consented history, for predictions and for allocation: a prior of priors/, or
    rates written here."""
