"""What stands between a parsed predicate and the columns it is evaluated on.

`bind` checks that it fits the data. `lower` writes zones and distances out as plain arithmetic, so
that evaluators share one geometry, and every constant is computed once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

from ppm.errors import BindingError, choices, did_you_mean
from ppm.spec.expression.functions import Kind
from ppm.spec.expression.kinds import ColumnType, ExpressionError, kind_of
from ppm.spec.expression.nodes import (
    Arithmetic,
    Call,
    Compare,
    Literal,
    Logic,
    Node,
    columns_of,
    rebuilt,
    stage_values_of,
)
from ppm.spec.expression.text import to_sql
from ppm.spec.zone import Zone

METRES_PER_DEGREE = math.radians(6_371_008.8)
"""Of latitude, on a sphere with the earth's mean radius (IUGG)."""


def bind(node: Node, columns: Iterable[tuple[str, ColumnType | str]]) -> dict[str, ColumnType]:
    """The types of the columns that a predicate reads, or everything that does not fit.

    A column of a type that predicates do not know comes with that type's name instead.
    """
    given = list(columns)
    types_given = dict(given)
    times = Counter(name for name, _ in given)
    types: dict[str, ColumnType] = {}
    faults = [f"{to_sql(value)} asks about other events" for value in stage_values_of(node)]
    for name in sorted(columns_of(node)):
        found = types_given.get(name)
        if found is None:
            faults.append(f"column {name} is missing{did_you_mean(name, list(times))}")
        elif times[name] > 1:
            faults.append(f"column {name} is there {times[name]} times; rename all but one")
        elif isinstance(found, ColumnType):
            types[name] = found
        else:
            faults.append(f"column {name} is {found}; cast it to one of {choices(ColumnType)}")
    if not faults:
        try:
            kind = kind_of(node, types)
        except ExpressionError as error:
            faults.append(f"it {error}")
        else:
            if kind is not Kind.BOOLEAN:
                faults.append(f"it is {kind.value}; a predicate is needed, such as speed > 2.5")
    if faults:
        raise BindingError(f"{to_sql(node)} does not fit the data: {'; '.join(faults)}")
    return types


def lower(node: Node, zones: Mapping[str, Zone]) -> Node:
    """The same expression with every in_zone() and distance() written out.

    Null wherever the latitude or the longitude is null. A part that is needed several times is one
    object, so that an evaluator can tell, and compute it once.
    """
    match node:
        case Call(function="in_zone", arguments=(lat, lon, Literal(value=str(name)))):
            return _in_zone(_zone(name, zones), lower(lat, zones), lower(lon, zones))
        case Call(function="distance", arguments=(lat, lon, *target)):
            center = _point(target, zones)
            squared = _squared_distance(lower(lat, zones), lower(lon, zones), center, wraps=True)
            return Call("sqrt", (squared,))
        case _:
            return rebuilt(node, lambda part: lower(part, zones))


def _zone(name: str, zones: Mapping[str, Zone]) -> Zone:
    if name not in zones:
        hint = did_you_mean(name, sorted(zones)) or "; there are none"
        raise ExpressionError(f"names the zone {name}, which is not declared{hint}")
    return zones[name]


def _point(target: list[Node], zones: Mapping[str, Zone]) -> tuple[float, float]:
    match target:
        case [Literal(value=str(name))]:
            return _zone(name, zones).middle
        case [Literal(value=int() | float() as lat), Literal(value=int() | float() as lon)]:
            return float(lat), float(lon)
    raise ExpressionError("calls distance() to something else than a zone or a point")


def _in_zone(zone: Zone, lat: Node, lon: Node) -> Node:
    if zone.center is None or zone.radius is None:
        return _in_polygon(zone.corners or (), lat, lon)
    reach = zone.radius.metres / (METRES_PER_DEGREE * math.cos(math.radians(zone.center[0])))
    wraps = abs(zone.center[1]) + reach >= 180
    squared = _squared_distance(lat, lon, zone.center, wraps=wraps)
    return Compare("<=", squared, Literal(zone.radius.metres**2))


def _squared_distance(lat: Node, lon: Node, center: tuple[float, float], *, wraps: bool) -> Node:
    """Square metres on the plane that touches the earth at the centre."""
    eastwards = Arithmetic("-", lon, Literal(center[1]))
    if wraps:
        # The short way round, for longitudes from -180 to 180.
        eastwards = Arithmetic("-", _HALF_TURN, _abs(Arithmetic("-", _HALF_TURN, _abs(eastwards))))
    north = _times(Arithmetic("-", lat, Literal(center[0])), METRES_PER_DEGREE)
    east = _times(eastwards, METRES_PER_DEGREE * math.cos(math.radians(center[0])))
    return Arithmetic("+", Arithmetic("*", north, north), Arithmetic("*", east, east))


def _in_polygon(corners: tuple[tuple[float, float], ...], lat: Node, lon: Node) -> Node:
    """Whether a ray to the east crosses an odd number of edges.

    An edge holds its southern end and not its northern one, and a point on an edge lies east of
    it. So of two zones that share an edge, each point on it is in exactly one.
    """
    is_known = Logic("AND", Compare("=", lat, lat), Compare("=", lon, lon))
    # Nulls are dealt with once, at the end: Catalyst's code for an edge without them is a third.
    lat, lon = _or_zero(lat), _or_zero(lon)
    north = [Compare(">", Literal(corner[0]), lat) for corner in corners]
    crossings: list[Node] = []
    for here in range(len(corners)):
        # In a fixed direction, so that both zones of a shared edge round alike.
        low, high = sorted((corners[here - 1], corners[here]))
        if low[0] == high[0]:
            continue  # The ray runs along it, or misses it.
        spans = Compare("<>", north[here - 1], north[here])
        # Which side of the edge, as a cross product: nothing is divided.
        eastwards = _times(Arithmetic("-", lon, Literal(low[1])), high[0] - low[0])
        northwards = _times(Arithmetic("-", lat, Literal(low[0])), high[1] - low[1])
        side = _or_zero(Arithmetic("-", eastwards, northwards))
        crossings.append(Logic("AND", spans, Compare("<", side, Literal(0.0))))
    return Compare("=", _odd(crossings), is_known)


def _odd(parts: list[Node]) -> Node:
    """Whether an odd number of parts is true, as a tree of logarithmic depth."""
    if len(parts) <= 1:
        return parts[0] if parts else Literal(False)
    middle = len(parts) // 2
    return Compare("<>", _odd(parts[:middle]), _odd(parts[middle:]))


def _times(node: Node, factor: float) -> Node:
    return Arithmetic("*", node, Literal(factor))


def _or_zero(node: Node) -> Node:
    return Call("coalesce", (node, Literal(0.0)))


def _abs(node: Node) -> Node:
    return Call("abs", (node,))


_HALF_TURN = Literal(180.0)
