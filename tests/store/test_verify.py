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
from borgtrace.store.store_checks import (
    check_index,
    check_order,
    check_quarantine,
    first_unsorted_row,
    have_equal_bits,
)
from borgtrace.store.verify import CheckResult, as_error
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
    assert first_unsorted_row(pa.table({"a": a, "b": b})) == fault


def test_order_holds_across_files_and_the_row_that_breaks_it_is_named(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    table = TABLES["tasks"]
    layout.table("tasks").mkdir()

    def write(number: int, pairs: list[tuple[int, int]]) -> None:
        collections, instances = zip(*pairs, strict=True)
        rows = pa.table({"collection_id": collections, "instance_index": instances})
        pq.write_table(rows, layout.table("tasks") / part_name(number), row_group_size=2)

    write(
        0,
        [
            (1, 0),
            (1, 1),
            (2, 0),
        ],
    )
    write(1, [(2, 1), (3, 0)])
    assert check_order(table, layout) == (
        True,
        "sorted and unique by collection_id, instance_index",
    )
    write(1, [(2, 0), (3, 0)])
    assert check_order(table, layout) == (False, "row 0 of part-00001.parquet does not follow")
    write(
        1,
        [
            (2, 1),
            (3, 0),
            (3, 1),
            (3, 0),
        ],
    )
    assert check_order(table, layout) == (False, "row 3 of part-00001.parquet does not follow")
    assert check_order(TABLES["machine_events"], layout)[0]


def test_the_index_counts_all_rows_of_usage(tmp_path: Path) -> None:
    layout = indexed(tmp_path, [2, 0, 3])
    manifest = replace(EMPTY, tables={"instance_usage": 5})
    assert check_index(manifest, layout) == (True, "5 windows of 3 tasks, 5 usage rows")
    assert check_index(EMPTY, layout) == (False, "5 windows of 3 tasks, 0 usage rows")
    overlapping = pa.table({"first_row": [0, 1], "n_windows": [2, 3]})
    pq.write_table(overlapping, layout.table("tasks") / part_name(0))
    assert check_index(manifest, layout)[0] is False


def test_refused_rows_are_kept_file_by_file(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    refused = {
        "a": 2,
        "b": 0,
        "c": 3,
        "d": 4,
        "e": 5,
    }
    sources = tuple(replace(ENTRY, name=name, quarantined=n) for name, n in refused.items())
    (layout.quarantine / "instance_usage").mkdir(parents=True)

    def keep(name: str, rows: int) -> None:
        pq.write_table(pa.table({"line": ["x"] * rows}), layout.refused("instance_usage", name))

    keep("a", 2)
    assert check_quarantine(replace(EMPTY, sources=sources[:2]), layout) == (
        True,
        "2 rows refused, all kept",
    )
    keep("b", 1)
    # Three of four are named.
    assert check_quarantine(replace(EMPTY, sources=sources), layout) == (
        False,
        "b: 1, the ledger says 0; c: 0, the ledger says 3; d: 0, the ledger says 4",
    )


def test_checks_that_fail_are_one_error(tmp_path: Path) -> None:
    checks = [
        CheckResult("files", True, "fine"),
        CheckResult("index", False, "no"),
        CheckResult("arrays", False, "no"),
    ]
    assert as_error(tmp_path, checks[:1]) is None
    assert str(as_error(tmp_path, checks)) == (
        f"{tmp_path}: the store is damaged: got index, arrays; "
        f"build it again: borgtrace ingest SRC --store {tmp_path} --rebuild"
    )


def test_arrays_are_compared_bit_by_bit() -> None:
    zero = np.array([0.0], np.float32)
    missing = np.array([np.nan], np.float32)
    assert have_equal_bits(zero, zero)
    assert not have_equal_bits(zero, -zero)
    assert have_equal_bits(missing, missing)
