"""The careful path: every line is stored right or refused with a reason and its raw text.

Lines are tested by DuckDB as columns of text, so a bad file costs some more time but no Python
per row.  CSV fields and JSON paths become the same thing here: one text per canonical column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.ingest.fields import TextField

BLOCK_BYTES = 1 << 25
_NOT_UTF8 = "�"


@dataclass(frozen=True)
class Sifted:
    """One block: the rows that are right, and the refused ones with reason and raw text."""

    rows: pa.Table
    refused: pa.Table


def sift(blocks: Iterable[pa.Table], fields: Sequence[TextField], prelude: str, whole_row: str) -> Iterator[Sifted]:
    """Sift lines.

    Parameters
    ----------
    blocks
        Tables of (source_row, line), such as `line_blocks` makes.
    fields
        How each canonical column is found in and read from the text.
    prelude
        SQL over ``lines(source_row, line)`` that adds the columns the fields' texts refer to.
    whole_row
        SQL expression giving the reason why a whole line is refused, or NULL.
    """
    connection = duckdb.connect(config={"threads": 1})
    query = _query(fields, prelude, whole_row)
    for block in blocks:
        connection.register("lines", block)
        checked = connection.sql(query).to_arrow_table()
        connection.unregister("lines")
        refused = checked.filter(pc.is_valid(checked.column("reason")))
        rows = checked.filter(pc.is_null(checked.column("reason"))).drop(["reason", "raw"])
        yield Sifted(rows, refused.select(["source_row", "reason", "raw"]))
    connection.close()


def _query(fields: Sequence[TextField], prelude: str, whole_row: str) -> str:
    texts = ", ".join(f"{field.text} AS {_quoted('text_' + field.name)}" for field in fields)
    values = ", ".join(f"{field.value} AS {_quoted(field.name)}" for field in fields)
    tests = " ".join(f"WHEN {test} THEN '{reason}'" for field in fields for reason, test in field.tests)
    end = "WHEN end_time < start_time THEN 'end_before_start'"
    window = end if any(field.name == "end_time" for field in fields) else ""
    return f"""
        WITH parsed AS ({prelude}),
        texts AS (SELECT source_row, line, {whole_row} AS fault, {texts} FROM parsed),
        typed AS (SELECT *, {values} FROM texts)
        SELECT source_row, {", ".join(_quoted(field.name) for field in fields)},
               CASE WHEN fault IS NOT NULL THEN fault {tests} {window} END AS reason, line AS raw
        FROM typed ORDER BY source_row
    """


def _quoted(name: str) -> str:
    return '"' + name + '"'


def line_blocks(stream: BinaryIO) -> Iterator[pa.Table]:
    """Cut a stream into tables of (source_row, line); the last line may lack its newline."""
    rest, row = b"", 0
    while True:
        data = stream.read(BLOCK_BYTES)
        lines = (rest + data).split(b"\n")
        rest = lines.pop() if data else b""
        if not data and lines == [b""]:
            return
        if not data and lines and lines[-1] == b"":
            lines.pop()
        yield pa.table(
            {
                "source_row": pa.array(range(row, row + len(lines)), pa.int64()),
                "line": pa.array([_text(line) for line in lines], pa.string()),
            }
        )
        row += len(lines)
        if not data:
            return


def _text(line: bytes) -> str:
    """Decode a line; a byte that is no UTF-8, or a NUL, becomes a mark that no field accepts."""
    return line.removesuffix(b"\r").decode("utf-8", "replace").replace("\0", _NOT_UTF8)
