"""Pairs of what an experiment compares: their columns, their rows, and how they are drawn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from borgtrace.experiments.comparisons import Comparisons
from borgtrace.question import Column, Row, charts
from borgtrace.schema.types import Unit


def difference_columns(doc: str, unit: Unit) -> list[Column]:
    """Return the columns of a difference with its simultaneous interval.

    Parameters
    ----------
    doc, unit
        Of the difference.
    """
    end = "end of the simultaneous interval; NULL where too few blocks tell one."
    chance = "Adjusted p value: how often some pair looks so different if none is."
    return [
        Column("difference", "float64", unit, doc),
        Column("low", "float64", unit, f"Lower {end}", nullable=True),
        Column("high", "float64", unit, f"Upper {end}", nullable=True),
        Column("p", "float64", "fraction", chance, nullable=True),
        Column("is_shown", "bool", "1", "Whether the interval is above 0."),
    ]


class OrderedPair(NamedTuple):
    """Two estimates, the larger one first, and the columns of :func:`difference_columns`."""

    larger: int
    smaller: int
    columns: Row


def ordered_pair(pairs: Comparisons, place: int) -> OrderedPair:
    """Return a pair so that its difference is not negative.

    Parameters
    ----------
    pairs
        All of them.
    place
        Which one.
    """
    larger, smaller = int(pairs.first[place]), int(pairs.second[place])
    difference, low, high = (
        float(values[place]) for values in (pairs.difference, pairs.low, pairs.high)
    )
    if difference < 0:
        larger, smaller = smaller, larger
        difference, low, high = -difference, -high, -low
    is_known = bool(np.isfinite(low))
    columns: Row = {
        "difference": difference,
        "low": low if is_known else None,
        "high": high if is_known else None,
        "p": float(pairs.p[place]) if is_known else None,
        "is_shown": is_known and low > 0,
    }
    return OrderedPair(larger, smaller, columns)


def draw_pairs(rows: list[Row], title: str) -> charts.Chart:
    """Draw the difference of each pair with its interval, as layers; 0 is no difference.

    Parameters
    ----------
    rows
        With the columns of :func:`difference_columns`, and the name of each pair in ``pair``.
    title
        Of the axis.
    """
    import altair as alt

    base = charts.base(rows, height=None).encode(y=alt.Y("pair:N", title=None, sort="-x"))
    tooltip = charts.tooltips(rows, "pair", "difference", "low", "high", "p")
    points = base.mark_point(filled=True).encode(
        x=alt.X("difference:Q", title=title), tooltip=tooltip
    )
    intervals = base.mark_rule().encode(x=alt.X("low:Q"), x2="high:Q")
    zero = charts.base(rows, height=None).mark_rule(strokeDash=[5, 3]).encode(x=alt.datum(0))
    # Layers of one facet share their rows.
    return alt.layer(intervals, points, zero, data=intervals.data)
