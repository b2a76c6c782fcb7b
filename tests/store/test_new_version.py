"""A new version of a store is put in place."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from borgtrace.errors import StoreError
from borgtrace.store import columns, swap
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


def test_an_array_that_does_not_fit_on_the_disk_is_no_store_that_may_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path) -> str:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(columns, "file_digest", fail)
    with pytest.raises(StoreError, match="the disk is full"):
        columns.add_array(Layout(tmp_path), "maximum_cpu")
