"""Stores of one cell merged: what an ingest of all files at once makes, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import borgtrace
from borgtrace.cli import main
from borgtrace.errors import StoreError, UsageError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.merge import merge
from borgtrace.ingest.subset import subset
from borgtrace.store.criteria import Criteria
from borgtrace.store.verify import verify
from tests.bucket import serving
from tests.ingest.own_data import AVERAGES, ingest_own
from tests.ingest.raw import TABLES, event_record, usage_record, write_part, write_records

ONE = IngestOptions(jobs=1)


def _line(collection: int) -> str:
    return f"600000000,900000000,{collection},0,5,0.5,0.1,,,,,,,,,,,,,"


def _digest(store: Path) -> str:
    assert all(check.holds for check in verify(store))
    return borgtrace.open(store).digest


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Four parts of usage, one with a line that is refused, and one file of every other table."""
    found = [
        write_part(tmp_path / "raw", name, lines)
        for name, lines in TABLES.items()
        if name != "task_usage"
    ]
    for part, collections in enumerate(([1, 2], [2], [3, 1], [10])):
        lines = [*map(_line, collections), *["garbage"] * (part == 2)]
        found.append(write_part(tmp_path / "raw", "task_usage", lines, part))
    return found


@pytest.fixture
def stores(files: list[Path], tmp_path: Path) -> list[Path]:
    """Two stores that share the file at their border."""
    ingest(files[:7], tmp_path / "a", ONE)
    ingest(files[6:], tmp_path / "b", ONE)
    return [tmp_path / "a", tmp_path / "b"]


def test_two_stores_are_what_an_ingest_of_all_their_files_makes(
    files: list[Path],
    stores: list[Path],
    tmp_path: Path,
) -> None:
    ingest(files, tmp_path / "all", ONE)
    manifest = merge(stores, tmp_path / "merged")
    assert _digest(tmp_path / "merged") == manifest.digest == _digest(tmp_path / "all")
    expected = borgtrace.open(tmp_path / "all").manifest
    assert manifest.sources == expected.sources
    assert manifest.counters == expected.counters
    assert len(list((tmp_path / "merged" / "quarantine").rglob("*.parquet"))) == 1
    # In any order, and more files may follow.
    assert merge(stores[::-1], tmp_path / "other").digest == manifest.digest
    assert ingest(files, tmp_path / "other", ONE).staged == ()


def test_files_that_are_numbered_by_content_are_numbered_anew(tmp_path: Path) -> None:
    """Three loose shards of 2019 in two stores: each store numbers its own from 0."""
    for number, index in enumerate(("1", "2", "3")):
        constraint = [
            {
                "name": "n",
                "relation": "0",
                "value": index,
            }
        ]
        record = event_record(instance_index=index, constraint=constraint)
        path = write_records(tmp_path / "raw", "instance_events", [record], number)
        path.rename(path.with_name(f"instance_events_{number}.json.gz"))
    found = sorted((tmp_path / "raw").iterdir())
    ingest(found, tmp_path / "all", ONE)
    ingest(found[:1], tmp_path / "a", ONE)
    ingest(found[1:], tmp_path / "b", ONE)
    merge([tmp_path / "a", tmp_path / "b"], tmp_path / "merged")
    assert _digest(tmp_path / "merged") == _digest(tmp_path / "all")


def test_one_file_under_two_names_is_taken_once(tmp_path: Path) -> None:
    """A store of one day names it by its number, one of two days by its folder."""
    for day, collection in (("day1", 1), ("day2", 2), ("day3", 3)):
        write_part(tmp_path / "raw" / day, "task_usage", [_line(collection)])
    ingest([tmp_path / "raw" / "day1"], tmp_path / "a", ONE)
    ingest([tmp_path / "raw" / day for day in ("day1", "day2")], tmp_path / "b", ONE)
    ingest([tmp_path / "raw" / day for day in ("day2", "day3")], tmp_path / "c", ONE)
    ingest([tmp_path / "raw"], tmp_path / "all", ONE)
    merge([tmp_path / name for name in "abc"], tmp_path / "merged")
    assert _digest(tmp_path / "merged") == _digest(tmp_path / "all")


def test_a_store_of_loose_files_is_of_the_cell_of_the_others(tmp_path: Path) -> None:
    write_records(tmp_path / "raw", "instance_usage", [usage_record()], 1)
    write_records(tmp_path / "cell_b", "instance_usage", [usage_record(instance_index="2")])
    ingest([tmp_path / "raw"], tmp_path / "a", ONE)
    ingest([tmp_path / "cell_b"], tmp_path / "b", ONE)
    for number, order in enumerate(("ab", "ba")):
        manifest = merge([tmp_path / name for name in order], tmp_path / str(number))
        zone = borgtrace.open(tmp_path / "b").manifest.time_zone
        assert (manifest.cell, manifest.time_zone) == ("b", zone)


def _refusal(*stores: Path) -> str:
    out = stores[0].parent / "refused"
    with pytest.raises((StoreError, UsageError)) as error:
        merge(stores, out)
    assert not out.exists()
    return str(error.value)


def test_what_cannot_be_merged_is_refused(stores: list[Path], tmp_path: Path) -> None:
    for cell in "ab":
        write_records(tmp_path / f"clusterdata_2019_{cell}", "instance_usage", [usage_record()])
        ingest([tmp_path / f"clusterdata_2019_{cell}"], tmp_path / f"cell-{cell}", ONE)
    other, way_out = tmp_path / "cell-b", "merge stores of one cell of one trace"
    said = f"{other}: the store holds another generation: expected 2011, got 2019; {way_out}"
    assert _refusal(stores[0], other) == said
    said = f"{other}: the store holds another cell: expected a, got b; {way_out}"
    assert _refusal(tmp_path / "cell-a", other) == said
    assert (
        _refusal(stores[0])
        == "STORE…: nothing to merge: expected two stores or more, then OUT, got 1"
    )
    subset(stores[0], tmp_path / "part", Criteria(jobs=(1,)))
    ingest_own(tmp_path, AVERAGES, {"own.csv": "task,time,cpu\na,0,0.5\n"})
    whole = "cannot be merged: expected a store of whole files in a format of Google's"
    way_out = "merge the whole stores; ingest own data from all of its files at once"
    assert _refusal(stores[0], tmp_path / "part") == f"{tmp_path}/part: {whole}; {way_out}"
    assert _refusal(stores[0], tmp_path / "store") == f"{tmp_path}/store: {whole}; {way_out}"


def test_other_rows_under_the_same_name_are_refused(
    files: list[Path],
    stores: list[Path],
    tmp_path: Path,
) -> None:
    write_part(tmp_path / "changed", "task_usage", [_line(9)], 0)
    ingest([tmp_path / "changed"], tmp_path / "other", ONE)
    held = [borgtrace.open(store).manifest.sources for store in (stores[0], tmp_path / "other")]
    digests = [
        {entry.name: entry.sha256[:12] for entry in entries}["task_usage/part-00000"]
        for entries in held
    ]
    assert _refusal(stores[0], tmp_path / "other") == (
        f"{tmp_path}/other: another file task_usage/part-00000 than in a store before: expected sha256 {digests[0]}…, "
        f"got {digests[1]}…; ingest the raw files together: their folders then tell them apart"
    )


def test_real_and_synthetic_stores_are_not_merged(stores: list[Path], tmp_path: Path) -> None:
    write_part(tmp_path / "made", "task_usage", [_line(9)], 9)
    (tmp_path / "made" / "truth.json").write_text(json.dumps({"seed": 3}))
    ingest([tmp_path / "made"], tmp_path / "synthetic", ONE)
    assert _refusal(stores[0], tmp_path / "synthetic") == (
        f"{tmp_path}/synthetic: the store holds another origin: expected Google's trace, got synthetic, seed 3; "
        "merge stores of one cell of one trace"
    )


def test_a_damaged_store_is_not_merged(stores: list[Path], tmp_path: Path) -> None:
    path = next((stores[1] / "instance_usage").iterdir())
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert "instance_usage/part-00000.parquet has changed since it was written" in _refusal(*stores)


def test_the_command(
    stores: list[Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run(*arguments: Any) -> Any:
        with pytest.raises(SystemExit) as ended:
            main(list(map(str, arguments)))
        return ended.value.code or 0

    assert run("merge", *stores, tmp_path / "out") == 0
    lines = capsys.readouterr().out.splitlines()
    assert "instance_usage: 6 rows" in lines
    assert lines[-1] == f"digest {borgtrace.open(tmp_path / 'out').digest}"
    assert run("merge", *stores, tmp_path / "more", "--json") == 0
    assert json.loads(capsys.readouterr().out)["tables"]["instance_usage"] == 6
    assert run("merge", *stores, tmp_path / "out") == 2


def test_stores_in_a_bucket_are_merged_into_one_there(
    stores: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    expected = merge(stores, tmp_path / "merged")
    with serving(tmp_path / "s3", "cells", monkeypatch) as bucket:
        for store in stores:
            shutil.copytree(store, bucket.root / store.name)
        made = merge(["s3://cells/a", "s3://cells/b"], "s3://cells/merged")
        assert made == expected
        assert _digest(bucket.root / "merged") == expected.digest
        refused = [path.name for path in (tmp_path / "merged" / "quarantine").rglob("*.parquet")]
        assert len(refused) == 1
        assert [
            path.name for path in (bucket.root / "merged" / "quarantine").rglob("*.parquet")
        ] == refused
