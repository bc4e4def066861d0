"""Two predicates that cannot be true of one row, and those of which it is not known."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ppm.cep.predicate import evaluate
from ppm.spec.expression.disjoint import may_overlap
from ppm.spec.expression.parse import parse
from ppm.spec.zone import Zone

ZONES = {
    "home": Zone.model_validate({"center": [59.9226, 10.7600], "radius": "120 m"}),
    "office": Zone.model_validate({"center": [59.9076, 10.7607], "radius": "120 m"}),
    "garden": Zone.model_validate({"center": [59.9236, 10.7600], "radius": "50 m"}),
    "river": Zone.model_validate(
        {"corners": [[59.915, 10.7535], [59.9225, 10.749], [59.948, 10.77], [59.948, 10.776],
                     [59.9245, 10.7565], [59.915, 10.757]]}
    ),
    "east": Zone.model_validate({"center": [0, 179.9], "radius": "60 km"}),
    "west": Zone.model_validate({"center": [0, -179.9], "radius": "50 km"}),
    "west-box": Zone.model_validate(
        {"corners": [[-0.1, -179.99], [-0.1, -179.5], [0.1, -179.5], [0.1, -179.99]]}
    ),
    "north": Zone.model_validate({"center": [68.491, 0], "radius": "294.859 km"}),
    "north-west": Zone.model_validate({"center": [65.617, -7.928], "radius": "183.981 km"}),
    "city": Zone.model_validate({"center": [59.9139, 10.7522], "radius": "6 km"}),
}  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("x = 1", "x = 2", id="two values"),
        pytest.param("x = 'a'", "x IN ('b', 'c')", id="a value and a list"),
        pytest.param("x = 'a'", "x NOT IN ('a', 'b')", id="a value and a list without it"),
        pytest.param("x > 5", "x < 5", id="above and below"),
        pytest.param("x >= 5", "x < 5", id="touching, one end open"),
        pytest.param("x BETWEEN 1 AND 3", "x BETWEEN 4 AND 6", id="two ranges"),
        pytest.param("x IN (1, 2)", "x > 2", id="a list outside a range"),
        pytest.param("5 < x", "4 > x", id="written the other way round"),
        pytest.param("NOT x > 5", "x > 5", id="a predicate and its opposite"),
        pytest.param("a = 1 AND hour(t) >= 22", "hour(t) BETWEEN 4 AND 5", id="hours"),
        pytest.param("x = 1 OR x = 2", "x = 3 OR x = 4", id="alternatives"),
        pytest.param("NOT (x = 1 OR y = 2)", "x = 1 AND z = 3", id="De Morgan"),
        pytest.param("x IS NULL", "x > 3", id="nothing and something"),
        pytest.param("a LIKE 'x%' AND b = 1", "NOT a LIKE 'x%'", id="the same text both ways"),
        pytest.param("in_zone(a, b, 'home')", "in_zone(a, b, 'office')", id="far circles"),
        pytest.param("in_zone(a, b, 'home')", "in_zone(a, b, 'river')", id="a circle by a polygon"),
        pytest.param("in_zone(a, b, 'home')", "NOT in_zone(a, b, 'home')", id="in and out"),
        pytest.param("FALSE", "x = 1", id="never"),
    ],
)
def test_these_are_never_both_true(one: str, other: str) -> None:
    assert not may_overlap(parse(one), parse(other), ZONES)
    assert not may_overlap(parse(other), parse(one), ZONES)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("x = 1", "y = 2", id="other columns"),
        pytest.param("x = 1", "x = 1", id="the same"),
        pytest.param("x >= 5", "x <= 5", id="one value in common"),
        pytest.param("x <> 1", "x <> 2", id="two exclusions"),
        pytest.param("x = 1 OR y = 1", "x = 2", id="one alternative fits"),
        pytest.param("x IS NULL", "y > 3", id="nothing, of another column"),
        pytest.param("TRUE", "x = 1", id="always"),
        pytest.param("x = 'medicine_box' AND TRUE", "x = 'medicine_box'", id="disguised"),
        pytest.param("x LIKE '%'", "x = 'a'", id="not understood"),
        pytest.param("x + 0 = 1", "x = 2", id="arithmetic is not understood"),
        pytest.param("in_zone(a, b, 'home')", "in_zone(a, b, 'city')", id="one inside the other"),
        pytest.param("in_zone(a, b, 'home')", "in_zone(a, b, 'garden')", id="circles that touch"),
        pytest.param("in_zone(a, b, 'home')", "in_zone(c, d, 'office')", id="two positions"),
        pytest.param(
            "in_zone(a, b, 'east')", "in_zone(a, b, 'west')", id="over the 180th meridian"
        ),
        pytest.param("in_zone(a, b, 'east')", "in_zone(a, b, 'west-box')", id="a box beyond it"),
        pytest.param(
            "in_zone(a, b, 'north')", "in_zone(a, b, 'north-west')", id="large circles far north"
        ),
        pytest.param("x = 9007199254740993", "x > 9007199254740992", id="beyond exact doubles"),
        pytest.param("x = 9007199254740993", "x <> 9007199254740992", id="unequal beyond them"),
        pytest.param(
            "t = TIMESTAMP '2300-01-01T00:00:00.000001Z'",
            "t > TIMESTAMP '2300-01-01T00:00:00Z'",
            id="microseconds far away",
        ),
        pytest.param("in_zone(a, b, 'home')", "in_zone(a, b, 'nowhere')", id="an unknown zone"),
        pytest.param(
            " AND ".join(f"(x = {n} OR y = {n})" for n in range(12)), "x = 99", id="too many cases"
        ),
    ],
)
def test_these_may_both_be_true(one: str, other: str) -> None:
    assert may_overlap(parse(one), parse(other), ZONES)
    assert may_overlap(parse(other), parse(one), ZONES)


ATOMS = """
    x = 1; x <> 1; x > 1; x >= 2; x < 2; x <= 1; 2 > x; x IN (0, 2); x NOT IN (1); x IS NULL;
    y = 1; y < 1; y IS NOT NULL; s = 'a'; s IN ('b', 'c'); s LIKE 'a%'
"""
predicates = st.recursive(
    st.sampled_from([atom.strip() for atom in ATOMS.split(";")]),
    lambda inner: (
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(lambda t: f"({' '.join(t)})")
        | inner.map(lambda text: f"NOT ({text})")
    ),
    max_leaves=6,
)
GRID = [
    {"x": x, "y": y, "s": s}
    for x in (None, 0, 1, 2, 3)
    for y in (None, 0, 1, 2)
    for s in (None, "a", "b", "ab")
]
ROWS = pa.Table.from_pylist(GRID, pa.schema({"x": pa.int64(), "y": pa.int64(), "s": pa.string()}))


@given(predicates, predicates)
def test_what_is_called_disjoint_has_no_row_in_common(one: str, other: str) -> None:
    first, second = parse(one), parse(other)
    if not may_overlap(first, second, {}):
        answers = [evaluate(tree, ROWS, zones={}, timezone="UTC") for tree in (first, second)]
        assert not pc.any(pc.fill_null(pc.and_kleene(*answers), False)).as_py()


@st.composite
def zones(draw: st.DrawFn) -> Zone:
    """Circles and polygons of all sizes, near one another, also at the 180th meridian."""
    latitude = draw(st.floats(-80, 80))
    longitude = draw(st.sampled_from([0.0, 10.7, 179.9, -179.9])) + draw(st.floats(-0.05, 0.05))
    size = draw(st.sampled_from([0.002, 0.1, 3.0]))
    if draw(st.booleans()):
        metres = draw(st.integers(1, 110_000)) * size
        return Zone.model_validate(
            {"center": [latitude, longitude], "radius": f"{max(1, round(metres))} m"}
        )
    edge = st.tuples(st.floats(-size, size), st.floats(-size, size))
    corners = [
        [max(-85, min(85, latitude + north)), max(-180, min(180, longitude + east))]
        for north, east in draw(st.lists(edge, min_size=3, max_size=6))
    ]
    assume(len({tuple(corner) for corner in corners}) >= 3)
    return Zone.model_validate({"corners": corners})


IN_BOTH = parse("in_zone(a, b, 'one') AND in_zone(a, b, 'other')")


@given(zones(), zones(), st.integers(0, 2**32 - 1))
def test_zones_that_lie_apart_have_no_point_in_common(one: Zone, other: Zone, seed: int) -> None:
    both = {"one": one, "other": other}
    if may_overlap(parse("in_zone(a, b, 'one')"), parse("in_zone(a, b, 'other')"), both):
        return
    random = np.random.default_rng(seed)
    centres = np.array([one.middle, other.middle, np.mean([one.middle, other.middle], axis=0)])
    spread = random.choice([0.001, 0.1, 3.0], size=(3_000, 1))
    points = centres[random.integers(0, 3, 3_000)] + random.normal(size=(3_000, 2)) * spread
    rows = pa.table({"a": points[:, 0], "b": (points[:, 1] + 180) % 360 - 180})
    inside = evaluate(IN_BOTH, rows, zones=both, timezone="UTC")
    assert not pc.any(pc.fill_null(inside, False)).as_py()
