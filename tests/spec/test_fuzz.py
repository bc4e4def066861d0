"""Whatever stands in a file, reading it gives a spec or a `SpecError`, never a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppm.errors import Fault, SpecError
from ppm.spec.base import Declaration
from ppm.spec.load import FOLDERS, parse

ROOT = Path(__file__).parents[2]
SHIPPED = [
    (FOLDERS[folder], path.read_text("utf-8"))
    for folder in FOLDERS
    for path in sorted((ROOT / folder).glob("*.yaml"))
]
MODELS = st.sampled_from(list(FOLDERS.values()))

WORDS = sorted(
    {word for _, text in SHIPPED for word in text.replace(":", " ").replace(",", " ").split()}
)
"""Words that mean something somewhere, so that mutations reach deep."""

AWKWARD = ["", "null", "[]", "{}", "-1", "0", "1e308", ".nan", "&a", "*a", "!!int x", "'", '"', "}"]
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS) | st.text()
)
trees = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=5), inner, max_size=6)
    ),
    max_leaves=20,
)


def reads_or_refuses(text: bytes | str, model: type[Declaration]) -> None:
    faults: tuple[Fault, ...] = ()
    spec: Declaration | None = None
    try:
        spec = parse(text, model, file="fuzz.yaml").spec
    except SpecError as error:
        faults = error.faults
    assert isinstance(spec, model) or faults
    assert all(fault.file == "fuzz.yaml" and fault.line for fault in faults)


def test_there_is_something_to_mutate() -> None:
    assert len(SHIPPED) >= 12


@given(st.binary(max_size=400), MODELS)
def test_any_bytes(data: bytes, model: type[Declaration]) -> None:
    reads_or_refuses(data, model)


@given(st.text(alphabet="abk:-[]{},&*!|>'\"#%@ \n\t0.~<?", max_size=80), MODELS)
def test_any_punctuation(text: str, model: type[Declaration]) -> None:
    reads_or_refuses(text, model)


@given(trees, MODELS)
def test_any_tree(tree: object, model: type[Declaration]) -> None:
    reads_or_refuses(json.dumps(tree), model)


@settings(max_examples=400)
@given(st.sampled_from(SHIPPED), st.data())
def test_a_shipped_file_with_one_place_changed(
    shipped: tuple[type[Declaration], str], data: st.DataObject
) -> None:
    model, text = shipped
    start = data.draw(st.integers(0, len(text)))
    end = min(len(text), start + data.draw(st.integers(0, 30)))
    piece = data.draw(st.sampled_from(AWKWARD) | st.sampled_from(WORDS) | st.text(max_size=8))
    reads_or_refuses(text[:start] + piece + text[end:], model)


@settings(max_examples=300)
@given(st.sampled_from(SHIPPED), st.data())
def test_a_shipped_file_with_one_line_from_another(
    shipped: tuple[type[Declaration], str], data: st.DataObject
) -> None:
    model, text = shipped
    lines = text.splitlines()
    others = [line for _, other in SHIPPED for line in other.splitlines()]
    lines[data.draw(st.integers(0, len(lines) - 1))] = data.draw(st.sampled_from(others))
    reads_or_refuses("\n".join(lines), model)


@settings(max_examples=300)
@given(st.text(max_size=60) | st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join))
def test_any_predicate(sql: str) -> None:
    document = {"name": "p", "events": {"a": sql}, "sequence": "a"}
    reads_or_refuses(json.dumps(document), FOLDERS["patterns"])


SQL = r"""
    a b 1 2.5 'x' NULL TRUE AND OR NOT IN ( ) , . = < > <> + - * / % LIKE BETWEEN IS CASE WHEN
    CAST AS INT count last in_zone distance TIMESTAMP INTERVAL :: -> [ ] { } ; -- /* SELECT FROM
    || ~ ^ & ! @ $ ? : ` \ x'00' DATE ARRAY STRUCT EXISTS ANY ALL lambda
"""


@settings(max_examples=500)
@given(st.lists(st.sampled_from(SQL.split()), min_size=1, max_size=12).map(" ".join))
def test_any_words_of_sql(sql: str) -> None:
    document = {"name": "p", "events": {"a": sql}, "sequence": "a"}
    reads_or_refuses(json.dumps(document), FOLDERS["patterns"])


@pytest.mark.parametrize(
    "sql",
    [
        pytest.param("(" * 2_000 + "a" + ")" * 1_900, id="brackets beyond any stack"),
        pytest.param("NOT " * 900 + "a", id="a tower of NOT"),
        pytest.param("-" * 3_000 + "1 > 0", id="signs that look like a comment"),
        pytest.param(" AND ".join(["a = 1"] * 500), id="a long conjunction"),
        pytest.param("a IN (" + ", ".join(map(str, range(600))) + ")", id="a long list"),
    ],
)
def test_a_huge_predicate(sql: str) -> None:
    document = {"name": "p", "events": {"a": sql}, "sequence": "a"}
    reads_or_refuses(json.dumps(document), FOLDERS["patterns"])
