"""The steps of one transfer and of a session, one by one and without a server: what each keeps, discards and says."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from borgtrace.errors import SourceError, UsageError
from borgtrace.fetch import Backoff, Ledger, Listener, Outcome, Plan, RemoteFile, Session, Version, bucket, fetch_files
from borgtrace.fetch import run as run_module
from borgtrace.fetch.digests import parse_goog_hash
from borgtrace.fetch.ledger import Entry
from borgtrace.fetch.retry import Fault, Stopped
from borgtrace.fetch.transfer import Transfer
from borgtrace.fetch.version import _number

GZIP = b"\x1f\x8b" + b"12345678"
MD5 = {"md5": hashlib.md5(GZIP).hexdigest()}
Begin = Callable[..., Transfer]


@pytest.fixture
def heard() -> list[int]:
    """Return what a listener is told to have arrived."""
    return []


@pytest.fixture
def begin(tmp_path: Path, heard: list[int]) -> Iterator[Begin]:
    """Return a function that makes a transfer of which some bytes are here already."""
    with Session(1) as session, Ledger.open(tmp_path) as ledger:
        session.listener = Listener(received=lambda path, n_bytes: heard.append(n_bytes))

        def start(version: Version, here: bytes = b"", known: Version | None = None) -> Transfer:
            ledger.entries.clear()
            if known:
                ledger.record("deep/er/x.gz", Entry("started", known))
            partial = tmp_path / "deep" / "er" / "x.gz.incomplete"
            partial.parent.mkdir(parents=True, exist_ok=True)
            partial.write_bytes(here)
            transfer = Transfer(session, RemoteFile("t", 0, "deep/er/x.gz", "http://x/", version), tmp_path, ledger)
            transfer._adopt()
            heard.clear()
            return transfer

        yield start


def partial(folder: Path) -> bytes:
    return (folder / "deep" / "er" / "x.gz.incomplete").read_bytes()


def answer(status: int, content: bytes, **headers: str) -> httpx.Response:
    """An answer whose body is still to be read."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, headers=named, content=iter([content[:4], content[4:]]))


def test_a_transfer_makes_its_folders_and_tells_each_byte_once(
    tmp_path: Path, heard: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []
    with Session(1) as session, Ledger.open(tmp_path) as ledger:
        session.listener = Listener(received=lambda path, n_bytes: heard.append(n_bytes))

        @contextmanager
        def get(url: str, headers: object) -> Iterator[httpx.Response]:
            yield answer(200, GZIP, content_length="10")

        monkeypatch.setattr(session, "get", get)
        for name in ("x.gz", "y.gz"):
            target = tmp_path / "deep" / "er" / name
            # The bytes are on the disk before the file has its name.
            monkeypatch.setattr(os, "fsync", lambda _, target=target: synced.append(target.exists()))
            file = RemoteFile("t", 0, f"deep/er/{name}", "http://x/", Version(10, None, MD5))
            assert Transfer(session, file, tmp_path, ledger).run() == target
            assert target.read_bytes() == GZIP
            entry = Entry("done", Version(10, None, MD5), target.stat().st_mtime_ns)
            assert ledger.entries[file.path] == entry
    assert (sum(heard), min(heard), synced) == (20, 0, [False, False])


@pytest.mark.parametrize(
    ("offered", "known", "n_here", "n_kept"),
    [
        (Version(10, '"t"'), Version(10, '"t"'), 4, 4),  # a beginning of this version
        (Version(10, '"t"'), Version(10, '"old"'), 4, 0),  # of another one
        (Version(10, '"t"'), None, 4, 0),  # of nobody knows what
        (Version(10, '"t"'), None, 10, 10),  # unknown, but as long as it should be: its end will be looked at
        (Version(10, '"t"', MD5), None, 4, 4),  # unknown, but a digest will judge it
        (Version(10, '"t"', MD5), None, 11, 0),  # longer than the whole
        (Version(None, '"t"'), Version(None, '"t"'), 4, 4),  # of unknown length
        (Version(None, '"t"'), Version(3, '"t"'), 4, 0),  # the length was known once
    ],
)
def test_what_is_kept_of_an_earlier_run(
    begin: Begin, tmp_path: Path, offered: Version, known: Version | None, n_here: int, n_kept: int
) -> None:
    transfer = begin(offered, (GZIP + b"9")[:n_here], known)
    assert (transfer._offset, transfer._farthest) == (n_kept, n_kept)
    assert (tmp_path / "deep" / "er" / "x.gz.incomplete").exists() == (n_kept > 0)


def test_what_an_earlier_run_knew_is_known_still(begin: Begin) -> None:
    transfer = begin(Version(None, '"t"'), GZIP[:4], Version(10, '"t"'))
    assert transfer._version == Version(10, '"t"')
    assert transfer._range_headers() == {"range": "bytes=4-", "if-range": '"t"'}


def test_how_the_rest_is_asked_for(begin: Begin) -> None:
    assert begin(Version(10, '"t"'))._range_headers() == {}
    assert begin(Version(10, None, MD5), GZIP[:4])._range_headers() == {"range": "bytes=4-"}
    # A weak tag is good for nothing, and without a digest nothing would tell two versions apart: from the beginning.
    assert begin(Version(10, 'W/"t"'), GZIP[:4], Version(10, 'W/"t"'))._range_headers() == {}


def test_the_rest_goes_behind_what_is_here(begin: Begin, tmp_path: Path, heard: list[int]) -> None:
    transfer = begin(Version(10, '"t"', MD5), GZIP[:4])
    transfer._go_on(answer(206, GZIP[4:], content_range="bytes 4-9/10", etag='"t"'))
    assert (partial(tmp_path), heard, transfer._offset) == (GZIP, [4, 2], 10)
    transfer._check_length()
    transfer._verify()


@pytest.mark.parametrize(
    ("headers", "message", "n_kept"),
    [
        ({"content_range": "bytes 4-9/10", "etag": '"new"'}, "the file changed on the server", 0),
        ({"content_range": "bytes 3-9/10", "etag": '"t"'}, "the server sent another range than requested", 4),
        ({"content_range": "bytes 4-8/9", "etag": '"t"'}, "the server gave two lengths, the last 9 bytes", 4),
    ],
)
def test_a_rest_that_does_not_fit_is_not_taken(
    begin: Begin, tmp_path: Path, heard: list[int], headers: dict[str, str], message: str, n_kept: int
) -> None:
    transfer = begin(Version(10, '"t"'), GZIP[:4], Version(10, '"t"'))
    with pytest.raises(Fault) as caught:
        transfer._go_on(answer(206, GZIP[4:], **headers))
    assert str(caught.value) == message
    assert (transfer._offset, sum(heard)) == (n_kept, n_kept - 4)
    assert (tmp_path / "deep" / "er" / "x.gz.incomplete").exists() == (n_kept > 0)


def test_another_length_is_believed_when_it_is_said_again(begin: Begin) -> None:
    transfer = begin(Version(10, '"t"'))
    settled = transfer._settled_on_another_length
    assert [settled(Version(size)) for size in (None, 10)] == [False, False]
    for size in (9, 11):  # each new length is doubted once
        with pytest.raises(Fault, match=f"the server gave two lengths, the last {size} bytes"):
            settled(Version(size))
    assert settled(Version(9)) is True
    assert begin(Version(None))._settled_on_another_length(Version(9)) is False


def test_a_whole_answer_starts_the_file_over(begin: Begin, tmp_path: Path, heard: list[int]) -> None:
    transfer = begin(Version(10, '"t"', MD5), b"other")
    transfer._start_over(answer(200, GZIP, content_length="10", etag='"t"'))
    assert (partial(tmp_path), heard, transfer._offset) == (GZIP, [-5, 4, 6], 10)
    transfer._verify()
    # Written down before the first byte, so that the next run knows what the beginning is of.
    assert Ledger.read(tmp_path).entries["deep/er/x.gz"] == Entry("started", Version(10, '"t"', MD5))
    with pytest.raises(Fault, match="came instead of an archive"):
        transfer._start_over(answer(200, b"<html>"))
    assert partial(tmp_path) == GZIP
    with pytest.raises(Fault, match="the server gave two lengths, the last 9 bytes"):
        transfer._start_over(answer(200, GZIP[:9], content_length="9", etag='"t"'))
    assert partial(tmp_path) == GZIP


def test_a_new_version_must_fit_the_published_list_and_no_digest_of_the_old_one(begin: Begin) -> None:
    listed = {"sha256": hashlib.sha256(GZIP).hexdigest()}
    transfer = begin(Version(10, '"old"', {**listed, "md5": "0" * 32}))
    new = "md5=" + "AAAAAAAAAAAAAAAAAAAAAQ=="
    transfer._start_over(answer(200, GZIP, content_length="10", etag='"new"', x_goog_hash=new))
    assert transfer._version == Version(10, '"new"', {**listed, "md5": "0" * 31 + "1"})
    transfer._verify()


def test_a_rest_of_a_new_version_keeps_the_list_too(begin: Begin) -> None:
    transfer = begin(Version(10, '"old"', {"sha256": "a", "md5": "0" * 32}), GZIP[:4])
    new = "md5=" + "AAAAAAAAAAAAAAAAAAAAAQ=="
    with pytest.raises(Fault, match="the file changed on the server"):
        transfer._go_on(answer(206, GZIP[4:], content_range="bytes 4-9/10", x_goog_hash=new))
    assert transfer._version == Version(10, None, {"sha256": "a", "md5": "0" * 31 + "1"})


@pytest.mark.parametrize(
    ("size", "message", "cost"),
    [
        (None, None, 0),
        (10, None, 0),
        (11, "the connection ended after 10 of 11 bytes", 1),
        (9, "more than the 9 bytes that were announced", 3),
    ],
)
def test_a_length_is_exact(begin: Begin, size: int | None, message: str | None, cost: int) -> None:
    transfer = begin(Version(None, '"t"', MD5), GZIP)
    transfer._version = Version(size)
    if message is None:
        transfer._check_length()
        return
    with pytest.raises(Fault) as caught:
        transfer._check_length()
    assert (str(caught.value), caught.value.cost) == (message, cost)
    # What is too short is gone on with, what is too long is not.
    assert transfer._offset == (10 if cost == 1 else 0)


def test_bytes_that_come_again_are_no_progress(begin: Begin) -> None:
    transfer = begin(Version(10, '"t"'))
    transfer._append("wb", iter([GZIP[:6]]))
    transfer._discard()
    transfer._append("wb", iter([GZIP[:5]]))
    assert (transfer._offset, transfer._farthest) == (5, 6)
    transfer._append("ab", iter([GZIP[5:8]]))
    assert transfer._farthest == 8


def test_a_stop_is_felt_before_the_next_block_is_written(begin: Begin, tmp_path: Path) -> None:
    transfer = begin(Version(10, '"t"'))
    transfer._session.stop()
    with pytest.raises(Stopped):
        transfer._append("wb", iter([GZIP]))
    assert partial(tmp_path) == b""


def test_a_session_that_is_left_is_stopped_and_closed() -> None:
    with Session(1) as session:
        pass
    assert session._client.is_closed
    with pytest.raises(Stopped):
        session.wait()


def test_waits_are_as_long_as_asked_for_and_never_below_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    with Session(1) as session:
        monkeypatch.setattr(session, "_stop", SimpleNamespace(wait=waits.append, set=lambda: None))
        for seconds in (-3.0, 0.0, 5.0):
            session.wait(seconds)
    assert waits == [0.0, 0.0, 5.0]


@pytest.mark.parametrize(("jobs", "n_threads"), [(0, 1), (1, 1), (3, 3)])
def test_there_are_as_many_threads_as_jobs_and_at_least_one(jobs: int, n_threads: int) -> None:
    with Session(1) as session, session.threads(jobs) as pool:
        assert isinstance(pool, ThreadPoolExecutor)
        assert pool._max_workers == n_threads


def test_ctrl_c_ends_what_runs_and_drops_what_waits() -> None:
    begun: list[int] = []

    def work(number: int) -> None:
        begun.append(number)
        session.wait(50.0)

    running: list[Future[None]] = []

    def interrupted() -> None:
        with session.threads(1) as pool:
            running.extend(pool.submit(work, number) for number in range(3))
            raise KeyboardInterrupt

    with Session(1) as session:
        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert len(begun) <= 1
        assert [future.cancelled() for future in running[1:]] == [True, True]


def test_progress_starts_the_count_from_nothing() -> None:
    """One attempt that brings a byte, then six that bring none, then the file: seven in a row, of eight allowed."""
    arrived = [0]
    outcomes = iter([1] + [0] * 6 + [None])

    def attempt() -> str:
        outcome = next(outcomes)
        if outcome is None:
            return "whole"
        arrived[0] += outcome
        raise Fault("cut")

    delays: list[float] = []
    with Session(1, backoff=Backoff(base=1e-9)) as session:
        session.listener = Listener(retrying=lambda path, reason, delay: delays.append(delay))
        assert session.repeat("file", attempt, lambda: arrived[0]) == "whole"
    assert len(delays) == 7
    # Each wait is twice the one before, within the jitter: the first is drawn below 1e-9 s again after progress.
    assert all(2.0**n / 2 <= delay / 1e-9 <= 2.0**n for n, delay in enumerate(delays))


def test_requests_of_both_kinds_wait_while_the_server_wants_quiet(serve, monkeypatch) -> None:
    server = serve({"file": GZIP})
    waits: list[float] = []
    with Session(1) as session:
        monkeypatch.setattr(session, "wait", lambda seconds=0.0: waits.append(seconds))
        monkeypatch.setattr("borgtrace.fetch.session.time", SimpleNamespace(monotonic=lambda: 100.0))
        session._quiet_until = 107.0
        assert session.head(f"{server.url}/file").size == 10
        assert waits == [7.0]
        with session.get(f"{server.url}/file"):
            assert waits == [7.0, 7.0, 0.0]


def test_a_stop_ends_a_read_that_blocks(serve) -> None:
    server = serve({"file": GZIP[:2] + bytes(5_000_000)})
    with Session(1) as session:
        with session.get(f"{server.url}/file"):
            assert len(session._open) == 1
        assert not session._open

        def read_on() -> None:
            with session.get(f"{server.url}/file") as response:
                session.stop()
                response.read()

        with pytest.raises(Stopped):
            read_on()


def test_a_list_of_checksums_may_be_empty_or_missing_but_not_something_else(serve) -> None:
    server = serve({"empty": b"", "page": b"Please log in", "list": b"ab" * 32 + b"  x.gz\n"})
    with Session(1, backoff=Backoff(base=0.0, attempts=2)) as session:
        assert [session.sums(f"{server.url}/{name}") for name in ("empty", "nothing", "list")] == [
            {},
            {},
            {"x.gz": "ab" * 32},
        ]
        with pytest.raises(SourceError, match="gave up after 2 attempts: page holds no checksums"):
            session.sums(f"{server.url}/page")


def test_a_redirect_within_the_server_is_followed(serve) -> None:
    server = serve({"old": b"", "new": GZIP}, choose=lambda method, path: "moved" if path == "old" else None)
    with Session(1) as session:
        assert session.head(f"{server.url}/old").size == 10


def test_a_plan_counts_what_is_to_come(tmp_path: Path) -> None:
    files = [
        RemoteFile("t", part, f"{part}.gz", f"http://x/{part}", Version(size)) for part, size in ((0, 7), (1, None))
    ]
    plan = Plan(bucket("2011"), tmp_path / "no" / "folder", tuple(files), tuple(files[1:]), (), 0)
    assert (plan.total, plan.here) == (7, tuple(files[:1]))


@pytest.mark.parametrize(("remaining", "fits"), [(10, True), (11, False)])
def test_a_disk_may_be_filled_to_the_last_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, remaining: int, fits: bool
) -> None:
    plan = Plan(bucket("2011"), tmp_path / "folder", (), (), (), remaining)
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

    def fetched(session: Session, file: RemoteFile, folder: Path, ledger: Ledger) -> Outcome:
        return Outcome(file, folder / file.path)

    class Pool:
        """Work that is done as soon as it is handed in."""

        def submit(self, work: Callable[..., Outcome], session: Session, file: RemoteFile, *rest: object):
            begun.append(file.part)
            future: Future[Outcome] = Future()
            future.set_result(work(session, file, *rest))
            return future

    @contextmanager
    def threads(jobs: int) -> Iterator[Pool]:
        yield Pool()

    monkeypatch.setattr(run_module, "_fetch", fetched)
    with Session(1) as session:
        monkeypatch.setattr(session, "threads", threads)
        outcomes = fetch_files(session, Plan(bucket("2011"), tmp_path, files, files, (), 0), jobs=2)
        for n_asked in range(1, 7):
            next(outcomes)
            assert sorted(begun) == list(range(min(6, 2 + n_asked)))
        assert list(outcomes) == []


def test_a_file_that_cannot_be_written_says_why(session: Session, tmp_path: Path, monkeypatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Transfer, "run", fail)
    file = RemoteFile("t", 0, "x.gz", "", Version(1))
    (outcome,) = fetch_files(session, Plan(bucket("2011"), tmp_path, (file,), (file,), (), 0))
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
    assert parse_goog_hash(["md5=*", "crc32c=AA*AAAA==", "crc32c=AAAAAQ=="]) == {"crc32c": "00000001"}
    assert [_number(text) for text in (None, "", "12", "-1", "²", "٣")] == [None, None, 12, None, None, None]
