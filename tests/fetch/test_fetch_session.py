"""A session by itself: its waits, its threads, and what it asks a server."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from borgtrace.errors import SourceError
from borgtrace.fetch import Backoff, Listener, Session
from borgtrace.fetch.retry import Fault, Stopped

GZIP = b"\x1f\x8b" + b"12345678"


def test_a_session_that_is_left_is_stopped_and_closed() -> None:
    with Session(1) as session:
        pass
    assert session.client.is_closed
    with pytest.raises(Stopped):
        session.wait()


def test_waits_are_as_long_as_asked_for_and_never_below_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []
    with Session(1) as session:
        monkeypatch.setattr(
            session, "stopped", SimpleNamespace(wait=waits.append, set=lambda: None)
        )
        for seconds in (-3.0, 0.0, 5.0):
            session.wait(seconds)
    assert waits == [0.0, 0.0, 5.0]


@pytest.mark.parametrize(
    ("jobs", "n_threads"),
    [
        (0, 1),
        (1, 1),
        (3, 3),
    ],
)
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
        monkeypatch.setattr(
            "borgtrace.fetch.connections.time", SimpleNamespace(monotonic=lambda: 100.0)
        )
        session.quiet_until = 107.0
        assert session.head(f"{server.url}/file").size == 10
        assert waits == [7.0]
        with session.get(f"{server.url}/file"):
            assert waits == [7.0, 7.0, 0.0]


def test_a_stop_ends_a_read_that_blocks(serve) -> None:
    server = serve({"file": GZIP[:2] + bytes(5_000_000)})
    with Session(1) as session:
        with session.get(f"{server.url}/file"):
            assert len(session.open_sockets) == 1
        assert not session.open_sockets

        def read_on() -> None:
            with session.get(f"{server.url}/file") as response:
                session.stop()
                response.read()

        with pytest.raises(Stopped):
            read_on()


def test_a_list_of_checksums_may_be_empty_or_missing_but_not_something_else(serve) -> None:
    server = serve(
        {
            "empty": b"",
            "page": b"Please log in",
            "list": b"ab" * 32 + b"  x.gz\n",
        }
    )
    with Session(1, backoff=Backoff(base=0.0, attempts=2)) as session:
        assert [session.sums(f"{server.url}/{name}") for name in ("empty", "nothing", "list")] == [
            {},
            {},
            {"x.gz": "ab" * 32},
        ]
        with pytest.raises(SourceError, match="gave up after 2 attempts: page holds no checksums"):
            session.sums(f"{server.url}/page")


def test_a_redirect_within_the_server_is_followed(serve) -> None:
    server = serve(
        {"old": b"", "new": GZIP}, choose=lambda method, path: "moved" if path == "old" else None
    )
    with Session(1) as session:
        assert session.head(f"{server.url}/old").size == 10


def test_a_server_that_has_answered_is_asked_eight_times_when_its_connections_fail(serve) -> None:
    server = serve({"file": GZIP})
    reasons: list[str] = []
    with Session(1, backoff=Backoff(base=0.001, cap=0.001), timeout=0.4) as session:
        session.listener = Listener(retrying=lambda path, reason, delay: reasons.append(reason))
        assert session.head(f"{server.url}/file")
        with pytest.raises(SourceError, match="gave up after 8 attempts: the connection failed"):
            session.head("http://127.0.0.1:9/file")
    assert reasons == ["the connection failed ([Errno 111] Connection refused)"] * 7
