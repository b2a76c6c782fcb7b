"""A store with links in it: read through them, and replaced without touching what they lead to."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import borgtrace
from borgtrace.store.verify import verify
from tests.store.versions import Versions, check_further_column, check_sql, check_trace

BEFORE, ADDED = (5, 7), (2, 8)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Versions:
    versions = Versions(tmp_path_factory.mktemp("made"))
    versions.ingest(BEFORE)
    versions.raw(ADDED)
    return versions


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def link_all(store: Path, elsewhere: Path) -> None:
    """Move every entry of a store elsewhere, and leave a link to it: folders and the manifest."""
    elsewhere.mkdir()
    for entry in sorted(store.iterdir()):
        entry.rename(elsewhere / entry.name)
        entry.symlink_to(elsewhere / entry.name)


def test_rows_are_added_to_a_store_with_links_and_what_they_lead_to_stays(
    made: Versions, tmp_path: Path
) -> None:
    versions = Versions(tmp_path)
    shutil.copytree(made.store, versions.store)
    shutil.copytree(made.folder / "raw", tmp_path / "raw")
    link_all(versions.store, tmp_path / "elsewhere")
    check_trace(borgtrace.open(versions.store), BEFORE)
    check_sql(borgtrace.open(versions.store), BEFORE)
    before = contents(tmp_path / "elsewhere")
    for numbers in (ADDED[:1], ADDED[1:]):
        versions.ingest(numbers)
    store = borgtrace.open(versions.store)
    check_trace(store, BEFORE + ADDED)
    check_sql(store, BEFORE + ADDED)
    check_further_column(store, BEFORE + ADDED)
    assert [check.name for check in verify(versions.store) if not check.holds] == []
    assert contents(tmp_path / "elsewhere") == before


def test_a_link_that_leads_nowhere_is_replaced(made: Versions, tmp_path: Path) -> None:
    versions = Versions(tmp_path)
    shutil.copytree(made.store, versions.store)
    (versions.store / "cache").symlink_to(tmp_path / "nowhere")
    (versions.store / "quarantine").symlink_to(tmp_path / "nowhere")
    versions.ingest(ADDED)
    store = borgtrace.open(versions.store)
    check_sql(store, BEFORE + ADDED)
    check_further_column(store, BEFORE + ADDED)
    assert not (tmp_path / "nowhere").exists()
