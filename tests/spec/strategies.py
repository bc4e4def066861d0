"""Any spec that a user could write, for tests that must hold for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any, TypeVar

from hypothesis import strategies as st

from ppm.spec.base import Spec
from ppm.spec.columns import Category, Drop, Geo, Laplace, Snap
from ppm.spec.consumer import Consumer, Quality, Query
from ppm.spec.policy import Community, Defaults, Horizon, Policy, Protection
from ppm.spec.prior import IndependentPrior, Prior
from ppm.spec.stream import Stream
from ppm.spec.values import Distance, Duration
from ppm.spec.zone import Zone
from tests.spec.expression_strategies import predicates
from tests.spec.pattern_strategies import characters, column_names, names, patterns, texts

Model = TypeVar("Model", bound=Spec)

durations = st.integers(1, Duration.longest).map(Duration)
distances = st.integers(1, 20_000_000_000).map(Distance)
offsets = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
instants = st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=offsets)
shares = st.floats(0, 1)
epsilons = st.floats(0, 1_000, exclude_min=True)
latitudes = st.floats(-85, 85)
longitudes = st.floats(-180, 180)
identifiers = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,9}", fullmatch=True)
TYPE_WORDS = ("string", "integer", "double", "boolean", "timestamp", "local_timestamp")


def declared(
    model: type[Model],
    needed: Mapping[str, st.SearchStrategy[Any]],
    optional: Mapping[str, st.SearchStrategy[Any]] | None = None,
) -> st.SearchStrategy[Model]:
    """Models with the needed keys and any of the optional ones."""
    return st.fixed_dictionaries(dict(needed), optional=dict(optional or {})).map(
        model.model_validate
    )


zones = declared(
    Zone, {"center": st.tuples(latitudes, longitudes), "radius": distances}
) | declared(
    Zone,
    {
        "corners": st.lists(
            st.tuples(latitudes, st.floats(0, 180)), min_size=3, max_size=6, unique=True
        )
    },
)


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    """Bindings to a stream, with and without its columns."""
    subject, time, event_id = draw(st.lists(column_names, min_size=3, max_size=3, unique=True))
    others = st.dictionaries(column_names, st.sampled_from(TYPE_WORDS), max_size=3)
    roles = {subject: "string", time: "timestamp", event_id: "integer"}
    return draw(
        declared(
            Stream,
            {
                "subject": st.just(subject),
                "time": st.just(time),
                "slot": durations,
                "from": instants,
                "lateness": durations,
            },
            {
                "event_id": st.just(event_id),
                "timezone": st.sampled_from(["UTC", "Europe/Oslo", "America/St_Johns"]),
                "subjects": st.just("seen")
                | st.lists(st.text(characters, min_size=1), min_size=1, max_size=3, unique=True),
                "sampled_every": durations,
                "on_null": st.sampled_from(["refuse", "drop"]),
                "columns": others.map(lambda extra: extra | roles),
                "zones": st.dictionaries(names, zones, max_size=2),
            },
        )
    )


# Predicates read no column of this kind, so that no rule looks at what it hides.
hidden_columns = column_names.map(lambda name: f"hidden {name}")


@st.composite
def _laplaces(draw: st.DrawFn) -> Laplace:
    lower, missing, upper = sorted(
        draw(
            st.lists(
                st.floats(allow_nan=False, allow_infinity=False),
                min_size=3,
                max_size=3,
                unique=True,
            )
        )
    )
    bounds = {"lower": lower, "missing": missing, "upper": upper}
    keys = {"column": hidden_columns, "epsilon": epsilons} | {
        key: st.just(value) for key, value in bounds.items()
    }
    return draw(declared(Laplace, {"rule": st.just("laplace"), **keys}, {"where": predicates()}))


_widths = st.integers(1, 19).map(float)
"""Degrees of longitude that an area may span."""


@st.composite
def _geos(draw: st.DrawFn) -> Geo:
    south, latitude, north = sorted(draw(st.lists(latitudes, min_size=3, max_size=3, unique=True)))
    grid, radius = sorted(draw(st.tuples(distances, distances)))
    west = draw(st.floats(-180, 160, allow_subnormal=False))
    longitude, east = sorted(draw(st.lists(_widths, min_size=2, max_size=2, unique=True)))
    longitude, east = west + longitude, west + east
    return draw(
        declared(
            Geo,
            {
                "rule": st.just("geo"),
                "latitude": hidden_columns,
                "longitude": hidden_columns.map(lambda name: f"{name} too"),
                "level": epsilons,
                "radius": st.just(radius),
                "grid": st.just(grid),
                "area": st.just({"south": south, "west": west, "north": north, "east": east}),
                "epoch": durations,
                "missing": st.just([latitude, longitude]),
            },
            {
                "where": predicates(),
                "guarantee": st.just("none"),
            },
        )
    )


column_rules = st.one_of(
    declared(Drop, {"rule": st.just("drop"), "column": hidden_columns}),
    declared(
        Snap,
        {
            "rule": st.just("snap"),
            "column": hidden_columns,
            "grid": st.floats(0, 1e300, exclude_min=True),
        },
        {"guarantee": st.just("none")},
    ),
    _laplaces(),
    declared(
        Category,
        {
            "rule": st.just("category"),
            "column": hidden_columns,
            "epsilon": epsilons,
            "values": st.lists(texts, min_size=2, max_size=4, unique=True),
            "other": texts,
        },
        {"where": predicates()},
    ),
    _geos(),
)

protections = declared(
    Protection,
    {},
    {
        "mechanism": st.sampled_from(
            ["response", "joint-response", "decoy-windows", "answers", "none"]
        ),
        "epsilon": epsilons,
        "allocation": st.sampled_from(["uniform", "adaptive", "optimal"]),
    },
)
horizons = declared(Horizon, {"over": durations, "epsilon": epsilons, "then": st.just("withhold")})
shared_rules = {
    "protect": st.dictionaries(names, protections, max_size=3),
    "columns": st.lists(column_rules, max_size=2),
    "collusion": st.sampled_from(["nested", "independent"]),
    "horizon": horizons,
}
communities = declared(
    Community,
    {},
    {
        "doc": texts,
        "extends": names,
        "rows": st.sampled_from(["released", "withheld"]),
        **shared_rules,
    },
)
sources = st.text(characters, min_size=1, max_size=50)
independent_priors = declared(
    IndependentPrior,
    {
        "source": sources,
        "rates": st.dictionaries(identifiers, shares, min_size=1, max_size=3),
    },
)


@st.composite
def priors(draw: st.DrawFn) -> Prior:
    """Tables of sets, some of which never occurred."""
    of = draw(st.lists(identifiers, min_size=1, max_size=4, unique=True))
    sets = draw(st.sets(st.frozensets(st.sampled_from(of)), min_size=1, max_size=6))
    slots = draw(st.lists(st.integers(0, 1_000), min_size=len(sets), max_size=len(sets)))
    slots[0] += 1
    start = draw(st.datetimes(datetime(2, 1, 1), datetime(9000, 1, 1), timezones=offsets))
    return draw(
        declared(
            Prior,
            {
                "name": names,
                "source": sources,
                "subjects": st.integers(1, sum(slots)),
                "from": st.just(start),
                "until": st.just(start + timedelta(hours=sum(slots))),
                "slot": st.just(Duration.parse("1 h")),
                "of": st.just(of),
                "together": st.just(
                    [
                        {"types": sorted(one), "slots": number}
                        for one, number in zip(sorted(sets, key=sorted), slots, strict=True)
                    ]
                ),
            },
        )
    )


policies = declared(
    Policy,
    {
        "name": names,
        "version": st.integers(1, 1_000_000),
        "stream": streams(),
        "communities": st.dictionaries(names, communities, min_size=1, max_size=3),
    },
    {
        "doc": texts,
        "defaults": declared(Defaults, {}, shared_rules),
        "prior": names | independent_priors,
    },
)

qualities = st.sampled_from(["recall", "precision", "q"]).flatmap(
    lambda one: declared(
        Quality, {one: shares}, {key: shares for key in ("recall", "precision", "q") if key != one}
    )
)
asks: st.SearchStrategy[dict[str, Any]] = st.just({}) | st.integers(1, 1_000_000).map(
    lambda cap: {"ask": "count", "cap": cap}
)


@st.composite
def queries(draw: st.DrawFn, name: str, *, may_ask: bool) -> Query:
    """Questions about a pattern, which is named or written out."""
    ask = draw(asks | st.just({"ask": "existence"})) if may_ask else {}
    needed = {"name": st.just(name), "pattern": names | patterns()}
    return draw(
        declared(
            Query,
            needed | {key: st.just(value) for key, value in ask.items()},
            {
                "doc": texts,
                "weight": st.floats(0, 1_000_000, exclude_min=True),
                "preference": shares,
                "minimum": qualities,
            },
        )
    )


@st.composite
def consumers(draw: st.DrawFn) -> Consumer:
    """Readers of a community, whose queries are known or not."""
    is_transparent = draw(st.booleans())
    asked = draw(st.lists(names, min_size=int(is_transparent), max_size=2, unique=True))
    return draw(
        declared(
            Consumer,
            {
                "name": names,
                "policy": names,
                "community": names,
                "model": st.just("transparent" if is_transparent else "opaque"),
                "queries": st.tuples(*(queries(name, may_ask=is_transparent) for name in asked)),
            },
            {"doc": texts},
        )
    )
