"""Rows of a query: as a table that is cut, and as CSV and JSON of what these cannot hold as it is."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest

from borgtrace.cli.query_rows import print_table, write_rows


@pytest.mark.parametrize(
    ("format", "expected"),
    [
        ("csv", '"x","list","day"\n0.1,"[0.1, null]",1970-01-01\nnan,,\n'),
        (
            "json",
            '{"x": 0.1, "list": [0.1, null], "day": "1970-01-01"}\n'
            '{"x": null, "list": null, "day": null}\n',
        ),
    ],
)
def test_rows_that_csv_and_json_cannot_hold_as_they_are(format: str, expected: str) -> None:
    table = pa.table(
        {
            "x": pa.array([0.1, float("nan")], pa.float32()),
            "list": pa.array([[0.1, None], None], pa.list_(pa.float32())),
            "day": pa.array([0, None], pa.date32()),
        }
    )
    out = io.BytesIO()
    write_rows(table.to_reader(), format, out)
    assert out.getvalue().decode() == expected


def test_a_table_says_that_there_are_more_rows(capsys: pytest.CaptureFixture[str]) -> None:
    table = pa.table(
        {
            "n": [1, 2, 3],
            "name": ["a", None, "c"],
            "x": [
                1 / 3,
                2.0,
                3.0,
            ],
        }
    )
    print_table(table.to_reader(max_chunksize=2), 2)
    out, err = capsys.readouterr()
    assert [line.rstrip() for line in out.splitlines()] == [
        "n  name               x",
        "1  a     0.333333333333",
        "2  NULL               2",
    ]
    assert err == "first 2 rows; --rows N shows more, --format csv all\n"
    print_table(table.to_reader(), 3)
    assert capsys.readouterr().err == ""
