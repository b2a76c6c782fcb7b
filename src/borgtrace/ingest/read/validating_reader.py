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
from borgtrace.engine.identifiers import quoted
from borgtrace.ingest.files.raw_layout import RawLayout
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.files.streams import READ_SIZE, check_expansion, open_lines
from borgtrace.ingest.read.text_fields import (
    NOT_UTF8,
    RowTest,
    TextField,
    cross_tests,
    name_sql,
    text_name,
    with_lists,
)

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
        a row in their places and then of its lists, ``fault``, the reason why the whole line is refused, or NULL,
        ``expected``, what it should be instead, in words, and ``is_odd``, whether it holds fields that are not
        declared.
    empty_is_null
        Whether an empty text is no value.
    """

    query_sql: str
    empty_is_null: bool = False

    def texts_sql(self, layout: RawLayout) -> list[str]:
        """Return the SQL of the text of each field, then of each list."""
        texts = []
        for item in layout.fields:
            text_sql = f"fields[{int(item.place)}]"
            if item.joined_places:
                text_sql = _joined_sql((item.place, *item.joined_places))
            if self.empty_is_null and not item.raw.keeps_empty:
                text_sql = f"nullif({text_sql}, '')"
            texts.append(text_sql)
        for place, _ in enumerate(layout.lists, layout.width + 1):
            texts.append(f"fields[{int(place)}]")
        return texts


def _joined_sql(places: Sequence[int]) -> str:
    """Write the texts of several fields as one, joined by ``/``: empty ones too, so that two names stay two."""
    names_sql = [name_sql(f"coalesce(fields[{int(place)}], '')") for place in places]
    texts_sql = ", ".join(names_sql)
    return f"nullif(rtrim(concat_ws('/', {texts_sql}), '/'), '')"


REFUSED_SCHEMA = pa.schema(
    [
        ("source_row", pa.int64()),
        ("reason", pa.string()),
        ("column", pa.string()),
        ("value", pa.string()),
        ("expected", pa.string()),
        ("raw", pa.string()),
    ]
)
"""Columns of refused rows: `column` and `value` are NULL where the whole line is wrong."""


class ValidatedBlock(NamedTuple):
    """A block of lines after validation.

    Parameters
    ----------
    rows
        Those that are right.
    refused
        The others, with the columns of `REFUSED_SCHEMA`.
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
    fields = with_lists(layout, lines.texts_sql(layout))
    tests = _tests_of_lines(layout, fields)
    query_sql = _validation_sql(fields, tests, lines)
    with open_values(threads=1) as connection:
        for block in blocks:
            connection.register("lines", block)
            checked = connection.sql(query_sql).to_arrow_table()
            connection.unregister("lines")
            failed_test = checked.column(_FAILED_TEST)
            rows = checked.filter(pc.is_null(failed_test))
            n_odd = pc.sum(rows.column("is_odd")).as_py() or 0
            yield ValidatedBlock(
                rows.drop([_FAILED_TEST, _FAILED_TEXT, "fault", "expected", "raw", "is_odd"]),
                _refused_rows(checked.filter(pc.is_valid(failed_test)), tests),
                n_odd,
            )


_FAILED_TEST = "failed test"
_FAILED_TEXT = "failed text"
"""Columns of what is checked; no column of a table is called so."""
_WHOLE_LINE = 0
"""Stands for the test of a line as a whole; those of its fields are numbered from 1."""


class _FieldTest(NamedTuple):
    """A test of one field."""

    field: TextField
    test: RowTest


def _tests_of_lines(layout: RawLayout, fields: Sequence[TextField]) -> list[_FieldTest]:
    """Return all tests in the order in which they are tried: the first that holds names the reason."""
    tests = [_FieldTest(item, test) for item in fields for test in item.tests]
    # Tests on two columns come last, when each is known to be right.
    tests_of_pairs = cross_tests(layout)
    for item in fields:
        tests += [_FieldTest(item, test) for test in tests_of_pairs.get(item.name, ())]
    return tests


def _cases_sql(tests: Sequence[_FieldTest]) -> str:
    """Write the number of the first test that fails."""
    return " ".join(
        f"WHEN {test.condition_sql} THEN {number}" for number, (_, test) in enumerate(tests, 1)
    )


def _validation_sql(
    fields: Sequence[TextField],
    tests: Sequence[_FieldTest],
    lines: LineFormat,
) -> str:
    texts_sql = ", ".join(f"{item.text_sql} AS {text_name(item.name)}" for item in fields)
    values_sql = ", ".join(f"{item.value_sql} AS {quoted(item.name)}" for item in fields)
    names_sql = ", ".join(quoted(item.name) for item in fields)
    cases_sql = _cases_sql(tests)
    failed_text_sql = _failed_text_sql(tests)
    return f"""
        WITH parsed AS ({lines.query_sql}),
        texts AS (
            SELECT source_row, line, fault, expected, is_odd, fields, {texts_sql}
            FROM parsed
        ),
        typed AS (SELECT *, {values_sql} FROM texts),
        tested AS (
            SELECT
                *,
                CASE WHEN fault IS NOT NULL THEN {_WHOLE_LINE} {cases_sql} END
                    AS {quoted(_FAILED_TEST)}
            FROM typed
        )
        SELECT
            {names_sql},
            source_row,
            {quoted(_FAILED_TEST)},
            {failed_text_sql} AS {quoted(_FAILED_TEXT)},
            fault,
            expected,
            line AS raw,
            is_odd
        FROM tested
        ORDER BY source_row
    """


def _failed_text_sql(tests: Sequence[_FieldTest]) -> str:
    """Write the text of the field whose test a line failed, as the file has it."""
    numbers_of_text: dict[str, list[str]] = {}
    for number, (item, _) in enumerate(tests, 1):
        numbers_of_text.setdefault(item.raw_text_sql, []).append(str(number))
    cases = []
    for text_sql, numbers in numbers_of_text.items():
        cases.append(f"WHEN {quoted(_FAILED_TEST)} IN ({', '.join(numbers)}) THEN {text_sql}")
    return f"CASE {' '.join(cases)} END" if cases else "NULL::VARCHAR"


def _refused_rows(
    checked: pa.Table,
    tests: Sequence[_FieldTest],
) -> pa.Table:
    """Return the refused ones of checked lines, with the reason of each and what is wrong."""
    failed_test = checked.column(_FAILED_TEST)
    reasons = [None, *(test.reason for _, test in tests)]
    columns = [None, *(item.raw_name for item, _ in tests)]
    expected = [None, *(test.expected for _, test in tests)]
    return pa.table(
        {
            "source_row": checked.column("source_row"),
            "reason": pc.coalesce(_taken(reasons, failed_test), checked.column("fault")),
            "column": _taken(columns, failed_test),
            "value": checked.column(_FAILED_TEXT),
            "expected": pc.coalesce(_taken(expected, failed_test), checked.column("expected")),
            "raw": checked.column("raw"),
        }
    )


def _taken(texts: Sequence[str | None], places: pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array(
        [pa.array(texts, pa.string()).take(chunk) for chunk in places.chunks], pa.string()
    )


def line_blocks(source: Source) -> Iterator[pa.Table]:
    """Cut a file of lines into tables of (source_row, line); the last line may lack its newline.

    A blank line is no row, but counts where rows are numbered: by its number a row is found again. In a table of one
    column it is a row without a value.
    """
    row = 0
    has_blank_rows = source.format == "csv" and len(source.order) == 1
    check_expansion(source)
    with open_lines(source) as stream:
        # Buffered: a decompressing stream yields its lines in Python, one by one.
        buffered = io.BufferedReader(stream, READ_SIZE)  # type: ignore[type-var]
        while lines := _next_lines(buffered):
            places = [
                place for place, line in enumerate(lines) if has_blank_rows or not _is_blank(line)
            ]
            numbers = pa.array([row + place for place in places], pa.int64())
            texts = pa.array([_decode(lines[place]) for place in places], pa.string())
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


def _is_blank(line: bytes) -> bool:
    # Tabs alone are fields without values.
    return not line.strip(b" \r\n")


def _decode(line: bytes) -> str:
    """Decode a line; a byte that is no UTF-8, or a NUL, becomes a mark that no field accepts."""
    # Windows' line ends are forgiven.
    content = line.removesuffix(b"\n").removesuffix(b"\r")
    return content.decode("utf-8", "replace").replace("\0", NOT_UTF8)
