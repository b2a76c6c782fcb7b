"""Small files that expand to large ones: refused with the reason, whatever the format and the compression.

The limits are set to kilobytes here; the real ones are those of `borgtrace.ingest.files.limits`.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace.errors import SourceError
from borgtrace.ingest.build import flattened
from borgtrace.ingest.build.staging import stage
from borgtrace.ingest.files import limits
from borgtrace.ingest.find.raw_files import read_declaration
from borgtrace.ingest.find.recognition import classify
from borgtrace.ingest.find.schema_csv import read_schema_csv
from borgtrace.ingest.find.sniffing import sniff
from borgtrace.ingest.read import validating_reader
from borgtrace.ingest.read.validating_reader import line_blocks
from tests.ingest.sample_files import SampleTable, record, sample_dialects, sample_tables

N_FILLED = 200_000
FREE = 1 << 16


def _zstd(content: bytes) -> bytes:
    buffer = pa.BufferOutputStream()
    with pa.CompressedOutputStream(buffer, "zstd") as stream:
        stream.write(content)
    return bytes(buffer.getvalue())


CODECS = {"gz": lambda content: gzip.compress(content, 9), "zst": _zstd}
FILLERS = {"prometheus": b" ", "kaggle": b"a\n"}
"""What goes on for ever without being wrong at once; an empty line elsewhere."""


def _bomb(sample: SampleTable, codec: str) -> bytes:
    rows = [sample.row(number) for number in (1, 2)]
    if sample.format == "parquet":
        return _repeating_parquet(sample)
    content = sample.content(rows)
    filler = FILLERS.get(sample.format, b"\n")
    filled = content.rstrip(b"}]") if sample.format == "prometheus" else content
    return CODECS[codec](filled + filler * (N_FILLED // len(filler)))


def _repeating_parquet(sample: SampleTable) -> bytes:
    """Write a row again and again, which takes a few bytes."""
    file = io.BytesIO()
    row = pa.Table.from_pylist([record(sample.raw, sample.row(1))])
    pq.write_table(row.take(pa.array([0] * N_FILLED)), file)
    return file.getvalue()


def _samples() -> Iterator[tuple[str, SampleTable]]:
    """Yield the first table of each format of files of each trace format."""
    for name, dialect in sample_dialects().items():
        for file_format in dialect.formats:
            found = [sample for sample in sample_tables(name) if sample.format == file_format]
            yield f"{name} {file_format}", found[0]


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FREE_EXPANSION", FREE)
    monkeypatch.setattr(limits, "MOST_EXPANSION", 10)
    monkeypatch.setattr(limits, "LARGEST_SIDE_FILE", FREE)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(("name", "sample"), list(_samples()), ids=lambda value: str(value)[:20])
def test_a_file_that_expands_beyond_all_reason_is_refused(
    tmp_path: Path,
    name: str,
    sample: SampleTable,
    codec: str,
) -> None:
    if sample.format == "parquet" and codec == "zst":
        pytest.skip("Parquet is compressed inside")
    content = _bomb(sample, codec)
    ending = "" if sample.format == "parquet" else f".{codec}"
    path = tmp_path / f"{sample.file_name}{ending}"
    path.write_bytes(content)
    with pytest.raises(SourceError) as caught:
        stage(classify(path, "a", only=sample.dialect), tmp_path / "staging")
    assert caught.value.where == str(path)
    assert caught.value.what == "expands beyond all reason"
    assert caught.value.expected == f"at most 10 times its {len(content):,} bytes"
    assert caught.value.way_out == "if that is right, unpack it yourself and name the plain file"
    assert not list((tmp_path / "staging").rglob("*.parquet"))


@pytest.mark.parametrize("codec", CODECS)
def test_parquet_inside_a_compressed_file(tmp_path: Path, codec: str) -> None:
    (sample,) = (
        sample
        for sample in sample_tables("2019")
        if sample.format == "parquet" and sample.raw.name == "machine_events"
    )
    sound = sample.content([sample.row(number) for number in (1, 2)])
    path = tmp_path / f"{sample.file_name}.{codec}"
    path.write_bytes(CODECS[codec](sound))
    assert stage(classify(path), tmp_path / "staging").stored == 2
    path.write_bytes(CODECS[codec](sound + bytes(N_FILLED)))
    with pytest.raises(SourceError, match="expands beyond all reason"):
        classify(path)


@pytest.mark.parametrize("codec", CODECS)
def test_sniffing_refuses_it_too(tmp_path: Path, codec: str) -> None:
    path = tmp_path / f"own.csv.{codec}"
    path.write_bytes(CODECS[codec](b"task,time,cpu\n" + b"a,300,1\n" * (N_FILLED // 8)))
    with pytest.raises(SourceError, match="expands beyond all reason"):
        sniff(path)


def test_files_that_describe_others_are_small(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_bytes(b"\n" * (FREE + 1))
    for read in (read_declaration, read_schema_csv):
        with pytest.raises(SourceError) as caught:
            read(path)
        assert str(caught.value) == (
            f"{path}: too large for what it is: expected at most 64 KiB; correct it, or leave it out"
        )


def test_a_block_of_empty_lines_is_no_larger_than_others(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(validating_reader, "BLOCK_ROWS", 1_000)
    (sample,) = (sample for sample in sample_tables("2011") if sample.raw.name == "task_usage")
    path = tmp_path / "task_usage-000000000000.csv"
    path.write_bytes(sample.content([sample.row(1)]) + b"\n" * 10_000)
    sizes = [block.num_rows for block in line_blocks(classify(path))]
    # Empty lines are no rows; at most 2,000 of them are in memory at a time.
    assert sum(sizes) == 1
    assert len(sizes) > 5


def test_a_flattened_file_has_a_limit_of_rows(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(flattened, "MOST_ROWS", 2)
    sample = sample_tables("kaggle-2019")[0]
    path = tmp_path / sample.file_name
    for n_rows in (2, 3):
        path.write_bytes(sample.content([sample.row(number) for number in range(n_rows)]))
        source = classify(path, "a")
        if n_rows == 2:
            assert stage(source, tmp_path / "staging").rows_in == 2
            continue
        with pytest.raises(SourceError) as caught:
            stage(source, tmp_path / "other")
        assert str(caught.value) == (
            f"{path}: has too many rows to be read at once: "
            "expected at most 2; the published sample has 405,894; "
            "split it, and ingest each part into a separate store"
        )
