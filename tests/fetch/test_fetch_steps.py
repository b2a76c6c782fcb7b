"""The steps of one transfer, without a server: what each keeps, discards and says."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from borgtrace.fetch import Ledger, Listener, RemoteFile, Session, Version
from borgtrace.fetch.ledger import Entry
from borgtrace.fetch.retry import Fault, Stopped
from borgtrace.fetch.transfer import Transfer

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

        def start(
            version: Version,
            here: bytes = b"",
            known: Version | None = None,
        ) -> Transfer:
            ledger.entries.clear()
            if known:
                ledger.record("deep/er/x.gz", Entry("started", known))
            partial = tmp_path / "deep" / "er" / "x.gz.incomplete"
            partial.parent.mkdir(parents=True, exist_ok=True)
            partial.write_bytes(here)
            transfer = Transfer(
                session,
                RemoteFile("t", 0, "deep/er/x.gz", "http://x/", version),
                tmp_path,
                ledger,
            )
            transfer.adopt()
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
    tmp_path: Path,
    heard: list[int],
    monkeypatch: pytest.MonkeyPatch,
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
            monkeypatch.setattr(
                os, "fsync", lambda _, target=target: synced.append(target.exists())
            )
            file = RemoteFile(
                "t",
                0,
                f"deep/er/{name}",
                "http://x/",
                Version(10, None, MD5),
            )
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
        (
            Version(10, '"t"'),
            None,
            10,
            10,
        ),  # unknown, but as long as it should be: its end will be looked at
        (Version(10, '"t"', MD5), None, 4, 4),  # unknown, but a digest will judge it
        (Version(10, '"t"', MD5), None, 11, 0),  # longer than the whole
        (Version(None, '"t"'), Version(None, '"t"'), 4, 4),  # of unknown length
        (Version(None, '"t"'), Version(3, '"t"'), 4, 0),  # the length was known once
    ],
)
def test_what_is_kept_of_an_earlier_run(
    begin: Begin,
    tmp_path: Path,
    offered: Version,
    known: Version | None,
    n_here: int,
    n_kept: int,
) -> None:
    transfer = begin(offered, (GZIP + b"9")[:n_here], known)
    assert (transfer.offset, transfer.farthest) == (n_kept, n_kept)
    assert (tmp_path / "deep" / "er" / "x.gz.incomplete").exists() == (n_kept > 0)


def test_what_an_earlier_run_knew_is_known_still(begin: Begin) -> None:
    transfer = begin(Version(None, '"t"'), GZIP[:4], Version(10, '"t"'))
    assert transfer.version == Version(10, '"t"')
    assert transfer.range_headers() == {"range": "bytes=4-", "if-range": '"t"'}


def test_how_the_rest_is_asked_for(begin: Begin) -> None:
    assert begin(Version(10, '"t"')).range_headers() == {}
    assert begin(Version(10, None, MD5), GZIP[:4]).range_headers() == {"range": "bytes=4-"}
    # A weak tag is good for nothing, and without a digest nothing would tell two versions apart: from the beginning.
    assert begin(Version(10, 'W/"t"'), GZIP[:4], Version(10, 'W/"t"')).range_headers() == {}


def test_the_rest_goes_behind_what_is_here(
    begin: Begin,
    tmp_path: Path,
    heard: list[int],
) -> None:
    transfer = begin(Version(10, '"t"', MD5), GZIP[:4])
    transfer.go_on(
        answer(
            206,
            GZIP[4:],
            content_range="bytes 4-9/10",
            etag='"t"',
        )
    )
    assert (partial(tmp_path), heard, transfer.offset) == (GZIP, [4, 2], 10)
    transfer.check_length()
    transfer.verify()


@pytest.mark.parametrize(
    ("headers", "message", "n_kept"),
    [
        ({"content_range": "bytes 4-9/10", "etag": '"new"'}, "the file changed on the server", 0),
        (
            {"content_range": "bytes 3-9/10", "etag": '"t"'},
            "the server sent another range than requested",
            4,
        ),
        (
            {"content_range": "bytes 4-8/9", "etag": '"t"'},
            "the server gave two lengths, the last 9 bytes",
            4,
        ),
    ],
)
def test_a_rest_that_does_not_fit_is_not_taken(
    begin: Begin,
    tmp_path: Path,
    heard: list[int],
    headers: dict[str, str],
    message: str,
    n_kept: int,
) -> None:
    transfer = begin(Version(10, '"t"'), GZIP[:4], Version(10, '"t"'))
    with pytest.raises(Fault) as caught:
        transfer.go_on(answer(206, GZIP[4:], **headers))
    assert str(caught.value) == message
    assert (transfer.offset, sum(heard)) == (n_kept, n_kept - 4)
    assert (tmp_path / "deep" / "er" / "x.gz.incomplete").exists() == (n_kept > 0)


def test_another_length_is_believed_when_it_is_said_again(begin: Begin) -> None:
    transfer = begin(Version(10, '"t"'))
    settled = transfer.settles_on_another_length
    assert [settled(Version(size)) for size in (None, 10)] == [False, False]
    for size in (9, 11):  # each new length is doubted once
        with pytest.raises(Fault, match=f"the server gave two lengths, the last {size} bytes"):
            settled(Version(size))
    assert settled(Version(9)) is True
    assert begin(Version(None)).settles_on_another_length(Version(9)) is False


def test_a_whole_answer_starts_the_file_over(
    begin: Begin,
    tmp_path: Path,
    heard: list[int],
) -> None:
    transfer = begin(Version(10, '"t"', MD5), b"other")
    transfer.start_over(answer(200, GZIP, content_length="10", etag='"t"'))
    assert (partial(tmp_path), heard, transfer.offset) == (GZIP, [-5, 4, 6], 10)
    transfer.verify()
    # Written down before the first byte, so that the next run knows what the beginning is of.
    assert Ledger.read(tmp_path).entries["deep/er/x.gz"] == Entry(
        "started", Version(10, '"t"', MD5)
    )
    with pytest.raises(Fault, match="came instead of an archive"):
        transfer.start_over(answer(200, b"<html>"))
    assert partial(tmp_path) == GZIP
    with pytest.raises(Fault, match="the server gave two lengths, the last 9 bytes"):
        transfer.start_over(
            answer(
                200,
                GZIP[:9],
                content_length="9",
                etag='"t"',
            )
        )
    assert partial(tmp_path) == GZIP


def test_a_new_version_must_fit_the_published_list_and_no_digest_of_the_old_one(
    begin: Begin,
) -> None:
    listed = {"sha256": hashlib.sha256(GZIP).hexdigest()}
    transfer = begin(Version(10, '"old"', {**listed, "md5": "0" * 32}))
    new = "md5=" + "AAAAAAAAAAAAAAAAAAAAAQ=="
    transfer.start_over(
        answer(
            200,
            GZIP,
            content_length="10",
            etag='"new"',
            x_goog_hash=new,
        )
    )
    assert transfer.version == Version(10, '"new"', {**listed, "md5": "0" * 31 + "1"})
    transfer.verify()


def test_a_rest_of_a_new_version_keeps_the_list_too(begin: Begin) -> None:
    transfer = begin(Version(10, '"old"', {"sha256": "a", "md5": "0" * 32}), GZIP[:4])
    new = "md5=" + "AAAAAAAAAAAAAAAAAAAAAQ=="
    with pytest.raises(Fault, match="the file changed on the server"):
        transfer.go_on(
            answer(
                206,
                GZIP[4:],
                content_range="bytes 4-9/10",
                x_goog_hash=new,
            )
        )
    assert transfer.version == Version(10, None, {"sha256": "a", "md5": "0" * 31 + "1"})


@pytest.mark.parametrize(
    ("size", "message", "cost"),
    [
        (None, None, 0),
        (10, None, 0),
        (11, "the connection ended after 10 of 11 bytes", 1),
        (9, "more than the 9 bytes that were announced", 3),
    ],
)
def test_a_length_is_exact(
    begin: Begin,
    size: int | None,
    message: str | None,
    cost: int,
) -> None:
    transfer = begin(Version(None, '"t"', MD5), GZIP)
    transfer.version = Version(size)
    if message is None:
        transfer.check_length()
        return
    with pytest.raises(Fault) as caught:
        transfer.check_length()
    assert (str(caught.value), caught.value.cost) == (message, cost)
    # What is too short is gone on with, what is too long is not.
    assert transfer.offset == (10 if cost == 1 else 0)


def test_bytes_that_come_again_are_no_progress(begin: Begin) -> None:
    transfer = begin(Version(10, '"t"'))
    transfer.append("wb", iter([GZIP[:6]]))
    transfer.discard()
    transfer.append("wb", iter([GZIP[:5]]))
    assert (transfer.offset, transfer.farthest) == (5, 6)
    transfer.append("ab", iter([GZIP[5:8]]))
    assert transfer.farthest == 8


def test_a_stop_is_felt_before_the_next_block_is_written(begin: Begin, tmp_path: Path) -> None:
    transfer = begin(Version(10, '"t"'))
    transfer.session.stop()
    with pytest.raises(Stopped):
        transfer.append("wb", iter([GZIP]))
    assert partial(tmp_path) == b""
