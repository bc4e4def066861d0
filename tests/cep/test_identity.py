"""The names of matches: the same for columns and for single matches, and different for each."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from ppm.cep.columnar.identity import digests, match_names
from ppm.cep.identity import digest, match_name

numbers = st.integers(-(2**63), 2**63 - 1)
taken = st.tuples(st.integers(0, 2), numbers, numbers, st.integers(0, 3))


@given(st.lists(numbers) | st.lists(st.text()))
def test_columns_digest_as_single_values_do(values: list[int] | list[str]) -> None:
    arrow = pa.int64() if all(isinstance(one, int) for one in values) else pa.string()
    assert digests(pa.array(values, arrow)).tolist() == [list(digest(one)) for one in values]


def test_a_slice_of_texts_digests_as_its_own_texts() -> None:
    texts = pa.array(["one", "twenty-one", "", "three hundred and one"])
    assert digests(texts.slice(1, 2)).tolist() == digests(texts).tolist()[1:3]


@given(
    st.text(),
    st.lists(
        st.lists(st.tuples(st.integers(0, 2), numbers, numbers, st.integers(0, 3))), max_size=5
    ),
)
def test_columns_name_matches_as_the_reference_does(
    subject: str, matches: list[list[tuple[int, int, int, int]]]
) -> None:
    stages = ("a", "b", "c")
    flat = [(at, *event) for at, events in enumerate(matches) for event in events]
    match, stage, time, event, twin = (np.array([f[k] for f in flat], np.int64) for k in range(5))
    names = match_names(
        "p",
        stages,
        subjects=pa.array([subject]),
        subject=np.zeros(len(matches), np.int64),
        match=match,
        stage=stage,
        times=time,
        events=pa.array(event),
        twins=twin,
    )
    assert names.to_pylist() == [
        match_name("p", subject, [(stages[s], at, e, twin) for s, at, e, twin in events])
        for events in matches
    ]


def test_whatever_differs_gives_another_name() -> None:
    names = [
        match_name("p", "x", [("a", 5, 1, 0)]),
        match_name("q", "x", [("a", 5, 1, 0)]),
        match_name("p", "y", [("a", 5, 1, 0)]),
        match_name("p", 1, [("a", 5, 1, 0)]),
        match_name("p", "1", [("a", 5, 1, 0)]),
        match_name("p", "x", [("b", 5, 1, 0)]),
        match_name("p", "x", [("a", 6, 1, 0)]),
        match_name("p", "x", [("a", 5, 2, 0)]),
        match_name("p", "x", [("a", 5, "1", 0)]),
        match_name("p", "x", [("a", 5, 1, 1)]),
        match_name("p", "x", [("a", 5, 1, 0), ("a", 5, 2, 0)]),
        match_name("p", "x", [("a", 5, 2, 0), ("a", 5, 1, 0)]),
    ]
    assert len(set(names)) == len(names)


def test_half_a_million_names_are_different_and_use_every_digit() -> None:
    count = 500_000
    names = match_names(
        "p",
        ("a",),
        subjects=pa.array(["x"]),
        subject=np.zeros(count, np.int64),
        match=np.arange(count),
        stage=np.zeros(count, np.int64),
        times=np.zeros(count, np.int64),
        events=pa.array(np.arange(count)),
        twins=np.zeros(count, np.int64),
    )
    assert len(names.unique()) == count
    digits = np.array([list(name) for name in names.slice(0, 20_000).to_pylist()])
    # 16 values at each of 32 places, 1,250 times each on average; 8 deviations away is 1e-12 wide.
    for place in digits.T:
        _, times = np.unique(place, return_counts=True)
        assert len(times) == 16
        assert abs(times - 1250).max() < 8 * np.sqrt(1250)
