"""Quantiles of values that come as counts: exact, and the same on every engine."""

from __future__ import annotations

from collections.abc import Sequence

import ibis.expr.types as ir
import numpy as np
import numpy.typing as npt

from borgtrace.recipe import Tables

PERCENTS = (1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 80.0, 90.0, 95.0, 99.0, 99.9)
"""Percentiles that the questions report, beside the minimum (0) and the maximum (100)."""


def counts(rows: ir.Table, value: ir.Value, by: Sequence[str] = ()) -> ir.Table:
    """Return ``(*by, value, n)``: how often each value occurs; NULLs are left out."""
    valued = rows.mutate(value=value)
    return valued.filter(valued.value.notnull()).group_by([*by, "value"]).aggregate(n=lambda t: t.count())


def quantiles(
    values: npt.NDArray[np.float64], n: npt.NDArray[np.int64], percents: Sequence[float]
) -> npt.NDArray[np.float64]:
    """Return quantiles of `values` that occur `n` times each, interpolated between order statistics.

    Parameters
    ----------
    values
        Values in any order, shape (k,).
    n
        How often each occurs, shape (k,).
    percents
        Wanted percentiles, 0 to 100.

    Returns
    -------
    ndarray
        One value per percent, NaN without values; equal to ``numpy.percentile`` of the values written out.

    Examples
    --------
    >>> quantiles(np.array([3.0, 1.0]), np.array([1, 3]), [0, 50, 90]).round(9).tolist()
    [1.0, 1.0, 2.4]
    """
    if not len(values):
        return np.full(len(percents), np.nan)
    order = np.argsort(values, kind="stable")
    ordered, upto = values[order], np.cumsum(n[order])
    place = (upto[-1] - 1) * np.asarray(percents, float) / 100.0
    low = ordered[np.searchsorted(upto, np.floor(place), side="right")]
    high = ordered[np.searchsorted(upto, np.ceil(place), side="right")]
    return np.asarray(low + (high - low) * (place - np.floor(place)))


def fetch_counts(tables: Tables, expr: ir.Table, by: Sequence[str], stage: str) -> Groups:
    """Fetch the counts of :func:`counts` and split them by their groups.

    Groups and values are sorted: an engine returns rows in any order, and sums of floats depend on it.
    """
    table = tables.fetch(expr, stage).sort_by("value")
    values = table["value"].to_numpy().astype(np.float64)
    n = table["n"].to_numpy().astype(np.int64)
    code = np.zeros(table.num_rows, np.int64)
    for name in by:
        encoded = table[name].combine_chunks().dictionary_encode(null_encoding="encode")
        code = code * max(len(encoded.dictionary), 1) + encoded.indices.to_numpy()
    order = np.argsort(code, kind="stable")
    _, starts = np.unique(code[order], return_index=True)
    names = table.select(list(by)).take(order[starts]).to_pylist()
    places = np.split(order, starts[1:]) if table.num_rows else []
    found = {tuple(row.values()): place for row, place in zip(names, places, strict=True)} if by else {(): order}
    return {group: (values[found[group]], n[found[group]]) for group in sorted(found) if len(found[group])}


Groups = dict[tuple[str, ...], tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]]
"""Values and their counts, by group."""
