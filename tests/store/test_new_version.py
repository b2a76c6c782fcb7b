"""A new version of a store is put in place."""

from __future__ import annotations

from pathlib import Path

from borgtrace.store import swap
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
