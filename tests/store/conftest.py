"""A small store of two jobs, typed by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from borgtrace.ingest import IngestOptions, ingest
from borgtrace.store.digest import file_digests
from borgtrace.store.manifest import read_manifest
from tests.ingest.raw import HASH, write_cell, write_part


def usage(job, index, window, cpu, *, machine=5, sampled="0.1", seconds=300):
    start = 600 + 300 * window
    return f"{start}000000,{start + seconds}000000,{job},{index},{machine},{cpu},0.25,,,,0.5,,,1,,,,,0,{sampled}"


EVENTS = [
    f"0,,10,0,5,0,{HASH},2,4,0.5,0.25,,0",
    f"0,,10,0,5,1,{HASH},3,9,0.125,0.0625,,0",
    f"700000000,,10,1,,0,{HASH},1,0,0.25,0.25,,1",
    f"701000000,,10,1,6,1,{HASH},1,0,0.25,0.25,,1",
    f"2000000000,,10,1,6,4,{HASH},1,0,0.25,0.25,,1",
    f"800000000,,20,0,,0,{HASH},0,0,,,,0",
]
USAGE = [
    usage(10, 0, 0, "0.1"),
    usage(10, 0, 1, "0.3"),
    usage(10, 0, 3, "", machine=6),
    usage(
        10,
        1,
        0,
        "0.2",
        machine=6,
        seconds=100,
    ),
    usage(10, 1, 1, "0.4", machine=6),
    usage(30, 7, 2, "0.7", sampled=""),
]


def vouch(store):
    """Give the manifest the digests of the files as they are, as if a faulty version had written them."""
    manifest = read_manifest(store)
    held = {name: store / name for name in manifest.files if (store / name).exists()}
    replace(manifest, files=file_digests(held)).write(store / "manifest.json")


@pytest.fixture(scope="package")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    write_cell(folder / "raw")
    write_part(
        folder / "raw",
        "machine_events",
        [f"0,5,0,{HASH},0.5,0.25", f"0,6,0,{HASH},1,0.5", "900000000,6,1,,,"],
    )
    write_part(
        folder / "raw", "task_events", sorted(EVENTS, key=lambda line: int(line.split(",")[0]))
    )
    write_part(
        folder / "raw", "task_usage", sorted(USAGE, key=lambda line: int(line.split(",")[0]))
    )
    ingest([folder / "raw"], folder / "store", IngestOptions(jobs=1))
    return folder / "store"
