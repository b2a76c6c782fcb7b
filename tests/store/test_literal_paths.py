"""A path is a path: in a folder whose name looks like a pattern or a partition, nothing of a neighbor is read."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import borgtrace
from borgtrace.errors import BorgtraceError
from borgtrace.explore.pyramid import pyramid
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.merge import merge
from borgtrace.ingest.subset import subset
from borgtrace.store.criteria import Criteria
from borgtrace.store.verify import verify
from tests.ingest.raw import event_record, usage_record, write_records
from tests.store.versions import READERS, Versions, check_sql, check_trace, job

HERE, BESIDE = (5, 7, 8), (1, 2)
# Beside each lies what it would match: `run1`.
NAMES = [
    "run[1]",
    "run?",
    "run*",
    "run{1,2}",
    "r[!x]n1",
    "**",
    "[",
    "run1\\*",
    "priority=3",
    "collection_id=9",
    'it\'s "a" $run',
    "ru\nn*",
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in ``here``, and one of other jobs in ``run1``."""
    versions = Versions(tmp_path_factory.mktemp("made"))
    versions.ingest(HERE, store=versions.folder / "here")
    versions.ingest(BESIDE, store=versions.folder / "run1")
    return versions.folder


@pytest.mark.parametrize("name", NAMES)
def test_a_store_whose_name_is_a_pattern_is_read_literally(
    made: Path, tmp_path: Path, name: str
) -> None:
    shutil.copytree(made / "run1", tmp_path / "run1")
    shutil.copytree(made / "here", tmp_path / name)
    store = borgtrace.open(tmp_path / name)
    # Ibis takes the same paths, and longer.
    is_first = name in (NAMES[0], "priority=3")
    for kind in READERS if is_first else ("trace", "a further column", "sql", "stream", "columns"):
        READERS[kind][0](store, HERE)
    # Nor does a query of a stranger reach the neighbor.
    with pytest.raises(BorgtraceError):
        store.sql(f"SELECT * FROM read_parquet('{tmp_path}/run1/tasks/*.parquet')")


@pytest.mark.parametrize("name", ["run[1]", pytest.param("priority=3", marks=pytest.mark.scale)])
def test_what_is_made_in_such_a_folder_is_right(made: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(made / "run1", tmp_path / "run1")
    versions = Versions(tmp_path / name)
    versions.ingest(HERE)
    versions.ingest((2,))
    assert [check.name for check in verify(versions.store) if not check.holds] == []
    versions.merge((3, 5))
    store = borgtrace.open(versions.store)
    check_sql(store, (3, 5))
    pyramid(store)
    assert pyramid(store).machines.tolist() == [5]
    subset(versions.store, tmp_path / name / "part", Criteria(jobs=(job(5),)))
    check_trace(borgtrace.open(tmp_path / name / "part"), (5,))
    merge([versions.store, tmp_path / "run1"], tmp_path / name / "all")
    check_sql(borgtrace.open(tmp_path / name / "all"), (1, 2, 3, 5))


def test_raw_files_in_such_a_folder_are_read_literally(tmp_path: Path) -> None:
    for folder, index in (("raw1", "7"), ("raw[1]", "1")):
        write_records(tmp_path / folder, "instance_usage", [usage_record(instance_index=index)])
        write_records(tmp_path / folder, "instance_events", [event_record(instance_index=index)])
    ingest([tmp_path / "raw[1]"], tmp_path / "store", IngestOptions(jobs=1))
    store = borgtrace.open(tmp_path / "store")
    assert store.sql("SELECT instance_index AS i FROM instance_usage").to_pydict() == {"i": [1]}
