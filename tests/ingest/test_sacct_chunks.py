"""A log of sacct that is read column by column holds what it holds row by row."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from borgtrace.ingest.convert.canonical import canonical_chunk
from borgtrace.ingest.files.raw_layout import NeedsValidation, layout_of
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.files.streams import open_lines
from borgtrace.ingest.read.logs import sacct_text
from borgtrace.ingest.read.logs.kind import Refused
from borgtrace.ingest.read.logs.sacct_chunks import read_sacct
from borgtrace.schema.dialects import dialect

TEXTS = {
    "JobID": ["17", "18_4", "18_[5-9%2]", "19.batch", "19.0", "20+1"],
    "JobName": ["sim", " sim", "", "a b"],
    "User": ["ada", ""],
    "State": ["COMPLETED", "RUNNING", "CANCELLED by 1000", "PENDING", "OUT_OF_ME+", ""],
    "Submit": ["2026-11-01T00:05:00"],
    "Start": ["2026-11-01T00:06:00", "Unknown", "None", ""],
    "End": ["2026-11-01T07:06:00", "Unknown"],
    "Elapsed": ["07:00:00", "1-00:00:10", "00:00:00", ""],
    "ElapsedRaw": ["25200", "", "0"],
    "AllocTRES": ["cpu=4,mem=16G,node=1", "", "cpu=2,gres/gpu=1,gres/gpu:a100=1", "cpu=0"],
    "ReqTRES": ["cpu=4,mem=100M", ""],
    "AllocCPUS": ["4", "0"],
    "NCPUS": ["8"],
    "ReqCPUS": ["2", ""],
    "ReqMem": ["4Gn", "100Mc", "2000", "0", ""],
    "NNodes": ["2", "1"],
    "NodeList": ["tux[0-2,07]", "None assigned", "tux1", ""],
    "TotalCPU": ["02:10.584", "", "1-02:00:10"],
    "UserCPU": ["00:10.000", ""],
    "SystemCPU": ["00:01.500", ""],
    "MaxRSS": ["114944K", "0", ""],
}
NEEDED = ("JobID", "Submit", "State")


def sources_of(path: Path, columns: list[str], rows: list[list[str]]) -> Source:
    path.write_text("".join("|".join(row) + "\n" for row in [columns, *rows]))
    return Source(
        path,
        dialect("sacct"),
        "sacct",
        "log",
        delimiter="|",
        order=tuple(columns),
        has_header=True,
    )


def by_columns(source: Source) -> list[dict[str, Any]]:
    layout = layout_of(source)
    names = {field.name: field.raw.name for field in layout.fields}
    return [
        {names[name]: value for name, value in row.items() if value is not None}
        for chunk in read_sacct(source, layout)
        for row in chunk.to_pylist()
    ]


def by_rows(source: Source) -> list[dict[str, Any]]:
    with open_lines(source) as stream:
        records = list(sacct_text.KIND.rows(stream, source))
    assert not any(isinstance(record, Refused) for record in records)
    return [dict(record) for record in records if not isinstance(record, Refused)]


@pytest.mark.parametrize("seed", range(60))
def test_all_columns_are_those_of_the_rows(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    optional = [name for name in TEXTS if name not in NEEDED and rng.random() < 0.5]
    columns = [*NEEDED, *optional]
    rng.shuffle(columns)
    rows = [[rng.choice(TEXTS[name]) for name in columns] for _ in range(30)]
    source = sources_of(tmp_path / "sacct.txt", columns, rows)
    assert by_columns(source) == by_rows(source)


def test_values_are_those_that_slurm_means(tmp_path: Path) -> None:
    columns = ["JobID", "State", "Submit", "Start", "End", "Elapsed", "ReqMem", "NNodes", "MaxRSS"]
    row = ["7.batch", "RUNNING", "2026-11-01T00:05:00", "Unknown", "Unknown", "00:00:05"]
    source = sources_of(tmp_path / "sacct.txt", columns, [[*row, "2Gn", "3", "4K"]])
    assert by_columns(source) == [
        {
            "JobID": "7",
            "step": "batch",
            "State": "RUNNING",
            "Submit": "2026-11-01T00:05:00",
            # Of each of three nodes; what still runs has no end, and no length.
            "ReqMem": 3 * 2 * 1024.0**3,
            "MaxRSS": 4096.0,
        }
    ]


@pytest.mark.parametrize(
    ("texts", "seconds"),
    [
        # 20,758 days after 1970-01-01, and five minutes.
        (["2026-11-01T00:05:00", "2026-11-01 00:05:01"], [1_793_491_500, 1_793_491_501]),
        (["2026-11-01T01:05:00+01:00", "2026-11-01T00:05:01"], [1_793_491_500, 1_793_491_501]),
        (["2026-11-01T00:05:00", ""], [1_793_491_500, None]),
    ],
)
def test_dates_of_one_form_and_of_several_are_the_same_times(
    tmp_path: Path, texts: list[str], seconds: list[int | None]
) -> None:
    rows = [["7", "PENDING", text] for text in texts]
    source = sources_of(tmp_path / "sacct.txt", ["JobID", "State", "Submit"], rows)
    layout = layout_of(source)
    (chunk,) = read_sacct(source, layout)
    times = canonical_chunk(layout, chunk).column("submit").to_pylist()
    assert times == [None if second is None else second * 1_000_000 for second in seconds]


@pytest.mark.parametrize(
    "change",
    [
        {"JobID": "a job"},
        {"JobID": "JobID", "State": "State", "Submit": "Submit"},
        {"JobID": '"7"'},
        {"Submit": "1793491500"},
        {"NodeList": "tux[0-"},
        {"ReqMem": "many"},
        {"Elapsed": "soon"},
        {"MaxRSS": "4K|5K"},
        {"User": "\ufffd"},
    ],
)
def test_what_sacct_does_not_print_is_left_to_the_reader_of_rows(
    tmp_path: Path, change: dict[str, str]
) -> None:
    columns = ["JobID", "State", "Submit", "NodeList", "ReqMem", "Elapsed", "MaxRSS", "User"]
    rows = [[TEXTS[name][0] for name in columns] for _ in range(3)]
    assert len(by_columns(sources_of(tmp_path / "whole.txt", columns, rows))) == 3
    rows[1] = [change.get(name, text) for name, text in zip(columns, rows[1], strict=True)]
    source = sources_of(tmp_path / "sacct.txt", columns, rows)
    with pytest.raises(NeedsValidation):
        by_columns(source)
