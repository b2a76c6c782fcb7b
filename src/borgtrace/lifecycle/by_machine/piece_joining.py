"""What a worker does with the pieces of all ranges: join those of a file, sort them, and keep the file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from borgtrace.lifecycle.by_machine.bucket_sorting import BucketSorter
from borgtrace.lifecycle.by_machine.limits import PartitionLimits
from borgtrace.lifecycle.by_machine.range_dealing import piece_folder
from borgtrace.lifecycle.by_machine.row_files import (
    TERMS,
    Rows,
    map_rows,
    rows_name,
    unsorted_name,
)
from borgtrace.lifecycle.by_machine.terms import TERM
from borgtrace.lifecycle.by_machine.window_rows import WINDOW_ROW
from borgtrace.storage import RemotePath, scratch_folder
from borgtrace.storage.outputs import put_file
from borgtrace.store.digest import file_digest
from borgtrace.store.kept_in_bucket import fetch


class Piece(NamedTuple):
    """A file of a range.

    Attributes
    ----------
    number
        Of the range.
    digest
        SHA-256 of the file.
    first_term
        Number of the range's first term among all.
    """

    number: int
    digest: str
    first_term: int


class JoinedFile(NamedTuple):
    """A file of pieces: its name, its SHA-256, and where the rows of each machine are (None for terms)."""

    name: str
    digest: str
    entries: Rows | None


@dataclass(frozen=True)
class PieceJoiner:
    """Makes files of pieces; a task that runs again writes what it wrote before.

    Attributes
    ----------
    folder
        That of usage by machine.
    is_peak
        Whether CPU, and memory, are peaks.
    limits
        What is held in memory and in a sorting key.
    """

    folder: RemotePath
    is_peak: tuple[bool, bool]
    limits: PartitionLimits

    def join(self, file: tuple[int | None, Sequence[Piece]]) -> JoinedFile:
        """Make the file of a bucket, or that of all terms, where the bucket is None.

        Raises
        ------
        StoreError
            A piece is not what was written, or the bucket cannot be read or written to.
        """
        bucket, pieces = file
        with TemporaryDirectory(dir=scratch_folder()) as name:
            here = Path(name)
            entries = None
            if bucket is None:
                path = here / TERMS
                self._append(pieces, path, TERM)
            else:
                path = here / rows_name(bucket)
                self._append(pieces, here / unsorted_name(bucket), WINDOW_ROW)
                entries = BucketSorter(here, np.array(self.is_peak), self.limits).sort(bucket)
            put_file(path, self.folder / path.name)
            return JoinedFile(path.name, file_digest(path), entries)

    def _append(self, pieces: Sequence[Piece], path: Path, dtype: np.dtype[np.void]) -> None:
        """Write the rows of pieces behind each other, with terms numbered through."""
        piece_path = path.with_name("piece")
        with path.open("wb") as file:
            for piece in pieces:
                source = piece_folder(self.folder, piece.number) / path.name
                fetch(source, piece.digest, piece_path)
                rows = np.array(map_rows(piece_path, dtype))
                if dtype == WINDOW_ROW:
                    rows["term"] += np.uint32(piece.first_term)
                rows.tofile(file)
