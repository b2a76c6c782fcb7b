"""Plans, disks, threads and the ledger of a fetch, one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from borgtrace.errors import UsageError
from borgtrace.fetch import (
    FetchOutcome,
    FetchPlan,
    Ledger,
    RemoteFile,
    Session,
    Version,
    bucket,
    fetch_files,
)
from borgtrace.fetch import run as run_module
from borgtrace.fetch.digests import parse_goog_hash
from borgtrace.fetch.ledger import Entry
from borgtrace.fetch.transfer import Transfer
from borgtrace.fetch.version import whole_number


def remote_file(part: int, size: int | None = 1) -> RemoteFile:
    return RemoteFile("t", part, f"{part}.gz", f"http://x/{part}", Version(size))


def plan_of(
    folder: Path,
    files: Sequence[RemoteFile],
    todo: Sequence[RemoteFile],
    remaining: int = 0,
) -> FetchPlan:
    return FetchPlan(
        bucket("2011"),
        folder,
        files=tuple(files),
        todo=tuple(todo),
        missing=(),
        remaining=remaining,
    )


def test_a_plan_counts_what_is_to_come(tmp_path: Path) -> None:
    first = remote_file(0, 7)
    second = remote_file(1, None)
    plan = plan_of(tmp_path / "no" / "folder", [first, second], [second])
    assert plan.total == 7
    assert plan.here == (first,)


@pytest.fixture
def disk_of_ten_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = SimpleNamespace(free=10)
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)


@pytest.mark.usefixtures("disk_of_ten_bytes")
def test_a_disk_may_be_filled_to_the_last_byte(tmp_path: Path) -> None:
    plan_of(tmp_path / "folder", [], [], remaining=10).check_space()
    too_large = plan_of(tmp_path / "folder", [], [], remaining=11)
    with pytest.raises(UsageError, match="expected 11 bytes, got 10 bytes free"):
        too_large.check_space()


class ImmediatePool:
    """Work that is done as soon as it is handed in; notes the parts that were begun."""

    def __init__(self) -> None:
        self.begun: list[int] = []

    def submit(
        self,
        work: Callable[..., FetchOutcome],
        session: Session,
        file: RemoteFile,
        *rest: object,
    ) -> Future[FetchOutcome]:
        self.begun.append(file.part)
        future: Future[FetchOutcome] = Future()
        future.set_result(work(session, file, *rest))
        return future


def fetched(
    session: Session,
    file: RemoteFile,
    folder: Path,
    ledger: Ledger,
) -> FetchOutcome:
    return FetchOutcome(file, folder / file.path)


def test_no_more_files_are_begun_than_jobs_and_those_that_were_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [remote_file(part) for part in range(6)]
    plan = plan_of(tmp_path, files, files)
    pool = ImmediatePool()
    monkeypatch.setattr(run_module, "fetch_file", fetched)
    with Session(1) as session:
        monkeypatch.setattr(session, "threads", lambda jobs: nullcontext(pool))
        outcomes = fetch_files(session, plan, jobs=2)
        for n_asked_for in range(1, 7):
            next(outcomes)
            n_begun = min(6, 2 + n_asked_for)
            assert sorted(pool.begun) == list(range(n_begun))
        assert list(outcomes) == []


def test_a_file_that_cannot_be_written_says_why(
    session: Session,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Transfer, "run", fail)
    file = remote_file(0)
    (outcome,) = fetch_files(session, plan_of(tmp_path, [file], [file]))
    path = tmp_path / "0.gz"
    assert outcome.path == path
    assert str(outcome.error) == (
        f"{path}: cannot be written (No space left on device); free some disk and run the command again"
    )


def test_a_line_of_the_ledger(tmp_path: Path) -> None:
    with Ledger.open(tmp_path) as ledger:
        ledger.record("a.gz", Entry("done", Version(4, '"t"', {"md5": "1"}), 7))
    assert (tmp_path / ".fetch.jsonl").read_text() == (
        '{"mtime_ns":7,"path":"a.gz","state":"done","store":"",'
        '"version":{"digests":{"md5":"1"},"etag":"\\"t\\"","size":4}}\n'
    )


def test_digests_that_are_none_are_skipped() -> None:
    headers = ["md5=*", "crc32c=AA*AAAA==", "crc32c=AAAAAQ=="]
    assert parse_goog_hash(headers) == {"crc32c": "00000001"}


@pytest.mark.parametrize("text", [None, "", "-1", "²", "٣"])
def test_what_is_no_whole_number(text: str | None) -> None:
    assert whole_number(text) is None


def test_a_whole_number() -> None:
    assert whole_number("12") == 12
