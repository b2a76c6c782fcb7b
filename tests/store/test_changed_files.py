"""Files that are not as they were written, and what is known of earlier comparisons."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from borgtrace.errors import StoreError
from borgtrace.storage import user_cache
from borgtrace.store import file_changes, integrity
from borgtrace.store.file_changes import comparisons_file, read_comparisons
from borgtrace.store.integrity import read_intact
from borgtrace.store.layout import Layout
from borgtrace.store.manifest import Manifest
from tests.store.typed import EMPTY

SHA256_OF_X = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def refusal(root: Path, manifest: Manifest) -> str:
    """What is said of a store with a manifest."""
    manifest.write(root / "manifest.json")
    with pytest.raises(StoreError) as caught:
        read_intact(root)
    return str(caught.value)


def test_a_changed_file_is_told_by_the_beginnings_of_its_digests(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    manifest = replace(EMPTY, files={"a": "0123456789abcdef"})
    assert refusal(tmp_path, manifest) == (
        f"{tmp_path}: a has changed since it was written: expected 0123456789ab, got {SHA256_OF_X[:12]}; "
        f"build it again: borgtrace ingest SRC --store {tmp_path} --rebuild"
    )


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    manifest = replace(EMPTY, files={"a": "0123456789abcdef"})
    assert refusal(tmp_path, manifest).startswith(f"{tmp_path}: a is missing")


def test_a_table_has_the_rows_that_the_manifest_counts(tmp_path: Path) -> None:
    assert refusal(tmp_path, replace(EMPTY, tables={"tasks": 1234})) == (
        f"{tmp_path}: tasks does not have the rows that the manifest counts: expected 1,234 rows, got 0; "
        f"build it again: borgtrace ingest SRC --store {tmp_path} --rebuild"
    )
    EMPTY.write(tmp_path / "manifest.json")
    assert read_intact(tmp_path) == EMPTY


def test_a_part_that_the_manifest_does_not_list_is_named(tmp_path: Path) -> None:
    tasks = Layout(tmp_path).table("tasks")
    tasks.mkdir()
    (tasks / "part-00001.parquet").touch()
    (tasks / "part-00000.parquet").touch()
    message = refusal(tmp_path, replace(EMPTY, files={"c.parquet": "0"}))
    expected = "tasks/part-00000.parquet is none of the files that the manifest lists"
    assert message.startswith(f"{tmp_path}: {expected}")


def test_files_that_an_ingest_replaces_meanwhile_are_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = replace(EMPTY, files={"a": "0123456789abcdef"})
    next_version = replace(EMPTY, digest="new")
    manifests = iter([damaged, next_version, next_version])
    monkeypatch.setattr(integrity, "read_manifest", lambda root: next(manifests))
    assert read_intact(tmp_path) is next_version
    manifests = iter([damaged, damaged])
    with pytest.raises(StoreError, match="a is missing"):
        read_intact(tmp_path)


def test_comparisons_are_kept_by_the_place_of_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = hashlib.sha256(str(tmp_path.resolve()).encode()).hexdigest()[:16]
    assert comparisons_file(tmp_path) == tmp_path / "cache" / "borgtrace" / f"{name}.json"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert comparisons_file(tmp_path) == Path(f"/home/me/.cache/borgtrace/{name}.json")
    assert user_cache() == Path("/home/me/.cache/borgtrace")


@pytest.mark.parametrize(
    ("text", "comparisons"),
    [
        ('{"a": [1]}', {"a": [1]}),
        ("[1]", {}),
        ("no JSON", {}),
    ],
)
def test_comparisons_are_a_table_or_nothing(
    text: str, comparisons: dict[str, Any], tmp_path: Path
) -> None:
    file = comparisons_file(tmp_path)
    file.parent.mkdir(parents=True)
    file.write_text(text)
    assert read_comparisons(tmp_path) == comparisons


def test_a_file_that_was_compared_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"x")
    os.utime(tmp_path / "a", (1, 1))
    # The time of the last change cannot be set: each file counts as settled.
    monkeypatch.setattr(file_changes, "CLOCK_STEP", -(10**12))
    digests = {"a": SHA256_OF_X}
    assert file_changes.changed_files(tmp_path, digests) == {}
    monkeypatch.setattr(file_changes, "file_digests", lambda *_: pytest.fail("it was read again"))
    assert file_changes.changed_files(tmp_path, digests) == {}
