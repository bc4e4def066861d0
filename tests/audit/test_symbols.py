"""Symbols depend on the runs that an event is chosen on, and on no other ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ppm.audit import Outputs, lower_bound
from ppm.audit.symbols import columns_of, spell

RUNS = 400
TRAINING = np.arange(RUNS) % 4 == 0
"""Not the first runs only: both worlds have their part."""


def ordered(numbers: np.ndarray) -> Outputs:
    return numbers.astype(np.int64)


def texts(numbers: np.ndarray) -> Outputs:
    return [f"number {int(one)}" for one in numbers]


def pairs(numbers: np.ndarray) -> Outputs:
    return np.stack([numbers // 20, numbers % 20], axis=1).astype(np.int64)


def floats(numbers: np.ndarray) -> Outputs:
    return numbers * 0.37


@pytest.mark.parametrize("kind", [ordered, texts, pairs, floats])
@pytest.mark.parametrize("most", [5, 1_000], ids=["few values", "many values"])
def test_symbols_of_training_runs_do_not_depend_on_tested_ones(
    kind: Callable[[np.ndarray], Outputs], most: int
) -> None:
    rng = np.random.default_rng(1)
    numbers = rng.integers(0, most, RUNS)
    before = spell(kind(numbers), TRAINING)
    for _ in range(20):
        # Other values, and other places of the same values: how often and in which order they
        # come among the tested runs.
        numbers[~TRAINING] = rng.choice(rng.integers(-most, 2 * most, 7), (~TRAINING).sum())
        after = spell(kind(numbers), TRAINING)
        assert (after.codes[TRAINING] == before.codes[TRAINING]).all()
        assert (after.size, after.is_coarse) == (before.size, before.is_coarse)


def test_records_are_split_into_their_fields() -> None:
    records = np.zeros(4, [("at", np.float64), ("where", np.int64, (2,)), ("who", "U3")])
    records["where"][:, 1] = [1, 2, 3, 4]
    columns = columns_of(records)
    assert columns is not None
    assert [column.dtype.kind for column in columns] == ["f", "i", "i", "U"]
    assert columns[2].tolist() == [1, 2, 3, 4]


def test_records_tell_as_much_as_their_fields() -> None:
    """Numbers without end, which have to be taken in stretches, and the sign of zero."""
    rng = np.random.default_rng(2)
    worlds = [np.zeros(4_000, [("at", np.float64)]) for _ in range(2)]
    for place, world in enumerate(worlds):
        world["at"] = rng.normal(2 * place, 1, 4_000)
    fields = [world["at"] for world in worlds]
    assert lower_bound(*worlds).epsilon == lower_bound(*fields).epsilon > 2
    for place, world in enumerate(worlds):
        world["at"] = np.where(rng.random(4_000) < 0.25 + place / 2, 0.0, -0.0)
    assert lower_bound(*worlds).epsilon > 0.8
