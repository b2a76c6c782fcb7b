"""Workbooks of Excel and its likes (.xlsx), read by openpyxl: an extra, which is imported when one is met.

Values are those that were stored when the workbook was saved: formulas are not computed.
"""

import datetime
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import pyarrow as pa

from borgtrace.errors import SourceError
from borgtrace.ingest.files.limits import require_plausible_size
from borgtrace.ingest.read.tables.kind import Columns, TableKind, damaged_table
from borgtrace.ingest.read.tables.text_rows import Row, text_batches
from borgtrace.storage import open_regular

# A zip; one that is no document was taken apart before it is asked for its kind.
_MAGIC = b"PK\x03\x04"
_FAULTS = (
    zipfile.BadZipFile,
    ParseError,
    OSError,
    EOFError,
    KeyError,
    ValueError,
    TypeError,
    AttributeError,
    IndexError,
)
"""What openpyxl raises on parts that are damaged, or are not those of a workbook."""


def _columns(path: Path) -> Columns:
    with _workbook(path) as workbook:
        return {sheet.title: _header(sheet)[0] for sheet in workbook.worksheets}


def _batches(path: Path, table: str) -> Iterator[pa.RecordBatch]:
    with _workbook(path) as workbook:
        yield from text_batches(_rows(workbook[table]))


@contextmanager
def _workbook(path: Path) -> Iterator[Any]:
    try:
        import openpyxl
    except ImportError as error:
        raise SourceError(
            str(path),
            "a workbook (.xlsx), which a further package reads",
            way_out="pip install openpyxl, or save its sheet as CSV",
        ) from error
    with open_regular(path) as file:
        try:
            _require_plausible_content(path)
            with warnings.catch_warnings():
                # Of styles and of extensions that hold no values.
                warnings.simplefilter("ignore")
                workbook = openpyxl.load_workbook(file, read_only=True, data_only=True)
            yield workbook
            workbook.close()
        except _FAULTS as error:
            raise damaged_table(path, "xlsx", error) from error


def _require_plausible_content(path: Path) -> None:
    """Refuse parts that expand beyond all reason."""
    with open_regular(path) as file, zipfile.ZipFile(file) as parts:
        n_expanded = sum(part.file_size for part in parts.infolist())
    require_plausible_size(path, path.stat().st_size, n_expanded)


def _header(sheet: Any) -> tuple[list[str], int]:
    """Return the names of the columns of a sheet, and the number of their row; none where it has no table.

    They are the first row with two values: a title above has one.
    """
    # What a sheet says of its size is not always so.
    sheet.reset_dimensions()
    for number, cells in enumerate(sheet.iter_rows(values_only=True), 1):
        texts = [_text(cell) for cell in cells]
        if sum(text is not None for text in texts) > 1:
            return _names(texts), number
    return [], 0


def _names(texts: Sequence[str | None]) -> list[str]:
    names = list(texts)
    while names and names[-1] is None:
        names.pop()
    return [name or f"column {place}" for place, name in enumerate(names, 1)]


def _rows(sheet: Any) -> Iterator[Row]:
    names, number = _header(sheet)
    for cells in sheet.iter_rows(min_row=number + 1, values_only=True):
        texts = [_text(cell) for cell in cells]
        if any(text is not None for text in texts):
            yield _row(names, texts)


def _row(names: Sequence[str], texts: Iterable[str | None]) -> Row:
    row: dict[str, str | None] = dict.fromkeys(names)
    for place, text in enumerate(texts):
        if place < len(names):
            row[names[place]] = text
        elif text is not None:
            row[f"column {place + 1}"] = text
    return row


def _text(value: Any) -> str | None:
    """Return a value of a cell as the text that CSV has in its place; dates as ISO 8601."""
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


KIND = TableKind(
    name="xlsx",
    recognizes=lambda head: head.startswith(_MAGIC),
    columns=_columns,
    batches=_batches,
)
