"""What the next version of a store takes from the one before, and what it does not."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace.ingest.build import store_build
from borgtrace.ingest.build.build_inputs import BuildInputs
from borgtrace.ingest.build.completion import index_and_digest
from borgtrace.ingest.build.converted_build import convert
from borgtrace.ingest.build.file_ranges import sorted_files
from borgtrace.ingest.build.identity import Identity
from borgtrace.ingest.build.sorting_limits import sorting_connection, within_reach
from borgtrace.ingest.build.staged import StagedPaths
from borgtrace.ingest.convert.capacity import Capacity
from borgtrace.ingest.progress import Progress
from borgtrace.schema import DIALECTS, TRACE_TABLES
from borgtrace.schema.dialects import GOOGLE_2011
from borgtrace.store.layout import Layout, source_key
from borgtrace.store.manifest import Manifest, SourceEntry


def entry(
    name: str,
    table: str,
    raw_table: str,
    sha256: str,
) -> SourceEntry:
    return SourceEntry(name, name, table, raw_table, "csv", 1, sha256, None, None, 1, 1, 0)


MACHINE = entry("m", "machine_events", "machine_events", "m")
LATE = entry("late", "collection_events", "job_events", "b")
EARLY = entry("early", "collection_events", "job_events", "a")


def manifest_of(sources: list[SourceEntry]) -> Manifest:
    return Manifest(
        generation="2011",
        cell="",
        time_zone="America/New_York",
        code_version="",
        digest="",
        tables={},
        sources=tuple(sources),
    )


def builder(folder: Path, held: list[SourceEntry], staged: list[SourceEntry]) -> Any:
    present = manifest_of(held)
    inputs = BuildInputs(Identity("2011", "", None), present, tuple(staged))
    connection: Any = None
    return store_build.StoreBuild(
        Layout(folder),
        inputs,
        folder / "next",
        connection,
        1,
        Progress(),
    )


def test_parts_get_other_numbers_in_the_tables_that_they_feed(tmp_path: Path) -> None:
    # By their digests: the one that comes now is the first, and what was the first becomes the second.
    found = builder(tmp_path, [MACHINE, LATE], [EARLY])
    assert found.inputs.moved_parts_of("collection_events") == {0: 1}
    assert found.inputs.moved_parts_of("machine_events") == {0: 0}
    assert found.inputs.moved_parts_of("instance_usage") == {}
    # Rows of the same source come anew.
    again = builder(tmp_path, [MACHINE, replace(LATE, also={"instance_constraints": 2})], [LATE])
    assert again.inputs.moved_parts_of("instance_constraints") == {0: None}


def test_a_table_without_new_rows_keeps_its_files(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(store_build, "is_current", lambda table, paths: True)
    asked: list[Any] = []
    monkeypatch.setattr(
        store_build,
        "cluster",
        lambda *given, **_: asked.append(given) or [Path("new")],
    )
    monkeypatch.setattr(store_build, "check_unchanged", lambda *given: None)
    monkeypatch.setattr(store_build, "present_relation", lambda *given: "present")
    found = builder(tmp_path, [MACHINE, LATE], [EARLY])
    parts = {
        name: [tmp_path / name / "part-00000.parquet"]
        for name in ("machine_events", "collection_events")
    }
    for (path,) in parts.values():
        path.parent.mkdir()
        path.touch()
    assert found.cluster_table("machine_events") == parts["machine_events"]
    assert not asked
    # Its rows get another number of their part.
    assert found.cluster_table("collection_events") == [Path("new")]
    assert len(asked) == 1


def test_refused_rows_of_all_files_stand_side_by_side(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(store_build, "check_unchanged", lambda *given: None)
    layout = Layout(tmp_path)
    staged = [replace(each, quarantined=1) for each in (LATE, EARLY)]
    # What the store has of one that comes again is not kept.
    before = {
        name: layout.quarantine / LATE.table / f"{source_key(name)}.parquet"
        for name in ("late", "other")
    }
    refused = [StagedPaths.of(layout.staging, each.name).quarantine(each.table) for each in staged]
    for text, path in zip(
        ("old", "other", "late", "early"),
        (*before.values(), *refused),
        strict=True,
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"raw": [text]}), path)
    found = builder(tmp_path, [], staged)
    found.work.mkdir()
    found.move_quarantine()
    moved = sorted((found.work / "quarantine" / LATE.table).iterdir())
    assert sorted(pq.read_table(path)["raw"][0].as_py() for path in moved) == [
        "early",
        "late",
        "other",
    ]
    # They are still where they were: a killed build begins anew.
    assert all(path.exists() for path in (*before.values(), *refused))


def test_what_a_killed_build_left_is_not_in_the_next(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    manifest = manifest_of([])
    monkeypatch.setattr(store_build.StoreBuild, "run", lambda self: manifest)
    layout = Layout(tmp_path)
    (layout.unfinished / "tasks" / "left").mkdir(parents=True)
    inputs = BuildInputs(Identity("2011", "", None), None, ())
    assert store_build.build(layout, inputs, "200MB", 1, Progress()) is manifest
    assert [path.name for path in tmp_path.rglob("*")] == [layout.manifest.name]


def test_a_build_ends_where_nothing_is_left_to_tidy(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layout = Layout(tmp_path)
    manifest = manifest_of([])

    def run(_: Any) -> Any:
        # As somebody does who tidies up on a full disk.
        shutil.rmtree(layout.spill)
        return manifest

    monkeypatch.setattr(store_build.StoreBuild, "run", run)
    inputs = BuildInputs(Identity("2011", "", None), None, ())
    assert store_build.build(layout, inputs, "200MB", 1, Progress()) is manifest
    assert layout.manifest.exists()


class Told(Progress):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.begun: list[tuple[str, int, str]] = []
        self.advanced: list[tuple[str, int]] = []

    def begin(self, label: str, total: int, unit: str) -> None:
        self.begun.append((label, total, unit))

    def advance(self, label: str, amount: int) -> None:
        self.advanced.append((label, amount))


def test_progress_of_the_last_steps_comes_to_its_end(tmp_path: Path) -> None:
    told = Told()
    with sorting_connection("200MB", 1, within_reach(tmp_path), tmp_path / "spill") as connection:
        index_and_digest(
            connection,
            sorted_files({name: [] for name in TRACE_TABLES}),
            GOOGLE_2011,
            tmp_path,
            told,
        )
    assert told.begun == [("index tasks", 0, "rows"), ("check and digest", 0, "rows")]
    assert told.advanced == [("index tasks", 0), ("check and digest", 0)]


def test_progress_of_a_conversion_names_each_table(tmp_path: Path) -> None:
    told = Told()
    with sorting_connection("200MB", 1, within_reach(tmp_path), tmp_path / "spill") as connection:
        made = convert(
            connection,
            Layout(tmp_path),
            (),
            DIALECTS["openb"],
            Capacity(8.0, 8.0),
            tmp_path,
            told,
        )
    # Pods have lives and no usage; how many rows they give is not known before.
    tables = ("machine_events", "machine_attributes", "collection_events", "instance_events")
    assert told.begun == [(f"cluster {name}", 0, "rows") for name in tables]
    assert not any(made.files.values())
