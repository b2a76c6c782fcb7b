"""Texts that are sizes, declarations, printed Python, or strange, each on a few typed values."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from borgtrace.errors import SourceError, UsageError
from borgtrace.ingest.build.flattened import (
    choose_cell,
    python_to_json,
    record_of,
    without_decimals,
)
from borgtrace.ingest.convert.capacity import parse_capacity
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.find.raw_files import read_declaration
from borgtrace.ingest.read.json_token_counts import tokens_in
from borgtrace.ingest.read.strange_text import is_foreign, is_strange
from borgtrace.schema.dialects import KAGGLE_2019


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("", (None, None, None)),
        ("1core", (1.0, None, None)),
        ("1.5 GiB , 2cores", (2.0, 1.5 * 2**30, None)),
        ("500MB", (None, 5e8, None)),
        ("64bytes", (None, 64.0, None)),
        ("16cores,41600MHz", (16.0, None, 41_600.0)),
        ("41.6GHz", (None, None, 41_600.0)),
    ],
)
def test_the_size_of_a_machine(text: str, size: tuple[float | None, ...]) -> None:
    assert parse_capacity(text) == size


@pytest.mark.parametrize(
    "text",
    ["8apples", "0cores", "8cores,4cores", "1GiB,2MB", "cores", "8", "-1cores", "1GiBx"],
)
def test_what_is_no_size_of_a_machine(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_capacity(text)
    assert (
        str(caught.value)
        == "--capacity: not the size of a machine: expected such as 8cores,32GiB, "
        f"at most 1,000,000 cores and 1 EiB, got {text}"
    )


def test_a_declaration_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        read_declaration(tmp_path / "own.toml")
    assert str(caught.value) == (
        f"{tmp_path / 'own.toml'}: no such file or directory; "
        "write a first draft: borgtrace dialect sniff FILE > own.toml"
    )
    (tmp_path / "own.toml").write_text("a =")
    with pytest.raises(SourceError, match=r"own.toml: not TOML \(.*; correct the line"):
        read_declaration(tmp_path / "own.toml")


@pytest.mark.parametrize(
    ("text", "strange"),
    [
        (b"0x1", True),
        (b"1,0XfF\n", True),
        (b'{"a": "0b1"}', True),
        (b"5\t0B10\t5", True),
        (b"0xg,0x1", True),  # the second one
        (b"a0x1,b", False),
        (b"0x1a=,5", False),
        (b"0x,0b", False),
        (b"10x5", False),
        (b"0x" + b"f" * 16, True),
        (b"0x" + b"f" * 17, False),  # beyond 64 bits
        (b"0x_00" + b"f_" * 16, True),
        (b"0b1_1", True),
        (b"0b12", False),
        (b"1,0badc0ffee,2", False),  # a name
        (b"a\0", True),
        ("a\N{REPLACEMENT CHARACTER}".encode(), True),
        (b"", False),
        (b"1,2.5,abc\n", False),
    ],
)
def test_text_that_arrow_and_we_read_differently(text: bytes, strange: bool) -> None:
    assert is_strange(text) is strange


@pytest.mark.parametrize("length", [0, 1, 7, 64, 200])
def test_strange_text_and_flags_are_found_at_any_place_of_a_block(length: int) -> None:
    # Compiled code looks at many bytes at a time, and at the last ones by themselves.
    before, after = b"10,x0.5," * 30, b',"b":5.0,"e":"u"'
    assert not is_strange(before[:length])
    assert is_strange(before[:length] + b",0X1F")
    assert is_strange(b"0b1" + after * length)
    assert is_strange(before[:length] + b"\xef\xbf\xbd" + after)
    assert not is_strange(before[:length] + b"\xef\xbf\xbe" + after)
    for text, flags in (
        (b"true", 1),
        (b"false", 1),
        (b"falsetrue", 2),
        (b"fals", 0),
        (b"True rue TRUE", 0),
    ):
        assert tokens_in(b"," * length + text)[3] == flags


@pytest.mark.parametrize("place", [4093, 4094, 4095, 4096, 4097, 8191, 8192])
@pytest.mark.parametrize("rest", [b"", b"\n", b",5.0" * 2000])
def test_strange_text_is_found_around_the_ends_of_chunks(place: int, rest: bytes) -> None:
    # Chunks begin at the second byte of a block, and have 4,096.
    before = b"7" * (place - 1)
    assert is_strange(before + b",0x1F" + rest)
    assert not is_strange(before + b"70x1F" + rest)
    assert not is_strange(before + b",0xG" + rest)


# Chunks have 512 bytes and begin at the second one; the first and the last byte of a text are looked at alone.
@pytest.mark.parametrize("place", [0, 1, 2, 511, 512, 513, 514, 1024, 1025])
@pytest.mark.parametrize("rest", [b"", b"\n", b",5.0" * 300])
def test_lines_that_arrow_takes_otherwise_are_found_anywhere(place: int, rest: bytes) -> None:
    before = b"7" * place
    for mark in (b'"', b"\0", b"\r", b"\xef\xbf\xbd", b"\n\n", b"\n0x1F"):
        is_pair = mark == b"\r" and rest == b"\n"
        assert is_foreign(before + mark + rest) is not is_pair
    for mark in (b"'", b"\r\n", b"\xef\xbf\xbe", b"\n5", b"\n0xG", b"70x1F"):
        # Two line ends are an empty line.
        is_empty_line = mark == b"\r\n" and rest == b"\n"
        assert is_foreign(before + mark + rest) is is_empty_line
    # What lies outside of the lines is not looked at.
    assert not is_foreign(b'"' + before + b'5"', 1, len(before) + 2)


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        ("{'cpus': 0.5, 'memory': None}", '{"cpus": 0.5, "memory": null}'),
        ("{'a': nan}", '{"a": null}'),
        ("[0.1 1. 2.5e-05 3]", "[0.1,1.0,2.5e-05,3]"),
        (
            "[{'name': 'nan\"b', 'value': ''} {'name': \"it's\"}]",
            '[{"name": "nan\\"b", "value": ""},{"name": "it\'s"}]',
        ),
        (" [] ", "[]"),
    ],
)
def test_a_printed_python_literal_becomes_json(printed: str, text: str) -> None:
    assert python_to_json(printed) == text
    json.loads(text)


def test_what_pandas_made_of_integers_is_undone() -> None:
    assert [without_decimals(text) for text in ("5.0", "-5.0", "+5", "5.5", "a.0", "5.00")] == [
        "5",
        "-5",
        "+5",
        "5.5",
        "a.0",
        "5.00",
    ]
    flattened = KAGGLE_2019.flattened
    assert flattened
    raw = KAGGLE_2019.tables["collection_events"]
    # A column that was renamed is there even where it is empty: its row is to be refused.
    assert (
        record_of(flattened, raw, {"time": "", "scheduler": "nan"})
        == '{"type":"","scheduler":"nan"}'
    )


def test_a_cell_is_chosen_where_a_file_mixes_them() -> None:
    def source(cell: str) -> Source:
        return Source(
            Path("x.csv"),
            KAGGLE_2019,
            "kaggle",
            "kaggle",
            cell=cell,
        )

    mixed = Counter({"b": 2, "a": 1})
    assert [choose_cell(source(cell), mixed) for cell in ("a", "b")] == ["a", "b"]
    assert choose_cell(source(""), Counter({"d": 5})) == "d"
    for cell, cells in (("", mixed), ("c", mixed), ("c", Counter({"d": 5}))):
        with pytest.raises(UsageError) as caught:
            choose_cell(source(cell), cells)
        known = ", ".join(f"{name} ({number} rows)" for name, number in sorted(cells.items()))
        assert str(caught.value) == (
            f"--cell: x.csv mixes cells, and a store holds one: expected one of {known}, got {cell or 'none'}; "
            f"choose one: --cell {min(cells)}"
        )
