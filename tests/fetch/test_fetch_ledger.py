"""Plans, disks, threads and the ledger of a fetch, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
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


def test_a_plan_counts_what_is_to_come(tmp_path: Path) -> None:
    files = [
        RemoteFile("t", part, f"{part}.gz", f"http://x/{part}", Version(size))
        for part, size in ((0, 7), (1, None))
    ]
    plan = FetchPlan(
        bucket("2011"),
        tmp_path / "no" / "folder",
        tuple(files),
        tuple(files[1:]),
        (),
        0,
    )
    assert (plan.total, plan.here) == (7, tuple(files[:1]))


@pytest.mark.parametrize(("remaining", "fits"), [(10, True), (11, False)])
def test_a_disk_may_be_filled_to_the_last_byte(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    remaining: int,
    fits: bool,
) -> None:
    plan = FetchPlan(bucket("2011"), tmp_path / "folder", (), (), (), remaining)
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=10))
    if fits:
        plan.check_space()
    else:
        with pytest.raises(UsageError, match="expected 11 bytes, got 10 bytes free"):
            plan.check_space()


def test_no_more_files_are_begun_than_jobs_and_those_that_were_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = tuple(RemoteFile("t", part, f"{part}.gz", "", Version(1)) for part in range(6))
    begun: list[int] = []

    def fetched(
        session: Session,
        file: RemoteFile,
        folder: Path,
        ledger: Ledger,
    ) -> FetchOutcome:
        return FetchOutcome(file, folder / file.path)

    class Pool:
        """Work that is done as soon as it is handed in."""

        def submit(
            self,
            work: Callable[..., FetchOutcome],
            session: Session,
            file: RemoteFile,
            *rest: object,
        ):
            begun.append(file.part)
            future: Future[FetchOutcome] = Future()
            future.set_result(work(session, file, *rest))
            return future

    @contextmanager
    def threads(jobs: int) -> Iterator[Pool]:
        yield Pool()

    monkeypatch.setattr(run_module, "fetch_file", fetched)
    with Session(1) as session:
        monkeypatch.setattr(session, "threads", threads)
        outcomes = fetch_files(
            session,
            FetchPlan(bucket("2011"), tmp_path, files, files, (), 0),
            jobs=2,
        )
        for n_asked in range(1, 7):
            next(outcomes)
            assert sorted(begun) == list(range(min(6, 2 + n_asked)))
        assert list(outcomes) == []


def test_a_file_that_cannot_be_written_says_why(
    session: Session,
    tmp_path: Path,
    monkeypatch,
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Transfer, "run", fail)
    file = RemoteFile("t", 0, "x.gz", "", Version(1))
    (outcome,) = fetch_files(
        session,
        FetchPlan(bucket("2011"), tmp_path, (file,), (file,), (), 0),
    )
    assert (outcome.path, str(outcome.error)) == (
        tmp_path / "x.gz",
        f"{tmp_path / 'x.gz'}: cannot be written (No space left on device); free some disk and run the command again",
    )


def test_a_line_of_the_ledger(tmp_path: Path) -> None:
    with Ledger.open(tmp_path) as ledger:
        ledger.record("a.gz", Entry("done", Version(4, '"t"', {"md5": "1"}), 7))
    assert (tmp_path / ".fetch.jsonl").read_text() == (
        '{"mtime_ns":7,"path":"a.gz","state":"done","store":"",'
        '"version":{"digests":{"md5":"1"},"etag":"\\"t\\"","size":4}}\n'
    )


def test_digests_that_are_none_are_passed_over() -> None:
    assert parse_goog_hash(["md5=*", "crc32c=AA*AAAA==", "crc32c=AAAAAQ=="]) == {
        "crc32c": "00000001"
    }
    assert [whole_number(text) for text in (None, "", "12", "-1", "²", "٣")] == [
        None,
        None,
        12,
        None,
        None,
        None,
    ]
