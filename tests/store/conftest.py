"""A small store of two jobs, typed by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from borgtrace.ingest import IngestOptions, ingest
from borgtrace.store.digest import file_digests
from borgtrace.store.manifest import read_manifest
from tests.ingest.raw import HASH, write_cell, write_part


def usage(job, index, window, cpu, *, machine=5, sampled="0.1", seconds=300):
    """A line of task_usage."""
    start = 600 + 300 * window
    times = f"{start}000000,{start + seconds}000000"
    ids = f"{job},{index},{machine}"
    return f"{times},{ids},{cpu},0.25,,,,0.5,,,1,,,,,0,{sampled}"


def in_time_order(lines):
    return sorted(lines, key=lambda line: int(line.split(",")[0]))


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
    paths = {name: store / name for name in manifest.files}
    present = {name: path for name, path in paths.items() if path.exists()}
    replace(manifest, files=file_digests(present)).write(store / "manifest.json")


@pytest.fixture(scope="package")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    write_cell(folder / "raw")
    write_part(
        folder / "raw",
        "machine_events",
        [f"0,5,0,{HASH},0.5,0.25", f"0,6,0,{HASH},1,0.5", "900000000,6,1,,,"],
    )
    write_part(folder / "raw", "task_events", in_time_order(EVENTS))
    write_part(folder / "raw", "task_usage", in_time_order(USAGE))
    ingest([folder / "raw"], folder / "store", IngestOptions(jobs=1))
    return folder / "store"
