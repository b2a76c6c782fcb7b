"""The validating reader: every line is stored right or refused with a reason and its raw text.

Lines are tested by DuckDB as columns of text, so a bad file costs some more time but no Python per row.  The reader is
the same for all containers; each says how a line is taken apart (`LineFormat`).
"""

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.engine.embedded import without_bar
from borgtrace.ingest.files.raw_layout import RawLayout
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.files.streams import READ_SIZE, open_lines
from borgtrace.ingest.read.text_fields import cross_tests, with_lists

BLOCK_BYTES = 1 << 25
NOT_UTF8 = "�"


@dataclass(frozen=True)
class LineFormat:
    """How a line is taken apart.

    Parameters
    ----------
    query
        SQL over ``lines(source_row, line)`` that yields these two, the list ``fields`` of the texts of all fields of a
        row in their places and then of its lists, ``fault``, the reason why the whole line is refused, or NULL, and
        ``is_odd``, whether it holds fields that are not declared.
    empty_is_null
        Whether an empty text is no value.
    """

    query: str
    empty_is_null: bool = False

    def texts(self, layout: RawLayout) -> list[str]:
        """Return the SQL of each field's text."""
        texts = []
        for field in layout.fields:
            text = f"fields[{field.place}]"
            texts.append(
                f"nullif({text}, '')" if self.empty_is_null and not field.raw.keeps_empty else text
            )
        return texts + [f"fields[{layout.width + i}]" for i, _ in enumerate(layout.lists, 1)]


def validate(
    blocks: Iterable[pa.Table], layout: RawLayout, lines: LineFormat
) -> Iterator[tuple[pa.Table, pa.Table, int]]:
    """Yield, of each block of lines, the rows that are right, and the refused ones with reason and raw text.

    And how many of the right ones hold fields that are not declared.

    Parameters
    ----------
    blocks
        Tables of (source_row, line), such as `line_blocks` makes.
    layout
        What a line holds.
    lines
        How it is taken apart.
    """
    query = _query(layout, lines)
    with without_bar(duckdb.connect(config={"threads": 1})) as connection:
        for block in blocks:
            connection.register("lines", block)
            checked = connection.sql(query).to_arrow_table()
            connection.unregister("lines")
            refused = checked.filter(pc.is_valid(checked.column("reason")))
            rows = checked.filter(pc.is_null(checked.column("reason")))
            n_odd = pc.sum(rows.column("is_odd")).as_py() or 0
            yield (
                rows.drop(["reason", "raw", "is_odd"]),
                refused.select(["source_row", "reason", "raw"]),
                n_odd,
            )


def _query(layout: RawLayout, lines: LineFormat) -> str:
    fields = with_lists(layout, lines.texts(layout))
    texts = ", ".join(f'{field.text} AS "text_{field.name}"' for field in fields)
    values = ", ".join(f'{field.value} AS "{field.name}"' for field in fields)
    tests = [test for field in fields for test in field.tests] + list(cross_tests(layout))
    # The first test that holds names the reason; tests on two columns come last, when each is known to be right.
    cases = " ".join(f"WHEN {test} THEN '{reason}'" for reason, test in tests)
    names = ", ".join(f'"{field.name}"' for field in fields)
    return line_sql(
        "validated", query=lines.query, texts=texts, values=values, names=names, cases=cases
    )


def line_sql(name: str, **parts: object) -> str:
    """Return the query of a file of ``line_sql``, with its parts in their places."""
    return (Path(__file__).parent / "line_sql" / f"{name}.sql").read_text("utf-8").format(**parts)


def line_blocks(source: Source) -> Iterator[pa.Table]:
    """Cut a file of lines into tables of (source_row, line); the last line may lack its newline."""
    row = 0
    with open_lines(source) as stream:
        # Buffered: a decompressing stream yields its lines in Python, one by one.
        buffered = io.BufferedReader(stream, READ_SIZE)  # type: ignore[type-var]
        while lines := buffered.readlines(BLOCK_BYTES):
            numbers = pa.array(range(row, row + len(lines)), pa.int64())
            yield pa.table(
                {
                    "source_row": numbers,
                    "line": pa.array([_text(line) for line in lines], pa.string()),
                }
            )
            row += len(lines)


# Windows' line ends are forgiven; what Arrow's UTF-8 texts cannot hold is marked, for the tests to refuse.
def _text(line: bytes) -> str:
    """Decode a line; a byte that is no UTF-8, or a NUL, becomes a mark that no field accepts."""
    return (
        line.removesuffix(b"\n")
        .removesuffix(b"\r")
        .decode("utf-8", "replace")
        .replace("\0", NOT_UTF8)
    )
