"""What experiments answer with: tables, rows as charts and claims ask for them, and what is claimed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from borgtrace.colocation.packing.quality import overflow_counts
from borgtrace.kernels.arrays import Numbers, Values
from borgtrace.placement import Packing
from borgtrace.question import NotApplicable

_SPREAD = {
    "p5": 5,
    "p25": 25,
    "median": 50,
    "p75": 75,
    "p95": 95,
}


Row = dict[str, Any]
NOT_RUN = "not among the ways of packing that were run"


def spread(values: Numbers) -> dict[str, float]:
    """Return the percentiles that box plots show, by column."""
    return dict(zip(_SPREAD, np.percentile(values, list(_SPREAD.values())).tolist(), strict=True))


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
    listed = rows.to_pylist() if isinstance(rows, pa.Table) else rows
    found = [
        row for row in listed if all(_same(row[name], value) for name, value in wanted.items())
    ]
    # A claim about what was not run is not applicable, neither true nor false.
    NotApplicable.unless(found, reason)
    return found


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
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows.to_pylist() if isinstance(rows, pa.Table) else rows:
        found.setdefault(tuple(row[name] for name in by), []).append(row)
    return [(dict(zip(by, key, strict=True)), group) for key, group in found.items()]


def replayed(
    packings: Sequence[Packing], judged: Mapping[str, Values]
) -> Iterator[tuple[int, Row]]:
    """Judge packings by several kinds of usage of their tasks.

    Parameters
    ----------
    packings
        P packings of n tasks.
    judged
        Usage by kind, float32 (n, T) each.

    Yields
    ------
    int, dict
        Number of the packing, and its columns ``judged_on``, ``m_abs``, ``overflows`` and ``trials``.
    """
    for kind, values in judged.items():
        # All packings in one pass: the usage is read once.
        counts = overflow_counts(values, packings)
        for k, packing in enumerate(packings):
            trials = packing.n_bins * values.shape[1]
            yield (
                k,
                {
                    "judged_on": kind,
                    "m_abs": packing.n_bins,
                    "overflows": int(counts[k]),
                    "trials": trials,
                },
            )


def _same(found: Any, wanted: Any) -> bool:
    # Parameters may be products, such as half a target, which differ in the last digit from what is written.
    if isinstance(wanted, float) and found is not None:
        return abs(float(found) - wanted) <= 1e-9 * max(1.0, abs(wanted))
    return bool(found == wanted)
