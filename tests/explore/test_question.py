"""Answers in SQL: no more of them is computed than is shown."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from borgtrace.explore import question


class Stream:
    """Stands for the reader of an answer in batches: notes how many were read."""

    def __init__(self, sizes: list[int]) -> None:
        self.schema, self.sizes, self.read = pa.schema({"n": pa.int64()}), sizes, 0

    def __iter__(self) -> Any:
        for size in self.sizes:
            self.read += 1
            yield pa.RecordBatch.from_pydict({"n": pa.array(range(size), pa.int64())})


@pytest.mark.parametrize(
    ("sizes", "rows", "is_cut", "read"),
    [([3, 2], 5, False, 2), ([3, 2, 1, 1], 5, True, 3), ([3, 3, 1], 5, True, 2), ([], 0, False, 0)],
)
def test_of_an_answer_so_much_is_computed_as_is_shown(
    sizes: list[int], rows: int, is_cut: bool, read: int
) -> None:
    stream = Stream(sizes)
    explored = SimpleNamespace(store=SimpleNamespace(stream=lambda query, timeout: stream))
    table, found = question.first_rows(explored, "select", 5)  # type: ignore[arg-type]
    assert (table.num_rows, found, stream.read) == (rows, is_cut, read)
