"""Aggregates that are kept: built once, sealed by this user, made again where anything about them has changed."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from borgtrace.errors import StoreError
from borgtrace.storage import user_cache
from borgtrace.storage.user_key import user_key
from borgtrace.store.kept_folders import SEAL, Keeper, code_digest

A, B = "a" * 64, "b" * 64


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache and the temporary folder lie in a folder of the test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path


def keeper(root: Path, origin: str = A) -> Keeper:
    return Keeper((root / "cache", user_cache()), origin)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def build(folder: Path) -> None:
    (folder / "sums").write_text("right")
    (folder / "deep").mkdir()
    (folder / "deep" / "empty").touch()


def never(folder: Path) -> None:
    raise AssertionError("built twice")


def test_it_is_built_once_beside_the_store_and_leaves_nothing_else(places: Path) -> None:
    kept = keeper(places / "store")
    folder = kept.find_or_keep("kind", "v1", build)
    assert folder == places / "store" / "cache" / f"kind-{'a' * 16}-v1"
    assert kept.find_or_keep("kind", "v1", never) == folder
    assert names(folder.parent) == [folder.name]
    assert names(places / "temporary") == []
    # What it is made from, its kind and its code each are a part of what is sealed.
    assert keeper(places / "store", B).find("kind", "v1") is None
    assert kept.find("other", "v1") is None
    assert kept.find("kind", "v2") is None


def test_a_folder_that_is_moved_with_its_store_is_believed(places: Path) -> None:
    keeper(places / "store").find_or_keep("kind", "v1", build)
    (places / "store").rename(places / "moved")
    assert keeper(places / "moved").find_or_keep("kind", "v1", never)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def replace_file(path: Path) -> None:
    path.write_text("wrong")


def link_elsewhere(path: Path) -> None:
    other = path.parent.parent.parent / "other"
    other.write_text("wrong")
    path.unlink()
    path.symlink_to(other)


def forge(folder: Path) -> None:
    """Seal a wrong content with a secret that is not this user's, as whoever sends a store could."""
    (folder / "sums").write_text("wrong")
    content = json.loads((folder / SEAL).read_text())
    content["files"]["sums"] = hashlib.sha256(b"wrong").hexdigest()
    (folder / SEAL).write_text(json.dumps(content))


def rename_another(folder: Path) -> None:
    """Give a folder of other files the name of this one."""
    other = keeper(folder.parent.parent, B)
    wrong = other.find_or_keep("other", "v1", lambda draft: replace_file(draft / "sums"))
    shutil.rmtree(folder)
    wrong.rename(folder)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "a flipped bit": lambda folder: flip(folder / "sums"),
    "another content": lambda folder: replace_file(folder / "sums"),
    "a missing file": lambda folder: (folder / "sums").unlink(),
    "a file more": lambda folder: (folder / "more").touch(),
    "a longer file": lambda folder: (folder / "deep" / "empty").write_text("x"),
    "a link": lambda folder: link_elsewhere(folder / "sums"),
    "no seal": lambda folder: (folder / SEAL).unlink(),
    "a damaged seal": lambda folder: flip(folder / SEAL),
    "a seal that is a list": lambda folder: (folder / SEAL).write_text("[]"),
    "a forged seal": forge,
    "the folder of another store": rename_another,
    "no folder": shutil.rmtree,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_not_as_this_user_sealed_it_is_made_again(places: Path, damage: str) -> None:
    kept = keeper(places / "store")
    folder = kept.find_or_keep("kind", "v1", build)
    DAMAGES[damage](folder)
    assert kept.find("kind", "v1") is None
    assert kept.find_or_keep("kind", "v1", build) == folder
    assert (folder / "sums").read_text() == "right"
    assert not (folder / "sums").is_symlink()
    assert kept.find_or_keep("kind", "v1", never) == folder
    assert [name for name in names(folder.parent) if "incomplete" in name] == []


def test_what_another_user_has_kept_is_not_believed_and_stays(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = keeper(places / "store")
    theirs = kept.find_or_keep("kind", "v1", build)
    monkeypatch.setenv("XDG_CACHE_HOME", str(places / "me"))
    mine = keeper(places / "store")
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert mine.find_or_keep("kind", "v1", build).parent == places / "me" / "borgtrace"
    assert mine.find_or_keep("kind", "v1", never)
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(places / "user"))
    assert kept.find_or_keep("kind", "v1", never) == theirs


def test_what_was_sealed_in_another_home_stays_until_it_is_old(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = keeper(places / "store").find_or_keep("kind", "v1", build)
    made = theirs.stat().st_mtime
    # The same user id with another home: a container, say.
    monkeypatch.setenv("XDG_CACHE_HOME", str(places / "me"))
    mine = keeper(places / "store").find_or_keep("kind", "v1", build)
    assert mine.parent == places / "me" / "borgtrace"
    monkeypatch.setenv("XDG_CACHE_HOME", str(places / "user"))
    assert keeper(places / "store").find_or_keep("kind", "v1", never) == theirs
    monkeypatch.setenv("XDG_CACHE_HOME", str(places / "third"))
    os.utime(theirs, (made, made - 31 * 86_400))
    assert keeper(places / "store").find_or_keep("kind", "v1", build) == theirs
    assert keeper(places / "store").find_or_keep("kind", "v1", never) == theirs


def test_a_cache_that_is_a_link_is_not_written_to(places: Path) -> None:
    (places / "elsewhere").mkdir()
    (places / "store").mkdir()
    (places / "store" / "cache").symlink_to(places / "elsewhere")
    folder = keeper(places / "store").find_or_keep("kind", "v1", build)
    assert folder.parent == places / "user" / "borgtrace"
    assert names(places / "elsewhere") == []


def test_a_secret_is_made_once_for_this_user_alone(places: Path) -> None:
    key = user_key()
    assert key is not None
    assert len(key) == 32
    assert user_key() == key
    file = places / "user" / "borgtrace" / "seal.key"
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_bytes(b"damaged")
    assert user_key() not in (None, key)


def test_folders_of_an_earlier_state_go_and_no_others(places: Path) -> None:
    keeper(places / "store").find_or_keep("kind", "v1", build)
    keeper(places / "store").find_or_keep("other", "v1", build)
    cache = places / "store" / "cache"
    (cache / "kind-file").touch()
    (cache / "kinds").mkdir()
    # A draft of another process, and one of a process that was killed long ago.
    (cache / "kind-c-v1.7-7.incomplete").mkdir()
    (cache / "kind-d-v1.7-7.incomplete").mkdir()
    os.utime(cache / "kind-d-v1.7-7.incomplete", (1, 1))
    keeper(places / "store", B).find_or_keep("kind", "v1", build)
    assert names(cache) == [
        f"kind-{'b' * 16}-v1",
        "kind-c-v1.7-7.incomplete",
        "kind-file",
        "kinds",
        f"other-{'a' * 16}-v1",
    ]


def test_what_cannot_be_removed_stays(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    keeper(places / "store").find_or_keep("kind", "v1", build)
    with monkeypatch.context() as patched:
        patched.setattr(os, "rmdir", refuse)
        keeper(places / "store", B).find_or_keep("kind", "v1", build)
    assert names(places / "store" / "cache") == [f"kind-{'a' * 16}-v1", f"kind-{'b' * 16}-v1"]


def test_a_store_that_cannot_be_written_to_uses_the_users_cache_and_else_a_temporary_folder(
    places: Path,
) -> None:
    # A file where a folder should be cannot be written into, not even by root.
    (places / "store").write_text("")
    kept = keeper(places / "store")
    assert kept.find_or_keep("kind", "v1", build).parent == places / "user" / "borgtrace"
    assert kept.find_or_keep("kind", "v1", never)
    # Other stores share the user's cache: theirs stays.
    keeper(places / "store", B).find_or_keep("kind", "v1", build)
    assert kept.find_or_keep("kind", "v1", never)
    (places / "user" / "borgtrace").rename(places / "elsewhere")
    (places / "user" / "borgtrace").write_text("")
    folder = kept.find_or_keep("kind", "v1", build)
    assert folder.parents[2] == places / "temporary"
    assert (folder / "sums").read_text() == "right"
    assert kept.find_or_keep("kind", "v1", never) == folder


def test_where_another_process_was_first_its_folder_stays(places: Path) -> None:
    kept = keeper(places / "store")

    def overtaken(folder: Path) -> None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(kept.find_or_keep, "kind", "v", build).result()
        replace_file(folder / "later")

    folder = kept.find_or_keep("kind", "v", overtaken)
    assert names(folder) == ["deep", SEAL, "sums"]
    assert names(folder.parent) == [folder.name]


@pytest.mark.parametrize("is_damaged", [False, True])
def test_threads_that_keep_one_thing_at_a_time_all_get_it(places: Path, is_damaged: bool) -> None:
    kept = keeper(places / "store")
    if is_damaged:
        folder = kept.find_or_keep("kind", "v", build)
        (folder / "sums").write_text("wrong")

    def content(_: int) -> str:
        return (kept.find_or_keep("kind", "v", build) / "sums").read_text()

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(content, range(64))) == {"right"}
    assert names(places / "store" / "cache") == [f"kind-{'a' * 16}-v"]


def test_what_is_built_from_files_that_are_replaced_meanwhile_is_not_kept(places: Path) -> None:
    @contextmanager
    def replaced():  # type: ignore[no-untyped-def]
        yield
        raise StoreError("store", "replaced")

    kept = Keeper((places / "cache",), A, replaced)
    with pytest.raises(StoreError):
        kept.find_or_keep("kind", "v", build)
    assert names(places / "cache") == []


def test_a_full_disk_is_an_error(places: Path) -> None:
    def full(folder: Path) -> None:
        raise OSError(errno.ENOSPC, "full")

    with pytest.raises(StoreError, match="the disk is full"):
        keeper(places / "store").find_or_keep("kind", "v", full)
    assert names(places / "store" / "cache") == []


def test_the_digest_of_code_is_that_of_its_modules(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_bytes(b"a")
    (tmp_path / "two.py").write_bytes(b"b")
    (tmp_path / "three.txt").write_bytes(b"c")
    assert code_digest([tmp_path]) == hashlib.sha256(b"ab").hexdigest()[:8]
