"""What ``borgtrace info`` prints: a store and the schema in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from borgtrace import __version__
from borgtrace.cli.manifest import print_manifest, print_schema
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.store import open as open_store
from tests.ingest.raw import write_cell

Capture = pytest.CaptureFixture[str]


def test_a_store_in_words(tmp_path: Path, capsys: Capture) -> None:
    store = tmp_path / "store"
    ingest([write_cell(tmp_path / "raw")], store, IngestOptions(jobs=1))
    manifest = open_store(store).manifest
    print_manifest(manifest, store)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[2:9]] == [
        ["machine_events", "1"],
        ["machine_attributes", "1"],
        ["collection_events", "1"],
        ["instance_events", "1"],
        ["instance_constraints", "1"],
        ["instance_usage", "1"],
        ["tasks", "1"],
    ]
    assert "task_usage: 1 file, parts 0 of 500" in lines
    versions = f"borgtrace {__version__}, format {manifest.format_version}"
    assert lines[-2:] == [f"digest {manifest.digest}", versions]
    with_sizes = replace(
        manifest,
        synthetic={"seed": 7, "version": 3},
        basis={"cores": 8, "bytes": 2**34},
    )
    print_manifest(with_sizes, store)
    out = capsys.readouterr().out
    assert "(seed 7, generator 3)" in out.splitlines()[0]
    assert "largest machine: 8 cores, 16 GiB" in out


def test_the_schema_in_words(capsys: Capture) -> None:
    print_schema(as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("machine_events: one row per machine event; key time, machine_id")
    assert "  machine_id (int64, id, never NULL): The machine." in lines
