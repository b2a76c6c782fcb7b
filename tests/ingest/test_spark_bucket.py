"""Spark makes a store in a bucket that is all its workers share with the driver."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

import borgtrace
from borgtrace.errors import BorgtraceError, SourceError
from borgtrace.ingest import IngestOptions, ingest, ingest_plan, ingestion
from borgtrace.ingest.build import clustering, store_build
from borgtrace.storage import RemotePath, as_path, remove
from borgtrace.synth import generate
from tests.bucket import Bucket, known_to, serving
from tests.ingest.raw import EVENTS, USAGE, write_part

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# pyspark leaves its sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")

URL = "s3://cells/store"
RAW = "s3://cells/raw"
HERE = IngestOptions(jobs=1)
SPARK = IngestOptions(engine="local[2]", memory="1GB")


class CutError(Exception):
    """Stands for a kill."""


@pytest.fixture(scope="module")
def server(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    """One server and one environment for all tests: with another, Spark begins workers anew."""
    folder = tmp_path_factory.mktemp("spark bucket")
    with pytest.MonkeyPatch.context() as patch, serving(folder / "s3", "cells", patch) as made:
        known_to(spark, patch)
        # The workers have a folder of their own for what they keep.
        patch.setitem(
            spark.sparkContext.environment,
            "XDG_CACHE_HOME",
            str(folder / "cache of a worker"),
        )
        yield made


@pytest.fixture
def bucket(server: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """The bucket, empty, and caches that know of no store in it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shutil.rmtree(server.root)
    server.root.mkdir()
    shutil.rmtree(server.root.parents[1] / "cache of a worker", ignore_errors=True)
    server.requests.clear()
    server.of_driver.clear()
    return server


def in_bucket(bucket: Bucket) -> set[str]:
    return {
        path.relative_to(bucket.root / "store").parts[0]
        for path in (bucket.root / "store").rglob("*.*")
    }


def write_tasks(folder: Path) -> Path:
    write_part(folder, "task_events", EVENTS)
    write_part(folder, "task_usage", USAGE)
    return folder


def cut(*_: object) -> None:
    raise CutError


@pytest.mark.scale
def test_the_store_is_that_of_this_machine(
    bucket: Bucket,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raw = generate(
        tmp_path / "raw",
        generation="2019",
        machines=4,
        hours=1,
        seed=3,
        file_format="parquet",
        parts=2,
    )
    here = ingest([raw], tmp_path / "here", HERE).manifest
    fetched: list[str] = []
    monkeypatch.setattr(store_build, "download", lambda source, out: fetched.append(source.name))
    monkeypatch.setattr(clustering, "WORTH_SHARING", 50)
    # The driver's disk need not hold the store.
    monkeypatch.setattr(ingest_plan.shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    there = ingest([raw], URL, SPARK).manifest
    # The driver copies no table, and none of what it makes in its cache.
    assert fetched == ["quarantine"]
    assert len(list((bucket.root / "store" / "tasks").iterdir())) > 2
    assert here is not None
    assert there is not None
    assert (there.digest, there.tables, there.quality) == (here.digest, here.tables, here.quality)
    store = borgtrace.open(URL)
    assert store.digest == here.digest
    assert len(
        store.trace(
            *store.sql("SELECT collection_id, instance_index FROM tasks LIMIT 1")
            .to_pylist()[0]
            .values()
        )
    )
    arrays = {name: digest for name, digest in here.files.items() if name.startswith("traces/")}
    assert {
        name: digest for name, digest in there.files.items() if name.startswith("traces/")
    } == arrays
    names = {
        path.relative_to(bucket.root / "store").as_posix()
        for path in (bucket.root / "store").rglob("*.*")
    }
    assert names == {*there.files, "manifest.json"}
    # Neither staged parts stay there, nor anything here.
    assert "staging" not in in_bucket(bucket)
    assert not list((tmp_path / "cache" / "borgtrace" / "unpublished").iterdir())


@pytest.mark.scale
def test_the_driver_reads_the_beginning_of_raw_files_and_no_footer(
    bucket: Bucket,
    tmp_path: Path,
) -> None:
    """What goes through the driver must not grow with the data."""
    raw = generate(bucket.root / "raw", "2011", machines=30, hours=2, seed=3, parts=2)
    assert max(path.stat().st_size for path in raw.rglob("*.gz")) > 2 * 16_384
    bucket.of_driver.clear()
    ingest([RAW], URL, SPARK)
    ranges: dict[str, list[str]] = {".parquet": [], ".gz": []}
    for method, path, asked in bucket.of_driver:
        ending = PurePosixPath(path.partition("?")[0]).suffix
        if method == "GET" and ending in ranges:
            ranges[ending].append(asked or path)
    assert ranges[".parquet"] == []
    assert len(ranges[".gz"]) == len(list(raw.rglob("*.gz")))
    assert {int(asked.rpartition("-")[2]) <= 16_383 for asked in ranges[".gz"]} == {True}
    here = ingest([raw], tmp_path / "here", HERE).manifest
    assert here is not None
    assert borgtrace.open(URL).digest == here.digest


@pytest.mark.wide
def test_another_driver_goes_on_and_refused_rows_come_with_their_reasons(
    bucket: Bucket,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raw = write_tasks(tmp_path / "raw")
    # Of 19 columns, beside one of 20, and with a row that is refused.
    rows = [row.rpartition(",")[0] for row in (USAGE[0].replace("600000000", "later"), *USAGE)]
    write_part(
        raw,
        "task_usage",
        rows,
        part=1,
    )
    with monkeypatch.context() as patch:
        patch.setattr(ingestion, "build", cut)
        with pytest.raises(CutError):
            ingest([raw], URL, SPARK)
    names = {"task_events-part-00000", "task_usage-part-00000", "task_usage-part-00001"}
    assert {path.stem for path in (bucket.root / "store" / "staging" / "ledger").iterdir()} == names
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache of another driver"))
    result = ingest([raw], URL, SPARK)
    assert (len(result.staged), result.known) == (0, 3)
    assert result.manifest is not None
    assert {entry.name: (entry.stored, entry.quarantined) for entry in result.manifest.sources} == {
        "task_events/part-00000": (1, 0),
        "task_usage/part-00000": (1, 0),
        "task_usage/part-00001": (1, 1),
    }
    (path,) = (bucket.root / "store" / "quarantine" / "instance_usage").iterdir()
    assert path.name == "task_usage-part-00001.parquet"
    here = ingest([raw], tmp_path / "here", HERE).manifest
    assert here is not None
    assert borgtrace.open(URL).digest == result.manifest.digest == here.digest


@pytest.mark.scale
def test_a_format_that_is_converted(bucket: Bucket, tmp_path: Path) -> None:
    own = tmp_path / "own.csv"
    own.write_text("task,time,cpu_cores\nx,0,1\nx,300,2\ny,0,4\ny,300,3\n")
    there = ingest(
        [own],
        URL,
        IngestOptions(
            engine="local[2]",
            memory="1GB",
            capacity="8cores",
        ),
    ).manifest
    here = ingest([own], tmp_path / "here", IngestOptions(jobs=1, capacity="8cores")).manifest
    assert here is not None
    assert there is not None
    assert (there.digest, there.tables["instance_usage"]) == (here.digest, 4)
    assert "staging" not in in_bucket(bucket)


@pytest.mark.scale
def test_a_store_that_was_made_and_not_copied_is_copied_or_made_anew_with_more(
    bucket: Bucket,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raw = write_tasks(tmp_path / "raw")
    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(ingestion, "upload", cut)
            with pytest.raises(CutError):
                ingest([raw], URL, SPARK)
        # The second time nothing is sorted again.
        bucket.requests.clear()
    assert not bucket.asked("part-00000.parquet")
    write_part(
        raw,
        "task_events",
        [EVENTS[0].replace(",10,0,", ",9,0,")],
        part=1,
    )
    result = ingest([raw], URL, SPARK)
    assert (len(result.staged), result.known) == (1, 2)
    assert borgtrace.open(URL).digest == ingest([raw], tmp_path / "here", HERE).manifest.digest  # type: ignore[union-attr]


@pytest.mark.scale
def test_parts_are_staged_now_sorted_later_replaced_and_begun_anew(
    bucket: Bucket,
    tmp_path: Path,
) -> None:
    raw = write_tasks(tmp_path / "raw")
    staged = IngestOptions(
        engine="local[2]",
        memory="1GB",
        stage_only=True,
    )
    assert ingest([raw], URL, staged).manifest is None
    write_part(raw, "task_events", [EVENTS[0].replace(",10,0,", ",9,0,")])
    with pytest.raises(SourceError, match="the source has changed since it was staged"):
        ingest([raw], URL, staged)
    again = ingest(
        [raw],
        URL,
        IngestOptions(
            engine="local[2]",
            memory="1GB",
            stage_only=True,
            replace=True,
        ),
    )
    assert [entry.name for entry in again.staged] == ["task_events/part-00000"]
    anew = ingest(
        [raw],
        URL,
        IngestOptions(
            engine="local[2]",
            memory="1GB",
            stage_only=True,
            rebuild=True,
        ),
    )
    assert (len(anew.staged), anew.known) == (2, 0)
    # The raw files may be gone.
    assert ingest([], URL, SPARK).manifest is not None
    assert borgtrace.open(URL).digest == ingest([raw], tmp_path / "here", HERE).manifest.digest  # type: ignore[union-attr]


def test_a_file_that_cannot_be_read_leaves_nothing(bucket: Bucket, tmp_path: Path) -> None:
    raw = write_part(tmp_path / "raw", "task_events", EVENTS)
    raw.write_bytes(raw.read_bytes()[:-9])
    with pytest.raises(BorgtraceError) as caught:
        ingest([raw], URL, SPARK)
    assert (
        str(caught.value) == f"{raw}: gzip data ends early: the file is truncated; fetch it again"
    )
    assert not [path for path in bucket.root.rglob("*") if path.is_file()]


def test_files_and_folders_of_a_bucket_are_removed(bucket: Bucket) -> None:
    for name in ("a/b/1", "a/b/2", "a/c"):
        path = bucket.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    remove(as_path("s3://cells/a/b/1"))
    assert sorted(path.name for path in bucket.root.rglob("*") if path.is_file()) == ["2", "c"]
    remove(as_path("s3://cells/a/b"))
    remove(as_path("s3://cells/none"))
    assert sorted(path.name for path in bucket.root.rglob("*") if path.is_file()) == ["c"]
    assert isinstance(as_path("s3://cells/a"), RemotePath)
