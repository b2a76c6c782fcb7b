"""Quantiles and survival of counted values: exact, and the same on every engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import ibis.expr.types as ir
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.question import Tables

PERCENTS = (1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 80.0, 90.0, 95.0, 99.0, 99.9)
"""Percentiles that the questions report, beside the minimum (0) and the maximum (100)."""
Curve = Literal["few", "full"]
"""At how many percentiles a distribution is reported: at the dozen of a table, or at every tenth of a percent."""
TENTHS = tuple(tenth / 10 for tenth in range(1001))


@dataclass(frozen=True, slots=True)
class Counts:
    """Values, shape (k,), and how often each occurs, shape (k,); the length is the number of all occurrences."""

    values: Numbers
    n: Index

    def __len__(self) -> int:
        return int(self.n.sum())

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            values=np.concatenate([self.values, other.values]),
            n=np.concatenate([self.n, other.n]),
        )

    def where(self, condition: Flags) -> Counts:
        """Keep the values that meet a condition, shape (k,)."""
        return Counts(self.values[condition], self.n[condition])

    def per(self, unit: float) -> Counts:
        """Divide the values: by 1e6 from µs to seconds."""
        return Counts(self.values / unit, self.n)

    def mean(self) -> float:
        """Return the mean; there must be values."""
        return float((self.values * self.n).sum() / self.n.sum())

    def variance(self) -> float:
        """Return the variance around the mean (ddof 0)."""
        squared_deviations = (self.values - self.mean()) ** 2
        return float((self.n * squared_deviations).sum() / self.n.sum())

    def share_below(self, limit: float) -> float:
        """Return the share of values smaller than `limit`."""
        return float(self.n[self.values < limit].sum() / len(self))

    def quantiles(self, percents: Sequence[float]) -> list[float | None]:
        """Return one quantile per percent, None without values (see :func:`quantiles`)."""
        values = quantiles(self.values, self.n, percents)
        return [None if np.isnan(value) else float(value) for value in values]

    def around(self, percents: Sequence[float]) -> Numbers:
        """Return the values that the quantiles lie between (at most two per percent); there must be values."""
        neighbors = neighbors_of_quantiles(self.values, self.n, percents)
        return np.unique(np.concatenate([neighbors.below, neighbors.above]))

    def columns(self, prefix: str, percents: Sequence[float]) -> dict[str, float | None]:
        """Return the quantiles as columns: ``{prefix}50``, ``{prefix}99.9`` …"""
        values = self.quantiles(percents)
        return {
            f"{prefix}{percent:g}": value for percent, value in zip(percents, values, strict=True)
        }

    def rows(self, percents: Sequence[float], **constants: Any) -> list[dict[str, Any]]:
        """Return the quantiles as rows: ``percent``, ``seconds``, and `constants`, the same in each row."""
        values = self.quantiles(percents)
        return [
            {"percent": percent, "seconds": value, **constants}
            for percent, value in zip(percents, values, strict=True)
        ]


def percents_of_curve(percents: Sequence[float], curve: Curve) -> tuple[float, ...]:
    """Return the percentiles at which a distribution is reported.

    Parameters
    ----------
    percents
        Those of the table.
    curve
        ``"full"`` adds every tenth of a percent, for a curve without visible steps.

    Examples
    --------
    >>> percents_of_curve((50.0, 99.95), "few"), len(percents_of_curve((50.0, 99.95), "full"))
    ((50.0, 99.95), 1002)
    """
    if curve == "few":
        return tuple(percents)
    return tuple(sorted({*percents, *TENTHS}))


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
    with_value = rows.mutate(value=value)
    known = with_value.filter(with_value.value.notnull())
    return known.group_by([*by, "value"]).aggregate(n=known.count())


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
    neighbors = neighbors_of_quantiles(values, n, percents)
    # Linear, numpy's default, so that the quantiles are those of the values written out.
    return np.asarray(neighbors.below + (neighbors.above - neighbors.below) * neighbors.fraction)


class Neighbors(NamedTuple):
    """Order statistics next to each of k quantiles, shape (k,) each."""

    below: Numbers
    above: Numbers
    fraction: Numbers
    """How far the quantile lies from the one to the other, 0 to 1."""


def neighbors_of_quantiles(values: Numbers, n: Index, percents: Sequence[float]) -> Neighbors:
    """Return the order statistics below and above each quantile; there must be values."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    n_so_far = np.cumsum(n[order])
    position = (n_so_far[-1] - 1) * np.asarray(percents, float) / 100.0
    return Neighbors(
        below=ordered[np.searchsorted(n_so_far, np.floor(position), side="right")],
        above=ordered[np.searchsorted(n_so_far, np.ceil(position), side="right")],
        fraction=position - np.floor(position),
    )


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
    rows_of_groups = rows_by_group(table, by)
    return {
        group: Counts(values[rows_of_groups[group]], n[rows_of_groups[group]])
        for group in sorted(rows_of_groups)
    }


def rows_by_group(table: pa.Table, by: Sequence[str]) -> dict[tuple[str, ...], Index]:
    """Return the numbers of the rows of each group, ascending; a group is the values of the columns `by`."""
    if not table.num_rows:
        return {}
    if not by:
        return {(): np.arange(table.num_rows)}
    # Each group is one number in mixed radix.
    group_numbers = np.zeros(table.num_rows, np.int64)
    for name in by:
        # NULL is a group of its own, which Arrow would leave without a code otherwise.
        encoded = table[name].combine_chunks().dictionary_encode(null_encoding="encode")
        codes = encoded.indices.to_numpy()
        group_numbers = group_numbers * max(len(encoded.dictionary), 1) + codes
    # A stable sort keeps the rows of a group in order.
    order = np.argsort(group_numbers, kind="stable")
    _, starts = np.unique(group_numbers[order], return_index=True)
    first_rows = table.select(list(by)).take(order[starts]).to_pylist()
    groups = [tuple(row.values()) for row in first_rows]
    return dict(zip(groups, np.split(order, starts[1:]), strict=True))


def fetch_refined(
    tables: Tables,
    rows: ir.Table,
    value: ir.IntegerColumn,
    stage: str,
    percents: Sequence[float],
    *,
    width: int,
) -> Counts:
    """Count values to within `width`, but exactly near the quantiles: these are exact, and few rows are fetched.

    Parameters
    ----------
    rows, value
        A table and a column of it; whole numbers, NULLs are left out.
    stage
        Name of the relational stage.
    percents
        Percentiles that will be asked for, 0 to 100.
    width
        Width of the bins in which the other values are counted.
    """
    bin_number = (value // width).cast("int64")
    binned = fetch_counts(tables, rows, bin_number, stage).get((), NOTHING)
    if not len(binned):
        return NOTHING
    bins_of_quantiles = binned.around(percents).astype(np.int64)
    near_quantiles = rows.filter(bin_number.isin(bins_of_quantiles.tolist()))
    exact = fetch_counts(tables, near_quantiles, value, f"{stage}_at_quantiles")[()]
    elsewhere = binned.where(~np.isin(binned.values, bins_of_quantiles))
    return Counts(elsewhere.values * width, elsewhere.n) + exact


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
    # The same time may occur more than once: groups that were added up keep their rows.
    times, positions = np.unique(ended.values, return_inverse=True)
    n_ended = np.bincount(positions, weights=ended.n, minlength=len(times))
    n_ended_before = np.cumsum(n_ended) - n_ended
    order = np.argsort(censored.values, kind="stable")
    n_censored = np.concatenate([[0], np.cumsum(censored.n[order])])
    # "left": what is censored at the time of an end is still at risk there.
    n_censored_before = n_censored[np.searchsorted(censored.values[order], times, side="left")]
    at_risk = n_ended.sum() + n_censored[-1] - n_ended_before - n_censored_before
    return times, 1.0 - np.cumprod(1.0 - n_ended / at_risk)
