"""The arrays of traces, ``traces/<column>.npy``: usage in the order of its rows, written range by range."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from borgtrace.schema.tables import STATISTICS_COLUMNS
from borgtrace.storage import remove, replacing, write_file
from borgtrace.store.digest import file_digest

KINDS = {"start_time": "<u4", "duration": "<f4"} | dict.fromkeys(STATISTICS_COLUMNS, "<f4")
"""Columns with the type of their values."""
Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class TraceArrays:
    """The array files of a store that is being made.

    Parameters
    ----------
    folder
        Where they go.
    ranges
        How many rows each range has.
    in_pieces
        Whether ranges are written far from each other, where files cannot be shared: a bucket cannot change part of a
        file, and NFS writes whole pages, in which two ranges meet.
    """

    folder: Path
    ranges: tuple[int, ...]
    in_pieces: bool = False

    @cached_property
    def rows(self) -> int:
        """How many rows there are in all."""
        return sum(self.ranges)

    def begin(self) -> None:
        """Make the files that ranges write into."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for name, kind in KINDS.items() if not self.in_pieces else ():
            if self.rows:
                np.lib.format.open_memmap(self._file(name), "w+", np.dtype(kind), (self.rows,))
            else:
                # What is empty cannot be mapped.
                np.save(self._file(name), np.empty(0, kind))

    @contextmanager
    def part(self, number: int) -> Iterator[Arrays]:
        """Yield arrays for the rows of a range, of shape (rows,), to be filled."""
        rows, first = self.ranges[number], sum(self.ranges[:number])
        if self.in_pieces or not rows:
            arrays: Arrays = {name: np.empty(rows, kind) for name, kind in KINDS.items()}
        else:
            arrays = {name: np.load(self._file(name), "r+")[first : first + rows] for name in KINDS}
        yield arrays
        for name, values in arrays.items() if self.in_pieces else ():
            write_file(self._piece(name, number), values.tobytes())

    def digest(self, column: str) -> str:
        """Return the SHA-256 of a file, which is made of its pieces where there are some: these go."""
        path = self._file(column)
        if not self.in_pieces:
            return file_digest(path)
        with replacing(path) as draft:
            with draft.open("wb") as file:
                about = {"descr": KINDS[column], "fortran_order": False, "shape": (self.rows,)}
                np.lib.format.write_array_header_1_0(file, about)
                for number in range(len(self.ranges)):
                    with self._piece(column, number).open("rb") as piece:
                        file.write(piece.read())
            digest = file_digest(draft)
        remove(self._piece(column, 0).parent)
        return digest

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.npy"

    def _piece(self, name: str, number: int) -> Path:
        return self.folder / name / f"{number:05d}"
