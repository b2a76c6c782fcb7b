from __future__ import annotations

import re
import shutil
from importlib.metadata import version
from pathlib import Path

import pytest

from borgtrace.engine import connect, read_table
from borgtrace.lifecycle import Cache, cache, code_version
from borgtrace.lifecycle.pieces import pieces
from borgtrace.question import EngineTables, Tables
from borgtrace.schema import TABLES
from tests.analyses.tiny import arrow
from tests.lifecycle.lives import life, rows, tables


@pytest.fixture
def part(tmp_path: Path) -> Path:
    import pyarrow.parquet as pq

    path = tmp_path / "part-00000.parquet"
    pq.write_table(arrow("instance_events", life("SUBMIT 5 SCHEDULE 7 FINISH 19")), path)
    return path


def opened(part: Path, digest: str = "d" * 64) -> Tables:
    con = connect(memory="300MB")
    events = read_table(con, TABLES["instance_events"], [str(part)])
    return EngineTables({"instance_events": events}, cache=Cache(part.parent / "cache", digest))


def test_a_derived_table_is_computed_once_and_kept_beside_the_store(part: Path) -> None:
    assert opened(part).n_rows("instance_attempts") == 1
    (kept,) = (part.parent / "cache").rglob("*.parquet")
    assert (
        kept.relative_to(part.parent / "cache").as_posix()
        == f"{'d' * 16}-{code_version()}/instance_attempts.parquet"
    )
    written = kept.stat().st_mtime_ns
    assert opened(part).n_rows("instance_attempts") == 1
    assert kept.stat().st_mtime_ns == written


def test_another_store_never_meets_an_old_file(part: Path) -> None:
    for digest in ("d" * 64, "e" * 64):
        assert opened(part, digest).n_rows("instance_attempts") == 1
    assert len(list((part.parent / "cache").rglob("*.parquet"))) == 2


def test_another_definition_never_meets_an_old_file(
    part: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert re.fullmatch(rf"{re.escape(version('borgtrace'))}\+[0-9a-f]{{8}}", code_version())
    copied = part.parent / "lifecycle"
    shutil.copytree(
        Path(cache.__file__).parent, copied, ignore=shutil.ignore_patterns("__pycache__")
    )
    monkeypatch.setattr(cache, "__file__", str(copied / "cache.py"))
    assert code_version.__wrapped__() == code_version()
    with (copied / "derived.columns").open("a") as file:
        file.write("\n")
    assert code_version.__wrapped__() != code_version()


def test_nothing_incomplete_is_left_or_read(part: Path) -> None:
    folder = part.parent / "cache" / f"{'d' * 16}-{code_version()}"
    folder.mkdir(parents=True)
    (folder / "instance_attempts.parquet.1.incomplete").write_bytes(b"PAR1 half")
    assert opened(part).n_rows("instance_attempts") == 1


def test_without_a_directory_tables_stay_in_memory(part: Path) -> None:
    con = connect(memory="300MB")
    tables = EngineTables(
        {"instance_events": read_table(con, TABLES["instance_events"], [str(part)])}
    )
    assert tables.n_rows("instance_occupancy") == 3
    assert not (part.parent / "cache").exists()


def test_a_large_table_is_computed_in_pieces_and_nobody_sees_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow.parquet as pq

    lives = [
        event
        for number in (3, 1, 2)
        for index in (0, 1)
        for event in life(
            "SUBMIT 5 SCHEDULE 7 EVICT 9 SUBMIT 9 SCHEDULE 11 FINISH 19", number, index
        )
    ]
    path = tmp_path / "part-00000.parquet"
    pq.write_table(arrow("instance_events", lives), path)
    whole = opened(path, "a" * 64)
    monkeypatch.setattr(cache, "pieces", lambda events: pieces(events, 8))
    cut = opened(path, "b" * 64)

    assert rows(cut.instance_attempts, "collection_id", "instance_index", "attempt") == rows(
        whole.instance_attempts, "collection_id", "instance_index", "attempt"
    )
    assert {(r["from_type"], r["to_type"]): r["n"] for r in rows(cut.instance_transitions)} == {
        (None, "SUBMIT"): 6,
        ("SUBMIT", "SCHEDULE"): 12,
        ("SCHEDULE", "EVICT"): 6,
        ("EVICT", "SUBMIT"): 6,
        ("SCHEDULE", "FINISH"): 6,
    }
    folder = path.parent / "cache" / f"{'b' * 16}-{code_version()}"
    assert sorted(item.relative_to(folder).as_posix() for item in folder.rglob("*")) == [
        "instance_attempts.parquet",
        "instance_attempts.parquet.sha256",
        "instance_attempts.parquet/part-00000.parquet",
        "instance_attempts.parquet/part-00001.parquet",
        "instance_attempts.parquet/part-00002.parquet",
        "instance_transitions.parquet",
        "instance_transitions.parquet.sha256",
    ]


def test_pieces_hold_whole_collections_in_order(tmp_path: Path) -> None:
    events = [
        event for number in (30, 10, 20) for event in life("SUBMIT 5 SCHEDULE 7 FINISH 19", number)
    ]
    table = tables(events).instance_events
    found = [sorted({row["collection_id"] for row in rows(piece)}) for piece in pieces(table, 4)]
    assert found == [[10, 20], [30]]
    assert len(pieces(table, 9)) == 1


def test_a_damaged_part_of_a_large_table_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow.parquet as pq

    path = tmp_path / "part-00000.parquet"
    lives = [event for number in (1, 2) for event in life("SUBMIT 5 SCHEDULE 7 FINISH 19", number)]
    pq.write_table(arrow("instance_events", lives), path)
    monkeypatch.setattr(cache, "pieces", lambda events: pieces(events, 3))
    expected = rows(opened(path).instance_attempts, "collection_id")
    kept = sorted((tmp_path / "cache").rglob("part-*.parquet"))
    assert [part.name for part in kept] == ["part-00000.parquet", "part-00001.parquet"]
    kept[1].write_bytes(kept[0].read_bytes())
    assert rows(opened(path).instance_attempts, "collection_id") == expected


@pytest.mark.parametrize("damage", ["a flipped bit", "half of it", "no digest"])
def test_a_damaged_table_is_made_again(part: Path, damage: str) -> None:
    expected = rows(opened(part).instance_attempts, "collection_id")
    (kept,) = (part.parent / "cache").rglob("*.parquet")
    data = kept.read_bytes()
    if damage == "no digest":
        kept.with_name(f"{kept.name}.sha256").unlink()
    kept.write_bytes(
        data[: len(data) // 2]
        if damage == "half of it"
        else data[:60] + bytes([data[60] ^ 1]) + data[61:]
    )
    assert rows(opened(part).instance_attempts, "collection_id") == expected
