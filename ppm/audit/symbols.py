"""Outputs of any kind as small whole numbers, so that events over them can be counted."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Outputs = npt.NDArray[Any] | Sequence[Hashable]
"""One output per run: an array of numbers or text, an array with one row per run, or a list of
tuples, such as the rows that a consumer received."""
Codes = npt.NDArray[np.intp]

MOST_SYMBOLS = 256
DRAWS_PER_SYMBOL = 16


@dataclass(frozen=True, slots=True)
class Alphabet:
    """What each output looks like to an event, as a number below `size`."""

    codes: Codes
    size: int
    is_coarse: bool
    """Whether outputs that differ share a symbol, because there are too many to count each."""


def spell(outputs: Outputs, training: npt.NDArray[np.bool_]) -> Alphabet:
    """Give every output a symbol; how coarse symbols are is decided on the training runs alone.

    >>> spell(np.array([7, 3, 7]), np.array([True, True, False])).codes
    array([2, 1, 2])
    """
    columns = columns_of(outputs)
    codes, size = _label_rows(outputs, training) if columns is None else _label_columns(columns)
    most = int(np.clip(training.sum() // DRAWS_PER_SYMBOL, 8, MOST_SYMBOLS))
    seen = np.bincount(codes[training], minlength=size)
    is_coarse = np.count_nonzero(seen) > most
    if is_coarse and columns is not None and all(one.dtype.kind in "biuf" for one in columns):
        bins = max(2, int(most ** (1 / len(columns))))
        codes, size = _join([_bin(column, training, bins) for column in columns])
        seen = np.bincount(codes[training], minlength=size)
    # Symbols that no training run gave are one: whatever tells them apart is known from the tested
    # runs only, and an event must not depend on those.
    common = np.argsort(-seen, kind="stable")[: min(most, np.count_nonzero(seen))]
    renamed = np.zeros(size, np.intp)
    renamed[common] = np.arange(1, common.size + 1)
    return Alphabet(renamed[codes], common.size + 1, bool(is_coarse))


def columns_of(outputs: Outputs) -> list[npt.NDArray[Any]] | None:
    """The columns of an array of outputs; None if outputs are Python objects."""
    if not isinstance(outputs, np.ndarray) or outputs.dtype.hasobject:
        return None
    if outputs.dtype.names is not None:
        parts = (columns_of(outputs[name]) for name in outputs.dtype.names)
        return [column for part in parts for column in part or ()]
    if outputs.dtype.kind in "mM":
        outputs = outputs.view(np.int64)
    flat = outputs.reshape(len(outputs), -1)
    return [flat[:, place] for place in range(flat.shape[1])]


def _label(column: npt.NDArray[Any]) -> tuple[Codes, int]:
    if column.dtype.kind == "f":
        # By their bits: an observer tells -0.0 from 0.0, and one NaN from another.
        column = np.ascontiguousarray(column).view(f"u{column.dtype.itemsize}")
    values, codes = np.unique(column, return_inverse=True)
    return codes.reshape(-1), values.size


def _label_columns(columns: list[npt.NDArray[Any]]) -> tuple[Codes, int]:
    return _join([_label(column) for column in columns])


def _join(parts: list[tuple[Codes, int]]) -> tuple[Codes, int]:
    """One symbol for each combination that occurs."""
    codes, size = parts[0]
    for other, width in parts[1:]:
        codes, size = _label(codes * width + other)
    return codes, size


def _label_rows(outputs: Outputs, training: npt.NDArray[np.bool_]) -> tuple[Codes, int]:
    """Numbers in the order of training runs, and then of the others: that order breaks ties."""
    seen: dict[Hashable, int] = {}
    for one in outputs:
        if not isinstance(one, Hashable):
            kind = type(one).__name__
            raise TypeError(f"an output is a {kind}; give an array, or values such as tuples")
    codes = np.empty(len(outputs), np.intp)
    for place in np.argsort(~training, kind="stable").tolist():
        codes[place] = seen.setdefault(outputs[place], len(seen))
    return codes, len(seen)


def _bin(column: npt.NDArray[Any], training: npt.NDArray[np.bool_], bins: int) -> tuple[Codes, int]:
    """Stretches of the number line with equally many training runs in each."""
    numbers = column.astype(np.float64)
    ordered = np.sort(numbers[training])
    edges = np.unique(ordered[np.arange(1, bins) * ordered.size // bins])
    return np.searchsorted(edges, numbers), edges.size + 1
