"""The base of a kind of job log whose rows are assembled from what its program printed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from borgtrace.ingest.files.sources import Source

Record = Mapping[str, Any]
"""Values by the names of fields of the raw table; what is unknown is left out."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A line that is no row, as it stands."""

    text: str


@dataclass(frozen=True, slots=True)
class LogShape:
    """How the rows of one file are written.

    Parameters
    ----------
    columns
        Names of its columns, in order; none where records name their values.
    delimiter
        What separates them.
    has_header
        Whether the first line names them.
    """

    columns: tuple[str, ...] = ()
    delimiter: str = ""
    has_header: bool = True


@dataclass(frozen=True, slots=True)
class LogKind:
    """A kind of log.

    Parameters
    ----------
    table
        Name of the raw table that its rows are of.
    shape
        Returns how a text is written that begins with some lines, None where it is no such log. It raises SourceError
        where it is one that cannot be read, with the reason; the first argument is the file, for messages.
    rows
        The rows of a file, or lines that are none.
    """

    table: str
    shape: Callable[[str, Sequence[str]], LogShape | None]
    rows: Callable[[BinaryIO, Source], Iterator[Record | Refused]]
