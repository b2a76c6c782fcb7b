"""How lines and blocks of raw files are read: their length, their ends, errors of the disk."""

from __future__ import annotations

import io
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from borgtrace.errors import SourceError
from borgtrace.ingest.files import streams
from borgtrace.ingest.files.raw_layout import NeedsValidation
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.read import delimited
from borgtrace.schema.dialects import GOOGLE_2011


def lengths(*blocks: bytes) -> None:
    looked = streams.LineLengths(Path("x"))
    for block in blocks:
        looked.look(block)


def test_a_line_may_be_as_long_as_is_allowed_and_not_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "LONGEST_LINE", 4)
    for blocks in (
        (b"1234\n1234\n", b"1234"),
        (b"12", b"34\n", b"\n\n1234"),
        (b"",),
        (b"1\n" * 9, b"1234\n1234"),
    ):
        lengths(*blocks)
    for blocks in (
        (b"12345\n",),
        (b"1\n12345",),
        (b"12", b"345"),
        (b"12", b"345\n1\n"),
        (b"1\n2\n12345\n1\n",),
    ):
        with pytest.raises(
            SourceError,
            match="x: a line is too long: expected lines of at most 16 MiB",
        ):
            lengths(*blocks)


def test_a_workload_file_is_read_as_delimited_lines() -> None:
    text = b"; a comment\n  1  2\t3\n\n4 a,b 6\n;5 6\n7"
    expected = b"1,2,3\n4,a;b,6\n7\n"
    for size in (-1, 1, 4, 100):
        fields = streams.WorkloadLines(io.BytesIO(text))  # type: ignore[arg-type]
        found = b""
        while block := fields.read(size):
            assert size < 0 or len(block) <= size
            found += block
        assert found == expected
    buffer = bytearray(8)
    assert streams.WorkloadLines(io.BytesIO(text)).readinto(buffer) == 8  # type: ignore[arg-type]
    assert bytes(buffer) == expected[:8]
    assert streams.WorkloadLines(io.BytesIO(b"")).readable()  # type: ignore[arg-type]


def fields_by_hand(line: bytes) -> list[bytes]:
    """Return the fields of a line of a log in the Standard Workload Format; none where it is no job."""
    fields = line.replace(b",", b";").split()
    if not fields or fields[0].startswith(b";"):
        return []
    if fields[0].lower() in (b"id", b"job_id", b"jobid", b"job"):
        return []
    for place, text in enumerate(fields):
        digits = text[1:]
        is_signed = text.startswith(b"-") and not digits.strip(b"0123456789.")
        if place >= 2 and is_signed and digits.strip(b"0."):
            fields[place] = b"-1"
    return fields


@pytest.mark.parametrize("seed", range(40))
def test_any_line_of_a_workload_file_has_the_fields_between_its_blanks(seed: int) -> None:
    rng = random.Random(seed)
    pieces = [
        b"-1",
        b"0",
        b"17",
        b"-25.5",
        b"-0.0",
        b"--3",
        b"-.5.",
        b"-",
        b"-1e3",
        b"a,b",
        b";",
        b",",
        b"\x00",
        b"{1}",
    ]
    blanks = [b" ", b"  ", b"\t", b"\r", b"\v", b"\f", b"\x1c", b"\xa0"]
    # Only some texts have headings, which the fast way leaves to the other one.
    pieces += [b"Job", b"job_x", b"ID", b"in"] if seed % 4 == 0 else []
    lines = []
    for _ in range(200):
        parts = []
        for _ in range(rng.randrange(9)):
            parts += [rng.choice(blanks) for _ in range(rng.randrange(3))]
            parts.append(rng.choice(pieces))
        lines.append(b"".join(parts) + rng.choice((b"", b" ", b"\r")))
    ending = rng.choice((b"", b"\n"))
    text = b"\n".join(lines) + ending
    expected = b""
    for line in lines:
        fields = fields_by_hand(line)
        expected += b",".join(fields) + b"\n" if fields else b""
    stream = streams.WorkloadLines(io.BytesIO(text))  # type: ignore[arg-type]
    assert stream.read() == expected


def test_an_error_of_the_disk_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"plain")
    source = Source(
        path,
        GOOGLE_2011,
        "task_usage",
        "csv",
        packing="zstd",
    )
    with (
        pytest.raises(SourceError, match="zstd data is damaged or ends early"),
        streams.open_stream(source) as stream,
    ):
        stream.read()

    def fail() -> None:
        with streams.open_stream(
            Source(
                path,
                GOOGLE_2011,
                "task_usage",
                "csv",
                packing="zstd",
            )
        ):
            raise OSError(5, "the disk fails")

    path.write_bytes(pa.compress(b"1\n", "zstd", asbytes=True))
    with pytest.raises(OSError, match="the disk fails"):
        fail()


@pytest.mark.parametrize(
    ("blocks", "stops"),
    [
        ([b"1,2\r\n3,", b"4\n"], False),
        ([b"1\r", b"\n2\n"], False),
        ([b"1\r2\n"], True),
        ([b"1\n2\r3"], True),  # in the last line, which has no end
        ([b"0", b"x10\n"], True),  # cut in the middle of what is strange
        ([b"1,", b"2", b"\n", b"3\n"], False),
        ([b"1", b"\n\n2\n"], True),  # an empty line after the one that is cut
        ([b'"1"\n'], True),  # the validating reader takes quotes off
    ],
)
def test_lines_that_arrow_would_take_otherwise(
    blocks: list[bytes],
    stops: bool,
) -> None:
    waiting = iter([*blocks, b""])
    stream: Any = SimpleNamespace(read=lambda size: next(waiting))
    lines = delimited.PlainLines(stream)
    if stops:
        with pytest.raises(NeedsValidation):
            list(iter(lambda: lines.read(9), b""))
    else:
        assert [lines.read(9) for _ in range(len(blocks) + 1)] == [*blocks, b""]
