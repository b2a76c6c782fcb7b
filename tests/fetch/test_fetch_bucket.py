"""Into a bucket files go on when they are checked; what the ledger there knows comes no more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.bucket import Bucket, serving

from borgtrace.cli import main
from borgtrace.errors import StoreError
from borgtrace.fetch import Ledger, Session, bucket, fetch_files, ledger, make_plan
from borgtrace.storage import as_path

pytestmark = pytest.mark.wide

RAW = "s3://cells/raw"
CELL = bucket("2019", "a")
PATHS = [CELL.path("instance_usage", part) for part in range(4)]
FOLDER = f"{RAW}/{CELL.name}"


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with serving(tmp_path / "s3", "cells", monkeypatch) as made:
        yield made


def words(server: Any, *more: str) -> list[str]:
    options = ["--cell", "a", "--tables", "instance_usage", "--base-url", server.url]
    return ["fetch", "2019", RAW, *options, *more]


def run(server: Any, *more: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(words(server, *more))
    return int(str(ended.value.code))


def held(there: Bucket) -> dict[str, bytes]:
    root = there.root / "raw" / CELL.name
    return {path.name: path.read_bytes() for path in root.rglob("*.gz")}


def waiting(tmp_path: Path) -> list[str]:
    """Files in the cache that have not gone on."""
    found = (tmp_path / "cache" / "borgtrace" / "fetch").rglob("*")
    return [path.name for path in found if path.is_file() and path.name != ledger.LEDGER]


def test_files_go_there_once(
    serve: Any,
    archives: Any,
    there: Bucket,
    tmp_path: Path,
    capsys: Any,
) -> None:
    files = archives(PATHS)
    server = serve(files)
    assert run(server) == 0
    said = capsys.readouterr()
    assert said.out == f"{FOLDER}\n"
    assert (
        f"4 files complete and verified. Next: borgtrace ingest {FOLDER} --store store" in said.err
    )
    assert held(there) == files
    assert waiting(tmp_path) == []
    assert set(Ledger.read(as_path(FOLDER)).entries) == set(PATHS)
    assert run(server) == 0
    assert server.body_bytes.total() == sum(map(len, files.values()))
    # One that somebody removed, and one that is not what was put there.
    (there.root / "raw" / CELL.name / PATHS[1]).unlink()
    (there.root / "raw" / CELL.name / PATHS[2]).write_bytes(b"another")
    server.body_bytes.clear()
    assert run(server) == 0
    assert held(there) == files
    assert set(server.body_bytes) == {PATHS[1], PATHS[2]}


def test_the_ledger_alone_tells_another_machine_what_is_there(
    serve: Any,
    archives: Any,
    there: Bucket,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    files = archives(PATHS)
    server = serve(files)
    assert run(server, "--parts", "0-1") == 0
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    server.body_bytes.clear()
    assert run(server) == 0
    assert held(there) == files
    assert set(server.body_bytes) == set(PATHS[2:])


def test_a_bucket_that_refuses_ends_it_in_one_line_and_what_arrived_goes_on_later(
    serve: Any,
    archives: Any,
    there: Bucket,
    tmp_path: Path,
    capsys: Any,
) -> None:
    files = archives(PATHS[:1])
    server = serve(files)
    with Session(1) as session:
        plan = make_plan(
            session,
            CELL,
            as_path(RAW),
            tables=["instance_usage"],
            base_url=server.url,
        )
        there.key = "another"
        with pytest.raises(StoreError) as caught:
            list(fetch_files(session, plan))
    assert str(caught.value).startswith(
        f"{FOLDER}/{PATHS[0]}: access denied: got ACCESS_DENIED; set AWS_ACCESS_KEY_ID"
    )
    assert waiting(tmp_path) == [PATHS[0]]
    there.key = "the-key-of-the-tests"
    server.body_bytes.clear()
    assert run(server) == 0
    assert "to come" not in capsys.readouterr().err
    assert held(there) == files
    assert server.body_bytes.total() == 0


@pytest.mark.parametrize("moment", ["upload", "write_file"])
def test_a_kill_before_a_file_or_its_entry_is_there_loses_nothing(
    moment: str,
    serve: Any,
    archives: Any,
    there: Bucket,
    tmp_path: Path,
) -> None:
    files = archives(PATHS)
    server = serve(files)
    # Killed when the third file is to be copied, or to be written down.
    code = (
        "import itertools, os, signal, sys; from borgtrace.fetch import ledger; from borgtrace.cli import main\n"
        f"whole, asked = ledger.{moment}, itertools.count()\n"
        f"ledger.{moment} = lambda *a: whole(*a) if next(asked) < 2 else os.kill(os.getpid(), signal.SIGKILL)\n"
        "main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", code, *words(server, "--jobs", "1")]
    assert (
        subprocess.run(
            command,
            env=os.environ,
            capture_output=True,
            check=False,
        ).returncode
        == -signal.SIGKILL
    )
    assert len(Ledger.read(as_path(FOLDER)).entries) == 2
    assert len(held(there)) == (2 if moment == "upload" else 3)
    server.body_bytes.clear()
    assert run(server) == 0
    assert held(there) == files
    assert waiting(tmp_path) == []
    assert len(Ledger.read(as_path(FOLDER)).entries) == 4
    assert set(server.body_bytes) == {PATHS[3]}


def test_a_store_is_filled_from_there_afterwards(capsys: Any) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["fetch", "2011", RAW, "--store", "store"])
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        f"borgtrace: --store: files do not stay here: expected DEST on this machine, got {RAW}; "
        f"leave it out; then: borgtrace ingest {RAW} --store store\n"
    )
