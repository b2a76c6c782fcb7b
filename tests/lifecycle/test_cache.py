from __future__ import annotations

import re
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import borgtrace.lifecycle
from borgtrace.engine import connect, read_table
from borgtrace.lifecycle import Cache, code_version
from borgtrace.lifecycle.cache import version_of_sources
from borgtrace.lifecycle.pieces import PIECE, pieces
from borgtrace.question import EngineTables, Tables
from borgtrace.schema import TABLES
from borgtrace.store.kept_folders import Keeper
from tests.analyses.tiny import arrow
from tests.lifecycle.lives import life, rows, tables


@pytest.fixture
def part(tmp_path: Path) -> Path:
    path = tmp_path / "part-00000.parquet"
    write_events(path, life("SUBMIT 5 SCHEDULE 7 FINISH 19"))
    return path


def opened(
    part: Path,
    digest: str = "d" * 64,
    *,
    piece: int = PIECE,
) -> Tables:
    con = connect(memory="300MB")
    events = read_table(con, TABLES["instance_events"], [str(part)])
    cache = Cache(Keeper((part.parent / "cache",), digest), piece=piece)
    return EngineTables({"instance_events": events}, cache=cache)


def write_events(path: Path, events: list[dict[str, Any]]) -> None:
    import pyarrow.parquet as pq

    pq.write_table(arrow("instance_events", events), path)


def test_a_derived_table_is_computed_once_and_kept_beside_the_store(part: Path) -> None:
    assert opened(part).n_rows("instance_attempts") == 1
    cache = part.parent / "cache"
    (kept,) = cache.rglob("*.parquet")
    folder = f"instance_attempts-duckdb-{'d' * 16}-{code_version()}"
    assert kept.relative_to(cache).as_posix() == f"{folder}/part-00000.parquet"
    written = kept.stat().st_mtime_ns
    assert opened(part).n_rows("instance_attempts") == 1
    assert kept.stat().st_mtime_ns == written


def test_another_store_never_meets_an_old_file(part: Path) -> None:
    for digest in ("d" * 64, "e" * 64):
        assert opened(part, digest).n_rows("instance_attempts") == 1
        # That of the earlier state is removed.
        (folder,) = (part.parent / "cache").iterdir()
        assert folder.name.startswith(f"instance_attempts-duckdb-{digest[:16]}-")


def test_another_definition_never_meets_an_old_file(tmp_path: Path) -> None:
    assert re.fullmatch(rf"{re.escape(version('borgtrace'))}\+[0-9a-f]{{8}}", code_version())
    sources = Path(borgtrace.lifecycle.__file__).parent
    copied = tmp_path / "lifecycle"
    shutil.copytree(sources, copied, ignore=shutil.ignore_patterns("__pycache__"))
    assert version_of_sources(copied) == code_version()
    with (copied / "derived_tables.py").open("a") as file:
        file.write("\n")
    assert version_of_sources(copied) != code_version()


def test_nothing_incomplete_is_left_or_read(part: Path) -> None:
    folder = part.parent / "cache" / f"instance_attempts-duckdb-{'d' * 16}-{code_version()}"
    draft = folder.with_name(f"{folder.name}.1-1.incomplete")
    draft.mkdir(parents=True)
    (draft / "part-00000.parquet").write_bytes(b"PAR1 half")
    assert opened(part).n_rows("instance_attempts") == 1


def test_without_a_directory_tables_stay_in_memory(part: Path) -> None:
    con = connect(memory="300MB")
    events = read_table(con, TABLES["instance_events"], [str(part)])
    tables = EngineTables({"instance_events": events})
    assert tables.n_rows("instance_occupancy") == 3
    assert not (part.parent / "cache").exists()


def test_a_large_table_is_computed_in_pieces_and_nobody_sees_it(tmp_path: Path) -> None:
    text = "SUBMIT 5 SCHEDULE 7 EVICT 9 SUBMIT 9 SCHEDULE 11 FINISH 19"
    events = []
    for collection_id in (3, 1, 2):
        for instance_index in (0, 1):
            events += life(text, collection_id, instance_index)
    path = tmp_path / "part-00000.parquet"
    write_events(path, events)
    key = ("collection_id", "instance_index", "attempt")
    whole = rows(opened(path, "a" * 64).instance_attempts, *key)
    cut = opened(path, "b" * 64, piece=8)

    assert rows(cut.instance_attempts, *key) == whole
    transitions = rows(cut.instance_transitions)
    assert {(row["from_type"], row["to_type"]): row["n"] for row in transitions} == {
        (None, "SUBMIT"): 6,
        ("SUBMIT", "SCHEDULE"): 12,
        ("SCHEDULE", "EVICT"): 6,
        ("EVICT", "SUBMIT"): 6,
        ("SCHEDULE", "FINISH"): 6,
    }
    end = f"-duckdb-{'b' * 16}-{code_version()}"
    cache = path.parent / "cache"
    kept = sorted(file.relative_to(cache).as_posix() for file in cache.rglob("*.*"))
    assert [name for name in kept if end in name and "/" in name] == [
        f"instance_attempts{end}/part-00000.parquet",
        f"instance_attempts{end}/part-00001.parquet",
        f"instance_attempts{end}/part-00002.parquet",
        f"instance_attempts{end}/seal.json",
        f"instance_transitions{end}/part-00000.parquet",
        f"instance_transitions{end}/seal.json",
    ]


def test_pieces_hold_whole_collections_in_order(tmp_path: Path) -> None:
    lives = [life("SUBMIT 5 SCHEDULE 7 FINISH 19", number) for number in (30, 10, 20)]
    table = tables(*lives).instance_events
    ids = [sorted({row["collection_id"] for row in rows(piece)}) for piece in pieces(table, 4)]
    assert ids == [[10, 20], [30]]
    assert len(pieces(table, 9)) == 1


def test_a_damaged_part_of_a_large_table_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "part-00000.parquet"
    text = "SUBMIT 5 SCHEDULE 7 FINISH 19"
    write_events(path, life(text, 1) + life(text, 2))
    expected = rows(opened(path, piece=3).instance_attempts, "collection_id")
    kept = sorted((tmp_path / "cache").rglob("part-*.parquet"))
    assert [part.name for part in kept] == ["part-00000.parquet", "part-00001.parquet"]
    kept[1].write_bytes(kept[0].read_bytes())
    assert rows(opened(path, piece=3).instance_attempts, "collection_id") == expected


@pytest.mark.parametrize("damage", ["a flipped bit", "half of it", "no digest"])
def test_a_damaged_table_is_made_again(part: Path, damage: str) -> None:
    expected = rows(opened(part).instance_attempts, "collection_id")
    (kept,) = (part.parent / "cache").rglob("*.parquet")
    data = bytearray(kept.read_bytes())
    if damage == "no digest":
        kept.with_name("seal.json").unlink()
    if damage == "half of it":
        data = data[: len(data) // 2]
    else:
        data[60] ^= 1
    kept.write_bytes(data)
    assert rows(opened(part).instance_attempts, "collection_id") == expected
