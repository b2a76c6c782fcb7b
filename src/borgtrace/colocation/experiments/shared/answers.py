"""Rows of answers: those with some values, those that agree in some columns, percentiles, judged packings."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.colocation.packing.quality import overflow_counts
from borgtrace.kernels.arrays import Numbers, Values
from borgtrace.placement import Packing
from borgtrace.question import NotApplicable

Row = dict[str, Any]
NOT_RUN = "not among the ways of packing that were run"


REACH_OF_WHISKERS = 1.5
"""Whiskers end at the furthest values within so many ranges between the quartiles from the box (Tukey 1977)."""


def spread(values: Numbers) -> dict[str, float]:
    """Return what box plots show, by column: percentiles, and the ends of the whiskers.

    Parameters
    ----------
    values
        float64 (n,), n ≥ 1.

    Examples
    --------
    >>> spread(np.array([0.0, 1, 2, 3, 4, 20]))["whisker_high"]
    4.0
    """
    p5, p25, median, p75, p95 = np.percentile(values, [5, 25, 50, 75, 95]).tolist()
    reach = REACH_OF_WHISKERS * (p75 - p25)
    return {
        "p5": p5,
        "p25": p25,
        "median": median,
        "p75": p75,
        "p95": p95,
        "whisker_low": float(values[values >= p25 - reach].min()),
        "whisker_high": float(values[values <= p75 + reach].max()),
    }


def rows_where(
    rows: pa.Table | Iterable[Row], reason: str = NOT_RUN, /, **wanted: Any
) -> list[Row]:
    """Return the rows with these values; numbers match to nine digits.

    Parameters
    ----------
    rows
        A result, or rows of one.
    reason
        Why there is none, if so.
    wanted
        Values by column.

    Raises
    ------
    NotApplicable
        There is none; says `reason`.

    Examples
    --------
    >>> rows_where([{"rho": 0.1 + 0.2, "q": 1}, {"rho": 0.4, "q": 2}], rho=0.3)[0]["q"]
    1
    """
    if isinstance(rows, pa.Table):
        # By texts in Arrow first: Python takes a hundred times as long to look through the thousands of rows of a grid.
        for name, value in wanted.items():
            if isinstance(value, str):
                rows = rows.filter(pc.equal(rows[name], value))
        rows = rows.to_pylist()
    matching = []
    for row in rows:
        if all(is_same(row[name], value) for name, value in wanted.items()):
            matching.append(row)
    # A claim about what was not run is not applicable, neither true nor false.
    NotApplicable.unless(matching, reason)
    return matching


def is_same(value: Any, wanted: Any) -> bool:
    """Whether a value is the one wanted; numbers match to nine digits.

    Parameters
    ----------
    value, wanted
        Of any type.  Parameters may be products, such as half a target, which differ in the last digit from what is
        written.
    """
    if isinstance(wanted, float) and value is not None:
        return abs(float(value) - wanted) <= 1e-9 * max(1.0, abs(wanted))
    return bool(value == wanted)


def grouped(rows: pa.Table | Iterable[Row], *by: str) -> list[tuple[Row, list[Row]]]:
    """Return the rows that agree in some columns together, with those columns, in the order of their first rows.

    Parameters
    ----------
    rows
        A result, or rows of one.
    by
        Names of the columns.

    Examples
    --------
    >>> grouped([{"way": "a", "q": 1}, {"way": "b", "q": 2}, {"way": "a", "q": 3}], "way")[0]
    ({'way': 'a'}, [{'way': 'a', 'q': 1}, {'way': 'a', 'q': 3}])
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows.to_pylist() if isinstance(rows, pa.Table) else rows:
        values = tuple(row[name] for name in by)
        groups.setdefault(values, []).append(row)
    return [(dict(zip(by, values, strict=True)), group) for values, group in groups.items()]


class JudgedReplay(NamedTuple):
    """One packing judged by one kind of usage: its number, and its columns."""

    packing: int
    row: Row


def replayed(packings: Sequence[Packing], judged: Mapping[str, Values]) -> Iterator[JudgedReplay]:
    """Judge packings by several kinds of usage of their tasks.

    Parameters
    ----------
    packings
        P packings of n tasks.
    judged
        Usage by kind, float32 (n, T) each.

    Yields
    ------
    JudgedReplay
        Number of the packing, and its columns ``judged_on``, ``m_abs``, ``overflows`` and ``trials``.
    """
    for kind, values in judged.items():
        # All packings in one pass: the usage is read once.
        counts = overflow_counts(values, packings)
        for number, packing in enumerate(packings):
            row = {
                "judged_on": kind,
                "m_abs": packing.n_bins,
                "overflows": int(counts[number]),
                "trials": packing.n_bins * values.shape[1],
            }
            yield JudgedReplay(number, row)
