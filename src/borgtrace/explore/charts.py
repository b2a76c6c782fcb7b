"""A chart of the explorer: one table, and how its columns are drawn."""

import io
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from borgtrace.engine.answer_text import LARGEST_EXACT
from borgtrace.engine.csv_text import write_csv


@dataclass(frozen=True, slots=True)
class DrawnSeries:
    """One column as it is drawn: ``style`` is ``stack``, ``line``, ``dash`` or ``band`` (to the column ``to``).

    ``color`` is one of the page's colors: of :mod:`borgtrace.question.colours`, or ``ink``, ``muted``.
    """

    column: str
    label: str
    style: str = "line"
    color: str = "c1"
    to: str = ""


@dataclass(frozen=True, slots=True)
class TimeChart:
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
    factor
        What makes the values of the table, which are fractions of the largest machine, those that are drawn.
    """

    table: pa.Table
    series: Sequence[DrawnSeries]
    title: str
    step: int = 0
    factor: float = 1.0

    def to_json(self) -> bytes:
        """Return what the page's script draws."""
        return to_json(
            {
                "title": self.title,
                "step": self.step,
                "factor": self.factor,
                "series": [asdict(series) for series in self.series],
                "columns": self.table.to_pydict(),
            }
        )


def to_json(value: Any) -> bytes:
    """Write JSON that a browser reads without loss: what is no number becomes null, large integers text.

    Examples
    --------
    >>> to_json({"a": [0.1234567891, float("nan")], "id": 2**60})
    b'{"a":[0.12345679,null],"id":"1152921504606846976"}'
    """
    plain = plain_value(value)
    return json.dumps(plain, separators=(",", ":"), ensure_ascii=False).encode()


def plain_value(value: Any) -> Any:
    """Return a value of which JSON loses nothing in a browser."""
    if isinstance(value, float):
        # Eight digits: single precision, which the traces have, and half the bytes.
        return float(f"{value:.8g}") if math.isfinite(value) else None
    if isinstance(value, int) and abs(value) > LARGEST_EXACT:
        return str(value)
    # Arrays hold small integers.
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        # Most of a hundred thousand values are as they should be: a call for each took most of an answer's time.
        return [item if item is None or type(item) is str else plain_value(item) for item in value]
    return value


def to_csv(table: pa.Table) -> bytes:
    """Write a table as CSV, lists as their JSON."""
    out = io.BytesIO()
    write_csv(table, out)
    return out.getvalue()
