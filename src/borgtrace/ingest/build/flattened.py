"""Staging a flattened file (the sample of 2019): each row joins one record of each of several tables.

Its codes are trusted, its own labels are not.  What the join repeated is stored once and counted.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.engine.guard import open_values
from borgtrace.engine.identifiers import quoted
from borgtrace.errors import SourceError, UsageError
from borgtrace.ingest.build.staged import StagedOutput, StagedPaths, make_entry
from borgtrace.ingest.files.raw_layout import RawLayout, raw_layout
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.files.streams import open_lines, source_digest
from borgtrace.ingest.read.records import json_lines
from borgtrace.ingest.read.text_fields import NOT_UTF8
from borgtrace.ingest.read.validating_reader import REFUSED_SCHEMA, validate
from borgtrace.schema import RawTable
from borgtrace.schema.dialects import Flattened
from borgtrace.store.manifest import SourceEntry

if TYPE_CHECKING:
    from _csv import Reader

# How a printed dict or numpy list differs from JSON: quotes, missing values, 1. for 1.0, and no commas.
_OTHERWISE = re.compile(
    r"""'[^']*'|"[^"]*"|\bNone\b|\bnan\b|(?<=[0-9])\.(?=[\s,\]])|(?<=[0-9.e])\s+(?=[-+0-9.])|\}\s+\{"""
)
_NUMBER = re.compile(r"[+-]?[0-9]+(\.0)?")


def record_of(flattened: Flattened, raw: RawTable, row: Mapping[str, str]) -> str:
    """Return the JSON of the record of `raw` that a flattened row carries.

    What cannot be rewritten is left as it is: the checks then refuse it with a reason.

    Parameters
    ----------
    flattened
        How the file joins its tables.
    raw
        The raw table whose record is wanted.
    row
        Texts of a row by the names in the header.

    Examples
    --------
    >>> from borgtrace.schema.dialects import KAGGLE_2019
    >>> record_of(KAGGLE_2019.flattened, KAGGLE_2019.tables["collection_events"],
    ...           {"time": "5", "collections_events_type": "3", "scheduler": "1.0"})
    '{"time":"5","type":"3","scheduler":"1"}'
    """
    entries = []
    for name in raw.names:
        column = flattened.renamed.get((raw.name, name), name)
        text = row.get(column) or ""
        if text and name in flattened.literals:
            entries.append(f'"{name}":{python_to_json(text)}')
        elif text or column != name:
            # A column that was renamed is always there: where it is empty, the row is refused.
            entries.append(f'"{name}":{json.dumps(without_decimals(text))}')
    return "{" + ",".join(entries) + "}"


def without_decimals(text: str) -> str:
    """Undo the ``.0`` that pandas gave to integer columns with missing values."""
    return text.removesuffix(".0") if _NUMBER.fullmatch(text) else text


def python_to_json(text: str) -> str:
    """Turn a printed Python dict or numpy list into JSON.

    A ``nan`` in a dict is a missing value.  In a list of percentiles it is no value: the row is refused, like every
    list with a hole (none of 354,953 real rows has a ``nan`` there; a window without percentiles has an empty list).
    """
    return _OTHERWISE.sub(_replacement, text.strip())


def _replacement(match: re.Match[str]) -> str:
    """Return a part of printed Python as JSON."""
    text = match[0]
    # Whole, so that "nan" in the middle of a hash stays what it is.
    if text[0] in "'\"":
        return json.dumps(text[1:-1])
    if text in ("None", "nan"):
        return "null"
    if text == ".":
        return ".0"
    return "},{" if text[0] == "}" else ","


Refused = Mapping[int, Mapping[str, Any]]
"""What is wrong in refused rows, as the validating reader says it, by their numbers."""
MOST_ROWS = 1 << 20
"""Rows of one file, all of which are in memory at once; the published sample has 405,894."""


class FlattenedRows(NamedTuple):
    """The rows of a file: the names of the header, the fields of each row by place, and the line that it begins in."""

    header: tuple[str, ...]
    rows: list[list[str]]
    lines: list[int]

    def row(self, number: int) -> dict[str, str]:
        """Return a row by name; fields that it lacks are missing."""
        return dict(zip(self.header, self.rows[number], strict=False))


def stage_flattened(source: Source, paths: StagedPaths) -> SourceEntry:
    """Check the flattened rows of one cell and write the rows of every table they join.

    The ledger counts rows of the file: those of other cells as skipped, and rows of the counted table that the
    join repeated as merged.

    Parameters
    ----------
    source
        The file, with the cell that was chosen.
    paths
        Where the staged files go.

    Raises
    ------
    UsageError
        When the file mixes cells and none, or an unknown one, was chosen.
    """
    flattened = source.dialect.flattened
    assert flattened
    # Before it is read, as in `staging`.
    sha256 = source_digest(source)
    flat = _read(source)
    place = flat.header.index(flattened.cell) if flattened.cell in flat.header else None
    cell_of_row = [_field(fields, place) for fields in flat.rows]
    cell = choose_cell(source, Counter(cell_of_row))
    chosen = [number for number, row_cell in enumerate(cell_of_row) if row_cell == cell]
    layouts = [raw_layout(source.dialect, name) for name in source.dialect.tables]
    records, refused = _validate_tables(flattened, layouts, flat, chosen)
    outputs = [StagedOutput(paths, layout) for layout in layouts]
    counted = next(output for output in outputs if output.layout.raw.name == flattened.table)
    with ExitStack() as stack:
        for output, rows_of_table in zip(outputs, records, strict=True):
            stack.enter_context(output)
            right = _without(rows_of_table, refused)
            output.write(first_of_each(right, output.layout))
        if refused:
            lines = [flat.lines[number] for number in sorted(refused)]
            counted.refuse(source, _refused_table(flat, refused), lines)
    return make_entry(
        source,
        counted,
        sha256,
        rows_in=len(flat.rows),
        skipped=len(flat.rows) - len(chosen),
        merged=len(chosen) - len(refused) - counted.rows.rows,
        also=_rows_of_other_tables(outputs, counted),
    )


def _field(fields: list[str], place: int | None) -> str:
    """Return a field; empty text where a row is too short."""
    return fields[place] if place is not None and place < len(fields) else ""


def _rows_of_other_tables(outputs: Iterable[StagedOutput], counted: StagedOutput) -> dict[str, int]:
    rows_of_table = {}
    for output in outputs:
        if output is not counted:
            rows_of_table[output.layout.table.name] = output.rows.rows
    for output in outputs:
        for inner, writer in output.lists:
            rows_of_table[inner.table.name] = writer.rows
    return rows_of_table


def _read(source: Source) -> FlattenedRows:
    """Read all rows: fields by place, which take a third of the memory of fields by name."""
    with open_lines(source) as stream:
        # Bytes that are no UTF-8 are marked rather than fatal: the checks then refuse the row.
        buffered = io.BufferedReader(stream)  # type: ignore[type-var]
        text = io.TextIOWrapper(buffered, "utf-8", "replace", newline="")
        records = _records(csv.reader(text))
        _, header = next(records, (1, []))
        # A line without fields is none.
        numbered = list(islice((record for record in records if record[1]), MOST_ROWS + 1))
    lines = [line for line, _ in numbered]
    rows = [fields for _, fields in numbered]
    if len(rows) > MOST_ROWS:
        raise SourceError(
            str(source.path),
            "has too many rows to be read at once",
            expected=f"at most {MOST_ROWS:,}; the published sample has 405,894",
            way_out="split it, and ingest each part into a separate store",
        )
    return FlattenedRows(tuple(header), rows, lines)


def _records(reader: Reader) -> Iterator[tuple[int, list[str]]]:
    """Yield the first line of each row, and its fields: of one that no reader understands, a mark that is refused."""
    while True:
        first_line = reader.line_num + 1
        try:
            yield first_line, next(reader)
        except StopIteration:
            return
        # A field of more than 128 KB: the reader goes on behind it.
        except csv.Error:
            yield first_line, [NOT_UTF8]


def choose_cell(source: Source, cells: Counter[str]) -> str:
    """Return the cell whose rows are taken.

    Parameters
    ----------
    source
        The file, perhaps with the cell that was chosen.
    cells
        How many rows each cell has.

    Raises
    ------
    UsageError
        The file mixes cells and none, or an unknown one, was chosen.
    SourceError
        It has no rows.
    """
    if source.cell in cells:
        return source.cell
    if not source.cell and len(cells) == 1:
        return next(iter(cells))
    if not cells:
        raise SourceError(str(source.path), "no rows", way_out="fetch it again")
    known = ", ".join(f"{cell} ({number} rows)" for cell, number in sorted(cells.items()))
    raise UsageError(
        "--cell",
        f"{source.path} mixes cells, and a store holds one",
        expected=f"one of {known}",
        got=source.cell or "none",
        way_out=f"choose one: --cell {min(cells)}",
    )


def _validate_tables(
    flattened: Flattened,
    layouts: Iterable[RawLayout],
    flat: FlattenedRows,
    chosen: Sequence[int],
) -> tuple[list[pa.Table], Refused]:
    """Return the records of each table that are right, and what is wrong in each row that is refused."""
    records = []
    width = len(flat.header)
    refused: Refused = {
        number: {"reason": "wrong_column_count", "expected": f"{width} fields"}
        for number in chosen
        if len(flat.rows[number]) != width
    }
    for layout in layouts:
        right, refused_here = _validate(flattened, layout, flat, chosen)
        records.append(right)
        # A row is refused whole, for the first reason found.
        refused = {**refused_here, **refused}
    return records, refused


def _validate(
    flattened: Flattened,
    layout: RawLayout,
    flat: FlattenedRows,
    chosen: Sequence[int],
) -> tuple[pa.Table, Refused]:
    """Return the records of one table that are right, and what is wrong in each row that is not."""
    lines = [record_of(flattened, layout.raw, flat.row(number)) for number in chosen]
    block = pa.table(
        {
            "source_row": pa.array(chosen, pa.int64()),
            "line": pa.array(lines, pa.string()),
        }
    )
    # As the record it was joined from, a row is judged by the same checks as Google's own shards.
    (validated,) = validate([block], layout, json_lines(layout))
    refused = {}
    for row in validated.refused.to_pylist():
        column = flattened.renamed.get((layout.raw.name, row["column"]), row["column"])
        refused[row["source_row"]] = {**row, "column": column}
    return validated.rows, refused


def _without(rows: pa.Table, refused: Refused) -> pa.Table:
    is_refused = pc.is_in(rows.column("source_row"), pa.array(refused, pa.int64()))
    return rows.filter(pc.invert(is_refused))


def first_of_each(rows: pa.Table, layout: RawLayout) -> pa.Table:
    """Return the first of each set of rows with equal columns, in order."""
    columns_sql = ", ".join(quoted(name) for name in layout.columns)
    numbers = pa.array(range(len(rows)), pa.int64())
    numbered = rows.select(layout.columns).append_column("n", numbers)
    # By all columns, lists and NULLs too, and by the first place, so that the order of the file is kept.
    query_sql = f"SELECT min(n) AS n FROM numbered GROUP BY {columns_sql} ORDER BY n"
    with open_values() as connection:
        connection.register("numbered", numbered)
        first_rows = connection.sql(query_sql).to_arrow_table().column("n")
    return rows.take(first_rows)


def _refused_table(flat: FlattenedRows, refused: Refused) -> pa.Table:
    """Return refused rows as the validating reader does, each with the text that the file has."""
    numbers = sorted(refused)
    rows = []
    for number in numbers:
        rows.append({**refused[number], "source_row": number, "raw": ",".join(flat.rows[number])})
    return pa.Table.from_pylist(rows, REFUSED_SCHEMA)
