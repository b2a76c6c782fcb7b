"""Each row of the page about kinds of input is true: read as it says, or refused with its sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from borgtrace.errors import BorgtraceError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.find.raw_files import RawFiles, find_raw_files
from borgtrace.schema import DIALECTS
from borgtrace.store.manifest import Manifest
from tests.ingest.kinds import KINDS, InputKind

# Rows about series have tests of their own.
OF_SERIES = ("prometheus",)
REFUSED = [kind for kind in KINDS if kind.refusal]
GUESSED = [kind for kind in KINDS if kind.reads]
PUBLISHED = [kind for kind in KINDS if kind.stored]


def _title(kind: InputKind) -> str:
    return kind.title


def _entry(declaration: dict[str, Any], path: str) -> Any:
    entry: Any = declaration
    for name in path.split("."):
        entry = entry[name]
    return entry


def _ingested(places: list[Path], kind: InputKind, folder: Path) -> Manifest:
    options = IngestOptions(jobs=1, capacity=kind.capacity)
    manifest = ingest(places, folder / "store", options).manifest
    assert manifest is not None
    return manifest


def _found(places: list[Path], _kind: InputKind, _folder: Path) -> RawFiles:
    return find_raw_files(places)


@pytest.mark.parametrize("kind", REFUSED, ids=_title)
def test_a_kind_of_input_is_refused_as_its_page_says(tmp_path: Path, kind: InputKind) -> None:
    places = kind.write(tmp_path)
    # Rows of a known format are put together before it is seen what they lack.
    refuse = _ingested if kind.format else _found
    with pytest.raises(BorgtraceError) as error:
        refuse(places, kind, tmp_path)
    assert kind.refusal in str(error.value)
    # The way out.
    assert "; " in str(error.value)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("kind", GUESSED, ids=_title)
def test_a_kind_of_input_is_guessed_as_its_page_says(tmp_path: Path, kind: InputKind) -> None:
    if kind.needs:
        pytest.importorskip(kind.needs)
    declaration = find_raw_files(kind.write(tmp_path)).declaration
    assert declaration is not None
    assert {entry: _entry(declaration, entry) for entry in kind.reads} == kind.reads


@pytest.mark.parametrize("kind", PUBLISHED, ids=_title)
def test_a_published_format_is_stored_as_its_page_says(tmp_path: Path, kind: InputKind) -> None:
    places = kind.write(tmp_path)
    sources = find_raw_files(places).discovery.sources
    assert {source.dialect.name for source in sources} == {kind.format}
    manifest = _ingested(places, kind, tmp_path)
    assert {name: manifest.tables[name] for name in kind.stored} == kind.stored
    assert sum(source.quarantined for source in manifest.sources) == 0


def test_each_kind_says_what_becomes_of_it() -> None:
    assert len({kind.title for kind in KINDS}) == len(KINDS)
    for kind in KINDS:
        assert [bool(kind.reads), bool(kind.stored), bool(kind.refusal)].count(True) == 1


def test_every_published_format_has_a_row() -> None:
    assert {kind.format for kind in PUBLISHED} == DIALECTS.keys() - set(OF_SERIES)
