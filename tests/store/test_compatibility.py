"""Versions of stores, and the columns that older ones lack."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace.errors import StoreError
from borgtrace.schema import TABLES
from borgtrace.schema.arrow import arrow_schema
from borgtrace.store.compatibility import is_newer, lacking_columns
from borgtrace.store.layout import Layout, part_name


def test_a_later_minor_version_is_newer() -> None:
    assert [is_newer(version) for version in ("1", "1.0", "1.1", "1.2", "1.10")] == [
        False,
        False,
        False,
        True,
        True,
    ]


def test_what_a_store_lacks_is_told_by_the_first_file_of_each_table(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    for name in ("machine_events", "machine_attributes", "tasks"):
        layout.table(name).mkdir()
    (layout.table("machine_events") / part_name(0)).write_bytes(b"damaged")  # for `verify` to tell
    table = TABLES["machine_attributes"]
    whole = arrow_schema(table).empty_table()
    pq.write_table(whole.drop_columns(["value"]), layout.table(table.name) / part_name(0))
    pq.write_table(whole.drop_columns(["time"]), layout.table(table.name) / part_name(1))
    assert lacking_columns(layout, "another", "1.1") == ("machine_attributes.value",)
    wrong = pa.table({name: pa.array([], pa.bool_()) for name in ("v", "w", "x", "y")})
    pq.write_table(wrong, layout.table("tasks") / part_name(0))
    with pytest.raises(StoreError) as caught:
        lacking_columns(layout, "another", "1.1")
    # Three of them are enough.
    assert str(caught.value).count("; ") == 3


def test_a_damaged_part_hides_no_other_table(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    damaged, other = list(TABLES)[:2]
    for name in (damaged, other):
        layout.table(name).mkdir()
    (layout.table(damaged) / part_name(0)).write_text("damage")
    pq.write_table(pa.table({"a": [1]}), layout.table(other) / part_name(0))
    with pytest.raises(StoreError, match=f"{other}.time is missing"):
        lacking_columns(layout, "another", "1.1")
