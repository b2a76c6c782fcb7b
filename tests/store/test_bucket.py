"""A store in a bucket answers as the same store on this machine does, and asks the server seldom."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

import borgtrace
from borgtrace.catalog import find
from borgtrace.cli import main
from borgtrace.datasets import Options, Selection, build
from borgtrace.errors import BorgtraceError, StoreError
from borgtrace.ingest.subset import subset
from borgtrace.question import EngineTables
from borgtrace.storage import as_path, sparse_copy
from borgtrace.store.columns import DEFAULT_COLUMNS
from borgtrace.store.criteria import Criteria
from borgtrace.store.integrity import read_intact
from borgtrace.store.verify import verify
from tests.bucket import Bucket, serving

URL = "s3://cells/store"
MAKE = f"make one: borgtrace ingest SRC --store {URL}"


@pytest.fixture
def bucket(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """A bucket that holds the small store."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with serving(tmp_path / "s3", "cells", monkeypatch) as bucket:
        shutil.copytree(small, bucket.root / "store")
        yield bucket


def as_bytes(arrays: Mapping[str, np.ndarray]) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in arrays.items()}


def test_tables_traces_and_manifest_are_those_of_the_store(bucket: Bucket, small: Path) -> None:
    here = borgtrace.open(small)
    there = borgtrace.open(URL)
    assert there.manifest == here.manifest
    assert str(there.path) == URL
    assert there.usage_rows() == 6
    assert repr(there) == repr(here).replace(str(small), URL)
    for name in here.manifest.tables:
        query = f"SELECT * FROM {name}"
        assert there.sql(query).equals(here.sql(query))
        assert there.stream(query).read_all().equals(here.stream(query).read_all())
    for task in ((10, 0), (10, 1), (30, 7)):
        assert as_bytes(there.trace(*task)) == as_bytes(here.trace(*task))
    for selection in (None, [(30, 7), (10, 0)], "priority = 2"):
        traces = there.traces(selection)
        expected = here.traces(selection)
        assert traces.offsets.tolist() == expected.offsets.tolist()
        assert as_bytes(traces.columns) == as_bytes(expected.columns)
    np.testing.assert_array_equal(there.array("duration"), here.array("duration"))


def test_an_open_store_gives_a_trace_for_one_round_of_bytes_and_one_look(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As long as the header, so that the six rows of each array are a block of their own.
    monkeypatch.setattr(sparse_copy, "BLOCK", 128)
    store = borgtrace.open(URL)
    assert len(store.offsets) == 5
    bucket.requests.clear()
    store.trace(10, 0)
    for name in DEFAULT_COLUMNS:
        assert bucket.asked(f"{name}.npy") == ["GET", "HEAD"]
    assert len(bucket.requests) == 10
    bucket.requests.clear()
    store.trace(30, 7)
    assert bucket.requests == []


def test_only_rows_that_are_needed_of_an_array_are_fetched(
    bucket: Bucket, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Four bytes a row: the header of 128 bytes, which is read first, and two rows are a block, four rows another.
    monkeypatch.setattr(sparse_copy, "BLOCK", 136)
    here = borgtrace.open(small).array("duration")
    store = borgtrace.open(URL)
    assert len(store.offsets) == 5
    bucket.requests.clear()
    first_rows = store.array("duration", (np.array([0]), np.array([2])))
    assert first_rows[:2].tolist() == here[:2].tolist()
    assert bucket.requests == []
    last_rows = store.array("duration", (np.array([1, 4]), np.array([2, 6])))
    assert last_rows.tolist() == here.tolist()
    assert [asked for _, _, asked in bucket.requests if asked] == ["bytes=136-151"]


def test_no_array_is_read_to_open_a_store(bucket: Bucket) -> None:
    borgtrace.open(URL)
    assert [path for _, path, _ in bucket.requests if path.endswith(".npy")] == []


def test_a_store_in_a_bucket_is_verified(bucket: Bucket) -> None:
    assert [check.found for check in verify(as_path(URL)) if not check.holds] == []
    array = bucket.root / "store" / "traces" / "average_cpu.npy"
    array.write_bytes(array.read_bytes()[:-4] + b"abcd")
    failed = {check.name for check in verify(as_path(URL)) if not check.holds}
    assert failed == {"files", "arrays"}


def test_questions_are_answered_and_derived_tables_kept_on_this_machine(
    bucket: Bucket, small: Path
) -> None:
    question = find("run_times")
    answer = question.run(EngineTables.of(URL)).table
    expected = question.run(EngineTables.of(small)).table
    assert answer.equals(expected)
    assert not (bucket.root / "store" / "cache").exists()


def remove(name: str) -> Callable[[Path], None]:
    return lambda store: (store / name).unlink()


def copy_tasks(name: str) -> Callable[[Path], Path]:
    """Copy the one file of tasks."""
    return lambda store: shutil.copy(store / "tasks" / "part-00000.parquet", store / name)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            remove("tasks/part-00000.parquet"),
            "tasks/part-00000.parquet is missing; copy it there again",
        ),
        (remove("traces/duration.npy"), "traces/duration.npy is missing; copy it there again"),
        (
            remove("manifest.json"),
            "the store is half-published: expected manifest.json, got tables without it; " + MAKE,
        ),
        (shutil.rmtree, f"there is no such store: expected manifest.json; {MAKE}"),
        (
            copy_tasks("tasks/part-00001.parquet"),
            "tasks/part-00001.parquet is none of the files that the manifest lists; copy it there again",
        ),
        (
            copy_tasks("machine_events"),
            "machine_events does not have the rows that the manifest counts: expected 3 rows, got 4; "
            "copy it there again",
        ),
    ],
)
def test_a_store_that_is_not_whole_is_refused(
    damage: Callable[[Path], object], message: str, bucket: Bucket
) -> None:
    damage(bucket.root / "store")
    with pytest.raises(StoreError) as caught:
        borgtrace.open(URL)
    assert str(caught.value) == f"{URL}: {message}"


def test_columns_without_an_array_are_made_in_the_users_cache(
    bucket: Bucket, small: Path, tmp_path: Path
) -> None:
    expected = borgtrace.open(small).array("maximum_cpu")
    np.testing.assert_array_equal(borgtrace.open(URL).array("maximum_cpu"), expected)
    assert len(list((tmp_path / "cache").rglob("maximum_cpu.npy"))) == 1


def test_a_query_reads_nothing_but_the_store(bucket: Bucket, small: Path) -> None:
    store = borgtrace.open(URL)
    for place_ in (
        small / "tasks" / "part-00000.parquet",
        f"{URL}/tasks/part-00000.parquet",
        "s3://other/x.parquet",
    ):
        with pytest.raises(BorgtraceError):
            store.sql(f"SELECT * FROM read_parquet('{place_}')")


@pytest.mark.parametrize(
    "command",
    [
        ["subset", "STORE", "OUT", "--jobs", "10"],
        ["subset", "STORE", "OUT", "--where", "collection_id = 10"],
        ["export", "STORE", "OUT", "--jobs", "10", "--format", "csv"],
        ["simulate", "STORE", "--policy", "first-fit", "--factor", "1", "--event-log", "OUT"],
    ],
)
def test_what_is_made_of_a_store_in_a_bucket_is_what_is_made_of_it_here(
    command: list[str],
    bucket: Bucket,
    small: Path,
    tmp_path: Path,
) -> None:
    def make(store: str, out: str) -> None:
        with pytest.raises(SystemExit) as ended:
            main([{"STORE": store, "OUT": out}.get(word, word) for word in command])
        assert ended.value.code == 0

    make(str(small), str(tmp_path / "here"))
    make(URL, "s3://cells/out")
    files = [
        {
            path.relative_to(folder): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }
        for folder in (tmp_path / "here", bucket.root / "out")
    ]
    assert files[0]
    assert files[0] == files[1]


def test_a_damaged_file_of_a_bucket_goes_into_no_other_store(
    bucket: Bucket, tmp_path: Path
) -> None:
    path = bucket.root / "store" / "instance_usage" / "part-00000.parquet"
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    with pytest.raises(StoreError) as caught:
        subset(URL, tmp_path / "out", Criteria(jobs=(10,)))
    assert str(caught.value).startswith(
        f"{URL}: instance_usage/part-00000.parquet has changed since it was written: "
    )
    assert not (tmp_path / "out").exists()


def test_a_dataset_from_a_bucket_to_a_bucket_is_that_of_the_store_here_and_is_known_again(
    bucket: Bucket, small: Path, tmp_path: Path
) -> None:
    options = Options(selection=Selection(min_length=1), format="npz")
    here = build(borgtrace.open(small), tmp_path / "set", options)
    first = build(borgtrace.open(URL), "s3://cells/set", options)
    second = build(borgtrace.open(URL), "s3://cells/set", options)
    assert first.is_new
    assert not second.is_new
    for there in (first, second):
        assert there.counts == here.counts
        assert str(there.path) == "s3://cells/set"
    contents = contents_of(tmp_path / "set")
    assert contents
    assert contents_of(bucket.root / "set") == contents


def contents_of(folder: Path) -> dict[str, bytes]:
    """What is in each file of a folder, by its name."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.name: path.read_bytes() for path in files}


@pytest.mark.parametrize(
    "command",
    [
        ["info", URL],
        ["sql", URL, "select count(*) from tasks"],
        ["trace", URL, "10", "0"],
        ["machine", URL, "5"],
        ["verify", URL],
    ],
)
def test_commands_print_what_they_print_of_the_store_here(
    command: list[str],
    bucket: Bucket,
    small: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    printed = []
    for store in (URL, str(small)):
        with pytest.raises(SystemExit) as ended:
            main([store if word == URL else word for word in command])
        assert ended.value.code == 0
        printed.append(capsys.readouterr().out.replace(store, "STORE"))
    assert printed[0] == printed[1]


def test_a_command_says_that_the_bucket_changed_meanwhile(
    bucket: Bucket, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from borgtrace.store import integrity

    def changing(root: Path) -> object:
        manifest = read_intact(root)
        (bucket.root / "store" / "tasks" / "part-00000.parquet").write_bytes(b"another")
        return manifest

    monkeypatch.setattr(integrity, "read_intact", changing)
    with pytest.raises(SystemExit) as ended:
        main(["info", URL])
    assert ended.value.code == 5
    way_out = "run the command again when nobody writes there"
    assert (
        capsys.readouterr().err
        == f"borgtrace: {URL}: the bucket has changed meanwhile; {way_out}\n"
    )
