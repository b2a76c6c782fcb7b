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
        Usage rows of the store, or rows of all files.
    """

    path: Path
    files: int
    tasks: int
    rows: int
