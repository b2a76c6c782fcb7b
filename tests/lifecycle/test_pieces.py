"""Pieces of a large table hold every event once, and never part a life."""

from __future__ import annotations

import ibis
import pytest

from borgtrace.lifecycle.pieces import pieces


@pytest.mark.parametrize(
    ("ids", "size", "expected"),
    [
        (
            [1, 2, 3, 4, 5],
            2,
            [
                [1, 2],
                [3, 4],
                [5],
            ],
        ),
        (
            [5, 4, 3, 2, 1],
            1,
            [
                [1],
                [2],
                [3],
                [4],
                [5],
            ],
        ),
        ([7, 7, 7, 8, 9, 9], 2, [[7, 7, 7], [8, 9, 9]]),
        ([7, 8, 8, 9], 3, [[7, 8, 8], [9]]),
        ([7, 8, 8], 3, [[7, 8, 8]]),
        ([7], 9, [[7]]),
    ],
)
def test_a_piece_ends_with_the_life_that_fills_it(
    ids: list[int],
    size: int,
    expected: list[list[int]],
) -> None:
    cut = pieces(ibis.memtable({"collection_id": ids}), size)
    assert [sorted(piece.to_pyarrow()["collection_id"].to_pylist()) for piece in cut] == expected
