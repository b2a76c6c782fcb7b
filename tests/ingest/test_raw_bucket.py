"""Raw files of a bucket are ingested as those of a folder are: each is fetched once, when it is staged."""

from __future__ import annotations

import gzip
import json
import random
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import borgtrace
from borgtrace.cli import main
from borgtrace.errors import BorgtraceError, SourceError, StoreError
from borgtrace.ingest import IngestOptions, ingest, prepare_ingest
from borgtrace.ingest.build import staging
from borgtrace.ingest.files.sources import Source
from borgtrace.storage import as_path, remote, scratch
from borgtrace.synth import generate
from tests.bucket import KEY, Bucket, known_to, serving
from tests.ingest.own_data import AVERAGES
from tests.ingest.raw import (
    EVENTS,
    MACHINES,
    USAGE,
    usage_record,
    write_cell,
    write_part,
    write_records,
)

pytestmark = pytest.mark.wide

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RAW = "s3://cells/raw"
ONE = IngestOptions(jobs=1)
AGAIN = "run the command again"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files, which nothing else uses."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def files_left(temporary: Path) -> list[Path]:
    """Return what lies in the folder of temporary files, but for the lock of this process."""
    return [path for path in temporary.rglob("*") if path.is_file() and path.name != scratch.LOCK]


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, temporary: Path) -> Iterator[Bucket]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with serving(tmp_path / "s3", "cells", monkeypatch) as made:
        yield made


def refused(*sources: str, store: Path, **options: object) -> BorgtraceError:
    with pytest.raises(BorgtraceError) as caught:
        ingest(sources, store, IngestOptions(jobs=1, **options))
    return caught.value


def fetched(bucket: Bucket, ending: str = ".gz") -> list[str]:
    """Return the names of the files whose bytes were asked for, in order."""
    found = [Path(path).name for method, path, span in bucket.requests if method == "GET" and span]
    bucket.requests.clear()
    return [name for name in found if name.endswith(ending)]


@pytest.mark.parametrize(
    ("generation", "kind"),
    [
        ("2011", "json"),
        ("2019", "json"),
        ("2019", "parquet"),
    ],
)
def test_a_cell_of_a_bucket_is_that_of_a_folder(
    generation: str,
    kind: str,
    bucket: Bucket,
    tmp_path: Path,
    temporary: Path,
) -> None:
    raw = generate(
        tmp_path / "raw",
        generation=generation,
        machines=4,
        hours=1,
        seed=3,
        file_format=kind,
        parts=2,
    )
    shutil.copytree(raw, bucket.root / "raw")
    here = ingest([raw], tmp_path / "here", ONE).manifest
    there = ingest([RAW], tmp_path / "there", ONE).manifest
    assert here is not None
    assert there is not None
    assert (there.digest, there.tables, there.synthetic) == (
        here.digest,
        here.tables,
        here.synthetic,
    )
    assert there.synthetic is not None
    assert tuple(replace(entry, version="") for entry in there.sources) == here.sources
    assert len({entry.version for entry in there.sources}) == len(here.sources)
    assert files_left(temporary) == []
    bucket.requests.clear()
    # What is in is known by what the bucket says of it: the heads are read, and nothing is fetched.
    again = ingest([RAW], tmp_path / "there", ONE)
    assert (again.staged, again.known) == ((), len(here.sources))
    files = [path for path in (bucket.root / "raw").rglob("*.gz") if "truth" not in path.name]
    if kind == "json":
        assert sorted(fetched(bucket)) == sorted(path.name for path in files)


def test_from_a_bucket_to_a_bucket(
    bucket: Bucket,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_cell(bucket.root / "raw")
    with pytest.raises(SystemExit) as ended:
        main(
            [
                "ingest",
                RAW,
                "--store",
                "s3://cells/store",
                "--jobs",
                "1",
            ]
        )
    assert ended.value.code == 0
    digest = ingest([bucket.root / "raw"], tmp_path / "store", ONE).manifest.digest  # type: ignore[union-attr]
    assert borgtrace.open("s3://cells/store").digest == digest


def test_a_plan_fetches_nothing(
    bucket: Bucket,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_cell(bucket.root / "raw")
    with pytest.raises(SystemExit) as ended:
        main(
            [
                "ingest",
                RAW,
                "--store",
                str(tmp_path / "store"),
                "--dry-run",
                "--json",
            ]
        )
    assert ended.value.code == 0
    planned = json.loads(capsys.readouterr().out)
    assert {each["table"]: each["files"] for each in planned["tables"]} == dict.fromkeys(
        (
            "job_events",
            "machine_attributes",
            "machine_events",
            "task_constraints",
            "task_events",
            "task_usage",
        ),
        1,
    )
    assert not (tmp_path / "store").exists()


def test_one_file_is_named_by_its_url(bucket: Bucket, tmp_path: Path) -> None:
    write_part(bucket.root / "raw", "machine_events", MACHINES)
    (bucket.root / "raw" / "truth.json").write_text(
        json.dumps(
            {
                "seed": 5,
                "version": "1",
                "parameters": {},
            }
        )
    )
    result = ingest([f"{RAW}/machine_events/part-00000-of-00500.csv.gz"], tmp_path / "store", ONE)
    assert [entry.name for entry in result.staged] == ["machine_events/part-00000"]
    assert result.manifest is not None
    # The nearest account above the file says that it is synthetic.
    assert result.manifest.synthetic == {
        "seed": 5,
        "version": "1",
        "parameters": {},
    }


def test_a_folder_says_the_order_of_its_fields(bucket: Bucket, tmp_path: Path) -> None:
    from borgtrace.schema.dialects import GOOGLE_2011

    lines = ["file pattern,field number,content,format,mandatory"]
    for name, table in GOOGLE_2011.tables.items():
        # Memory stands before CPU.
        fields = (
            [*table.fields[:4], *table.fields[:3:-1]] if name == "machine_events" else table.fields
        )
        for number, field in enumerate(fields, 1):
            mandatory = "YES" if field.is_mandatory else "NO"
            lines.append(
                f"{name}/part-?????-of-?????.csv.gz,{number},{field.name},{field.format},{mandatory}"
            )
    write_part(bucket.root / "raw", "machine_events", MACHINES)
    for name, content in (
        ("schema.csv", "\n".join(lines)),
        ("README", "not a trace"),
        (".hidden", "no"),
    ):
        (bucket.root / "raw" / name).write_text(content)
    store = tmp_path / "store"
    result = ingest([RAW], store, ONE)
    if result.faults:
        raise result.faults[0]
    rows = (
        borgtrace.open(store)
        .sql(
            "SELECT cpu_capacity::FLOAT::VARCHAR AS cpu, memory_capacity::VARCHAR AS memory FROM machine_events"
        )
        .to_pylist()
    )
    assert rows == [{"cpu": "0.2493", "memory": "0.5"}]


def test_days_are_told_apart_and_a_cell_is_chosen(bucket: Bucket, tmp_path: Path) -> None:
    for day, collection in (("day1", "330587238433"), ("day2", "330587238434")):
        for cell in "ab":
            folder = bucket.root / "raw" / f"clusterdata_2019_{cell}" / day
            write_records(folder, "instance_usage", [usage_record(collection_id=collection)])
    mixed = refused(RAW, store=tmp_path / "store")
    got = ", ".join(
        f"cell {cell}: {RAW}/clusterdata_2019_{cell}/day2/instance_usage-000000000000.json.gz"
        for cell in "ab"
    ).replace(", cell", "; cell")
    way_out = "ingest each into a separate store: --cell a"
    assert (
        str(mixed) == f"sources: the files mix cells: expected one per store, got {got}; {way_out}"
    )
    result = ingest([RAW], tmp_path / "store", IngestOptions(jobs=1, cell="b"))
    assert [entry.name for entry in result.staged] == [
        f"instance_usage/{day}/part-00000" for day in ("day1", "day2")
    ]
    assert result.manifest is not None
    assert (result.manifest.cell, result.manifest.tables["instance_usage"]) == ("b", 2)


def test_a_format_of_ones_own_is_guessed_from_one_file(bucket: Bucket, tmp_path: Path) -> None:
    (bucket.root / "own.csv").write_text("task,time,cpu_cores\nx,0,1\nx,300,2\n")
    result = ingest(
        ["s3://cells/own.csv"],
        tmp_path / "store",
        IngestOptions(jobs=1, capacity="8cores"),
    )
    assert result.manifest is not None
    assert result.manifest.tables["instance_usage"] == 2


def test_compressed_files_of_any_kind_are_recognized_by_their_heads(
    bucket: Bucket,
    tmp_path: Path,
) -> None:
    import pyarrow as pa

    path = write_part(
        bucket.root / "raw",
        "task_events",
        EVENTS,
        compressed=False,
    )
    with pa.CompressedOutputStream(str(path.with_suffix(".zst")), "zstd") as file:
        file.write(path.read_bytes())
    path.unlink()
    result = ingest([RAW], tmp_path / "store", ONE)
    assert [(entry.name, entry.stored) for entry in result.staged] == [
        ("task_events/part-00000", 1)
    ]


def test_one_file_at_a_time_lies_on_this_machine(
    bucket: Bucket,
    tmp_path: Path,
    temporary: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_cell(bucket.root / "raw")
    seen = []
    digest = staging.source_digest

    def looking(source: Source) -> str:
        seen.append(list(temporary.rglob("*.gz")) == [source.here])
        return digest(source)

    monkeypatch.setattr(staging, "source_digest", looking)
    ingest([RAW], tmp_path / "store", ONE)
    assert seen == [True] * 6
    assert files_left(temporary) == []


class CutError(Exception):
    """Stands for a kill."""


def test_a_killed_ingest_goes_on_without_fetching_what_was_staged(
    bucket: Bucket,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_cell(bucket.root / "raw")
    store, written = tmp_path / "store", []

    def cut(path: Path, entry: object) -> None:
        if len(written) == 3:
            raise CutError
        written.append(path)
        write_entry(path, entry)  # type: ignore[arg-type]

    write_entry = staging.write_entry
    with monkeypatch.context() as patch:
        patch.setattr(staging, "write_entry", cut)
        with pytest.raises(CutError):
            ingest([RAW], store, ONE)
    bucket.requests.clear()
    result = ingest([RAW], store, ONE)
    assert (len(result.staged), result.known) == (3, 3)
    # The head of each, and the three that were left.
    assert len(fetched(bucket)) == 6 + 3
    assert result.manifest is not None
    assert (
        result.manifest.digest
        == ingest([bucket.root / "raw"], tmp_path / "here", ONE).manifest.digest
    )  # type: ignore[union-attr]


def test_what_was_ingested_here_is_known_in_a_bucket_and_a_copy_by_its_content(
    bucket: Bucket,
    tmp_path: Path,
) -> None:
    raw, store = write_cell(tmp_path / "raw"), tmp_path / "store"
    ingest([raw], store, ONE)
    shutil.copytree(raw, bucket.root / "raw")
    result = ingest([RAW], store, ONE)
    assert (result.staged, result.known) == ((), 6)
    # An upload of the same bytes has another time.
    ingest([RAW], tmp_path / "other", ONE)
    path = bucket.root / "raw" / "machine_events" / "part-00000-of-00500.csv.gz"
    shutil.copyfile(raw / "machine_events" / path.name, path.with_name("new"))
    path.with_name("new").replace(path)
    result = ingest([RAW], tmp_path / "other", ONE)
    assert (result.staged, result.known) == ((), 6)


def test_a_file_that_was_replaced_after_it_was_ingested_is_refused_by_its_name(
    bucket: Bucket,
    tmp_path: Path,
) -> None:
    store = tmp_path / "store"
    before = write_part(bucket.root / "raw", "machine_events", MACHINES).stat().st_size
    held = ingest([RAW], store, ONE).manifest
    assert held is not None
    write_part(
        bucket.root / "raw",
        "machine_events",
        [*MACHINES, MACHINES[0].replace(",5,", ",6,")],
    )
    url = f"{RAW}/machine_events/part-00000-of-00500.csv.gz"
    now = as_path(url).stat().st_size
    was = f"expected {before} bytes, sha256 {held.sources[0].sha256[:12]}…, got {now} bytes of other content"
    way_out = "if it is another part, name the folder above both; else accept the new content with --replace"
    error = refused(RAW, store=store)
    assert (type(error), str(error)) == (
        SourceError,
        f"{url}: the source has changed since it was ingested: {was}; {way_out}",
    )
    replaced = ingest([RAW], store, IngestOptions(jobs=1, replace=True)).manifest
    assert replaced is not None
    assert replaced.tables["machine_events"] == 2


@pytest.mark.parametrize("moment", ["listed", "being read"])
@pytest.mark.parametrize(
    ("change", "what"),
    [("replaced", "has changed while it was read"), ("removed", "was removed while it was read")],
)
def test_a_file_that_changes_after_it_was_listed_is_refused_and_the_others_stay_staged(
    change: str,
    what: str,
    moment: str,
    bucket: Bucket,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_cell(bucket.root / "raw")
    store, name = tmp_path / "store", "task_usage/part-00000-of-00500.csv.gz"
    path = bucket.root / "raw" / name
    content = path.read_bytes()

    def disturb() -> None:
        path.unlink()
        if change == "replaced":
            path.write_bytes(gzip.compress(b"other"))

    from borgtrace.storage.sparse_copy import SparseCopy

    stage = staging.stage
    fetch_whole = SparseCopy.fetch_whole

    def before_staging(source, folder):  # type: ignore[no-untyped-def]
        if source.table == "task_usage":
            disturb()
        return stage(source, folder)

    def before_reading(copy):  # type: ignore[no-untyped-def]
        if copy.path.name == path.name and "task_usage" in str(copy.remote):
            disturb()
        return fetch_whole(copy)

    with monkeypatch.context() as patch:
        if moment == "listed":
            patch.setattr(staging, "stage", before_staging)
        else:
            patch.setattr(SparseCopy, "fetch_whole", before_reading)
        error = refused(RAW, store=store)
    assert (type(error), str(error)) == (StoreError, f"{RAW}/{name}: the file {what}; {AGAIN}")
    path.write_bytes(content)
    bucket.requests.clear()
    result = ingest([RAW], store, ONE)
    assert (len(result.staged), result.known) == (1, 5)
    assert len(fetched(bucket)) == 6 + 1


def test_places_without_files_are_refused(bucket: Bucket, tmp_path: Path) -> None:
    store = tmp_path / "store"
    assert str(refused(RAW, store=store)) == f"{RAW}: no such file or folder; check the path"
    error = refused("s3://nobody/raw", store=store)
    way_out = "check its name, and AWS_ENDPOINT_URL"
    assert str(error) == f"s3://nobody/raw: there is no such bucket: got NO_SUCH_BUCKET; {way_out}"
    (bucket.root / "raw").mkdir()
    (bucket.root / "raw" / "README").write_text("")
    error = refused(RAW, store=store)
    expected = "2011 CSV parts or 2019 JSON or Parquet shards"
    way_out = "get some with borgtrace fetch, or generate some with borgtrace synth"
    assert str(error) == f"{RAW}: no trace files found: expected {expected}; {way_out}"
    assert not store.exists()


def test_without_access_nothing_is_made_and_no_key_is_shown(
    bucket: Bucket,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_cell(bucket.root / "raw")
    bucket.key = "another"
    with pytest.raises(SystemExit) as ended:
        main(
            [
                "ingest",
                RAW,
                "--store",
                str(tmp_path / "store"),
            ]
        )
    assert ended.value.code == 5
    way_out = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, to an account that may do this"
    said = capsys.readouterr()
    assert said == ("", f"borgtrace: {RAW}: access denied: got ACCESS_DENIED; {way_out}\n")
    assert KEY not in said.err
    assert not (tmp_path / "store").exists()


def test_a_server_that_goes_away_keeps_what_was_staged(
    bucket: Bucket,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_cell(bucket.root / "raw")
    store, stage = tmp_path / "store", staging.stage

    def losing_access(source, folder):  # type: ignore[no-untyped-def]
        if source.table == "task_usage":
            bucket.key = "another"
        return stage(source, folder)

    with monkeypatch.context() as patch:
        patch.setattr(staging, "stage", losing_access)
        error = refused(RAW, store=store)
    assert isinstance(error, StoreError)
    assert str(error).startswith(
        f"{RAW}/task_usage/part-00000-of-00500.csv.gz: access denied: got ACCESS_DENIED; "
    )
    bucket.key = KEY
    remote.open_file_system.cache_clear()
    assert ingest([RAW], store, ONE).known == 5


def test_a_damaged_file_is_named_by_its_url_and_the_others_are_kept(
    bucket: Bucket,
    tmp_path: Path,
) -> None:
    write_cell(bucket.root / "raw")
    path = write_part(bucket.root / "raw", "task_usage", USAGE * 10)
    path.write_bytes(path.read_bytes()[:-4])
    result = ingest([RAW], tmp_path / "store", ONE)
    url = f"{RAW}/task_usage/{path.name}"
    assert [str(fault) for fault in result.faults] == [
        f"{url}: gzip data ends early: the file is truncated; fetch it again"
    ]
    assert len(result.staged) == 5


# pyspark leaves its sockets to the garbage collector.
@pytest.mark.scale
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_tasks_of_spark_fetch_what_they_stage(
    spark: SparkSession,
    bucket: Bucket,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known_to(spark, monkeypatch)
    write_cell(bucket.root / "raw")
    there = ingest([RAW], tmp_path / "spark", IngestOptions(engine="local[2]")).manifest
    here = ingest([bucket.root / "raw"], tmp_path / "here", ONE).manifest
    assert there is not None
    assert here is not None
    assert there.digest == here.digest


def test_a_declaration_may_lie_in_a_bucket(
    bucket: Bucket,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "own.csv").write_text("task,time,cpu\nweb,0,2\nweb,300,4\n")
    for folder in (bucket.root, tmp_path):
        (folder / "own.toml").write_text(AVERAGES)
    digests = []
    for number, declaration in enumerate((tmp_path / "own.toml", "s3://cells/own.toml")):
        options = IngestOptions(
            jobs=1,
            dialect=str(declaration),
            capacity="8cores",
        )
        manifest = ingest([tmp_path / "own.csv"], tmp_path / f"store{number}", options).manifest
        assert manifest is not None
        digests.append(manifest.digest)
    assert digests[0] == digests[1]
    with pytest.raises(SystemExit) as ended:
        main(
            [
                "ingest",
                str(tmp_path / "own.csv"),
                "--dialect",
                "s3://cells/none.toml",
                "--store",
                "none",
            ]
        )
    assert ended.value.code == SourceError.exit_code
    way_out = "write a first draft: borgtrace dialect sniff FILE > own.toml"
    assert (
        capsys.readouterr().err
        == f"borgtrace: s3://cells/none.toml: no such file or directory; {way_out}\n"
    )


def test_a_plan_reads_little_of_the_largest_file(bucket: Bucket, tmp_path: Path) -> None:
    draw = random.Random(1)
    rows = [
        f"600000000,900000000,{draw.getrandbits(60)},0,5,{draw.random()},0.1,,,,0.2,,,1,,,,,0,0.1"
        for _ in range(150_000)
    ]
    write_part(bucket.root / "raw", "task_usage", rows)
    (path,) = (bucket.root / "raw").rglob("*.gz")
    assert path.stat().st_size > 2 * 2**20
    assert prepare_ingest([RAW], tmp_path / "store").plan.files == 1
    ranges = [asked for _, asked_path, asked in bucket.requests if asked_path.endswith(".gz")]
    # The beginning, by which it is recognized, and the sample.
    assert [asked for asked in ranges if asked] == ["bytes=0-16383", "bytes=0-262143"]
