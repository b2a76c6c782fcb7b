"""Staged parts know which trace they belong to, when their raw files are gone."""

from __future__ import annotations

import gzip
import shutil

import pytest

import borgtrace
from borgtrace.errors import SourceError, StoreError
from borgtrace.ingest import IngestOptions, ingest

STAGE = IngestOptions(jobs=1, stage_only=True)


@pytest.fixture
def raw(tmp_path):
    folder = tmp_path / "raw" / "job_events"
    folder.mkdir(parents=True)
    for part in range(2):
        line = f"{part}00000000,,{part + 1},0,user,1,name,logical\n"
        (folder / f"part-{part:05d}-of-00500.csv.gz").write_bytes(gzip.compress(line.encode(), mtime=0))
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
        f"{tmp_path / 'store'}: nothing is staged here; name raw files: borgtrace ingest SRC --store …"
    )


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
