"""Aggregates kept beside a store: built once, in the first place that can be written to."""

from __future__ import annotations

import errno
import hashlib
import os
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from borgtrace.errors import StoreError
from borgtrace.store import Store
from borgtrace.store.cached_folders import cached_folder, code_digest
from tests.store.typed import EMPTY


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache and the temporary folder lie in a folder of the test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path


def store(root: Path, digest: str = "a" * 64) -> Store:
    return Store(root, replace(EMPTY, digest=digest))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def build(folder: Path) -> None:
    (folder / "sums").write_text("1")


def never(folder: Path) -> None:
    raise AssertionError("built twice")


def test_it_is_built_once_beside_the_store_and_leaves_nothing_else(places: Path) -> None:
    opened = store(places / "store")
    folder = cached_folder(opened, "kind", "v1", build)
    assert folder == places / "store" / "cache" / f"kind-{'a' * 16}-v1"
    assert cached_folder(opened, "kind", "v1", never) == folder
    assert names(places / "temporary") == []


def test_folders_of_an_earlier_state_go_and_no_others(places: Path) -> None:
    cached_folder(store(places / "store"), "kind", "v1", build)
    cached_folder(store(places / "store"), "other", "v1", build)
    cache = places / "store" / "cache"
    (cache / "kind-file").touch()
    (cache / "kinds").mkdir()
    cached_folder(store(places / "store", "b" * 64), "kind", "v1", build)
    assert names(cache) == [
        f"kind-{'b' * 16}-v1",
        "kind-file",
        "kinds",
        f"other-{'a' * 16}-v1",
    ]


def test_what_cannot_be_removed_stays(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    cached_folder(store(places / "store"), "kind", "v1", build)
    with monkeypatch.context() as patched:
        patched.setattr(os, "rmdir", refuse)
        cached_folder(store(places / "store", "b" * 64), "kind", "v1", build)
    assert names(places / "store" / "cache") == [f"kind-{'a' * 16}-v1", f"kind-{'b' * 16}-v1"]


def test_a_store_that_cannot_be_written_to_uses_the_users_cache_and_else_a_temporary_folder(
    places: Path,
) -> None:
    # A file where a folder should be cannot be written into, not even by root.
    (places / "store").write_text("")
    opened = store(places / "store")
    assert cached_folder(opened, "kind", "v1", build).parent == places / "user" / "borgtrace"
    assert cached_folder(opened, "kind", "v1", never)
    # Other stores share the user's cache: theirs stays.
    cached_folder(store(places / "store", "b" * 64), "kind", "v1", build)
    assert cached_folder(opened, "kind", "v1", never)
    (places / "user" / "borgtrace").rename(places / "elsewhere")
    (places / "user" / "borgtrace").write_text("")
    folder = cached_folder(opened, "kind", "v1", build)
    assert folder.parents[2] == places / "temporary"
    assert (folder / "sums").read_text() == "1"


def test_where_another_process_was_first_its_folder_stays(places: Path) -> None:
    place = places / "store" / "cache" / f"kind-{'a' * 16}-v"

    def overtaken(folder: Path) -> None:
        place.mkdir()
        (place / "theirs").touch()

    assert cached_folder(store(places / "store"), "kind", "v", overtaken) == place
    assert names(place) == ["theirs"]


def test_a_full_disk_is_an_error(places: Path) -> None:
    def full(folder: Path) -> None:
        raise OSError(errno.ENOSPC, "full")

    with pytest.raises(StoreError, match="the disk is full"):
        cached_folder(store(places / "store"), "kind", "v", full)


def test_the_digest_of_code_is_that_of_its_modules(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_bytes(b"a")
    (tmp_path / "two.py").write_bytes(b"b")
    (tmp_path / "three.txt").write_bytes(b"c")
    assert code_digest([tmp_path]) == hashlib.sha256(b"ab").hexdigest()[:8]
