"""Raw files for readers that take a path."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from borgtrace.ingest.files.streams import plain_file
from tests.ingest.raw import source_of


@pytest.mark.parametrize(
    ("name", "packed", "is_itself"),
    [
        ("own.csv", "", True),
        ("own.csv.gz", "gzip", False),
        ("own.csv.zst", "zstd", False),
        ("it's.csv", "", True),
        # DuckDB would take it for a pattern.
        ("own[1].csv", "", False),
    ],
)
def test_readers_of_paths_read_what_is_not_packed_where_it_lies(
    tmp_path,
    name,
    packed,
    is_itself,
):
    path, text = tmp_path / name, b"task,time\nweb,0\n"
    path.write_bytes(pa.compress(text, codec=packed, asbytes=True) if packed else text)
    source = source_of(
        name,
        "usage",
        1,
        packing=packed,
    )
    with plain_file(replace(source, path=path)) as plain:
        assert (plain == path, plain.read_bytes()) == (is_itself, text)


def test_a_mark_of_the_byte_order_is_read_over(tmp_path):
    (tmp_path / "own.csv").write_bytes(b"\xef\xbb\xbftask")
    with plain_file(
        replace(
            source_of(
                "own.csv",
                "usage",
                1,
                packing="",
            ),
            path=tmp_path / "own.csv",
        )
    ) as plain:
        assert plain.read_bytes() == b"task"
