"""The validating reader: every line is stored right or refused with a reason and its raw text.

Lines are tested by DuckDB as columns of text, so a bad file costs some more time but no Python per row.  The reader is
the same for all containers; each defines how a line is taken apart (`LineFormat`).
"""

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.engine.guard import open_values
from borgtrace.engine.identifiers import literal, quoted
from borgtrace.ingest.files.raw_layout import RawLayout
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.files.streams import READ_SIZE, check_expansion, open_lines
from borgtrace.ingest.read.text_fields import NOT_UTF8, cross_tests, text_name, with_lists

BLOCK_BYTES = 1 << 25
BLOCK_ROWS = 1 << 18
"""Most lines of a block: each is an object of Python for a moment, an empty one too."""


@dataclass(frozen=True)
class LineFormat:
    """How a line is taken apart.

    Parameters
    ----------
    query_sql
        Query over ``lines(source_row, line)`` that yields these two, the list ``fields`` of the texts of all fields of
        a row in their places and then of its lists, ``fault``, the reason why the whole line is refused, or NULL, and
        ``is_odd``, whether it holds fields that are not declared.
    empty_is_null
        Whether an empty text is no value.
    """

    query_sql: str
    empty_is_null: bool = False

    def texts_sql(self, layout: RawLayout) -> list[str]:
        """Return the SQL of the text of each field, then of each list."""
        texts = []
        for field in layout.fields:
            text_sql = f"fields[{int(field.place)}]"
            if field.joined_places:
                text_sql = _joined_sql((field.place, *field.joined_places))
            if self.empty_is_null and not field.raw.keeps_empty:
                text_sql = f"nullif({text_sql}, '')"
            texts.append(text_sql)
        for place, _ in enumerate(layout.lists, layout.width + 1):
            texts.append(f"fields[{int(place)}]")
        return texts


def _joined_sql(places: Sequence[int]) -> str:
    """Write the texts of several fields as one, joined by ``/``: empty ones too, so that two names stay two."""
    texts_sql = ", ".join(f"coalesce(fields[{int(place)}], '')" for place in places)
    return f"nullif(rtrim(concat_ws('/', {texts_sql}), '/'), '')"


class ValidatedBlock(NamedTuple):
    """A block of lines after validation.

    Parameters
    ----------
    rows
        Those that are right.
    refused
        The others: source_row, reason and raw text.
    n_odd
        How many of the right ones hold fields that are not declared.
    """

    rows: pa.Table
    refused: pa.Table
    n_odd: int


def validate(
    blocks: Iterable[pa.Table],
    layout: RawLayout,
    lines: LineFormat,
) -> Iterator[ValidatedBlock]:
    """Yield, of each block of lines, the rows that are right, and the refused ones with reason and raw text.

    Parameters
    ----------
    blocks
        Tables of (source_row, line), such as `line_blocks` makes.
    layout
        What a line holds.
    lines
        How it is taken apart.
    """
    query_sql = _validation_sql(layout, lines)
    with open_values(threads=1) as connection:
        for block in blocks:
            connection.register("lines", block)
            checked = connection.sql(query_sql).to_arrow_table()
            connection.unregister("lines")
            reasons = checked.column("reason")
            refused = checked.filter(pc.is_valid(reasons))
            rows = checked.filter(pc.is_null(reasons))
            n_odd = pc.sum(rows.column("is_odd")).as_py() or 0
            yield ValidatedBlock(
                rows.drop(["reason", "raw", "is_odd"]),
                refused.select(["source_row", "reason", "raw"]),
                n_odd,
            )


def _validation_sql(layout: RawLayout, lines: LineFormat) -> str:
    fields = with_lists(layout, lines.texts_sql(layout))
    texts_sql = ", ".join(f"{field.text_sql} AS {text_name(field.name)}" for field in fields)
    values_sql = ", ".join(f"{field.value_sql} AS {quoted(field.name)}" for field in fields)
    names_sql = ", ".join(quoted(field.name) for field in fields)
    # The first test that holds names the reason; tests on two columns come last, when each is known to be right.
    tests = [test for field in fields for test in field.tests]
    tests += cross_tests(layout)
    cases_sql = " ".join(
        f"WHEN {condition_sql} THEN {literal(reason)}" for reason, condition_sql in tests
    )
    return f"""
        WITH parsed AS ({lines.query_sql}),
        texts AS (SELECT source_row, line, fault, is_odd, {texts_sql} FROM parsed),
        typed AS (SELECT *, {values_sql} FROM texts)
        SELECT
            {names_sql},
            source_row,
            CASE WHEN fault IS NOT NULL THEN fault {cases_sql} END AS reason,
            line AS raw,
            is_odd
        FROM typed
        ORDER BY source_row
    """


def line_blocks(source: Source) -> Iterator[pa.Table]:
    """Cut a file of lines into tables of (source_row, line); the last line may lack its newline."""
    row = 0
    check_expansion(source)
    with open_lines(source) as stream:
        # Buffered: a decompressing stream yields its lines in Python, one by one.
        buffered = io.BufferedReader(stream, READ_SIZE)  # type: ignore[type-var]
        while lines := _next_lines(buffered):
            numbers = pa.array(range(row, row + len(lines)), pa.int64())
            texts = pa.array([_decode(line) for line in lines], pa.string())
            yield pa.table({"source_row": numbers, "line": texts})
            row += len(lines)


def _next_lines(stream: BinaryIO) -> list[bytes]:
    """Return the next lines: as many as fit into a block."""
    lines: list[bytes] = []
    n_bytes = 0
    # In pieces of so many bytes that their lines are no more than a block has, even where all are empty.
    while n_bytes < BLOCK_BYTES and len(lines) < BLOCK_ROWS:
        piece = stream.readlines(min(BLOCK_ROWS, BLOCK_BYTES - n_bytes))
        if not piece:
            break
        n_bytes += sum(map(len, piece))
        lines += piece
    return lines


def _decode(line: bytes) -> str:
    """Decode a line; a byte that is no UTF-8, or a NUL, becomes a mark that no field accepts."""
    # Windows' line ends are forgiven.
    content = line.removesuffix(b"\n").removesuffix(b"\r")
    return content.decode("utf-8", "replace").replace("\0", NOT_UTF8)
