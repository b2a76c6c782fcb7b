"""Records of NumPy on their way from a task, in an order of their bytes that compresses well.

A record of sums has counts, of which most bytes are zero, beside floats, of which most bytes look random: in the order
of memory a compressor finds little that repeats.  Here each field is by itself, of one policy after the other, and of
its numbers first all lowest bytes, then all second ones, and so on.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class PackedRecords:
    """An array, whose bytes a compressor makes small; they are as many as before.

    Attributes
    ----------
    dtype, shape
        Of the array.
    content
        Its bytes in another order.

    Examples
    --------
    >>> records = np.array([(1, 0.5), (2, 0.25)], dtype=[("count", "i8"), ("share", "f8")])
    >>> PackedRecords.of(records).array().tolist()
    [(1, 0.5), (2, 0.25)]
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    content: bytes

    @classmethod
    def of(cls, records: npt.NDArray[Any]) -> "PackedRecords":
        """Return the records of an array, whose first axis is that of the items of a task."""
        parts = [_byte_planes(column) for column in _columns(records)]
        return cls(records.dtype, records.shape, b"".join(parts))

    def array(self) -> npt.NDArray[Any]:
        """Return the array: of the same bytes as the one that was packed."""
        records = np.empty(self.shape, self.dtype)
        first = 0
        for column in _columns(records):
            part = self.content[first : first + column.nbytes]
            column[...] = _from_byte_planes(part, column)
            first += column.nbytes
        return records


def _columns(records: npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
    """Yield each field of records, or the array where it has none, as a view."""
    if records.dtype.names is None:
        yield records
        return
    for name in records.dtype.names:
        yield records[name]


def _byte_planes(column: npt.NDArray[Any]) -> bytes:
    """Return the numbers of a field with the items last, and of them byte after byte."""
    numbers = np.ascontiguousarray(np.moveaxis(column, 0, -1))
    by_number = numbers.reshape(-1, 1).view(np.uint8)
    return by_number.T.tobytes()


def _from_byte_planes(part: bytes, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the numbers of a field in the order of its array."""
    planes = np.frombuffer(part, np.uint8).reshape(column.itemsize, -1)
    numbers = np.ascontiguousarray(planes.T).view(column.dtype)
    items_last = np.moveaxis(column, 0, -1).shape
    return np.moveaxis(numbers.reshape(items_last), -1, 0)
