"""What gathering and writing traces need of their index, and no more of it: it may go to other machines."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.datasets.series import take_columns
from borgtrace.kernels.arrays import Index, Values

_NUMBER, _CODE = "number ", "code "
"""How the columns of static features begin in a table of traces."""


@dataclass(frozen=True, slots=True, eq=False)
class TraceSpans:
    """Where traces are; all arrays have shape (n,).  Pickled, they take about three bytes for each trace.

    Attributes
    ----------
    first_row, n_windows
        The rows of the trace in the store's columns.
    length, slot
        Points that the trace has in the dataset; on a grid, the number of its first slot.

    Examples
    --------
    >>> import pickle
    >>> spans = TraceSpans(np.arange(0, 12, 4), np.full(3, 4), np.full(3, 4), np.zeros(3, np.int64))
    >>> pickle.loads(pickle.dumps(spans)).first_row.tolist()
    [0, 4, 8]
    """

    first_row: Index
    n_windows: Index
    length: Index
    slot: Index

    def __len__(self) -> int:
        return len(self.first_row)

    def __reduce__(self) -> tuple[Any, ...]:
        columns = {name: getattr(self, name) for name in self.__dataclass_fields__}
        # Off a grid they are equal, and nothing is left.
        columns["length"] = self.length - self.n_windows
        return _unpack_spans, (type(self), _pack(columns))

    def to_table(self) -> pa.Table:
        """Return the traces as a table, a row each."""
        return pa.table({name: getattr(self, name) for name in self.__dataclass_fields__})

    @classmethod
    def of_table(cls, table: pa.Table) -> Self:
        """Return the traces of a table from :meth:`to_table`."""
        return cls(**{name: _writable(table[name]) for name in cls.__dataclass_fields__})

    def spans_at(self, index: Index) -> TraceSpans:
        """Return where some of the traces are, in the order given."""
        columns = (self.first_row, self.n_windows, self.length, self.slot)
        first_row, n_windows, length, slot = taken(columns, index)
        return TraceSpans(first_row=first_row, n_windows=n_windows, length=length, slot=slot)

    def spans_between(self, first: int, last: int) -> TraceSpans:
        """Return views of where neighboring traces are, from one to before another."""
        return TraceSpans(
            first_row=self.first_row[first:last],
            n_windows=self.n_windows[first:last],
            length=self.length[first:last],
            slot=self.slot[first:last],
        )


@dataclass(frozen=True, slots=True, eq=False)
class TraceRows(TraceSpans):
    """Where traces are, and what a file of the dataset says of each; all arrays have shape (n,).

    Attributes
    ----------
    collection_id, instance_index
        Its job, and its number within the job.
    first_time
        Start of its first window, µs.
    static_numbers, static_codes
        Static features by name: those that are numbers, and of those that are text the code of each trace's word, −1
        where unknown.
    """

    collection_id: Index
    instance_index: Index
    first_time: Index
    static_numbers: dict[str, Values]
    static_codes: dict[str, Index]

    def to_table(self) -> pa.Table:
        """Return the traces as a table, a row each."""
        columns = {name: getattr(self, name) for name in _columns_of_rows()}
        columns |= {f"{_NUMBER}{name}": values for name, values in self.static_numbers.items()}
        columns |= {f"{_CODE}{name}": codes for name, codes in self.static_codes.items()}
        return pa.table(columns)

    @classmethod
    def of_table(cls, table: pa.Table) -> Self:
        """Return the traces of a table from :meth:`to_table`."""
        columns: dict[str, Any] = {name: _writable(table[name]) for name in _columns_of_rows()}
        statics: dict[str, dict[str, Any]] = {_NUMBER: {}, _CODE: {}}
        for name in table.column_names[len(columns) :]:
            start = _NUMBER if name.startswith(_NUMBER) else _CODE
            statics[start][name.removeprefix(start)] = _writable(table[name])
        return cls(**columns, static_numbers=statics[_NUMBER], static_codes=statics[_CODE])

    def rows_at(self, index: Index) -> TraceRows:
        """Return some of the traces, in the order given."""
        names = _columns_of_rows()
        columns = taken(tuple(getattr(self, name) for name in names), index)
        return TraceRows(
            **dict(zip(names, columns, strict=True)),
            static_numbers={name: values[index] for name, values in self.static_numbers.items()},
            static_codes={name: codes[index] for name, codes in self.static_codes.items()},
        )

    def rows_between(self, first: int, last: int) -> TraceRows:
        """Return views of neighboring traces, from one to before another."""
        own = slice(first, last)
        return TraceRows(
            **{name: getattr(self, name)[own] for name in _columns_of_rows()},
            static_numbers={name: values[own] for name, values in self.static_numbers.items()},
            static_codes={name: codes[own] for name, codes in self.static_codes.items()},
        )


def taken(columns: tuple[Index, ...], index: Index) -> Index:
    """Return the elements at `index` of each column, shape (columns, k)."""
    elements = np.empty((len(columns), len(index)), np.int64)
    take_columns(columns, index, elements)
    return elements


def _columns_of_rows() -> list[str]:
    """Return the fields of rows that are arrays themselves."""
    return [name for name in TraceRows.__dataclass_fields__ if not name.startswith("static_")]


def _writable(column: pa.ChunkedArray) -> NDArray[Any]:
    # Arrays that cannot be written to would be another type to kernels, which a tuple may not mix.
    return np.array(column.to_numpy())


class _PackedArray(NamedTuple):
    """An array whose bytes are compressed plane by plane: the upper bytes of whole numbers hardly differ."""

    dtype: str
    n_values: int
    compressed_planes: bytes


def _pack(value: Any) -> Any:
    """Compress arrays, also those in mappings."""
    if isinstance(value, Mapping):
        return {name: _pack(member) for name, member in value.items()}
    if not isinstance(value, np.ndarray):
        return value
    planes = np.ascontiguousarray(value).view(np.uint8).reshape(len(value), value.itemsize).T
    return _PackedArray(str(value.dtype), len(value), zlib.compress(planes.tobytes()))


def _unpack(value: Any) -> Any:
    if isinstance(value, _PackedArray):
        return _unpack_array(value)
    if isinstance(value, Mapping):
        return {name: _unpack(member) for name, member in value.items()}
    return value


def _unpack_array(packed: _PackedArray) -> NDArray[Any]:
    dtype = np.dtype(packed.dtype)
    planes = np.frombuffer(zlib.decompress(packed.compressed_planes), np.uint8)
    # Always copied: arrays that cannot be written to would be another type to kernels, which a tuple may not mix.
    values = planes.reshape(dtype.itemsize, packed.n_values).T.copy()
    return values.reshape(-1).view(dtype)


def _unpack_spans(kind: type[TraceSpans], packed_columns: dict[str, Any]) -> TraceSpans:
    columns = _unpack(packed_columns)
    columns["length"] = columns["length"] + columns["n_windows"]
    return kind(**columns)
