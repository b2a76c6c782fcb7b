"""How values are written: in cells that lead somewhere, as text, as JSON and CSV."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from borgtrace.explore.charts import to_csv, to_json
from borgtrace.explore.rows import LinkedText, page_table
from borgtrace.explore.rows import text as text_of
from borgtrace.schema.time import AFTER_TRACE


def test_cells_lead_to_what_they_stand_for() -> None:
    table = pa.table(
        {
            "collection_id": [100, None],
            "instance_index": [3, None],
            "machine_id": [12_345, None],
            "user": ["a b", None],
            "priority": [9, None],
            "first_time": [3_600_000_000, None],
            "n_jobs": [20_000, None],
            "share": [0.123456789, None],
            "is_up": [True, None],
        }
    )
    shown = page_table(table, {"n_jobs": "/jobs?name={user}"})
    assert shown.columns == tuple(table.column_names)
    assert shown.is_number == (True, True, True, False, True, True, True, True, False)
    first, second = shown.rows
    assert [(cell.text, cell.href) for cell in first] == [
        ("100", "/job/100"),
        ("3", "/task/100/3"),
        ("12345", "/machine/12345"),
        ("a b", "/jobs?user=a%20b"),
        ("9", "/jobs?priority=9"),
        ("1.0000 h", None),
        ("20,000", "/jobs?name=a%20b"),
        ("0.123457", None),
        ("True", None),
    ]
    assert {(cell.text, cell.href) for cell in second} == {("–", None), ("–", "/jobs?name=")}
    # An index alone is of no task.
    assert page_table(pa.table({"instance_index": [3]})).rows == ((LinkedText("3"),),)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("time", 0, "before the trace"),
        ("end_time", AFTER_TRACE, "after the trace"),
        ("time", 1.5, "1.5"),
        ("scheduling_class", 12_345, "12345"),
        ("n", 12_345, "12,345"),
        ("n", None, "–"),
        ("n", False, "False"),
        ("name", "x", "x"),
    ],
)
def test_values_are_written_by_their_name(name: str, value: Any, text: str) -> None:
    assert text_of(name, value) == text


def test_json_for_a_browser_loses_nothing() -> None:
    value = {
        "kept": 2**53,
        "large": 2**53 + 1,
        "negative": -(2**53) - 1,
        "infinite": float("inf"),
        "float": 0.1234567891,
        "yes": True,
        "list": [
            None,
            "a",
            1.5,
            2**60,
        ],
        "array": np.array([1, 2]),
    }
    assert to_json(value) == (
        b'{"kept":9007199254740992,"large":"9007199254740993","negative":"-9007199254740993",'
        b'"infinite":null,"float":0.12345679,"yes":true,"list":[null,"a",1.5,"1152921504606846976"],"array":[1,2]}'
    )
    assert to_csv(pa.table({"n": [1], "list": [[1, 2]]})) == b'"n","list"\n1,"[1, 2]"\n'


def test_json_is_utf_8() -> None:
    assert to_json({"name": "µ"}) == b'{"name":"\xc2\xb5"}'
