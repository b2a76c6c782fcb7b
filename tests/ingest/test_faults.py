"""Broken files: each is named, the others are kept, nothing is lost, nothing doubled."""

from __future__ import annotations

import errno
import gzip
import random
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.errors import SourceError, StoreError
from borgtrace.ingest import IngestOptions, ingest, ingestion
from borgtrace.ingest.build.staging import stage
from borgtrace.ingest.files import streams
from borgtrace.ingest.files.streams import open_stream
from borgtrace.ingest.find.recognition import classify
from borgtrace.store.verify import verify
from tests.ingest.raw import USAGE, usage_record, write_cell, write_part, write_records
from tests.ingest.staged_tables import read_part

pytestmark = pytest.mark.wide

ONE = IngestOptions(jobs=1)


def _lines(rows):
    return [
        f"{600 + 300 * i}000000,{900 + 300 * i}000000,10,0,5,0.1,0.1,,,,0.1,,,0.2,,,,,0,0.1"
        for i in range(rows)
    ]


def _truncate(path):
    path.write_bytes(path.read_bytes()[:-20])


def _flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    path.write_bytes(data)


def _flip_checksum(path):
    data = bytearray(path.read_bytes())
    data[-6] ^= 0x01
    path.write_bytes(data)


DAMAGES = {
    "truncated": (_truncate, "gzip data ends early: the file is truncated; fetch it again"),
    "flipped": (_flip, "gzip data is damaged"),
    "checksum": (_flip_checksum, "gzip data is damaged"),
    "html": (lambda p: p.write_text("<html><body>404</body></html>"), "a web page is not read"),
    "empty": (lambda p: p.write_bytes(b""), "the file is empty"),
    "empty gzip": (lambda p: p.write_bytes(gzip.compress(b"")), "the file is empty"),
}


@pytest.mark.parametrize("damage", DAMAGES, ids=DAMAGES)
@pytest.mark.parametrize("generation", ["2011", "2019"])
def test_a_broken_file_is_named_and_the_others_are_kept(tmp_path, damage, generation):
    spoil, message = DAMAGES[damage]
    if generation == "2011":
        write_part(tmp_path / "raw", "task_usage", USAGE)
        bad = write_part(tmp_path / "raw", "task_usage", _lines(3000), 1)
    else:
        write_records(tmp_path / "raw", "instance_usage", [usage_record()])
        records = [usage_record(instance_index=str(i)) for i in range(2000)]
        bad = write_records(tmp_path / "raw", "instance_usage", records, 1)
    spoil(bad)
    result = ingest([tmp_path / "raw"], tmp_path / "store", ONE)
    (fault,) = result.faults
    assert isinstance(fault, SourceError)
    assert str(fault).startswith(f"{bad}: {message}")
    assert result.manifest.tables["instance_usage"] == 1
    assert all(check.holds for check in verify(tmp_path / "store"))
    assert not list((tmp_path / "store").rglob("*.incomplete"))


def test_a_shard_that_cannot_be_read_to_its_end_is_refused(tmp_path, monkeypatch):
    class Failing:
        blocks = 0

        def __init__(self, stream):
            self.stream = stream

        def read(self, size):
            self.blocks += 1
            if self.blocks > 1:
                raise OSError(errno.EIO, "Input/output error")
            return self.stream.read(size)

    @contextmanager
    def failing(source):
        with open_stream(source) as stream:
            yield Failing(stream)

    path = write_records(
        tmp_path,
        "instance_usage",
        [usage_record(instance_index=str(i)) for i in range(50)],
    )
    monkeypatch.setattr(streams, "open_stream", failing)
    with pytest.raises(SourceError) as error:
        ingest([path], tmp_path / "store", ONE)
    assert str(error.value) == f"{path}: cannot be read (Input/output error)"
    assert not list((tmp_path / "store").rglob("*.incomplete"))


def test_a_mended_file_is_taken_in_later(tmp_path):
    write_cell(tmp_path / "raw")
    bad = write_part(tmp_path / "raw", "task_usage", _lines(30), 1)
    whole = bad.read_bytes()
    _truncate(bad)
    ingest([tmp_path / "raw"], tmp_path / "store", ONE)
    bad.write_bytes(whole)
    ingest([tmp_path / "raw"], tmp_path / "store", ONE)
    ingest([tmp_path / "raw"], tmp_path / "fresh", ONE)
    assert borgtrace.open(tmp_path / "store").digest == borgtrace.open(tmp_path / "fresh").digest


def test_only_broken_files_leave_no_store(tmp_path):
    bad = write_part(tmp_path, "task_usage", _lines(30))
    _truncate(bad)
    with pytest.raises(SourceError, match="truncated"):
        ingest([bad], tmp_path / "store", ONE)
    with pytest.raises(StoreError):
        borgtrace.open(tmp_path / "store")


def test_nothing_to_ingest(tmp_path):
    with pytest.raises(SourceError) as error:
        ingest([tmp_path / "missing"], tmp_path / "store", ONE)
    assert str(error.value) == f"{tmp_path / 'missing'}: no such file or folder; check the path"
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError) as error:
        ingest([tmp_path / "empty"], tmp_path / "store", ONE)
    assert str(error.value) == (
        f"{tmp_path / 'empty'}: no trace files found: expected 2011 CSV parts or 2019 JSON or Parquet shards; "
        "get some with borgtrace fetch, or generate some with borgtrace synth"
    )


def test_a_folder_without_permission_is_named(python):
    # In a folder of its own: pytest's folders are closed to the other user that root becomes.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        write_cell(folder)
        closed = folder / "closed"
        closed.mkdir(mode=0)
        script = (
            "import os, sys; from pathlib import Path\n"
            "from borgtrace.ingest.find.discovery import discover\n"
            "os.seteuid(65534) if os.geteuid() == 0 else None\n"
            "found = discover([Path(sys.argv[3])])\n"
            "print(len(found.sources), *found.faults)"
        )
        answer = subprocess.run(
            [python, "-c", script, name],
            capture_output=True,
            text=True,
            check=True,
        )
        closed.chmod(0o755)
        assert answer.stdout == f"6 {closed}: permission denied; make the folder readable\n"


def test_a_full_disk_says_so_and_the_next_run_goes_on(tmp_path, command, python):
    generator = random.Random(0)
    for part in range(2):
        rows = [
            f"600000000,900000000,{generator.randrange(10**9)},{generator.randrange(10**6)},5,"
            f"0.{generator.randrange(10**9)},0.1,,,,0.2,,,1.9,,,,,0,0.1"
            for _ in range(8000)
        ]
        write_part(tmp_path / "raw", "task_usage", rows[: 100 if part == 0 else None], part)
    words = ["ingest", str(tmp_path / "raw"), "--store", str(tmp_path / "store"), "--jobs", "1"]
    script = (
        "import resource, sys; from borgtrace.cli import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))\n"
        "main(sys.argv[3:])"
    )
    full = subprocess.run(
        [python, "-c", script, *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert full.returncode == 5
    assert full.stderr.splitlines()[-1] == (
        f"borgtrace: {tmp_path / 'store'}: a file is larger than this system allows: "
        "got a limit of 0.1 MB; allow more (ulimit -f unlimited) and run the same command again: "
        "staged files are kept"
    )
    subprocess.run(command(*words), capture_output=True, check=True)
    ingest([tmp_path / "raw"], tmp_path / "fresh", ONE)
    assert borgtrace.open(tmp_path / "store").digest == borgtrace.open(tmp_path / "fresh").digest


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_only_a_full_disk_is_told_for_one(tmp_path, monkeypatch, number):
    def fail(*_):
        raise OSError(number, "as the system says")

    monkeypatch.setattr(ingestion, "tidy", fail)
    with pytest.raises(OSError if number == errno.EIO else StoreError) as caught:
        ingest([], tmp_path / "store", ONE)
    if number == errno.EIO:
        assert str(caught.value) == f"[Errno {errno.EIO}] as the system says"
        return
    what = "the disk is full" if number == errno.ENOSPC else "the disk quota is used up"
    assert str(caught.value).startswith(f"{tmp_path / 'store'}: {what}: got ")
    assert str(caught.value).endswith(" and run the same command again: staged files are kept")


def _mutated(line: str, generator: random.Random) -> bytes:
    data = bytearray(line.encode())
    for _ in range(generator.choice((1, 1, 2, 5))):
        place = generator.randrange(len(data) or 1)
        action = generator.randrange(3)
        if action == 0 and data:
            data[place] = generator.randrange(256)
        elif action == 1 and data:
            del data[place]
        else:
            data.insert(place, generator.randrange(256))
    return bytes(data).replace(b"\n", b"")


@pytest.mark.parametrize("n_lines", [2_000, pytest.param(10_000, marks=pytest.mark.scale)])
def test_mutated_lines_are_stored_right_or_refused(tmp_path, n_lines):
    """A stored row must say what its line says: the text is read again here, by Python."""
    generator = random.Random(7)
    lines = [_mutated(USAGE[0], generator) for _ in range(n_lines)]
    path = tmp_path / "task_usage" / "part-00000-of-00500.csv"
    path.parent.mkdir()
    path.write_bytes(USAGE[0].encode() + b"\n" + b"\n".join(lines) + b"\n")
    entry = stage(classify(path), tmp_path / "staging")
    assert entry.rows_in == n_lines + 1 == entry.stored + entry.quarantined
    (part,) = (tmp_path / "staging" / "instance_usage").iterdir()
    stored = read_part(part).to_pylist()
    refused = pq.read_table(next((tmp_path / "staging" / "quarantine").rglob("*.parquet")))
    assert (
        len(set(refused.column("source_row").to_pylist()) | {row["source_row"] for row in stored})
        == n_lines + 1
    )
    assert 0.05 * n_lines < len(stored) < 0.9 * n_lines
    all_lines = [USAGE[0].encode(), *lines]
    for row in stored:
        fields = all_lines[row["source_row"]].removesuffix(b"\r").decode().split(",")
        assert len(fields) == 20
        assert [
            row[name]
            for name in ("start_time", "end_time", "collection_id", "instance_index", "machine_id")
        ] == [int(float(field)) for field in fields[:5]]
        for name, position in (("average_cpu", 6), ("maximum_cpu", 14), ("sampled_cpu", 20)):
            text = fields[position - 1]
            assert row[name] == (pytest.approx(float(text), rel=1e-6, abs=1e-45) if text else None)
            assert text == "" or float(text) >= 0


@pytest.mark.parametrize("n_lines", [500, pytest.param(2_000, marks=pytest.mark.scale)])
def test_mutated_records_are_stored_right_or_refused(tmp_path, n_lines):
    import json

    generator = random.Random(11)
    good = json.dumps(usage_record(), separators=(",", ":"))
    lines = [_mutated(good, generator) for _ in range(n_lines)]
    path = tmp_path / "instance_usage-000000000000.json"
    path.write_bytes(good.encode() + b"\n" + b"\n".join(lines) + b"\n")
    entry = stage(classify(path), tmp_path / "staging")
    assert entry.rows_in == n_lines + 1 == entry.stored + entry.quarantined
    (part,) = (tmp_path / "staging" / "instance_usage").iterdir()
    stored = read_part(part).to_pylist()
    assert stored
    all_lines = [good.encode(), *lines]
    known = set(usage_record()) | {"cycles_per_instruction", "memory_accesses_per_instruction"}
    inside = {"average_usage", "maximum_usage", "random_sample_usage"}
    n_odd = 0
    for row in stored:
        record = json.loads(all_lines[row["source_row"]])
        names = {key for name in inside for key in record.get(name) or {}}
        n_odd += not set(record) <= known or not names <= {"cpus", "memory"}
        assert row["start_time"] == int(record["start_time"])
        cpu = (record.get("average_usage") or {}).get("cpus")
        assert row["average_cpu"] == (
            pytest.approx(float(cpu), rel=1e-6) if cpu is not None else None
        )
        listed = record.get("cpu_usage_distribution")
        assert row["cpu_usage_distribution"] == (
            pytest.approx(listed, rel=1e-6) if listed is not None else None
        )
    assert entry.counters["unknown_field"] == n_odd > 0.05 * n_lines
