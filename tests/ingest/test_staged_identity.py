"""Staged parts know which trace they belong to, when their raw files are gone."""

from __future__ import annotations

import gzip
import shutil

import pytest

import borgtrace
from borgtrace.errors import SourceError, StoreError, UsageError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.build.identity import Identity, identify
from borgtrace.ingest.find.discovery import Discovery
from borgtrace.store.layout import Layout

STAGE = IngestOptions(jobs=1, stage_only=True)


@pytest.fixture
def raw(tmp_path):
    folder = tmp_path / "raw" / "job_events"
    folder.mkdir(parents=True)
    for part in range(2):
        line = f"{part}00000000,,{part + 1},0,user,1,name,logical\n"
        (folder / f"part-{part:05d}-of-00500.csv.gz").write_bytes(
            gzip.compress(line.encode(), mtime=0)
        )
    return folder


def test_staged_parts_are_clustered_after_their_raw_files_are_gone(raw, tmp_path):
    parts = sorted(raw.iterdir())
    for part in parts:
        ingest([part], tmp_path / "one_by_one", STAGE)
    ingest(parts, tmp_path / "at_once", IngestOptions(jobs=1))
    shutil.rmtree(raw)
    result = ingest([], tmp_path / "one_by_one", IngestOptions(jobs=1))
    assert result.manifest is not None
    assert result.manifest.tables["collection_events"] == 2
    assert result.manifest.digest == borgtrace.open(tmp_path / "at_once").manifest.digest


def test_without_sources_and_staged_parts_there_is_nothing_to_do(tmp_path):
    with pytest.raises(SourceError) as caught:
        ingest([], tmp_path / "store", IngestOptions(jobs=1))
    assert str(caught.value) == (
        f"{tmp_path / 'store'}: nothing is staged here; name raw files: "
        f"borgtrace ingest SRC --store {tmp_path / 'store'}"
    )


def test_an_identity_without_staged_parts_is_nothing_to_cluster(tmp_path):
    """As a run leaves it that is killed before the first part is staged."""
    layout = Layout(tmp_path / "store")
    layout.staging.mkdir(parents=True)
    Identity("2011", "", None).write(layout)
    with pytest.raises(SourceError, match="nothing is staged here; name raw files"):
        identify(Discovery(), None, layout)


def test_a_store_that_is_declared_whole_may_be_staged_first(raw, tmp_path):
    options = IngestOptions(
        jobs=1,
        stage_only=True,
        whole=True,
    )
    assert ingest([raw], tmp_path / "store", options).manifest is None


def test_two_traces_are_not_staged_into_one_store(raw, tmp_path):
    ingest([raw], tmp_path / "store", STAGE)
    other = tmp_path / "clusterdata_2019_a"
    other.mkdir()
    row = b'{"time":"1","machine_id":"5","type":"1","capacity":{"cpus":0.5,"memory":0.25}}\n'
    (other / "machine_events-000000000000.json.gz").write_bytes(gzip.compress(row, mtime=0))
    with pytest.raises(StoreError) as caught:
        ingest([other], tmp_path / "store", STAGE)
    assert str(caught.value) == (
        f"{tmp_path / 'store'}: the store holds another generation: expected 2011, got 2019; "
        "ingest into a separate store"
    )


def test_a_file_of_two_cells_leaves_nothing_behind(tmp_path):
    header = "time,instance_events_type,collections_events_type,collection_id,instance_index"
    header += ",start_time,end_time,cluster"
    lines = [f"700000000,2,0,5,0,600000000,900000000,{cell}" for cell in (1, 2)]
    file = tmp_path / "sample.csv"
    file.write_text("\n".join([header, *lines, ""]))
    with pytest.raises(UsageError) as caught:
        ingest([file], tmp_path / "store", IngestOptions(jobs=1))
    assert str(caught.value) == (
        f"--cell: {file} mixes cells, and a store holds one: expected one of 1 (1 rows), 2 (1 rows), got none; "
        "choose one: --cell 1"
    )
    assert not (tmp_path / "store").exists()
    # A folder that was there before is as it was; what was staged before stays.
    (tmp_path / "mine" / "staging").mkdir(parents=True)
    (tmp_path / "mine" / "staging" / "letter").touch()
    with pytest.raises(UsageError):
        ingest([file], tmp_path / "mine", IngestOptions(jobs=1))
    assert [path.name for path in sorted((tmp_path / "mine").rglob("*"))] == ["staging", "letter"]


def test_what_was_staged_outlives_a_file_that_is_refused(raw, tmp_path):
    ingest(sorted(raw.iterdir())[:1], tmp_path / "store", STAGE)
    broken = raw / "part-00001-of-00500.csv.gz"
    broken.write_bytes(broken.read_bytes()[:-6])
    result = ingest([broken], tmp_path / "store", IngestOptions(jobs=1))
    assert result.manifest is not None
    assert (result.manifest.tables["collection_events"], len(result.faults)) == (1, 1)
