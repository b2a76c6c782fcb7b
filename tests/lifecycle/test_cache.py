from __future__ import annotations

from pathlib import Path

import pytest

from borgtrace.engine import connect, read_table
from borgtrace.lifecycle import Cache, code_version
from borgtrace.recipe import Tables
from borgtrace.schema import TABLES
from tests.analyses.tiny import arrow
from tests.lifecycle.lives import life


@pytest.fixture
def part(tmp_path: Path) -> Path:
    import pyarrow.parquet as pq

    path = tmp_path / "part-00000.parquet"
    pq.write_table(arrow("instance_events", life("SUBMIT 5 SCHEDULE 7 FINISH 19")), path)
    return path


def opened(part: Path, digest: str = "d" * 64) -> Tables:
    con = connect(memory="300MB")
    events = read_table(con, TABLES["instance_events"], [str(part)])
    return Tables({"instance_events": events}, cache=Cache(part.parent / "cache", digest))


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


def test_nothing_incomplete_is_left_or_read(part: Path) -> None:
    folder = part.parent / "cache" / f"{'d' * 16}-{code_version()}"
    folder.mkdir(parents=True)
    (folder / "instance_attempts.parquet.1.incomplete").write_bytes(b"PAR1 half")
    assert opened(part).n_rows("instance_attempts") == 1


def test_without_a_directory_tables_stay_in_memory(part: Path) -> None:
    con = connect(memory="300MB")
    tables = Tables({"instance_events": read_table(con, TABLES["instance_events"], [str(part)])})
    assert tables.n_rows("instance_occupancy") == 3
    assert not (part.parent / "cache").exists()
