"""A batch as the kernels see it: rows in order, a bit for each stage, and the cells of programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ppm.cep.columnar.conditions import Cell, Ints
from ppm.cep.columnar.tables import FOREVER, Compiled, Masks
from ppm.cep.predicate import column_type, evaluate
from ppm.errors import BindingError, counted, did_you_mean
from ppm.spec.expression.functions import Kind
from ppm.spec.expression.nodes import Column

Doubles = npt.NDArray[np.float64]

_LARGEST_EXACT = 2**53


@dataclass(frozen=True, slots=True)
class Layout:
    """Which columns of a batch say whose a row is, when it happened, and what comes first."""

    subject: str = "subject"
    time: str = "time"
    """A timestamp in microseconds, or such a number since 1970."""
    order: str | None = "id"
    """What orders rows of equal time: whole numbers by size, texts by their characters; None is
    the order in which they stand in the batch."""
    twin: str | None = None
    """A whole number that orders rows which even this does not; without it, they are refused."""


class Rows(NamedTuple):
    """The rows that a kernel reads, sorted by subject, time and tie-break."""

    times: Ints
    masks: Masks
    """Bit s says that stage s wants the row, as far as the row alone can tell."""
    cells: Doubles
    """One row for each event, one column for each cell of the programs; NaN is null."""
    positions: Ints
    """How many relevant rows of its subject stand before the row, counted on from any number: only
    differences are read. A row is relevant if its mask is not 0."""
    subject_from: Ints
    """Where each subject's rows start; one more entry for the end."""

    def __repr__(self) -> str:
        return f"Rows({counted(len(self.times), 'row')})"  # and nothing that they hold


@dataclass(frozen=True, slots=True)
class Sorted:
    """The order of a batch; what rows hold is left out of `repr`."""

    subjects: pa.Array = field(repr=False)
    """The different subjects, ascending."""
    codes: Ints = field(repr=False)
    """Each row's subject, sorted."""
    times: Ints = field(repr=False)
    order: Ints
    """The row of the batch that stands at each place."""
    is_twin: npt.NDArray[np.bool_]
    """Whether subject, time and tie-break are those of the row before."""


def sort_rows(batch: pa.Table | pa.RecordBatch, layout: Layout) -> Sorted:
    """Put rows in the order in which patterns take them (R14)."""
    whose = _needed(batch, layout.subject)
    _refuse_nulls(whose, layout.subject)
    subjects, codes = _ranked([whose])
    times = micros(batch, layout.time)
    keys: list[npt.NDArray[Any]] = [times, codes[0]]
    if layout.order is not None:
        keys.insert(0, _tie_break(batch, layout.order))
    finest = keys if layout.twin is None else [_tie_break(batch, layout.twin), *keys]
    if _is_sorted(finest[::-1]):
        order = np.arange(batch.num_rows, dtype=np.int64)
    else:
        order = np.lexsort(finest).astype(np.int64, copy=False)
    is_twin = np.zeros(batch.num_rows, np.bool_)
    if layout.order is not None:
        is_twin[1:] = _are_equal([key[order] for key in keys])
    if layout.twin is None:
        _refuse_twins(is_twin, layout)
    return Sorted(subjects, codes[0][order], times[order], order, is_twin)


def micros(batch: pa.Table | pa.RecordBatch, name: str) -> Ints:
    """Times as microseconds since 1970."""
    column = _needed(batch, name)
    if pa.types.is_timestamp(column.type) and column.type.unit != "us":
        raise BindingError(f"column {name} is {column.type}; cast it to timestamp('us')")
    if not pa.types.is_timestamp(column.type) and not pa.types.is_integer(column.type):
        raise BindingError(f"column {name} is {column.type}; a timestamp('us') is needed")
    _refuse_nulls(column, name)
    times = pc.cast(column, pa.int64()).to_numpy()
    if len(times) and not -FOREVER // 2 < times.min() <= times.max() < FOREVER // 2:
        raise BindingError(f"column {name} has times that are too far away")
    return np.ascontiguousarray(times, np.int64)


def select_columns(
    batch: pa.Table | pa.RecordBatch, compiled: Compiled, layout: Layout
) -> pa.Table:
    """Only the columns that are needed, with texts written out."""
    order = [] if layout.order is None else [layout.order]
    names = dict.fromkeys([layout.subject, layout.time, *order, *compiled.columns])
    columns = {name: _needed(batch, name) for name in names}
    return pa.table(
        {
            name: pc.cast(column, column.type.value_type) if _is_coded(column.type) else column
            for name, column in columns.items()
        }
    )


def masks_of(compiled: Compiled, batch: pa.Table | pa.RecordBatch) -> Masks:
    """One bit for each stage, in the batch's own order."""
    check_types(compiled, batch)
    masks = np.zeros(batch.num_rows, np.uint64)
    known: dict[object, npt.NDArray[np.bool_]] = {}
    for stage, predicates in enumerate(compiled.predicates):
        wanted = np.ones(batch.num_rows, np.bool_)
        for predicate in predicates:
            if predicate not in known:
                answers = evaluate(
                    predicate, batch, zones=compiled.zones, timezone=compiled.timezone
                )
                # Unknown is not yes.
                known[predicate] = pc.fill_null(answers, False).to_numpy(zero_copy_only=False)
            wanted &= known[predicate]
        masks |= wanted.astype(np.uint64) << np.uint64(stage)
    return masks


def cells_of(compiled: Compiled, batch: pa.Table | pa.RecordBatch) -> tuple[Doubles, Doubles]:
    """The cells of all rows in the batch's own order, and the constants that fit them."""
    cells = np.zeros((batch.num_rows, len(compiled.cells)))
    constants = np.zeros(len(compiled.constants))
    for place, cell in enumerate(compiled.cells):
        if cell.domain in ("flag", "number", "exact"):
            cells[:, place] = _numbers(compiled, cell, batch)
    for place, constant in enumerate(compiled.constants):
        if constant.domain in ("flag", "number", "exact"):
            constants[place] = float(constant.value)
    domains = {one.domain for one in compiled.cells}
    domains |= {one.domain for one in compiled.constants}
    for domain in sorted(domains - {"flag", "number", "exact"}):
        cell_places = [p for p, one in enumerate(compiled.cells) if one.domain == domain]
        written = [p for p, one in enumerate(compiled.constants) if one.domain == domain]
        columns = [_plain(batch, compiled.cells[p], domain) for p in cell_places]
        arrow = pa.large_string() if domain == Kind.TEXT.value else pa.int64()
        values = pa.chunked_array([pa.array([compiled.constants[p].value for p in written], arrow)])
        _, ranks = _ranked([values, *columns])
        constants[written] = ranks[0]
        for place, column, rank in zip(cell_places, columns, ranks[1:], strict=True):
            is_null = pc.is_null(column).to_numpy()
            cells[:, place] = np.where(is_null, np.nan, rank)
    return cells, constants


def check_types(compiled: Compiled, batch: pa.Table | pa.RecordBatch) -> None:
    """A `BindingError` if a column is not what the pattern was compiled for."""
    for name in compiled.columns:
        found = column_type(_needed(batch, name).type)
        declared = compiled.types.get(name)
        if declared is not None and found != declared:
            raise BindingError(f"column {name} is {found}; the pattern was compiled for {declared}")


def _needed(batch: pa.Table | pa.RecordBatch, name: str) -> pa.ChunkedArray:
    names = batch.schema.names
    if names.count(name) != 1:
        hint = did_you_mean(name, names) if name not in names else "; rename all but one"
        raise BindingError(f"column {name} is there {names.count(name)} times{hint}")
    column = batch.column(name)
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def ranks_of(column: pa.ChunkedArray) -> Ints:
    """Each value's place among the different values of a column."""
    return _ranked([column])[1][0]


def _tie_break(batch: pa.Table | pa.RecordBatch, name: str) -> npt.NDArray[Any]:
    column = _needed(batch, name)
    _refuse_nulls(column, name)
    if pa.types.is_integer(column.type):
        return np.asarray(column.to_numpy())
    return ranks_of(column)


def _ranked(columns: list[pa.ChunkedArray]) -> tuple[pa.Array, list[Ints]]:
    """The different values of some columns in order, and each value's place; null is -1."""
    plain = [pc.cast(c, c.type.value_type) if _is_coded(c.type) else c for c in columns]
    wide = [pc.cast(c, pa.large_string()) if pa.types.is_string(c.type) else c for c in plain]
    coded = pa.chunked_array([chunk for c in wide for chunk in c.chunks], wide[0].type)
    encoded = coded.combine_chunks().dictionary_encode()
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    ascending = pc.sort_indices(encoded.dictionary).to_numpy()
    place = np.empty(len(ascending) + 1, np.int64)
    place[ascending] = np.arange(len(ascending))
    place[-1] = -1
    found = pc.fill_null(encoded.indices, len(ascending)).to_numpy(zero_copy_only=False)
    ranks = place[found]
    ends = np.cumsum([len(c) for c in wide])[:-1]
    return encoded.dictionary.take(pa.array(ascending)), np.split(ranks, ends)


def _is_coded(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_dictionary(arrow))


def _refuse_nulls(column: pa.ChunkedArray, name: str) -> None:
    if column.null_count:
        raise BindingError(f"column {name} has {column.null_count} nulls; it must have none")


def _are_equal(keys: list[npt.NDArray[Any]]) -> npt.NDArray[np.bool_]:
    """Whether each row but the first has the keys of the row before."""
    equal: npt.NDArray[np.bool_] = np.logical_and.reduce([key[1:] == key[:-1] for key in keys])
    return equal


def _refuse_twins(is_twin: npt.NDArray[np.bool_], layout: Layout) -> None:
    """Rows that nothing tells apart would be taken in another order when the stream is replayed."""
    if is_twin.any():
        raise BindingError(
            f"{counted(int(is_twin.sum()), 'row')} came twice: subject {layout.subject}, time "
            f"{layout.time} and id {layout.order} are those of another row; make ids unique, or "
            "ignore duplicates, with a new checkpoint"
        )


def _is_sorted(keys: list[npt.NDArray[Any]]) -> bool:
    """Whether rows are in order already, by the first key, then the second, and so on."""
    undecided = np.ones(max(len(keys[0]) - 1, 0), np.bool_)
    for key in keys:
        before, after = key[:-1], key[1:]
        if np.any(undecided & (before > after)):
            return False
        undecided &= before == after
    return True


def _numbers(compiled: Compiled, cell: Cell, batch: pa.Table | pa.RecordBatch) -> Doubles:
    if cell.domain == "flag":
        answers = evaluate(cell.source, batch, zones=compiled.zones, timezone=compiled.timezone)
        values = pc.cast(answers, pa.float64())
    else:
        assert isinstance(cell.source, Column)
        column = _needed(batch, cell.source.name)
        if cell.domain == "exact" and len(column):
            widest = pc.min_max(pc.cast(column, pa.int64())).as_py()
            if widest["min"] is not None and not (
                widest["min"] >= -_LARGEST_EXACT and widest["max"] <= _LARGEST_EXACT
            ):
                raise BindingError(
                    f"column {cell.source.name} has whole numbers beyond 2**53, which a condition "
                    "on earlier events calculates with; compare them as they are, or as text"
                )
        values = pc.cast(column, pa.float64(), safe=False)
    return np.asarray(pc.fill_null(values, float("nan")).to_numpy(zero_copy_only=False))


def _plain(batch: pa.Table | pa.RecordBatch, cell: Cell, domain: str) -> pa.ChunkedArray:
    """A column whose values are compared as they are: text, whole numbers or times."""
    assert isinstance(cell.source, Column)
    column = _needed(batch, cell.source.name)
    if domain == Kind.TEXT.value:
        return pc.cast(column, pa.large_string())
    if pa.types.is_timestamp(column.type) and column.type.unit != "us":
        raise BindingError(
            f"column {cell.source.name} is {column.type}; cast it to timestamp('us')"
        )
    return pc.cast(column, pa.int64())
