"""What an export has written."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """What became of the rows of a store: each was written, or left out for a reason.

    Parameters
    ----------
    what
        What the rows are, such as ``"machines"``.
    written
        How many were written.
    left_out
        How many were not, by the reason.
    cut
        How many of those written had not ended in the trace, and end with it.
    """

    what: str
    written: int
    left_out: Mapping[str, int]
    cut: int = 0


@dataclass(frozen=True, slots=True)
class ExportResult:
    """What was written.

    Parameters
    ----------
    path
        The folder.
    files
        Number of files.
    tasks
        Tasks in the index, 0 where there is none.
    rows
        Rows of all files.
    rows_left_out
        Usage rows of alloc instances, which belong to no job and have no file.
    ledger
        What became of the rows of the store, where the layout counts them.
    """

    path: Path
    files: int
    tasks: int
    rows: int
    rows_left_out: int = 0
    ledger: tuple[LedgerLine, ...] = ()
