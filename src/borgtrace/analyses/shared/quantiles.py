"""Quantiles and survival of values that come as counts: exact, and the same on every engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ibis.expr.types as ir
import numpy as np
import numpy.typing as npt

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.question import Tables

PERCENTS = (1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 80.0, 90.0, 95.0, 99.0, 99.9)
"""Percentiles that the questions report, beside the minimum (0) and the maximum (100)."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Values, shape (k,), and how often each occurs, shape (k,)."""

    values: Numbers
    n: Index

    def __len__(self) -> int:
        return int(self.n.sum())

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            np.concatenate([self.values, other.values]), np.concatenate([self.n, other.n])
        )

    def chosen(self, which: Flags) -> Counts:
        """Keep some of the values."""
        return Counts(self.values[which], self.n[which])

    def per(self, unit: float) -> Counts:
        """Divide the values: by 1e6 from µs to seconds."""
        return Counts(self.values / unit, self.n)

    def mean(self) -> float:
        """Return the mean; there must be values."""
        return float((self.values * self.n).sum() / self.n.sum())

    def variance(self) -> float:
        """Return the variance around the mean (ddof 0)."""
        return float((self.n * (self.values - self.mean()) ** 2).sum() / self.n.sum())

    def share_below(self, limit: float) -> float:
        """Return the share of values smaller than `limit`."""
        return float(self.n[self.values < limit].sum() / len(self))

    def quantiles(self, percents: Sequence[float]) -> list[float | None]:
        """Return one quantile per percent, None without values (see :func:`quantiles`)."""
        found = quantiles(self.values, self.n, percents)
        return [None if np.isnan(value) else float(value) for value in found]

    def around(self, percents: Sequence[float]) -> Numbers:
        """Return the values that the quantiles lie between (at most two per percent); there must be values."""
        low, high, _ = _neighbors(self.values, self.n, percents)
        return np.unique(np.concatenate([low, high]))

    def columns(self, prefix: str, percents: Sequence[float]) -> dict[str, float | None]:
        """Return the quantiles as columns: ``{prefix}50``, ``{prefix}99.9`` …"""
        return {
            f"{prefix}{p:g}": v for p, v in zip(percents, self.quantiles(percents), strict=True)
        }

    def rows(self, percents: Sequence[float], **more: Any) -> list[dict[str, Any]]:
        """Return the quantiles as rows: ``percent``, ``seconds``, and `more`, which is the same in each."""
        found = self.quantiles(percents)
        return [{"percent": p, "seconds": v, **more} for p, v in zip(percents, found, strict=True)]


NOTHING = Counts(np.zeros(0), np.zeros(0, np.int64))
"""No values."""
Groups = dict[tuple[str, ...], Counts]
"""Values and their counts, by group."""


def counts(rows: ir.Table, value: ir.Value, by: Sequence[str] = ()) -> ir.Table:
    """Return ``(*by, value, n)``: how often each value occurs; NULLs are left out.

    Parameters
    ----------
    rows
        A table.
    value
        Expression over it.
    by
        Columns that make groups.
    """
    valued = rows.mutate(value=value)
    return (
        valued.filter(valued.value.notnull())
        .group_by([*by, "value"])
        .aggregate(n=lambda t: t.count())
    )


def quantiles(values: Numbers, n: Index, percents: Sequence[float]) -> Numbers:
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
    low, high, fraction = _neighbors(values, n, percents)
    # Linear, numpy's default, so that the quantiles are those of the values written out.
    return np.asarray(low + (high - low) * fraction)


def _neighbors(
    values: Numbers, n: Index, percents: Sequence[float]
) -> tuple[Numbers, Numbers, Numbers]:
    """Return the order statistics below and above each quantile, and how far it lies from the one to the other."""
    order = np.argsort(values, kind="stable")
    ordered, upto = values[order], np.cumsum(n[order])
    place = (upto[-1] - 1) * np.asarray(percents, float) / 100.0
    low = ordered[np.searchsorted(upto, np.floor(place), side="right")]
    high = ordered[np.searchsorted(upto, np.ceil(place), side="right")]
    return low, high, place - np.floor(place)


def fetch_counts(
    tables: Tables,
    rows: ir.Table,
    value: ir.Value,
    stage: str,
    by: Sequence[str] = (),
    *,
    per: float = 1.0,
) -> Groups:
    """Count how often each value occurs, in each group.

    Groups and values are sorted: an engine returns rows in any order, and sums of floats depend on it.

    Parameters
    ----------
    rows, value
        A table and an expression over it; whole numbers, NULLs are left out.
    stage
        Name of the relational stage.
    by
        Columns that make the groups.
    per
        What the values are divided by: 1e6 turns µs into seconds.
    """
    # Counted by the engine: millions of attempts have few distinct values, and these fit into memory.
    table = tables.fetch(counts(rows, value, by), stage).sort_by("value")
    values = table["value"].to_numpy().astype(np.float64) / per
    n = table["n"].to_numpy().astype(np.int64)
    code = np.zeros(table.num_rows, np.int64)
    for name in by:
        # NULL is a group of its own, which Arrow would leave without a code otherwise.
        encoded = table[name].combine_chunks().dictionary_encode(null_encoding="encode")
        code = code * max(len(encoded.dictionary), 1) + encoded.indices.to_numpy()
    # Each group is one number in mixed radix; a stable sort keeps the values of a group in order.
    order = np.argsort(code, kind="stable")
    _, starts = np.unique(code[order], return_index=True)
    names = table.select(list(by)).take(order[starts]).to_pylist()
    places = np.split(order, starts[1:]) if table.num_rows else []
    found = (
        {tuple(row.values()): place for row, place in zip(names, places, strict=True)}
        if by
        else {(): order}
    )
    return {
        group: Counts(values[found[group]], n[found[group]])
        for group in sorted(found)
        if len(found[group])
    }


def fetch_refined(
    tables: Tables,
    rows: ir.Table,
    value: ir.IntegerColumn,
    stage: str,
    percents: Sequence[float],
    *,
    width: int,
) -> Counts:
    """Count values to within `width`, and exactly where quantiles lie: these are exact, and little is read.

    Parameters
    ----------
    rows, value
        A table and a column of it; whole numbers, NULLs are left out.
    stage
        Name of the relational stage.
    percents
        Percentiles that will be asked for, 0 to 100.
    width
        How close values are counted as one.
    """
    coarse = (value // width).cast("int64")
    found = fetch_counts(tables, rows, coarse, stage).get((), NOTHING)
    if not len(found):
        return NOTHING
    bins = found.around(percents).astype(np.int64)
    exact = fetch_counts(
        tables, rows.filter(coarse.isin(bins.tolist())), value, f"{stage}_at_quantiles"
    )[()]
    others = found.chosen(~np.isin(found.values, bins))
    return Counts(others.values * width, others.n) + exact


def kaplan_meier(
    ended: Counts, censored: Counts
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the Kaplan–Meier estimate of the share that has ended after each time at which something ends.

    Parameters
    ----------
    ended, censored
        Durations of what ended, and of what was still there when last seen (at a tie, it is taken to last
        longer).

    Returns
    -------
    tuple of two arrays of shape (k,)
        The distinct times of ends, ascending, and the share that has ended by each.

    Examples
    --------
    Of four, one ends after 1 s; one is lost sight of after 2 s; one of the other two ends after 3 s:

    >>> ended = Counts(np.array([1.0, 3.0]), np.array([1, 1]))
    >>> times, share = kaplan_meier(ended, Counts(np.array([2.0, 9.0]), np.array([1, 1])))
    >>> times.tolist(), share.tolist()
    ([1.0, 3.0], [0.25, 0.625])
    """
    # The same time may stand there more than once: groups that were added up keep their rows.
    times, place = np.unique(ended.values, return_inverse=True)
    deaths = np.bincount(place, weights=ended.n, minlength=len(times))
    order = np.argsort(censored.values, kind="stable")
    left = np.concatenate([[0], np.cumsum(censored.n[order])])
    # "left": what is censored at the time of an end is still at risk there.
    gone_before = left[np.searchsorted(censored.values[order], times, side="left")]
    died_before = np.cumsum(deaths) - deaths
    at_risk = deaths.sum() + left[-1] - died_before - gone_before
    return times, 1.0 - np.cumprod(1.0 - deaths / at_risk)
