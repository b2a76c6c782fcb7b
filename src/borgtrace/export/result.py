"""What an export has written."""

from dataclasses import dataclass
from pathlib import Path


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
    """

    path: Path
    files: int
    tasks: int
    rows: int
    rows_left_out: int = 0
