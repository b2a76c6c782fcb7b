"""The small rules of a fetch, each from values made by hand: versions, digests, ends of files, waits, what is here."""

from __future__ import annotations

import email.utils
import gzip
import json
import time
from pathlib import Path

import httpx
import pytest

from borgtrace.errors import SourceError
from borgtrace.fetch import Backoff, Ledger, Listener, RemoteFile, Session, Version
from borgtrace.fetch.connections import seconds_to_wait
from borgtrace.fetch.digests import agree, parse_goog_hash, parse_sums, strongest
from borgtrace.fetch.ledger import Entry, State
from borgtrace.fetch.planning import is_here, received_bytes
from borgtrace.fetch.retry import Fault, NotPublished, Stopped
from borgtrace.fetch.transfer import Transfer
from borgtrace.fetch.version import content_range, version_of
from borgtrace.fetch.whole import describe, flaw, starts_right


def test_the_strongest_digest_that_all_have() -> None:
    assert (
        strongest(
            {
                "crc32c": "1",
                "md5": "2",
                "sha256": "3",
            }
        )
        == "sha256"
    )
    assert strongest({"crc32c": "1", "md5": "2"}, {"crc32c": "1", "sha256": "3"}) == "crc32c"
    assert strongest({"md5": "2"}, {"sha256": "3"}) is None
    assert strongest({}) is None
    # The strongest decides, whatever a weaker one says.
    assert agree({"md5": "a", "crc32c": "b"}, {"md5": "a", "crc32c": "c"}) is True
    assert agree({"md5": "a", "crc32c": "b"}, {"md5": "x", "crc32c": "b"}) is False
    assert agree({"md5": "a"}, {"crc32c": "b"}) is None


def test_lists_of_digests_keep_whole_ones_only() -> None:
    digest = "AB" * 32
    text = (
        f"{digest}  ./a/part.gz\n{digest} *b.gz\r\n{digest[:-1]}  short.gz\n# a comment\n{digest}\n"
    )
    assert parse_sums(text) == {"a/part.gz": "ab" * 32, "b.gz": "ab" * 32}
    assert parse_goog_hash(["crc32c=AAAAAA==,md5=AAAA", "sha1=AAAAAA==", "crc32c"]) == {
        "crc32c": "00000000"
    }


def test_versions_differ_by_digest_then_by_tag_never_by_length() -> None:
    old = Version(10, '"a"', {"md5": "1"})
    assert old.differs(Version(10, '"a"', {"md5": "2"}))
    assert not old.differs(Version(11, '"b"', {"md5": "1"}))
    assert old.differs(Version(10, '"b"', {"crc32c": "2"}))
    assert not old.differs(Version(11, None, {"crc32c": "2"}))
    assert not old.differs(Version(11))
    merged = old.merged(Version(None, '"b"', {"crc32c": "3"}))
    assert merged == Version(10, '"b"', {"md5": "1", "crc32c": "3"})
    assert Version(10).merged(Version(12)).size == 12
    assert (Version(1, '"a"').validator, Version(1, 'W/"a"').validator, Version(1).validator) == (
        '"a"',
        None,
        None,
    )


def test_versions_are_read_from_headers() -> None:
    headers = {
        "content-length": "7",
        "etag": '"t"',
        "x-goog-hash": "crc32c=AAAAAA==",
    }
    assert version_of(httpx.Response(200, headers=headers)) == Version(
        7, '"t"', {"crc32c": "00000000"}
    )
    part = httpx.Response(206, headers={"content-length": "5", "content-range": "bytes 5-9/10"})
    assert version_of(part).size == 10
    assert version_of(httpx.Response(200, headers={"x-goog-stored-content-length": "9"})).size == 9
    assert version_of(httpx.Response(200)).size is None
    assert content_range(httpx.Response(206, headers={"content-range": "bytes x-9/*"})) == (
        None,
        None,
    )


def test_beginnings_and_ends_of_files(tmp_path: Path) -> None:
    path = tmp_path / "file"
    whole = gzip.compress(b"x" * 10_000)
    for content, fault in (
        (whole, None),
        (whole[:-1], "the gzip stream ends early"),
        (b"PAR1" + b"data" + b"PAR1", None),
        (b"PAR1PAR1", None),
        (b"PAR1", "the Parquet file ends early"),
        (b"PAR1" + b"data", "the Parquet file ends early"),
        (b"PAR1PAR", "the Parquet file ends early"),
        (b"", "neither gzip nor Parquet"),
        (b"<html>", "neither gzip nor Parquet"),
    ):
        path.write_bytes(content)
        assert flaw(path) == fault, content[:9]
    broken = bytearray(whole)
    broken[-8] ^= 1
    path.write_bytes(broken)
    assert (flaw(path) or "").startswith("the gzip stream is damaged (")
    assert [starts_right(head) for head in (whole[:2], b"PAR1", b"PAR", b"\x1f")] == [
        True,
        True,
        False,
        False,
    ]
    assert describe(b"  <HTML>") == "an HTML page"
    assert describe(b"<?xml version") == "an XML page"
    assert describe(b" \n") == "nothing"
    assert describe(b"a" * 50) == f"bytes that begin with {b'a' * 40!r}"


def test_waits_double_up_to_a_cap() -> None:
    backoff = Backoff(
        seed=3,
        base=1.0,
        cap=5.0,
    )
    for failures, ceiling in (
        (1, 1.0),
        (2, 2.0),
        (3, 4.0),
        (4, 5.0),
        (9, 5.0),
    ):
        waits = [backoff.delay(f"file {k}", failures) for k in range(200)]
        assert ceiling / 2 <= min(waits) < ceiling * 0.52
        assert ceiling * 0.98 < max(waits) <= ceiling
    assert backoff.delay("x", 1, retry_after=7.0) == 7.0
    assert backoff.delay("x", 1, retry_after=1e9) == 600.0
    assert backoff.delay("x", 1, retry_after=0.0) == backoff.delay("x", 1)


def test_retry_after_is_seconds_or_a_date() -> None:
    assert seconds_to_wait(None) is None
    assert seconds_to_wait("soon") is None
    assert seconds_to_wait(" 12 ") == 12.0
    assert seconds_to_wait(email.utils.formatdate(time.time() - 100)) == 0.0
    assert 50 < (seconds_to_wait(email.utils.formatdate(time.time() + 100)) or 0) <= 100


def test_fruitless_attempts_count_and_progress_starts_the_count_again() -> None:
    heard: list[tuple[str, str]] = []
    with Session(1, backoff=Backoff(base=0.0)) as session:
        session.listener = Listener(
            retrying=lambda path, reason, delay: heard.append((path, reason))
        )
        outcomes = iter([Fault("busy")] * 7 + ["whole"])

        def attempt() -> str:
            outcome = next(outcomes)
            if isinstance(outcome, Fault):
                raise outcome
            return outcome

        assert session.repeat("file", attempt) == "whole"
        assert heard == [("file", "busy")] * 7
        outcomes = iter([Fault("busy")] * 8)
        with pytest.raises(
            SourceError,
            match=r"file: gave up after 8 attempts: busy; run the same command again later",
        ):
            session.repeat("file", attempt)
        outcomes = iter([Fault("wrong", cost=4)] * 2)
        with pytest.raises(SourceError, match="gave up after 2 attempts"):
            session.repeat("file", attempt)
        # Each attempt brings a byte: none of them was fruitless.
        arrived = iter(range(100))
        outcomes = iter([Fault("cut")] * 20 + ["whole"])
        assert session.repeat("file", attempt, lambda: next(arrived)) == "whole"


def test_a_stopped_session_waits_for_nothing() -> None:
    with Session(1) as session:
        session.wait(-1.0)
        session.stop()
        begun = time.monotonic()
        with pytest.raises(Stopped):
            session.wait(60.0)
        with pytest.raises(Stopped):
            session.wait()
        assert time.monotonic() - begun < 10


def test_a_stop_while_a_file_is_opened_ends_it_at_once(serve, session: Session) -> None:
    server = serve({"file": gzip.compress(b"x")})
    session.judge = lambda response: session.stop()  # type: ignore[method-assign]
    with pytest.raises(Stopped), session.get(f"{server.url}/file"):
        raise AssertionError("the file was read after the stop")


def test_connections_open_within_four_seconds_or_the_time_out() -> None:
    with Session(1) as patient, Session(1, timeout=0.4) as impatient:
        assert (patient.timeout.connect, impatient.timeout.connect) == (4.0, 0.4)


def test_a_range_past_the_end_tells_the_length(tmp_path: Path) -> None:
    file = RemoteFile(
        "job_events",
        0,
        "part.gz",
        "http://x/part.gz",
        Version(None, '"t"'),
    )
    partial = tmp_path / "part.gz.incomplete"
    partial.write_bytes(b"0123456789")
    with Session(1) as session, Ledger.open(tmp_path) as ledger:
        ledger.record("part.gz", Entry("started", file.version))
        transfer = Transfer(session, file, tmp_path, ledger)
        transfer.adopt()
        transfer.accept_end(httpx.Response(416, headers={"content-range": "bytes */10"}))
        assert (transfer.version.size, transfer.offset) == (10, 10)
        with pytest.raises(Fault, match="shorter than what has arrived"):
            transfer.accept_end(httpx.Response(416, headers={"content-range": "bytes */4"}))
        assert (transfer.offset, partial.exists()) == (0, False)


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_what_is_not_published(status: int) -> None:
    with Session(1) as session, pytest.raises(NotPublished):
        session.judge(httpx.Response(status))


@pytest.mark.parametrize(
    ("status", "cost"),
    [
        (408, 1),
        (425, 1),
        (429, 1),
        (500, 1),
        (503, 1),
        (302, 4),
        (400, 4),
        (418, 4),
    ],
)
def test_what_is_tried_again(status: int, cost: int) -> None:
    with Session(1) as session, pytest.raises(Fault) as caught:
        session.judge(httpx.Response(status))
    assert (caught.value.cost, caught.value.retry_after) == (cost, None)


def test_what_a_server_answers_well_and_how_long_it_asks_to_wait() -> None:
    with Session(1) as session:
        for status in (200, 206, 416):
            session.judge(httpx.Response(status))
        with pytest.raises(Fault, match="an HTML page came"):
            session.judge(httpx.Response(200, headers={"content-type": "text/html; charset=utf-8"}))
        with pytest.raises(Fault) as caught:
            session.judge(httpx.Response(503, headers={"retry-after": "9999"}))
        assert caught.value.retry_after == 600.0
        assert 590 < session.quiet_until - time.monotonic() <= 600
        # A shorter wait asked for later does not shorten the first.
        with pytest.raises(Fault) as caught:
            session.judge(httpx.Response(503, headers={"retry-after": "1"}))
        assert caught.value.retry_after == 1.0
        assert session.quiet_until - time.monotonic() > 580


OFFERED = RemoteFile("job_events", 0, "a/b.gz", "http://x/a/b.gz", Version(4, '"t"'))


@pytest.fixture
def arrived(tmp_path: Path) -> Path:
    """The file that is offered, in its folder."""
    path = tmp_path / "a" / "b.gz"
    path.parent.mkdir()
    path.write_bytes(b"1234")
    return path


def is_known_as(
    entry: Entry,
    folder: Path,
    store: Path | None,
) -> bool:
    """Return whether the file is here if the ledger has such an entry."""
    return is_here(OFFERED, folder, Ledger({"a/b.gz": entry}), store)


def test_a_file_without_an_entry_is_not_here(tmp_path: Path) -> None:
    assert not is_here(OFFERED, tmp_path, Ledger({}), None)


@pytest.mark.parametrize(
    ("state", "version", "later", "expected"),
    [
        ("done", Version(4, '"t"'), 0, True),
        ("done", Version(4, '"old"'), 0, False),
        ("done", Version(5, '"t"'), 0, False),
        # Changed since it was checked.
        ("done", Version(4, '"t"'), 1, False),
        ("started", Version(4, '"t"'), 0, False),
        # Staged files are deleted: this is another one.
        ("staged", Version(4, '"t"'), 0, False),
    ],
)
def test_what_is_here(
    state: State,
    version: Version,
    later: int,
    expected: bool,
    arrived: Path,
    tmp_path: Path,
) -> None:
    store = tmp_path / "store"
    mtime = arrived.stat().st_mtime_ns + later
    entry = Entry(state, version, mtime, str(store.resolve()))
    assert is_known_as(entry, tmp_path, store) is expected


def test_what_a_store_has_taken_in_is_here_for_that_store_alone(tmp_path: Path) -> None:
    store = tmp_path / "store"
    staged = Entry("staged", Version(4, '"t"'), 0, str(store.resolve()))
    assert is_known_as(staged, tmp_path, store)
    assert not is_known_as(staged, tmp_path, tmp_path / "other")
    assert not is_known_as(staged, tmp_path, None)
    # It was checked, and is gone.
    done = Entry("done", Version(4, '"t"'), 0, str(store.resolve()))
    assert not is_known_as(done, tmp_path, store)


def test_how_many_bytes_have_arrived(arrived: Path, tmp_path: Path) -> None:
    assert received_bytes(tmp_path, "a/b.gz") == 4
    arrived.rename(tmp_path / "a" / "b.gz.incomplete")
    assert received_bytes(tmp_path, "a/b.gz") == 4
    assert received_bytes(tmp_path, "a/c.gz") == 0


def test_a_ledger_passes_over_what_a_kill_has_cut(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "new" / "folder") as ledger:
        assert ledger.entries == {}
    with Ledger.open(tmp_path) as ledger:
        ledger.record("a", Entry("done", Version(4, '"t"', {"md5": "1"}), 7))
        ledger.record("b", Entry("started", Version(None)))
        ledger.staged("a", tmp_path / "store")
    path = tmp_path / ".fetch.jsonl"
    path.write_bytes(path.read_bytes() + b'{"path": "c", "sta')
    assert Ledger.read(tmp_path).entries == {
        "a": Entry(
            "staged",
            Version(4, '"t"', {"md5": "1"}),
            7,
            str((tmp_path / "store").resolve()),
        ),
        "b": Entry("started", Version(None)),
    }
    with Ledger.open(tmp_path) as ledger:
        ledger.record("d", Entry("done", Version(1), 2))
    lines = path.read_text().splitlines()
    assert lines[3] == '{"path": "c", "sta'
    assert json.loads(lines[4])["path"] == "d"
    assert set(Ledger.read(tmp_path).entries) == {"a", "b", "d"}
