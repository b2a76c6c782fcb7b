"""What a chart of the explorer is made of: one table, and how its columns are drawn.  Its data is that table."""

import io
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

_EXACT = 2**53
"""Largest integer that a browser keeps: above it, ids become text."""


@dataclass(frozen=True, slots=True)
class Series:
    """One column as it is drawn: ``style`` is ``stack``, ``line``, ``dash`` or ``band`` (to the column ``to``).

    ``color`` is one of the page's colors, ``c1`` to ``c8``, or ``ink``, ``muted``.
    """

    column: str
    label: str
    style: str = "line"
    color: str = "c1"
    to: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """Values over time.

    Parameters
    ----------
    table
        ``time`` (start of a step, µs of the trace) and the columns of the series; NULL where nothing is known.
    series
        What is drawn, from back to front.
    title
        Heading, with the unit.
    step
        Length of a step, µs; 0 where rows are instants.
    """

    table: pa.Table
    series: Sequence[Series]
    title: str
    step: int = 0

    def to_json(self) -> bytes:
        """Return what the page's script draws."""
        head = {
            "title": self.title,
            "step": self.step,
            "series": [asdict(one) for one in self.series],
        }
        return to_json({**head, "columns": self.table.to_pydict()})


def to_json(value: Any) -> bytes:
    """Write JSON that a browser reads without loss: what is no number becomes null, large integers text.

    Examples
    --------
    >>> to_json({"a": [0.1234567891, float("nan")], "id": 2**60})
    b'{"a":[0.12345679,null],"id":"1152921504606846976"}'
    """
    return json.dumps(_plain(value), separators=(",", ":"), ensure_ascii=False).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        # Eight digits: single precision, which the traces have, and half the bytes.
        return float(f"{value:.8g}") if math.isfinite(value) else None
    if isinstance(value, int) and abs(value) > _EXACT:
        return str(value)
    if isinstance(value, np.ndarray):  # of integers, which are few enough digits as they are
        return value.tolist()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        # Most of a hundred thousand values are as they should be: a call for each took most of an answer's time.
        return [item if item is None or type(item) is str else _plain(item) for item in value]
    return value


def to_csv(table: pa.Table) -> bytes:
    """Write a table as CSV, lists as their JSON."""
    out = io.BytesIO()
    columns = {
        name: pa.array([json.dumps(item) for item in column.to_pylist()])
        if pa.types.is_nested(column.type)
        else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    pyarrow.csv.write_csv(pa.table(columns), out)
    return out.getvalue()
