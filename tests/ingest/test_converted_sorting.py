"""Rows of converted files are sorted in memory, or in parts where they are many: the store is the same."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import borgtrace
from borgtrace.errors import UsageError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.build import sorting_limits
from borgtrace.ingest.build.row_order import row_order
from borgtrace.ingest.build.rows_in_memory import RowsInMemory
from borgtrace.ingest.build.sorting_limits import sorting_connection, within_reach
from borgtrace.schema import TABLES
from borgtrace.store import Store

CONTAINERS = {
    "machine_meta.csv": "m_1,0,1,1,96,100,USING\n",
    "container_meta.csv": "c_1,m_1,0,app_1,started,400,800,1.5\nc_2,m_1,0,app_1,started,400,800,3\n",
    # Two rows of one time, a window that the next one cuts, and rows in no order.
    "container_usage.csv": "".join(
        f"{container},m_1,{time},{cpu},10,1.5,0.5,3,0.1,0.1,5\n"
        for container, time, cpu in (
            ("c_2", 900, 20),
            ("c_1", 600, 30),
            ("c_1", 300, 40),
            ("c_1", 310, 50),
            ("c_2", 300, 60),
            ("c_1", 600, 70),
        )
    ),
}
LOG = """\
; Version: 2.2
; UnixStartTime: 1027839845
; MaxNodes: 1
; MaxProcs: 8
1  10  5 36000 4 25.5 1024 4 40000 2048 1 7 -1 3 1 1 -1 -1
"""


def ingest_text(folder: Path, files: dict[str, str]) -> Store:
    """Ingest files of text and open their store."""
    folder.mkdir()
    paths = []
    for name, text in files.items():
        path = folder / name
        path.write_text(text)
        paths.append(path)
    ingest(paths, folder / "store", IngestOptions(jobs=1))
    return borgtrace.open(folder / "store")


# Of a log a row gives a window for each slot of its ten hours: how many there are shows when they are read.
@pytest.mark.parametrize(
    ("files", "n_windows"), [(CONTAINERS, 6), ({"log.swf": LOG}, 121)], ids=["containers", "log"]
)
@pytest.mark.parametrize("most", [1, 5, 100])
def test_the_store_does_not_depend_on_what_fits_into_memory(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: dict[str, str],
    n_windows: int,
    most: int,
) -> None:
    in_memory = ingest_text(tmp_path / "in_memory", files).manifest
    monkeypatch.setattr(sorting_limits, "MOST_ROWS", most)
    in_parts = ingest_text(tmp_path / "in_parts", files).manifest
    assert in_memory.tables["instance_usage"] == n_windows
    assert in_parts.digest == in_memory.digest
    assert in_parts.counters == in_memory.counters
    assert in_parts.notes == in_memory.notes


def containers_that_use(rows: tuple[tuple[str, int, int], ...]) -> dict[str, str]:
    """Return files of two containers that request all 96 cores of a machine: rows of (container, time, percent)."""
    meta = "".join(f"{name},m_1,0,app_1,started,9600,9600,1.5\n" for name in ("c_1", "c_2"))
    usage = "".join(f"{name},m_1,{time},{cpu},1,1.5,0.5,3,0.1,0.1,5\n" for name, time, cpu in rows)
    return CONTAINERS | {"container_meta.csv": meta, "container_usage.csv": usage}


# Each uses less than the machine has, and both together 60 % + 60 % of 96 cores; with all rows in memory, and without.
@pytest.mark.parametrize("most", [1, 100])
def test_tasks_that_together_use_more_than_a_machine_has_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(sorting_limits, "MOST_ROWS", most)
    used = tuple((name, time, 60) for name in ("c_1", "c_2") for time in (300, 600, 900))
    with pytest.raises(UsageError) as error:
        ingest_text(tmp_path / "cell", containers_that_use(used))
    assert str(error.value).startswith(
        "cpu usage: the median sum of a machine's tasks is above the largest machine: "
        "expected at most 96 cores, got 115.2; "
    )


@pytest.mark.parametrize("most", [1, 100])
@pytest.mark.parametrize(
    "used",
    [
        # More than the machine has in one of its three windows.
        (("c_1", 300, 60), ("c_1", 600, 60), ("c_1", 900, 60), ("c_2", 900, 60)),
        # Of 60 s and 300 s of a window of 300 s: 0.9 / 5 + 0.8 is less than 1.
        (("c_1", 300, 90), ("c_1", 360, 80)),
        # Nobody measures CPU (101 says so).
        (("c_1", 300, 101), ("c_2", 300, 101)),
    ],
)
def test_machines_that_are_full_now_and_then_are_plausible(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    most: int,
    used: tuple[tuple[str, int, int], ...],
) -> None:
    monkeypatch.setattr(sorting_limits, "MOST_ROWS", most)
    store = ingest_text(tmp_path / "cell", containers_that_use(used))
    assert store.manifest.tables["instance_usage"] == len(used)


def test_rows_of_a_range_of_collections(tmp_path: Path) -> None:
    table = TABLES["instance_usage"]
    # The collection and the start of each row; the other columns of the key are 0.
    values = "(9, 300), (5, 600), (9, 0), (5, 0), (7, 0)"
    zeros = ", ".join(f"0 AS {name}" for name in table.key[1:] if name != "start_time")
    query = f"SELECT c AS collection_id, t AS start_time, {zeros} FROM (VALUES {values}) v(c, t)"
    with sorting_connection("200MB", 1, within_reach(tmp_path)) as connection:
        rows = RowsInMemory.read(connection, table, query, 5)
        assert RowsInMemory.read(connection, table, query, 4) is None
    assert rows is not None
    assert [column.tolist() for column in rows.collections()] == [[5, 7, 9], [2, 1, 2]]

    def in_range(low: int | None, high: int | None) -> list[tuple[int, int]]:
        found = []
        for batch in rows.sorted_batches(low, high, 2):
            assert len(batch) <= 2
            found += [(row["collection_id"], row["start_time"]) for row in batch.to_pylist()]
        return found

    assert in_range(None, None) == [(5, 0), (5, 600), (7, 0), (9, 0), (9, 300)]
    assert in_range(6, 9) == [(7, 0)]
    assert in_range(9, None) == [(9, 0), (9, 300)]
    assert in_range(10, None) == []


@pytest.mark.parametrize(
    ("parts", "places", "order"),
    [
        # In the order of their source: rows of one collection stay as they are.
        ([0, 0, 1, 1], [3, 8, 0, 1], [1, 3, 0, 2]),
        # In another: the source decides.
        ([1, 1, 0, 0], [0, 1, 3, 8], [3, 1, 2, 0]),
        ([0, 0, 0, 0], [9, 8, 7, 6], [3, 1, 2, 0]),
    ],
)
def test_rows_of_one_key_are_in_the_order_of_their_source(
    parts: list[int], places: list[int], order: list[int]
) -> None:
    rows = pa.table({"collection_id": [2, 1, 2, 1], "source_part": parts, "source_row": places})
    assert row_order(rows, ("collection_id", "source_part", "source_row")).tolist() == order
