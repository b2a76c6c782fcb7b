"""Files that are not as they were written, and what is known of earlier comparisons."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from borgtrace.errors import StoreError
from borgtrace.store import integrity, kept, unchanged
from borgtrace.store.layout import Layout
from tests.store.typed import EMPTY


def test_a_changed_file_is_told_by_the_beginnings_of_its_digests(tmp_path: Path) -> None:
    manifest = replace(EMPTY, files={"a": "0123456789abcdef"})
    way_out = f"build it again: borgtrace ingest SRC --store {tmp_path} --rebuild"
    assert str(integrity._has_changed(Layout(tmp_path), manifest, "a", "fedcba9876543210")) == (
        f"{tmp_path}: a has changed since it was written: expected 0123456789ab, got fedcba987654; {way_out}"
    )
    assert str(integrity._has_changed(Layout(tmp_path), manifest, "a", None)).startswith(
        f"{tmp_path}: a is missing"
    )
    assert str(integrity._other_rows(Layout(tmp_path), replace(EMPTY, tables={"tasks": 1234}))) == (
        f"{tmp_path}: tasks does not have the rows that the manifest counts: expected 1,234 rows, got 0; {way_out}"
    )
    assert integrity._other_rows(Layout(tmp_path), EMPTY) is None


def test_files_that_an_ingest_replaces_meanwhile_are_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = replace(EMPTY, digest="old"), replace(EMPTY, digest="new")
    fault = StoreError("x", "changed")
    manifests, faults = iter([old, new, new]), iter([fault, None])
    monkeypatch.setattr(integrity, "read_manifest", lambda root: next(manifests))
    monkeypatch.setattr(integrity, "_changed", lambda layout, manifest: next(faults))
    assert integrity.read_intact(tmp_path) is new
    manifests, faults = iter([old, old]), iter([fault])
    with pytest.raises(StoreError) as caught:
        integrity.read_intact(tmp_path)
    assert caught.value is fault


def test_the_record_of_comparisons_is_named_by_the_place_of_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    name = hashlib.sha256(str(tmp_path.resolve()).encode()).hexdigest()[:16]
    assert unchanged._record(tmp_path) == tmp_path / "cache" / "borgtrace" / f"{name}.json"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert unchanged._record(tmp_path) == Path(f"/home/me/.cache/borgtrace/{name}.json")
    assert kept.user_cache() == Path("/home/me/.cache/borgtrace")


@pytest.mark.parametrize(
    ("text", "known"), [('{"a": [1]}', {"a": [1]}), ("[1]", {}), ("no JSON", {})]
)
def test_a_record_of_comparisons_is_a_table_or_nothing(
    text: str, known: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "record").write_text(text)
    monkeypatch.setattr(unchanged, "_record", lambda root: root / "record")
    assert unchanged._known(tmp_path) == known


def test_a_file_that_was_compared_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"x")
    os.utime(tmp_path / "a", (1, 1))
    # The time of the last change cannot be set: each file counts as settled.
    monkeypatch.setattr(unchanged, "_TICK", -(10**12))
    monkeypatch.setattr(unchanged, "_record", lambda root: root / "record")
    digests = {"a": hashlib.sha256(b"x").hexdigest()}
    assert unchanged.changed_files(tmp_path, digests) == {}
    monkeypatch.setattr(unchanged, "file_digests", lambda *_: pytest.fail("it was read again"))
    assert unchanged.changed_files(tmp_path, digests) == {}


def test_a_part_that_the_manifest_does_not_list_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        integrity, "unknown_parts", lambda layout, manifest: {"b.parquet", "a.parquet"}
    )
    found = integrity._changed(Layout(Path("/s")), replace(EMPTY, files={"c.parquet": "0"}))
    assert "a.parquet is none of the files that the manifest lists" in str(found)
