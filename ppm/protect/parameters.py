"""What readers of one community may know of how it is told, and need to know to count in it.

All of it is public: the law of the noise, and what stand-ins look like. Whoever has the stream and
these parameters can estimate what truly happened, without having seen the policy.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, Protocol

from ppm.dp.estimate.counts import CountLaw
from ppm.dp.estimate.law import Law
from ppm.dp.estimate.plain import law_of_counts, law_of_vectors, plain_law
from ppm.dp.filter import Filter
from ppm.dp.nested.response import SwapLaw
from ppm.errors import PpmError, did_you_mean, listed
from ppm.spec.pattern import Public

FORMAT = 1
"""Which form of the text this version writes and reads."""
StandIn = Mapping[str, Public | None]
"""The columns by which rows of a type are known, with their values; None is null."""


Subjects = int | Literal["given", "seen"]


class Frames(Protocol):
    """Whatever makes DataFrames: a Spark session."""

    def createDataFrame(self, data: Any, schema: Any) -> Any:
        """A DataFrame of some rows."""
        ...


@dataclass(frozen=True, slots=True)
class UnitParameters:
    """Types that are drawn together, once for each subject and slot."""

    mechanism: str
    epsilon: float
    types: tuple[str, ...]
    """Bit i of a vector is the i-th of them."""
    law: Law
    """The exact law of what this community is told, all stages of the chain before it included."""
    open: Filter | None
    """The slots that are told of, where a horizon closes others; None for all."""


@dataclass(frozen=True, slots=True)
class AnswerParameters:
    """A query that ppm answers on the truth."""

    consumer: str
    query: str
    ask: str
    epsilon: float
    """What each answer may tell; 0 if it tells nothing private, and is exact."""
    cap: int | None
    """For counts: how many matches of one subject count."""
    law: Law | CountLaw | None
    """The exact law of an answer; None where it is the truth itself."""


@dataclass(frozen=True)
class Parameters:
    """The public parameters of one community's stream."""

    policy: str
    version: int
    community: str
    mode: Literal["production", "evaluation"]
    subject: str
    """The column that says whose row it is."""
    time: str
    """The event-time column; stand-ins have the start of their slot there."""
    slot: int
    """The length of a slot in microseconds."""
    start: int
    """Where slot 0 starts, in microseconds since 1970."""
    subjects: Subjects
    """How many subjects the policy declares; given with the stream, for all slots; or each from the
    slot of its first public row on."""
    units: tuple[UnitParameters, ...]
    stand_ins: Mapping[str, StandIn | None]
    """For each type, how its stand-ins are known; None where a column rule blurs just that."""
    answers: tuple[AnswerParameters, ...] = ()

    @property
    def types(self) -> tuple[str, ...]:
        """The private types that this community is told of."""
        return tuple(name for unit in self.units for name in unit.types)

    def answer(self, query: str, consumer: str | None = None) -> AnswerParameters:
        """The parameters of a query's answers; name the consumer if several have such a query."""
        known = [one for one in self.answers if consumer in (None, one.consumer)]
        found = [one for one in known if one.query == query]
        if not found:
            hint = did_you_mean(query, [one.query for one in known])
            hint = hint or "; queries that ask for matches look at what is told, as estimates do"
            whose = consumer or self.community
            raise PpmError(f"{query} is no query that {whose} is answered on the truth{hint}")
        if len(found) > 1:
            names = listed([one.consumer for one in found])
            raise PpmError(f"{query} is a query of {names}; name one as consumer")
        return found[0]

    def to_json(self, *, indent: int | None = None) -> str:
        """The parameters as text, with every law exact."""
        return json.dumps(plain(self), indent=indent)

    @classmethod
    def from_json(cls, text: str) -> Parameters:
        """What `to_json` wrote."""
        try:
            return parameters_in(json.loads(text))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            found = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise PpmError(f"these are not the parameters of a protected stream: {found}") from None

    def write(self, path: str | Path) -> None:
        """Write them into a small file that can go with the stream."""
        Path(path).write_text(f"{self.to_json(indent=2)}\n", "utf-8")

    def frame(self, spark: Frames) -> Any:
        """The same as a DataFrame with a row for each type, for those who stay in SQL.

        `flip` is how often a type is told wrongly, taken alone; null if its law is a table.
        `stand_in` is JSON.
        """
        schema = (
            "type string, mechanism string, epsilon double, together array<string>, flip double, "
            "stand_in string, open_slots bigint, of_slots bigint"
        )
        return spark.createDataFrame([*self._rows()], schema)

    def _rows(self) -> Iterator[tuple[object, ...]]:
        for unit in self.units:
            law, stop = unit.law, (unit.open.paid, unit.open.period) if unit.open else (None, None)
            others = len(unit.types) - 1
            flip = float(law.of_fewer(others).swapped) if isinstance(law, SwapLaw) else None
            for name in unit.types:
                seen = self.stand_ins[name]
                shown = None if seen is None else json.dumps(dict(seen))
                together = [*unit.types]
                yield name, unit.mechanism, unit.epsilon, together, flip, shown, *stop


def read_parameters(path: str | Path) -> Parameters:
    """The parameters in a file that `Parameters.write` wrote."""
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise PpmError(f"{path} cannot be read: it must be a file of parameters") from None
    try:
        return Parameters.from_json(text)
    except PpmError as error:
        raise PpmError(f"{path}: {error}") from None


def plain(parameters: Parameters) -> dict[str, Any]:
    """Parameters as plain values."""
    own = {one.name: getattr(parameters, one.name) for one in fields(parameters)}
    own["units"] = [
        {
            "mechanism": unit.mechanism,
            "epsilon": unit.epsilon,
            "types": [*unit.types],
            "law": plain_law(unit.law),
            "open": None
            if unit.open is None
            else {"paid": unit.open.paid, "period": unit.open.period},
        }
        for unit in parameters.units
    ]
    own["stand_ins"] = {
        name: None if seen is None else dict(seen) for name, seen in parameters.stand_ins.items()
    }
    own["answers"] = [
        {
            "consumer": one.consumer,
            "query": one.query,
            "ask": one.ask,
            "epsilon": one.epsilon,
            "cap": one.cap,
            "law": None if one.law is None else plain_law(one.law),
        }
        for one in parameters.answers
    ]
    return {"format": FORMAT, **own}


def parameters_in(values: Mapping[str, Any]) -> Parameters:
    """What `plain` made; a ValueError or the like if it is something else."""
    own = dict(values)
    if (form := own.pop("format")) != FORMAT:
        raise ValueError(f"their format is {form!r}, and this version reads {FORMAT}")
    own["units"] = tuple(
        UnitParameters(
            unit["mechanism"],
            float(unit["epsilon"]),
            tuple(unit["types"]),
            law_of_vectors(unit["law"]),
            None if unit["open"] is None else Filter(**unit["open"]),
        )
        for unit in own["units"]
    )
    own["answers"] = tuple(
        AnswerParameters(
            one["consumer"],
            one["query"],
            one["ask"],
            float(one["epsilon"]),
            one["cap"],
            _law_of_answer(one),
        )
        for one in own["answers"]
    )
    found = Parameters(**own)
    for unit in found.units:
        if unit.law.values != 1 << len(unit.types):
            raise ValueError(f"the law of {listed(unit.types)} is not of {len(unit.types)} bits")
    missing = sorted(set(found.types) - found.stand_ins.keys())
    if missing:
        raise ValueError(f"how stand-ins of {listed(missing)} are known is missing")
    texts = found.policy, found.community, found.mode, found.subject, found.time
    if not all(isinstance(one, str) for one in texts):
        raise ValueError("policy, community, mode, subject and time must be texts")
    wholes = found.version, found.slot, found.start
    if not all(type(one) is int for one in wholes) or found.slot < 1:
        raise ValueError("version, slot and start must be whole numbers")
    if type(found.subjects) is not int and found.subjects not in ("given", "seen"):
        raise ValueError("subjects must be their number, given or seen")
    return found


def _law_of_answer(one: Mapping[str, Any]) -> Law | CountLaw | None:
    if one["law"] is None:
        return None
    return law_of_counts(one["law"]) if one["ask"] == "count" else law_of_vectors(one["law"])
