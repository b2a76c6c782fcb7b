"""What a manifest claims is compared with the store: its digest, the digest of itself, names of files."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import borgtrace
from borgtrace.errors import StoreError
from borgtrace.store.manifest import read_manifest
from borgtrace.store.verify import verify
from tests.store.versions import Versions, check_further_column, check_question_tables


@pytest.fixture
def copy(small: Path, tmp_path: Path) -> Path:
    ignored = shutil.ignore_patterns("cache")
    return shutil.copytree(small, tmp_path / "store", ignore=ignored)


def findings(store: Path) -> dict[str, str]:
    return {check.name: check.found for check in verify(store) if not check.holds}


def test_a_digest_that_is_not_that_of_the_content_is_a_finding(copy: Path) -> None:
    manifest = read_manifest(copy)
    assert findings(copy) == {}
    replace(manifest, digest="0" * 64).write(copy / "manifest.json")
    expected = f"{manifest.digest}, the manifest says {'0' * 64}"
    assert findings(copy) == {"digest": expected}


def test_contents_that_are_not_claimed_are_a_finding(copy: Path) -> None:
    replace(read_manifest(copy), content={}).write(copy / "manifest.json")
    assert "instance_usage: content" in findings(copy)


def test_a_manifest_without_a_digest_of_itself_is_a_finding(copy: Path) -> None:
    path = copy / "manifest.json"
    data = json.loads(path.read_text())
    del data["sha256"]
    path.write_text(json.dumps(data))
    expected = "the manifest has no digest of itself: anybody may have changed it"
    assert findings(copy) == {"seal": expected}


def test_a_store_that_claims_the_digest_of_another_gives_nothing_to_its_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are at one path in turn and cannot be written to, so what is kept of them is in the user's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "mine"))
    versions = Versions(tmp_path)
    genuine = versions.ingest((5, 7), store=tmp_path / "genuine")
    foreign = versions.ingest((6, 8), store=tmp_path / "foreign")
    digest = read_manifest(genuine).digest
    replace(read_manifest(foreign), digest=digest).write(foreign / "manifest.json")
    place = tmp_path / "place"
    for store, numbers in ((foreign, (6, 8)), (genuine, (5, 7))):
        # A file where a folder should be cannot be written into, not even by root.
        (store / "cache").touch()
        store.rename(place)
        opened = borgtrace.open(place)
        assert opened.digest == digest
        check_further_column(opened, numbers)
        check_question_tables(opened, numbers)
        place.rename(store)


NAMES = [
    "/etc/passwd",
    "../../etc/passwd",
    "tasks/../../outside",
    "tasks/..",
    "./tasks/part-00000.parquet",
    "tasks//part-00000.parquet",
    "tasks\\..\\outside",
    "tasks/\0",
    "",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_leads_out_of_the_store_is_refused(copy: Path, name: str) -> None:
    manifest = read_manifest(copy)
    files = {**manifest.files, name: "0" * 64}
    replace(manifest, files=files).write(copy / "manifest.json")
    for read in (read_manifest, borgtrace.open, verify):
        with pytest.raises(StoreError) as caught:
            read(copy)
        assert str(caught.value) == (
            f"{copy}: manifest.json names a file that is not in the store: expected a path below the store, "
            f"got {name!r}; build it again: borgtrace ingest SRC --store {copy} --rebuild"
        )


def test_a_table_of_the_ledger_that_leads_out_of_the_store_is_refused(copy: Path) -> None:
    manifest = read_manifest(copy)
    first, *others = manifest.sources
    moved = replace(first, table="../../../outside")
    replace(manifest, sources=(moved, *others)).write(copy / "manifest.json")
    with pytest.raises(StoreError, match="names a file that is not in the store"):
        borgtrace.open(copy)
