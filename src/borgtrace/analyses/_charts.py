"""What the charts of several questions share: sizes, colours of tiers, small transforms."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

TIER_COLOURS = {
    "free": "#88a", "beb": "#4c9be8", "other": "#4c9be8", "mid": "#2ca58d",
    "production": "#e4572e", "monitoring": "#7a4fb5", "unknown": "#bbb", "all": "#222",
}  # fmt: skip
"""One colour per tier in every chart."""
WIDTH, HEIGHT = 420, 240


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
