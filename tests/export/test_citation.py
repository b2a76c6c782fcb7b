"""The citation beside exported files and datasets: what DataCite asks for, as its own schema reads it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from borgtrace import export
from borgtrace.cli import main
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.synth import generate
from tests.export.cell import SIZE, cell_of_2011

ADA = "Lovelace, Ada"


def validate(record: dict) -> None:
    schema = pytest.importorskip("datacite.schema45", reason="datacite is not installed")
    schema.validate(record)


def test_files_of_a_recorded_trace_have_its_rights_and_its_works(tmp_path: Path) -> None:
    store = cell_of_2011(tmp_path)
    exported = export.export_files(store, tmp_path / "out", "swf", SIZE)
    record = export.datacite(store, "swf", exported, creators=[ADA], publisher="Zenodo", year=2026)
    validate(record)
    assert record["titles"] == [{"title": "Files in the layout swf: Google cluster trace 2011"}]
    assert record["creators"] == [{"name": ADA}]
    assert (record["publisher"], record["publicationYear"]) == ({"name": "Zenodo"}, "2026")
    assert record["rightsList"][0]["rightsIdentifier"] == "CC-BY-4.0"
    assert record["sizes"] == ["1 files", f"{exported.rows} rows"]
    assert record["alternateIdentifiers"][0]["alternateIdentifier"] == store.manifest.digest
    assert {one["relationType"] for one in record["relatedIdentifiers"]} == {"IsDerivedFrom"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A synthetic cell of two machines."""
    folder = tmp_path_factory.mktemp("made")
    generate(folder / "raw", "2011", machines=2, hours=1, seed=1)
    ingest([folder / "raw"], folder / "store", IngestOptions(jobs=1))
    return folder / "store"


COMMANDS = {
    "export --layout jobs --workers 1": "Files in the layout jobs: synthetic cell in the format of "
    "Google cluster trace 2011",
    "export --layout opendc --capacity 8cores,32GiB": "Files in the layout opendc: synthetic cell in the format of "
    "Google cluster trace 2011",
    "dataset --format npz": "Usage of tasks over time: synthetic cell in the format of Google cluster trace 2011",
}


@pytest.mark.parametrize("line", COMMANDS)
def test_the_command_writes_it_beside_the_files(made: Path, tmp_path: Path, line: str) -> None:
    command, *options = line.split()
    words = [command, str(made), str(tmp_path / "out"), *options]
    with pytest.raises(SystemExit) as ended:
        main([*words, "--creator", ADA, "--creator", "Babbage, Charles"])
    assert not ended.value.code
    record = json.loads((tmp_path / "out" / "datacite.json").read_text("utf-8"))
    validate(record)
    assert record["titles"] == [{"title": COMMANDS[line]}]
    assert [one["name"] for one in record["creators"]] == [ADA, "Babbage, Charles"]
    # What is named later, in DataCite's own word.
    assert record["publisher"] == {"name": "(:tba)"}
    assert record["publicationYear"] == str(datetime.now(UTC).year)
    # Nobody's license holds for a made cell.
    assert "rightsIdentifier" not in record["rightsList"][0]


@pytest.mark.parametrize("command", ["export", "dataset"])
def test_a_creator_has_a_name(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, str(made), str(tmp_path / "out"), "--creator", " "])
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        'borgtrace: --creator: no name: expected a name such as "Lovelace, Ada"\n'
    )
    assert not (tmp_path / "out").exists()
