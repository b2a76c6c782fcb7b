"""Aggregates kept beside a store: built once, in the first place that can be written to."""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from borgtrace.store import Store
from borgtrace.store.kept import kept_folder


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache and the temporary folder lie in a folder of the test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path


def store(cache: Path, digest: str = "a" * 64) -> Store:
    return cast("Store", SimpleNamespace(digest=digest, layout=SimpleNamespace(cache=cache)))


def build(folder: Path) -> None:
    (folder / "sums").write_text("1")


def never(folder: Path) -> None:
    raise AssertionError("built twice")


def test_it_is_built_once_beside_the_store_and_leaves_nothing_else(places: Path) -> None:
    given = store(places / "store" / "cache")
    kept = kept_folder(given, "kind", "v1", build)
    assert kept == places / "store" / "cache" / f"kind-{'a' * 16}-v1"
    assert kept_folder(given, "kind", "v1", never) == kept
    assert [*(places / "temporary").iterdir()] == []


def test_what_was_kept_of_an_earlier_state_goes(places: Path) -> None:
    cache = places / "store" / "cache"
    kept_folder(store(cache), "kind", "v1", build)
    kept_folder(store(cache), "other", "v1", build)
    kept_folder(store(cache, "b" * 64), "kind", "v1", build)
    assert sorted(path.name[:8] for path in cache.iterdir()) == ["kind-bbb", "other-aa"]


def test_a_store_that_cannot_be_written_to_uses_the_users_cache_and_else_a_temporary_folder(
    places: Path,
) -> None:
    # A file where a folder should be cannot be written into, not even by root.
    (places / "store").write_text("")
    given = store(places / "store" / "cache")
    assert kept_folder(given, "kind", "v1", build).parent == places / "user" / "borgtrace"
    assert kept_folder(given, "kind", "v1", never)
    (places / "user" / "borgtrace").rename(places / "elsewhere")
    (places / "user" / "borgtrace").write_text("")
    kept = kept_folder(given, "kind", "v1", build)
    assert kept.parent.parent == places / "temporary"
    assert (kept / "sums").read_text() == "1"
