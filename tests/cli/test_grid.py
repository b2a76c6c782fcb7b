"""Tables on a terminal: how wide columns are, which are left out, how cells are written."""

from __future__ import annotations

import pytest

from borgtrace.cli.grid import TextColumn, fitted, print_grid


@pytest.mark.parametrize(
    ("column", "whole", "least"),
    [
        (TextColumn("n", ["x" * 20]), 20, 16),
        (TextColumn("n", ["x" * 9]), 9, 9),
        (TextColumn("n", ["x" * 9, "x"]), 9, 9),
        (TextColumn("n", ["x", "x" * 30]), 30, 16),
        # A number is never cut, a heading is.
        (TextColumn("n", ["1" * 20], is_number=True), 20, 20),
        (TextColumn("n" * 30, ["1"], is_number=True), 30, 16),
        (TextColumn("n" * 9, []), 9, 9),
    ],
)
def test_how_narrow_a_column_may_be(column: TextColumn, whole: int, least: int) -> None:
    assert (column.whole, column.least) == (whole, least)


@pytest.mark.parametrize(
    ("sizes", "width", "shown"),
    [
        # Two columns of 10 and the gap are 22.
        ((10, 10), 22, [(0, 10), (1, 10)]),
        ((50, 50), 34, [(0, 16), (1, 16)]),
        ((50, 50), 33, [(0, 30), (None, 1)]),
        (
            (50, 50, 50, 50),
            56,
            [
                (0, 17),
                (1, 16),
                (None, 1),
                (3, 16),
            ],
        ),
        # Up to 40 from left to right, then what is left.
        ((60, 60), 112, [(0, 60), (1, 50)]),
        ((60, 60), 90, [(0, 48), (1, 40)]),
        ((), 80, []),
    ],
)
def test_columns_share_a_line(
    sizes: tuple[int], width: int, shown: list[tuple[int | None, int]]
) -> None:
    assert fitted([TextColumn("n", ["x" * size]) for size in sizes], width) == shown


def test_a_table_has_no_blank_lines_and_two_blanks_between_columns(
    capsys: pytest.CaptureFixture[str],
) -> None:
    columns = [
        TextColumn("name", ["a", "bcdef"]),
        TextColumn("n", ["1", "23"], is_number=True),
    ]
    assert print_grid(columns) == ["name", "n"]
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        "name    n",
        "a       1",
        "bcdef  23",
    ]
