"""A store's files are compared with their digests when they are new or were written to, and only then."""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path

import pytest

from borgtrace.errors import StoreNotice
from borgtrace.store import file_changes
from borgtrace.store.file_changes import changed_files

OF_A = hashlib.sha256(b"aaaa").hexdigest()
OF_B = hashlib.sha256(b"bbbb").hexdigest()
_DIGESTS = {"a": OF_A, "b": OF_B}


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Names of the files that were read; the record of this user is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file_digests = file_changes.file_digests
    names: list[str] = []

    def counted(paths: dict[str, Path], threads: int = 1) -> dict[str, str]:
        names.extend(sorted(paths))
        return file_digests(paths, threads)

    monkeypatch.setattr(file_changes, "file_digests", counted)
    return names


@pytest.fixture
def store(tmp_path: Path, read: list[str]) -> Path:
    """Two files that were written a while ago."""
    folder = tmp_path / "store"
    folder.mkdir()
    (folder / "a").write_bytes(b"aaaa")
    (folder / "b").write_bytes(b"bbbb")
    time.sleep(0.03)
    return folder


def test_each_file_is_read_once(store: Path, read: list[str]) -> None:
    assert changed_files(store, _DIGESTS) == {}
    assert read == ["a", "b"]
    assert changed_files(store, _DIGESTS) == {}
    assert read == ["a", "b"]


def test_a_file_that_is_written_to_is_read_again_though_size_and_time_are_set_back(
    store: Path, read: list[str]
) -> None:
    changed_files(store, _DIGESTS)
    before = (store / "a").stat()
    (store / "a").write_bytes(b"bbbb")
    os.utime(store / "a", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert changed_files(store, _DIGESTS) == {"a": OF_B}
    assert read == ["a", "b", "a"]
    # It stays wrong, and is read each time.
    assert changed_files(store, _DIGESTS) == {"a": OF_B}
    assert read == ["a", "b", "a", "a"]


def test_two_files_of_one_size_that_were_exchanged(store: Path, read: list[str]) -> None:
    changed_files(store, _DIGESTS)
    (store / "a").rename(store / "c")
    (store / "b").rename(store / "a")
    (store / "c").rename(store / "b")
    assert changed_files(store, _DIGESTS) == {"a": OF_B, "b": OF_A}


def test_a_missing_file_has_no_digest(store: Path, read: list[str]) -> None:
    assert changed_files(store, {**_DIGESTS, "c": OF_A}) == {"c": None}
    assert changed_files(store, {**_DIGESTS, "c": OF_A}) == {"c": None}
    assert read == ["a", "b"]


def test_what_was_written_a_moment_ago_is_read_again(store: Path, read: list[str]) -> None:
    (store / "b").write_bytes(b"bbbb")
    assert changed_files(store, _DIGESTS) == {}
    assert changed_files(store, _DIGESTS) == {}
    assert read == ["a", "b", "b"]


def test_another_digest_is_another_file(store: Path, read: list[str]) -> None:
    changed_files(store, _DIGESTS)
    assert changed_files(store, {"a": OF_B}) == {"a": OF_A}


def test_what_is_known_of_other_files_is_kept(store: Path, read: list[str]) -> None:
    changed_files(store, {"a": OF_A})
    changed_files(store, {"b": OF_B})
    assert changed_files(store, _DIGESTS) == {}
    assert read == ["a", "b"]


@pytest.mark.parametrize("text", ["", "[]", '{"a": 1}', '{"a": ["x"]}', "\udcff"])
def test_a_damaged_record_is_no_record(
    store: Path,
    read: list[str],
    tmp_path: Path,
    text: str,
) -> None:
    changed_files(store, _DIGESTS)
    (record,) = (tmp_path / "cache" / "borgtrace").glob("*.json")
    assert json.loads(record.read_text()).keys() == {"a", "b"}
    record.write_bytes(text.encode(errors="surrogateescape"))
    assert changed_files(store, _DIGESTS) == {}
    assert read == ["a", "b", "a", "b"]


def test_without_a_place_for_the_record_everything_is_read(
    store: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME", raising=False)
    for _ in range(2):
        assert changed_files(store, _DIGESTS) == {}
    assert read == ["a", "b", "a", "b"]


def test_gigabytes_are_announced(
    store: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_changes, "LONG_READ", 8)
    with pytest.warns(StoreNotice) as notices:
        changed_files(store, _DIGESTS)
    (notice,) = notices
    assert str(notice.message) == f"{store}: new here: 0.0 GB are compared with their digests, once"
    # No notice, which would be an error here: nothing is read.
    assert changed_files(store, _DIGESTS) == {}
