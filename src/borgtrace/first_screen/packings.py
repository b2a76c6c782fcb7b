"""The three ways of packing on the first screen, chosen from all that the advice has tried."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from borgtrace.question import Row

HIGHEST_PERCENTILE = 100.0


class Packings(NamedTuple):
    """Rows of the advice: packing by requests, by the highest usage seen, and what is advised; None where unknown.

    ``nearest`` stands for the advice where nothing is known to keep the target.
    """

    requests: Row | None
    highest: Row | None
    advised: Row | None
    nearest: Row | None

    @property
    def best(self) -> Row | None:
        """What is advised, else what comes nearest."""
        return self.advised or self.nearest


def packings(answer: pa.Table) -> Packings:
    """Find the three ways in the answer of *packing_advice*."""
    requests = highest = advised = nearest = None
    for row in answer.to_pylist():
        is_percentile = row["estimator"] == "percentile"
        if row["estimator"] == "request" and row["parameter"] == 1:
            requests = row
        if is_percentile and row["parameter"] == HIGHEST_PERCENTILE:
            highest = row
        if row["is_advised"]:
            advised = row
        if row["is_nearest"]:
            nearest = row
    return Packings(requests, highest, advised, nearest)


def way_in_words(row: Row) -> str:
    """Name a way of packing.

    Examples
    --------
    >>> way_in_words({"estimator": "gpa", "parameter": 0.001})
    'gpa 0.001'
    """
    return f"{row['estimator']} {row['parameter']:.3g}"
