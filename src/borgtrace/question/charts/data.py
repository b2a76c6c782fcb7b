"""The rows of a chart: a result with a column more, columns turned into series, long curves thinned."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

Rows = list[dict[str, Any]]


def added(table: pa.Table, **columns: Callable[[dict[str, Any]], Any]) -> Rows:
    """Return the rows of a table with computed columns.

    Parameters
    ----------
    table
        A result.
    columns
        Names of new columns to functions of a row.

    Examples
    --------
    >>> added(pa.table({"n": [1], "of": [4]}), share=lambda row: row["n"] / row["of"])
    [{'n': 1, 'of': 4, 'share': 0.25}]
    """
    return [
        {**row, **{name: value(row) for name, value in columns.items()}}
        for row in table.to_pylist()
    ]


def melted(rows: Rows, columns: Mapping[str, str], value: str = "value") -> Rows:
    """Turn columns into rows (``series``, `value`); `columns` maps names to labels, NULLs are left out.

    Parameters
    ----------
    rows
        Rows of a chart.
    columns
        Columns that become rows, with the labels of their series.
    value
        Name of the column that takes the values.

    Examples
    --------
    >>> melted([{"hour": 0, "new": 3, "again": None}], {"new": "new tasks", "again": "resubmitted"})
    [{'hour': 0, 'series': 'new tasks', 'value': 3}]
    """
    return [
        {
            **{other: row[other] for other in row if other not in columns},
            "series": label,
            value: row[name],
        }
        for row in rows
        for name, label in columns.items()
        if row[name] is not None
    ]


def thinned(table: pa.Table, columns: Sequence[str], points: int = 1200) -> pa.Table:
    """Keep about `points` rows of a curve: of each part the ends, and the extremes of `columns`.

    Parameters
    ----------
    table
        A curve, in the order in which it is drawn.
    columns
        Columns whose extremes must stay visible.
    points
        How many rows may be left, about.

    Examples
    --------
    >>> curve = pa.table({"n": [0, 0, 9, 0, 0, 0, 0, -5, 0, 0, 0, 0]})
    >>> thinned(curve, ["n"], 8)["n"].to_pylist()
    [0, 9, 0, 0, -5, 0]
    """
    if table.num_rows <= points:
        return table
    keep = set()
    # Each part keeps two ends, and two extremes per column: so many parts make about `points` rows.
    for part in np.array_split(np.arange(table.num_rows), max(points // (2 + 2 * len(columns)), 1)):
        keep |= {int(part[0]), int(part[-1])}
        for column in columns:
            values = table[column].to_numpy().astype(float)[part]
            # nanargmin() refuses a part without any number.
            if not np.isnan(values).all():
                keep |= {int(part[np.nanargmin(values)]), int(part[np.nanargmax(values)])}
    return table.take(sorted(keep))
