"""Answers in SQL: no more of them is computed than is shown."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from borgtrace.explore.sql_box import take_rows

SCHEMA = pa.schema({"n": pa.int64()})


@pytest.mark.parametrize(
    ("sizes", "rows", "is_cut", "n_read"),
    [
        ([3, 2], 5, False, 2),
        ([3, 2, 1, 1], 5, True, 3),
        ([3, 3, 1], 5, True, 2),
        ([], 0, False, 0),
    ],
)
def test_of_an_answer_so_much_is_computed_as_is_shown(
    sizes: list[int],
    rows: int,
    is_cut: bool,
    n_read: int,
) -> None:
    read: list[int] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for size in sizes:
            read.append(size)
            yield pa.RecordBatch.from_pydict({"n": list(range(size))}, SCHEMA)

    first_rows = take_rows(pa.RecordBatchReader.from_batches(SCHEMA, batches()), 5)
    assert first_rows.table.num_rows == rows
    assert first_rows.is_cut == is_cut
    assert len(read) == n_read
