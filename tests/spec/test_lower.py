"""Zones and distances as plain arithmetic: which points are inside, and how far the others are."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppm.cep.predicate import evaluate
from ppm.errors import BindingError
from ppm.spec.expression.kinds import ColumnType, ExpressionError
from ppm.spec.expression.lower import METRES_PER_DEGREE, bind, lower
from ppm.spec.expression.nodes import Call, Node, children, walk
from ppm.spec.expression.parse import parse
from ppm.spec.zone import Zone

Corners = list[tuple[float, float]]


def circle(lat: float, lon: float, radius: str) -> Zone:
    return Zone.model_validate({"center": [lat, lon], "radius": radius})


def polygon(*corners: tuple[float, float]) -> Zone:
    return Zone.model_validate({"corners": corners})


BOX = polygon((59.0, 10.0), (59.0, 11.0), (60.0, 11.0), (60.0, 10.0))
ARROWHEAD = polygon((0.0, 0.0), (2.0, 2.0), (0.0, 4.0), (6.0, 2.0))
STAIRS = polygon((0.0, 0.0), (0.0, 2.0), (1.0, 2.0), (1.0, 1.0), (2.0, 1.0), (2.0, 0.0))
ZONES = {
    "box": BOX,
    "arrowhead": ARROWHEAD,
    "stairs": STAIRS,
    "clinic": circle(60.0, 10.0, "500 m"),
    "fiji": circle(-17.0, 179.999, "1 km"),
}
HALF_DEGREE_EAST = 0.5 * METRES_PER_DEGREE * math.cos(math.radians(60))


def answer(
    sql: str, lat: float | None, lon: float | None, zones: Mapping[str, Zone]
) -> bool | None:
    row = pa.table({"lat": pa.array([lat], pa.float64()), "lon": pa.array([lon], pa.float64())})
    found: bool | None = evaluate(parse(sql), row, zones=zones, timezone="UTC")[0].as_py()
    return found


def depth(node: Node) -> int:
    return 1 + max((depth(child) for child in children(node)), default=0)


@pytest.mark.parametrize(
    ("zone", "lat", "lon", "inside"),
    [
        pytest.param("clinic", 60.0, 10.0, True, id="the centre of a circle"),
        pytest.param("clinic", 60.00449, 10.0, True, id="499 m north"),
        pytest.param("clinic", 60.00451, 10.0, False, id="501 m north"),
        pytest.param(
            "clinic", 60.0, 10.00898, True, id="499 m east, where degrees are half as wide"
        ),
        pytest.param("clinic", 60.0, 10.00902, False, id="501 m east"),
        pytest.param("fiji", -17.0, -179.999, True, id="across the 180th meridian"),
        pytest.param("fiji", -17.0, -179.98, False, id="too far across the 180th meridian"),
        pytest.param("box", 59.5, 10.5, True, id="in a box"),
        pytest.param("box", 59.0, 10.0, True, id="its south-western corner is inside"),
        pytest.param("box", 60.0, 10.5, False, id="its northern edge is outside"),
        pytest.param("box", 59.5, 11.0, False, id="its eastern edge is outside"),
        pytest.param("box", 59.0, 9.9, False, id="west of it, level with an edge"),
        pytest.param("arrowhead", 3.0, 2.0, True, id="in the head"),
        pytest.param("arrowhead", 1.0, 2.0, False, id="in the notch"),
        pytest.param("arrowhead", 1.0, 0.8, True, id="in a barb"),
        pytest.param("arrowhead", 2.0, -1.0, False, id="level with a corner"),
        pytest.param("stairs", 0.5, 1.5, True, id="on the lower stair"),
        pytest.param("stairs", 1.5, 1.5, False, id="above the lower stair"),
        pytest.param("stairs", 1.0, 0.5, True, id="level with a horizontal edge, inside"),
        pytest.param("stairs", 1.0, 1.5, False, id="on a horizontal edge, which is outside"),
        pytest.param("box", math.inf, 10.5, False, id="at no latitude on earth"),
        pytest.param("box", 59.5, -math.inf, False, id="at no longitude on earth"),
        pytest.param("clinic", -math.inf, math.inf, False, id="nowhere near a circle"),
        *(
            pytest.param(zone, lat, lon, None, id=f"{zone}, {lat}, {lon}")
            for zone in ("clinic", "fiji", "box")
            for lat, lon in [(None, 10.5), (0.0, None), (None, None), (math.nan, 10.5)]
        ),
    ],
)
def test_a_point_in_a_zone(
    zone: str, lat: float | None, lon: float | None, inside: bool | None
) -> None:
    assert answer(f"in_zone(lat, lon, '{zone}')", lat, lon, ZONES) is inside


@pytest.mark.parametrize(
    ("sql", "lat", "lon", "metres"),
    [
        pytest.param("distance(lat, lon, 60, 10)", 60.0, 10.0, 0.0, id="here"),
        pytest.param(
            "distance(lat, lon, 60, 10)", 61.0, 10.0, METRES_PER_DEGREE, id="a degree north"
        ),
        pytest.param(
            "distance(lat, lon, 60.0, 10.0)", 60.0, 10.5, HALF_DEGREE_EAST, id="eastwards"
        ),
        pytest.param("distance(lat, lon, 'box')", 59.5, 10.5, 0.0, id="a box's middle"),
        pytest.param(
            "distance(lat, lon, 0, 179)", 0.0, -179.0, 2 * METRES_PER_DEGREE, id="dateline"
        ),
    ],
)
def test_a_distance(sql: str, lat: float, lon: float, metres: float) -> None:
    assert answer(f"abs({sql} - {metres!r}) < 0.001", lat, lon, ZONES) is True


@given(
    corner=st.tuples(st.floats(-1, 1), st.floats(-1, 1)),
    points=st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), min_size=1),
)
def test_zones_that_share_edges_share_no_point(
    corner: tuple[float, float], points: Corners
) -> None:
    # Four triangles from one inner corner fill the box, whatever the corner.
    outer: Corners = [(-1.0, -1.0), (-1.0, 1.0), (1.0, 1.0), (1.0, -1.0)]
    triangles = {
        str(side): polygon(corner, outer[side - 1], outer[side])
        for side in range(4)
        if len({corner, outer[side - 1], outer[side]}) == 3
    }
    lats, lons = zip(*points, corner, *outer, strict=True)
    rows = pa.table({"lat": lats, "lon": lons})
    counts = [0] * rows.num_rows
    for name in triangles:
        node = parse(f"in_zone(lat, lon, '{name}')")
        inside = evaluate(node, rows, zones=triangles, timezone="UTC").to_pylist()
        counts = [count + one for count, one in zip(counts, inside, strict=True)]
    expected = [int(lat < 1 and lon < 1) for lat, lon in zip(lats, lons, strict=True)]
    assert counts == expected


def test_nothing_geographic_is_left() -> None:
    node = lower(parse("in_zone(lat, lon, 'box') OR distance(lat, lon, 'clinic') < 9"), ZONES)
    calls = {part.function for part in walk(node) if isinstance(part, Call)}
    assert calls == {"abs", "coalesce", "sqrt"}


def test_the_tree_of_a_large_polygon_stays_flat() -> None:
    angles = [2 * math.pi * corner / 100 for corner in range(100)]
    zone = polygon(*[(math.sin(angle), math.cos(angle)) for angle in angles])
    assert depth(lower(parse("in_zone(lat, lon, 'z')"), {"z": zone})) <= 16


def test_a_predicate_without_zones_stays_as_it_is() -> None:
    node = parse("NOT (-x + 1 > 2 AND s LIKE 'a%' OR n IN (1, 2) AND lower(s) IS NULL)")
    assert lower(node, {}) == node


@pytest.mark.parametrize(
    ("zones", "fault"),
    [
        pytest.param(
            ZONES, "names the zone clinc, which is not declared; did you mean clinic?", id="near"
        ),
        pytest.param({}, "names the zone clinc, which is not declared; there are none", id="none"),
    ],
)
def test_an_unknown_zone_is_refused(zones: Mapping[str, Zone], fault: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        lower(parse("in_zone(lat, lon, 'clinc')"), zones)
    assert str(caught.value) == fault


def test_everything_that_does_not_fit_is_told_at_once() -> None:
    columns: list[tuple[str, ColumnType | str]] = [
        ("price", "decimal(10,2)"),
        ("speed", ColumnType.DOUBLE),
        ("twice", ColumnType.DOUBLE),
        ("twice", ColumnType.DOUBLE),
    ]
    with pytest.raises(BindingError) as caught:
        bind(parse("price > 1 AND sped > 2 AND twice = 2 AND last(a.x) > 3"), columns)
    assert str(caught.value) == (
        "price > 1 AND sped > 2 AND twice = 2 AND last(a.x) > 3 does not fit the data: "
        "last(a.x) asks about other events; "
        "column price is decimal(10,2); cast it to one of boolean, double, integer, "
        "local_timestamp, string, timestamp; "
        "column sped is missing; did you mean speed?; "
        "column twice is there 2 times; rename all but one"
    )


@pytest.mark.parametrize(
    ("sql", "fault"),
    [
        ("speed", "speed does not fit the data: it is a number; a predicate is needed"),
        ("speed > 'fast'", "it has speed > 'fast', which compares a number with text"),
    ],
)
def test_a_predicate_that_is_none_on_these_columns_is_refused(sql: str, fault: str) -> None:
    with pytest.raises(BindingError) as caught:
        bind(parse(sql), [("speed", ColumnType.DOUBLE)])
    assert fault in str(caught.value)
