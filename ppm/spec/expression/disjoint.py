"""Whether two predicates can be true of one row; "no" is proven, "yes" may only mean "maybe".

What may be told of private rows hangs on this, so everything that is not understood counts as an
overlap.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from ppm.spec.expression.lower import METRES_PER_DEGREE
from ppm.spec.expression.nodes import Call, Compare, In, IsNull, Literal, Logic, Moment, Node, Not
from ppm.spec.expression.text import to_sql
from ppm.spec.zone import Zone

MOST_CASES = 64
"""A predicate with more alternatives than this is taken to overlap with anything."""

_EXACT = 2.0**53
"""Below this, doubles hold whole numbers exactly."""

_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}

Case = tuple[tuple[Node, bool], ...]
"""Atoms that are all true, or false where the flag says so."""


def may_overlap(one: Node, other: Node, zones: Mapping[str, Zone]) -> bool:
    """Whether some row may satisfy both predicates, as far as can be told from their text.

    >>> from ppm.spec.expression.parse import parse
    >>> may_overlap(parse("sensor = 'bed'"), parse("sensor IN ('bath', 'door')"), {})
    False
    >>> may_overlap(parse("watts > 100"), parse("sensor = 'bed'"), {})
    True
    """
    ones, others = _cases(one, is_true=True), _cases(other, is_true=True)
    if ones is None or others is None or len(ones) * len(others) > MOST_CASES**2:
        return True
    return any(_is_possible((*a, *b), zones) for a, b in itertools.product(ones, others))


def _cases(node: Node, *, is_true: bool) -> list[Case] | None:
    """The ways in which a predicate can be true (or false): one of them, all atoms of it."""
    match node:
        case Not(operand=operand):
            return _cases(operand, is_true=not is_true)
        case Literal(value=bool() as value):
            return [()] if value is is_true else []
        case Logic(operator=sign):
            left, right = _cases(node.left, is_true=is_true), _cases(node.right, is_true=is_true)
            if left is None or right is None:
                return None
            if (sign == "AND") is not is_true:  # by De Morgan
                return left + right if len(left + right) <= MOST_CASES else None
            if len(left) * len(right) > MOST_CASES:
                return None
            return [(*a, *b) for a, b in itertools.product(left, right)]
        case _:
            return [((node, is_true),)]


@dataclass(slots=True)
class _Range:
    """What is known of one value: where it lies, and what it is or is not."""

    low: float = -math.inf
    high: float = math.inf
    low_is_open: bool = False
    high_is_open: bool = False
    allowed: set[object] | None = None
    refused: set[object] = field(default_factory=set)
    is_null: bool | None = None

    def is_empty(self) -> bool:
        if self.low > self.high:
            return True
        if self.low == self.high and (self.low_is_open or self.high_is_open):
            return True
        if self.allowed is None:
            return False
        return not any(value not in self.refused and self._holds(value) for value in self.allowed)

    def _holds(self, value: object) -> bool:
        if not isinstance(value, float):
            return True
        above = value > self.low or (value == self.low and not self.low_is_open)
        below = value < self.high or (value == self.high and not self.high_is_open)
        return above and below


def _is_possible(case: Case, zones: Mapping[str, Zone]) -> bool:
    ranges: dict[str, _Range] = {}
    truths: dict[str, bool] = {}
    inside: dict[str, list[Zone]] = {}
    for atom, is_true in case:
        text = to_sql(atom)
        if truths.setdefault(text, is_true) is not is_true:
            return False
        match atom:
            case Compare():
                _narrow_by_comparison(atom, is_true, ranges)
            case In(operand=operand, values=values):
                _choose(
                    ranges.setdefault(to_sql(operand), _Range()),
                    [_comparable(v.value) for v in values],
                    is_true,
                )
            case IsNull(operand=operand):
                ranges.setdefault(to_sql(operand), _Range()).is_null = is_true
            case Call(function="in_zone", arguments=(lat, lon, Literal(value=str(name)))) if (
                is_true and name in zones
            ):
                inside.setdefault(f"{to_sql(lat)}, {to_sql(lon)}", []).append(zones[name])
    if any(one.is_empty() or (one.is_null and _is_known(one)) for one in ranges.values()):
        return False
    return not any(
        _are_apart(a, b) for found in inside.values() for a, b in itertools.combinations(found, 2)
    )


def _is_known(one: _Range) -> bool:
    return (
        one.allowed is not None or bool(one.refused) or (one.low, one.high) != (-math.inf, math.inf)
    )


def _narrow_by_comparison(atom: Compare, is_true: bool, ranges: dict[str, _Range]) -> None:
    """A comparison with a plain value says something of the other side."""
    sign = atom.operator if is_true else _OPPOSITE[atom.operator]
    operand, constant = atom.left, _constant(atom.right)
    if constant is None:
        operand, constant, sign = atom.right, _constant(atom.left), _MIRRORED[sign]
    if constant is None:
        return
    known = ranges.setdefault(to_sql(operand), _Range())
    if isinstance(constant, float) and abs(constant) >= _EXACT:
        # Whole numbers beyond this are rounded here, so a strict bound may hold its own end.
        sign = {"<": "<=", ">": ">="}.get(sign, sign)
    if sign in ("=", "<>"):
        _choose(known, [constant], sign == "=")
    elif isinstance(constant, float) and sign in (">", ">="):
        if (constant, sign == ">") > (known.low, known.low_is_open):
            known.low, known.low_is_open = constant, sign == ">"
    elif isinstance(constant, float) and (constant, sign != "<") < (
        known.high,
        not known.high_is_open,
    ):
        known.high, known.high_is_open = constant, sign == "<"


def _choose(known: _Range, values: list[object], is_true: bool) -> None:
    if not is_true:
        known.refused |= {v for v in values if not isinstance(v, float) or abs(v) < _EXACT}
    elif known.allowed is None:
        known.allowed = set(values)
    else:
        known.allowed &= set(values)


def _constant(node: Node) -> object | None:
    match node:
        case Literal(value=value):
            return _comparable(value)
        case Moment(micros=micros):
            return float(micros)
    return None


def _comparable(value: object) -> object:
    # As doubles: a column may hold doubles, and then whole numbers are rounded before they compare.
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _are_apart(one: Zone, other: Zone) -> bool:
    """Whether no point is in both zones, with a margin for the curve of the earth."""
    if one == other:
        return False
    if _boxes_are_apart(_box(one), _box(other)):
        return True
    if one.center is None:
        one, other = other, one
    if one.center is None or one.radius is None:
        return False
    reach = one.radius.metres * 1.01 + 1
    if other.center is not None and other.radius is not None:
        return _metres(one.center, other.center) > reach + other.radius.metres * 1.01
    center = one.center
    # A polygon may be reached the other way round the earth.
    return all(
        _is_away_from_origin([_on_plane((lat, lon + turn), center) for lat, lon in corners], reach)
        for corners in [other.corners or ()]
        for turn in (-360, 0, 360)
    )


Box = tuple[float, float, float, float]


def _box(zone: Zone) -> Box:
    if zone.center is not None and zone.radius is not None:
        latitude, longitude = zone.center
        up = 1.01 * zone.radius.metres / METRES_PER_DEGREE
        across = up / math.cos(math.radians(min(abs(latitude) + up, 89)))
        return latitude - up, longitude - across, latitude + up, longitude + across
    latitudes, longitudes = zip(*(zone.corners or ()), strict=True)
    return min(latitudes), min(longitudes), max(latitudes), max(longitudes)


def _boxes_are_apart(one: Box, other: Box) -> bool:
    if max(abs(edge) for edge in (one[1], one[3], other[1], other[3])) >= 180:
        return False  # beyond the 180th meridian longitudes start anew
    return one[2] < other[0] or other[2] < one[0] or one[3] < other[1] or other[3] < one[1]


def _on_plane(point: tuple[float, float], center: tuple[float, float]) -> tuple[float, float]:
    """Metres to the east and to the north of a centre."""
    east = (point[1] - center[1]) * METRES_PER_DEGREE * math.cos(math.radians(center[0]))
    return east, (point[0] - center[0]) * METRES_PER_DEGREE


def _metres(one: tuple[float, float], other: tuple[float, float]) -> float:
    """No more than the distance on either centre's plane, where both circles were measured."""
    turned = abs(one[1] - other[1]) % 360
    narrowest = min(math.cos(math.radians(one[0])), math.cos(math.radians(other[0])))
    east = min(turned, 360 - turned) * METRES_PER_DEGREE * narrowest
    return math.hypot(east, (one[0] - other[0]) * METRES_PER_DEGREE)


def _is_away_from_origin(corners: list[tuple[float, float]], reach: float) -> bool:
    return not _is_around_origin(corners) and all(
        _distance_of_edge(corners[here - 1], corners[here]) > reach for here in range(len(corners))
    )


def _distance_of_edge(start: tuple[float, float], end: tuple[float, float]) -> float:
    """From the origin to the nearest point of an edge."""
    along = (end[0] - start[0], end[1] - start[1])
    length = along[0] ** 2 + along[1] ** 2
    share = -(start[0] * along[0] + start[1] * along[1]) / length if length else 0.0
    share = min(1.0, max(0.0, share))
    return math.hypot(start[0] + share * along[0], start[1] + share * along[1])


def _is_around_origin(corners: list[tuple[float, float]]) -> bool:
    is_inside = False
    for here in range(len(corners)):
        (x1, y1), (x2, y2) = corners[here - 1], corners[here]
        if (y1 > 0) != (y2 > 0) and x1 + (0 - y1) * (x2 - x1) / (y2 - y1) > 0:
            is_inside = not is_inside
    return is_inside
