"""What an interrupted ingest staged and something damaged meanwhile: each file of it is named, with the way out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from borgtrace.errors import StoreError
from borgtrace.ingest import IngestOptions, ingest

STAGE = IngestOptions(jobs=1, capacity="4cores,32GiB", stage_only=True)
BUILD = IngestOptions(jobs=1, capacity="4cores,32GiB")
VM = "0123456789abcdef" * 4
FILES = {
    "vm_cpu_readings-file-1-of-195.csv": f"0,{VM},1.5,9.5,4.5\n300,{VM},2.5,8.5,3.5\n",
    "vmtable.csv": f"{VM},{VM},{VM},0,2591700,99.0,10.0,90.0,Unknown,4,32\n",
}
DAMAGES: list[Callable[[bytes], bytes]] = [
    lambda content: content[: len(content) // 2],
    lambda _: b"",
    lambda content: bytes(len(content)),
]


def staged(folder: Path) -> tuple[Path, list[Path]]:
    """Stage two files; return the store, and all files of its staging area."""
    raw = folder / "raw"
    raw.mkdir(parents=True)
    for name, text in FILES.items():
        (raw / name).write_text(text)
    ingest([raw], folder / "store", STAGE)
    files = [path for path in (folder / "store" / "staging").rglob("*") if path.is_file()]
    return folder / "store", sorted(files)


def message_about(store: Path, part: Path) -> str:
    return (
        f"{part}: what is staged is damaged; remove {store / 'staging'} and ingest the files again"
    )


@pytest.mark.parametrize("damage", DAMAGES)
def test_each_damaged_file_is_named_with_the_way_out(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    _, files = staged(tmp_path / "whole")
    # Two parts, their ledger, and what the trace is.
    assert {path.parent.name for path in files} == {
        "ledger",
        "staging",
        "task_rows",
        "usage_rows",
    }
    for number in range(len(files)):
        store, files_here = staged(tmp_path / str(number))
        part = files_here[number]
        part.write_bytes(damage(part.read_bytes()))
        with pytest.raises(StoreError) as caught:
            ingest([], store, BUILD)
        assert str(caught.value) == message_about(store, part)
        assert not (store / "manifest.json").exists()


def test_a_part_that_is_gone_is_named_rather_than_left_out(tmp_path: Path) -> None:
    _, files = staged(tmp_path / "whole")
    places = [place for place, path in enumerate(files) if path.suffix == ".parquet"]
    assert len(places) == 2
    for place in places:
        store, files_here = staged(tmp_path / str(place))
        files_here[place].unlink()
        with pytest.raises(StoreError) as caught:
            ingest([], store, BUILD)
        assert str(caught.value) == message_about(store, files_here[place])


def test_the_way_out_leads_to_a_store(tmp_path: Path) -> None:
    store, files = staged(tmp_path)
    files[-1].write_bytes(b"")
    with pytest.raises(StoreError):
        ingest([], store, BUILD)
    for path in sorted((store / "staging").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    result = ingest([tmp_path / "raw"], store, BUILD)
    assert result.manifest is not None
    assert result.manifest.tables["instance_usage"] == 2
