"""Usage by machine that tasks make in the bucket of a store: byte for byte what one process makes of the same store."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.engine import SparkTasks
from borgtrace.errors import EngineError, StoreError, UsageError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.build import clustering
from borgtrace.lifecycle.by_machine import (
    METRICS,
    MachineUsage,
    PartitionLimits,
    machine_usage,
    machine_usage_of_cluster,
)
from borgtrace.question import EngineTables
from borgtrace.synth import generate
from tests.bucket import Bucket, serving

TASKS = SparkTasks("spark://host:7077")
URL = "s3://cells/store"
SEVERAL_BUCKETS = PartitionLimits(chunk=200, memory=1 << 16)


@pytest.fixture(scope="module", params=["2011", "2019"])
def cell(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of several files of each table; equal times are settled by the files, or by the life cycle."""
    folder = tmp_path_factory.mktemp("cell")
    generate(folder / "raw", request.param, machines=6, hours=3, seed=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clustering, "WORTH_SHARING", 300)
        ingest([folder / "raw"], folder / "store", IngestOptions(jobs=1))
    return folder / "store"


@pytest.fixture
def bucket(cell: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """A bucket with the store, and a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with serving(tmp_path / "s3", "cells", monkeypatch) as made:
        shutil.copytree(cell, made.root / "store", ignore=shutil.ignore_patterns("cache", ".lock"))
        yield made


class Cluster:
    """Does the work of Spark's tasks in this process: what is sent and what comes back is pickled.

    Attributes
    ----------
    n_tasks
        Tasks that were run.
    times
        How often each runs: the worker of the first attempts is lost when it has written everything.
    before
        Called before each task.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.n_tasks = 0
        self.times = 1
        self.before: Callable[[], None] = lambda: None
        patch.setattr(SparkTasks, "map", lambda _, *call, **how: self.map(*call))

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            for _ in range(self.times):
                self.before()
                work, sent = pickle.loads(pickle.dumps((function, item)))
                result = work(sent)
            self.n_tasks += 1
            yield pickle.loads(pickle.dumps(result))


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    return Cluster(monkeypatch)


def in_bucket(limits: PartitionLimits = SEVERAL_BUCKETS, **chosen: Any) -> MachineUsage:
    store = borgtrace.open(URL, memory="1GB")
    keeper = store.bucket_keeper
    assert keeper is not None
    metrics = {"cpu": METRICS["average_cpu"], "memory": METRICS["maximum_memory"]}
    arguments: Any = metrics | chosen
    return machine_usage_of_cluster(store, keeper, TASKS, limits=limits, **arguments)


def here(store: Path, limits: PartitionLimits = SEVERAL_BUCKETS, **chosen: Any) -> MachineUsage:
    opened = borgtrace.open(store, memory="1GB")
    tables = EngineTables.of(opened)
    metrics = {"cpu": METRICS["average_cpu"], "memory": METRICS["maximum_memory"]}
    arguments: Any = metrics | chosen
    return machine_usage(
        opened,
        tables.instance_events,
        tables.instance_attempts,
        limits=limits,
        **arguments,
    )


def digests_of(folder: Path) -> dict[str, str]:
    """Return the digests of usage by machine in a folder, without its seal and what systems put there."""
    names = {path.name for path in folder.iterdir() if path.is_file()} - {"seal.json"}
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}


@pytest.mark.parametrize("is_whole", [False, True])
@pytest.mark.parametrize("times", [1, 2])
def test_the_files_are_those_of_one_process_also_when_each_task_runs_twice(
    cell: Path,
    bucket: Bucket,
    cluster: Cluster,
    is_whole: bool,
    times: int,
) -> None:
    cluster.times = times
    assert len(list((cell / "instance_usage").iterdir())) > 2
    expected = digests_of(here(cell, is_whole=is_whole).folder)
    assert len([name for name in expected if name.startswith("rows-")]) > 2
    usage = in_bucket(is_whole=is_whole)
    (folder,) = (bucket.root / "store" / "cache").glob("*/*")
    assert digests_of(folder) == expected
    # Nothing of the ranges stays.
    assert {path.name for path in folder.iterdir()} == {*expected, "seal.json"}
    assert str(usage.folder) == f"{URL}/cache/{folder.parent.name}/{folder.name}"


def rows_of(usage: MachineUsage) -> list[Any]:
    return [usage.rows(place).tolist() for place in range(len(usage.machines))]


def test_a_worker_reads_copies_of_what_it_needs(
    cell: Path,
    bucket: Bucket,
    cluster: Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usage = in_bucket()
    expected = here(cell)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache of a worker"))
    there = pickle.loads(pickle.dumps(usage))
    bucket.requests.clear()
    place = len(expected.machines) // 2
    assert repr(there.rows(place).tolist()) == repr(expected.rows(place).tolist())
    of_rows = [path for _, path, _ in bucket.requests if "/rows-" in path]
    assert {path.rpartition("/")[2] for path in of_rows} == {
        f"rows-{there.buckets([place])[0]:05d}"
    }
    assert repr(rows_of(there)) == repr(rows_of(expected))
    assert repr(there.terms.tolist()) == repr(expected.terms.tolist())
    assert there.facts == expected.facts
    # Another process of the worker finds the copies.
    bucket.requests.clear()
    assert repr(rows_of(pickle.loads(pickle.dumps(usage)))) == repr(rows_of(expected))
    assert bucket.requests == []


def test_what_is_kept_is_found_again_by_the_user_who_sealed_it(
    bucket: Bucket,
    cluster: Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = in_bucket()
    n_tasks = cluster.n_tasks
    assert in_bucket().folder == first.folder
    assert cluster.n_tasks == n_tasks
    # Another user, whose cache holds another secret, makes a folder of his own.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache of another"))
    other = in_bucket()
    assert cluster.n_tasks == 2 * n_tasks
    assert other.folder != first.folder
    assert len(list((bucket.root / "store" / "cache").glob("*/*"))) == 2
    # What the other sealed is not believed under the name of the first.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    kept, forged = (
        next((bucket.root / "store" / "cache").glob(f"*/{usage.folder.name}"))
        for usage in (first, other)
    )
    shutil.copy(forged / "seal.json", kept / "seal.json")
    assert in_bucket().folder not in (first.folder, other.folder)
    assert cluster.n_tasks == 3 * n_tasks


def test_a_file_that_was_changed_is_refused(bucket: Bucket, cluster: Cluster) -> None:
    usage = in_bucket()
    (path,) = (bucket.root / "store" / "cache").glob("*/*/terms")
    written = hashlib.sha256(path.read_bytes()).hexdigest()
    path.write_bytes(b"\0" * path.stat().st_size)
    changed = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(StoreError) as caught:
        _ = usage.terms
    assert str(caught.value) == (
        f"{usage.folder}/terms: the file has changed since it was written: "
        f"expected {written[:12]}, got {changed[:12]}; remove its folder, and run the command again"
    )
    path.unlink()
    with pytest.raises(StoreError, match="the file is missing: expected"):
        _ = usage.terms
    # A folder that lacks a file is made again.
    assert in_bucket().folder != usage.folder


def test_a_piece_that_was_changed_is_refused_and_nothing_stays(
    bucket: Bucket, cluster: Cluster
) -> None:
    def damage() -> None:
        for path in bucket.root.glob("store/cache/*/*/pieces/*/unsorted-*"):
            path.write_bytes(b"\0" * path.stat().st_size)

    cluster.before = damage
    with pytest.raises(StoreError, match=r"unsorted-\d+: the file has changed since"):
        in_bucket()
    assert list(bucket.root.glob("store/cache/*/*/*")) == []


def test_leftovers_of_a_killed_driver_are_removed_after_a_day(
    bucket: Bucket, cluster: Cluster
) -> None:
    first = in_bucket()
    folder = next((bucket.root / "store" / "cache").glob("*/*"))
    (folder / "seal.json").unlink()
    second = in_bucket()
    # It may be one that another driver is filling.
    assert folder.exists()
    for path in folder.iterdir():
        os.utime(path, (0, 0))
    (folder.parent / second.folder.name / "seal.json").unlink()
    in_bucket()
    assert not list(folder.glob("*"))
    assert second.folder != first.folder


def test_a_bucket_that_cannot_be_written_to(bucket: Bucket, cluster: Cluster) -> None:
    bucket.is_read_only = True
    with pytest.raises(EngineError) as caught:
        in_bucket()
    assert str(caught.value) == (
        f"{URL}: workers cannot keep usage by machine in the bucket: got access denied (ACCESS_DENIED); "
        "let this account write there, copy the store to a disk that all workers share, or leave out --engine"
    )
    assert cluster.n_tasks == 0


def test_more_slots_than_a_key_holds_are_refused(bucket: Bucket, cluster: Cluster) -> None:
    with pytest.raises(UsageError, match="too many slots of 5 minutes to sort usage by machine"):
        in_bucket(PartitionLimits(bits_of_slot=2))
    with pytest.raises(UsageError, match="too many terms of tasks to sort usage by machine"):
        in_bucket(PartitionLimits(bits_of_term=2))
    assert list(bucket.root.glob("store/cache/*/*/*")) == []


def test_a_store_whose_tasks_are_in_other_files_is_one_range(
    cell: Path, bucket: Bucket, cluster: Cluster
) -> None:
    folder = bucket.root / "store" / "tasks"
    tasks = pq.read_table(sorted(folder.iterdir()))
    shutil.rmtree(folder)
    folder.mkdir()
    pq.write_table(tasks, folder / "part-00000.parquet")
    manifest = bucket.root / "store" / "manifest.json"
    said = json.loads(manifest.read_text())
    # As of a version that listed neither its files nor its own digest.
    del said["sha256"]
    manifest.write_text(json.dumps(said | {"files": {}}))
    made = in_bucket().in_bucket
    assert made is not None
    assert made.digests == digests_of(here(cell).folder)
