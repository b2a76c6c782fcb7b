"""The fastest reader: files of plain numbers, in blocks."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pytest

from borgtrace.ingest.files.raw_layout import layout_of
from borgtrace.ingest.find.recognition import classify
from borgtrace.ingest.read import number_reader
from borgtrace.ingest.read.delimited import read_plain_numbers
from borgtrace.ingest.read.number_reader import NotPlainNumbers, read_numbers
from tests.ingest import raw


@pytest.mark.parametrize(
    "block",
    [
        1,
        3,
        7,
        1 << 20,
    ],
)
@pytest.mark.parametrize("end", ["", "\n"])
def test_numbers_in_blocks_and_chunks_of_any_size(monkeypatch, block, end):
    monkeypatch.setattr(number_reader, "BLOCK_SIZE", block)
    monkeypatch.setattr(number_reader, "ROWS_PER_CHUNK", 8)
    lines = [f"{n},{'' if n % 3 else n / 4}" for n in range(20)]
    types = {"n": pa.int32(), "x": pa.float32()}
    chunks = list(read_numbers(io.BytesIO(("\n".join(lines) + end).encode()), types))
    assert [len(chunk) for chunk in chunks] == [8, 8, 4]
    table = pa.concat_tables(chunks)
    assert table.column("n").to_pylist() == list(range(20))
    assert table.column("x").to_pylist() == [None if n % 3 else n / 4 for n in range(20)]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("1,2\n\n", [pa.int64(), pa.int64()]),
        ("1,2\n3\n", [pa.int64(), pa.int64()]),
        ("1,2\n3,4,5\n", [pa.int64(), pa.int64()]),
        ("2147483648\n", [pa.int32()]),
        ("01\n", [pa.bool_()]),
        ("2\n", [pa.bool_()]),
        ("true\n", [pa.bool_()]),
        ("a\n", [pa.string()]),
    ],
)
def test_what_is_no_plain_number(text, kinds):
    with pytest.raises(NotPlainNumbers):
        list(
            read_numbers(io.BytesIO(text.encode()), {f"c{i}": kind for i, kind in enumerate(kinds)})
        )


def test_flags_are_plain_numbers():
    (chunk,) = read_numbers(io.BytesIO(b"1,1\n0,2\n,3\n"), {"is": pa.bool_(), "n": pa.int32()})
    assert chunk.to_pydict() == {"is": [True, False, None], "n": [1, 2, 3]}


def test_usage_of_2011_is_plain_numbers(tmp_path):
    """So it is read by the fastest reader, which a field of another kind would switch off without a word."""
    source = classify(raw.write_part(tmp_path, "task_usage", raw.USAGE))
    (chunk,) = read_plain_numbers(source, layout_of(source))
    assert chunk.column("aggregation_type").to_pylist() == [True]
    assert chunk.column("average_cpu").to_pylist() == [np.float32(0.0015)]


def test_the_largest_numbers_that_fit():
    types = {"n": pa.int32(), "m": pa.int32()}
    (chunk,) = read_numbers(io.BytesIO(b"2147483647,1\n,\n0,0\n"), types)
    assert chunk.to_pydict() == {"n": [2**31 - 1, None, 0], "m": [1, None, 0]}


def test_a_decimal_between_two_floats_is_decided_exactly():
    (chunk,) = read_numbers(io.BytesIO(b"16777217\n0.5\n"), {"x": pa.float32()})
    assert chunk.column("x").to_pylist() == [16777216.0, 0.5]
