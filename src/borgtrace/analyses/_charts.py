"""What the charts of several questions share: sizes, colours of tiers, small transforms."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

TIER_COLOURS = {
    "free": "#88a",
    "beb": "#4c9be8",
    "other": "#4c9be8",
    "mid": "#2ca58d",
    "production": "#e4572e",
    "monitoring": "#7a4fb5",
    "unknown": "#bbb",
    "all": "#222",
}
"""One colour per tier in every chart."""
WIDTH, HEIGHT = 420, 240
SPOKEN = {
    "cpu": "CPU",
    "cpu percent": "percent of the machine's CPU in use",
    "tasks": "tasks on the machine",
    "cpi": "cycles per instruction",
    "mai": "memory accesses per instruction",
    "logical_name": "logical name",
    "second": "one second",
    "window": "window of 300 s",
    "max_per_machine": "per machine",
    "max_per_switch": "per switch",
    "different_machine": "different machines",
}
"""What codes of a result are called on charts."""
_SAY = f"{json.dumps(SPOKEN)}[(datum.label)] || (datum.label)"
_DECADES = [digit * 10.0**power for power in range(-6, 10) for digit in (1, 2, 5)]
_DURATIONS = [0, 1e-6, 1e-5, 1e-4, 0.001, 0.01, 0.1, 1, 10, 60, 600, 3600, 36_000, 86_400, 864_000]


def log_axis(least: float = 0.0) -> Any:
    """Return an axis for a logarithmic scale: 0, and a line at 1, 2 and 5 of each decade from `least` on."""
    import altair as alt

    return alt.Axis(values=[0, *(tick for tick in _DECADES if tick >= least)], format=",~r")


def count_axis() -> Any:
    """Return an axis for counts on a symmetric logarithmic scale: whole numbers only."""
    return log_axis(1.0)


def duration_axis() -> Any:
    """Return an axis for seconds on a logarithmic scale, labelled in seconds, minutes, hours and days."""
    import altair as alt

    said = (
        "datum.value < 60 ? format(datum.value, '~r') + ' s' : datum.value < 3600 ? datum.value / 60 + ' min' : "
        "datum.value < 86400 ? datum.value / 3600 + ' h' : datum.value / 86400 + ' d'"
    )
    return alt.Axis(values=_DURATIONS, labelExpr=said)


def spoken_header(**how: Any) -> Any:
    """Return the header of facets that say what their codes mean."""
    import altair as alt

    return alt.Header(labelExpr=_SAY, **how)


def spoken_legend() -> Any:
    """Return a legend that says what its codes mean."""
    import altair as alt

    return alt.Legend(labelExpr=_SAY)


def thinned(table: pa.Table, columns: Sequence[str], points: int = 1200) -> pa.Table:
    """Keep about `points` rows of a curve: of each stretch the ends, and the extremes of `columns`.

    Examples
    --------
    >>> curve = pa.table({"n": [0, 0, 9, 0, 0, 0, 0, -5, 0, 0, 0, 0]})
    >>> thinned(curve, ["n"], 8)["n"].to_pylist()
    [0, 9, 0, 0, -5, 0]
    """
    if table.num_rows <= points:
        return table
    keep = set()
    for stretch in np.array_split(np.arange(table.num_rows), max(points // (2 + 2 * len(columns)), 1)):
        keep |= {int(stretch[0]), int(stretch[-1])}
        for column in columns:
            values = table[column].to_numpy().astype(float)[stretch]
            if not np.isnan(values).all():
                keep |= {int(stretch[np.nanargmin(values)]), int(stretch[np.nanargmax(values)])}
    return table.take(sorted(keep))


def rows(table: pa.Table) -> Any:
    """Return a result as Altair data."""
    import altair as alt

    return alt.Data(values=table.to_pylist())


def tier_colour(tiers: list[str]) -> Any:
    """Return the colour encoding of the column ``tier`` for the tiers that occur."""
    import altair as alt

    known = [name for name in TIER_COLOURS if name in set(tiers)]
    scale = alt.Scale(domain=known, range=[TIER_COLOURS[name] for name in known])
    return alt.Color("tier:N", scale=scale, title="tier")


def long(table: pa.Table, keep: list[str], columns: dict[str, str], value: str = "value") -> Any:
    """Turn columns into rows (``series``, `value`) as Altair data; `columns` maps names to labels."""
    import altair as alt

    values = [
        {**{name: row[name] for name in keep}, "series": label, value: row[name_]}
        for row in table.to_pylist()
        for name_, label in columns.items()
        if row[name_] is not None
    ]
    return alt.Data(values=values)
