"""The checks of a store, each on a few typed values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace.schema import TABLES
from borgtrace.store.layout import Layout, part_name
from borgtrace.store.verify import Check, _bits, _first_fault, _index, _order, _quarantine, as_error
from tests.store.typed import EMPTY, ENTRY, indexed


@pytest.mark.parametrize(
    ("a", "b", "fault"),
    [
        ([1, 1, 2], [1, 2, 0], None),
        ([1, 1, 2], [2, 2, 0], 1),  # equal
        ([1, 2, 1], [0, 0, 5], 2),
        ([1, 1, 1], [0, 2, 1], 2),
        ([2, 1, 0], [0, 1, 2], 1),  # the first fault
        ([7], [7], None),
    ],
)
def test_each_key_is_greater_than_the_one_before(
    a: list[int], b: list[int], fault: int | None
) -> None:
    assert _first_fault(pa.table({"a": a, "b": b})) == fault


def test_order_holds_across_files_and_the_row_that_breaks_it_is_named(tmp_path: Path) -> None:
    layout, table = Layout(tmp_path), TABLES["tasks"]
    layout.table("tasks").mkdir()

    def write(number: int, pairs: list[tuple[int, int]]) -> None:
        rows = pa.table(
            {"collection_id": [a for a, _ in pairs], "instance_index": [b for _, b in pairs]}
        )
        pq.write_table(rows, layout.table("tasks") / part_name(number), row_group_size=2)

    write(0, [(1, 0), (1, 1), (2, 0)])
    write(1, [(2, 1), (3, 0)])
    assert _order(table, layout) == (True, "sorted and unique by collection_id, instance_index")
    write(1, [(2, 0), (3, 0)])
    assert _order(table, layout) == (False, "row 0 of part-00001.parquet does not follow")
    write(1, [(2, 1), (3, 0), (3, 1), (3, 0)])
    assert _order(table, layout) == (False, "row 3 of part-00001.parquet does not follow")
    assert _order(TABLES["machine_events"], layout)[0]


def test_the_index_counts_all_rows_of_usage(tmp_path: Path) -> None:
    layout = indexed(tmp_path, [2, 0, 3])
    manifest = replace(EMPTY, tables={"instance_usage": 5})
    assert _index(manifest, layout) == (True, "5 windows of 3 tasks, 5 usage rows")
    assert _index(EMPTY, layout) == (False, "5 windows of 3 tasks, 0 usage rows")
    pq.write_table(
        pa.table({"first_row": [0, 1], "n_windows": [2, 3]}), layout.table("tasks") / part_name(0)
    )
    assert _index(manifest, layout)[0] is False


def test_refused_rows_are_kept_file_by_file(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    sources = tuple(
        replace(ENTRY, name=name, quarantined=n)
        for name, n in (("a", 2), ("b", 0), ("c", 3), ("d", 4), ("e", 5))
    )
    (layout.quarantine / "instance_usage").mkdir(parents=True)

    def keep(name: str, rows: int) -> None:
        pq.write_table(pa.table({"line": ["x"] * rows}), layout.refused("instance_usage", name))

    keep("a", 2)
    assert _quarantine(replace(EMPTY, sources=sources[:2]), layout) == (
        True,
        "2 rows refused, all kept",
    )
    keep("b", 1)
    # Three of four are named.
    assert _quarantine(replace(EMPTY, sources=sources), layout) == (
        False,
        "b: 1, the ledger says 0; c: 0, the ledger says 3; d: 0, the ledger says 4",
    )


def test_checks_that_fail_are_one_error(tmp_path: Path) -> None:
    checks = [
        Check("files", True, "fine"),
        Check("index", False, "no"),
        Check("arrays", False, "no"),
    ]
    assert as_error(tmp_path, checks[:1]) is None
    assert str(as_error(tmp_path, checks)) == (
        f"{tmp_path}: the store is damaged: got index, arrays; "
        f"build it again: borgtrace ingest SRC --store {tmp_path} --rebuild"
    )


def test_arrays_are_compared_bit_by_bit() -> None:
    plus, minus = (_bits(np.array([zero], np.float32)) for zero in (0.0, -0.0))
    assert (plus.tolist(), minus.tolist()) == ([0], [2**31])
