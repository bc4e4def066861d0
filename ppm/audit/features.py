"""What an observer may look at besides the output as a whole."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ppm.audit.symbols import Outputs, columns_of

Feature = Callable[[Outputs], Outputs]
"""From the outputs of all runs of one world to what is looked at, one value per run. It looks at
each run by itself: whatever compares runs, such as a rank, makes them depend on each other."""

LATTICE = "multiples of 2^-53"
ROWS = "number of rows"
INPUTS = "equality with the inputs"


def shipped(
    outputs: Outputs, inputs: tuple[object, object] | None
) -> Iterator[tuple[str, Outputs]]:
    """The features that fit this kind of output, for outputs too many to be counted one by one.

    Of an output whose every value is counted, each of them says nothing new.
    """
    columns = columns_of(outputs)
    if columns is None:
        if all(isinstance(one, Sequence) and not isinstance(one, str) for one in outputs):
            yield ROWS, row_counts(outputs)
        if any(True for one in outputs for _ in _floats(one)):
            yield LATTICE, np.array([all(map(_is_on_lattice, _floats(one))) for one in outputs])
    elif any(column.dtype.kind == "f" for column in columns):
        yield LATTICE, on_lattice(outputs)
    if inputs is not None and all(_is_comparable(outputs, one) for one in inputs):
        yield INPUTS, equality(outputs, inputs)


def on_lattice(outputs: Outputs) -> npt.NDArray[np.int64]:
    """Which of the columns hold a multiple of 2^-53.

    Float samplers scale uniforms from that lattice, and what they add to keeps or loses the low
    bits by its size (Mironov 2012).

    >>> on_lattice(np.array([0.5, 1e-17]))
    array([1, 0])
    """
    found = np.zeros(len(outputs), np.int64)
    for column in columns_of(outputs) or ():
        if column.dtype.kind == "f":
            scaled = np.ldexp(column.astype(np.float64), 53)
            found = 2 * found + (scaled == np.rint(scaled))
    return found


def row_counts(outputs: Outputs) -> npt.NDArray[np.intp]:
    """How many rows each run gave."""
    return np.fromiter((len(one) for one in outputs), np.intp, len(outputs))  # type: ignore[arg-type]


def equality(outputs: Outputs, inputs: tuple[object, object]) -> npt.NDArray[np.int64]:
    """Which of the two inputs an output is equal to.

    Both are asked in both worlds: "equal to its own input" is no event that an observer sees.

    >>> equality(np.array([3, 4, 5]), (3, 4))
    array([2, 1, 0])
    """
    first, second = (_equals(outputs, one) for one in inputs)
    return 2 * first.astype(np.int64) + second


def apply(features: Mapping[str, Feature], outputs: Outputs) -> Iterator[tuple[str, Outputs]]:
    """The features that a user gives, applied to the outputs of one world.

    One world at a time, so that the place of a run does not tell its world.
    """
    for name, feature in features.items():
        seen = feature(outputs)
        if len(seen) != len(outputs):
            raise ValueError(f"feature {name} gives {len(seen)} values for {len(outputs)} outputs")
        yield name, seen


def _is_comparable(outputs: Outputs, value: object) -> bool:
    """Whether an output can be equal to an input at all."""
    if not isinstance(outputs, np.ndarray) or outputs.dtype.hasobject:
        return isinstance(value, Hashable)
    if isinstance(value, np.ndarray):
        same_shape: bool = value.shape == outputs.shape[1:]
        return same_shape and value.dtype.kind == outputs.dtype.kind
    return outputs.ndim == 1 and isinstance(value, float | int) and outputs.dtype.kind in "biuf"


def _equals(outputs: Outputs, value: object) -> npt.NDArray[np.bool_]:
    if isinstance(outputs, np.ndarray) and not outputs.dtype.hasobject:
        same = (outputs == value).reshape(len(outputs), -1)
        return np.asarray(same.all(axis=1))
    return np.fromiter((one == value for one in outputs), np.bool_, len(outputs))


def _floats(output: object) -> Iterator[float]:
    if isinstance(output, float):
        yield float(output)
    elif isinstance(output, tuple | frozenset):
        for part in output:
            yield from _floats(part)


def _is_on_lattice(number: float) -> bool:
    return not np.isfinite(number) or (number * 2.0**53).is_integer()
