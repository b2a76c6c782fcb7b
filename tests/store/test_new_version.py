"""A new version of a store is put in place, and what modules keep of one."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from borgtrace.store import columns, kept, swap
from borgtrace.store.layout import Layout


def test_a_first_version_is_put_in_place_and_staged_rows_go(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    for path in (layout.unfinished / "tasks", layout.staging / "x", layout.discarded / "y"):
        path.mkdir(parents=True)
    (layout.unfinished / "manifest.json").write_text("1")
    swap.commit_next(layout)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["manifest.json", "tasks"]


def test_a_swap_that_ended_after_the_manifest_is_only_tidied(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.manifest.write_text("2")
    layout.next.mkdir()
    layout.staging.mkdir()
    assert swap.finish_swap(layout) is True
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]
    layout.discarded.mkdir()
    assert swap.finish_swap(layout) is False
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


def test_what_is_kept_is_the_modules_and_the_first_that_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one.py").write_bytes(b"a")
    (tmp_path / "two.py").write_bytes(b"b")
    (tmp_path / "three.txt").write_bytes(b"c")
    assert kept.version_of([tmp_path]) == hashlib.sha256(b"ab").hexdigest()[:8]
    store: Any = SimpleNamespace(digest="d" * 64, layout=SimpleNamespace(cache=tmp_path / "cache"))
    place = tmp_path / "cache" / f"kind-{'d' * 16}-v"

    def overtaken(folder: Path) -> None:
        place.mkdir()
        (place / "theirs").touch()

    assert kept.kept_folder(store, "kind", "v", overtaken) == place
    assert [path.name for path in place.iterdir()] == ["theirs"]

    def full(folder: Path) -> None:
        raise OSError(errno.ENOSPC, "full")

    with pytest.raises(OSError, match="full"):
        kept.kept_folder(store, "other", "v", full)
    # A file of such a name, other kinds and what cannot be removed stay.
    (tmp_path / "cache" / "kind-file").touch()
    (tmp_path / "cache" / "kinds").mkdir()
    (tmp_path / "cache" / "kind-old").mkdir()

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    with monkeypatch.context() as patched:
        patched.setattr(os, "rmdir", refuse)
        kept._remove_others(store, tmp_path / "cache", "kind", place)
    assert (tmp_path / "cache" / "kind-old").is_dir()
    kept._remove_others(store, tmp_path, "kind", place)  # another place: other stores share it
    assert (tmp_path / "cache" / "kind-old").is_dir()
    kept._remove_others(store, tmp_path / "cache", "kind", place)
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == [
        place.name,
        "kind-file",
        "kinds",
    ]


def test_an_array_that_does_not_fit_on_the_disk_is_no_store_that_may_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path) -> str:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(columns, "file_digest", fail)
    with pytest.raises(OSError, match="full"):
        columns.add_array(Layout(tmp_path), "maximum_cpu")
