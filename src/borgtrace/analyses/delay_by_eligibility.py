"""Do tasks wait longer if fewer machines can run them?

Waits of attempts, exact to the microsecond, by the share of machines that meet their constraints at the
instant of the submission, in bands; tasks without constraints are the last band. Observation 9 suspects
that this, and not the load, causes long waits.

Reference: Zhu et al., Observation 9; Sharma et al., SoCC'11.
"""

import numpy as np
import pyarrow as pa

from borgtrace.analyses._attempts import HUNDREDTH, TASK, of_jobs
from borgtrace.analyses._quantiles import Counts, fetch_refined
from borgtrace.question import NotApplicable, Recipe, Row, Tables
from borgtrace.question.constraints import Sets, fingerprints
from borgtrace.question.eligibility import READS, Eligibility, shares_of

BANDS = (0.01, 0.03, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0)
"""Upper ends of the bands of eligible share."""
FREE = 2.0
"""Stands for "no constraint" in the column ``share_below``."""
_PERCENTS = (50.0, 90.0, 99.0)


def compute(tables: Tables) -> list[Row]:
    """Return quantiles of the waits per band."""
    events, sets = fingerprints(tables)
    tasks = of_jobs(tables.instance_attempts)
    waited = tasks.filter(tasks.wait.notnull()).select(*TASK, "wait", time="submit_time")
    # Constraints come with the event that demands them: those of the SUBMIT rule the wait after it.
    joined = waited.left_join(events, [*TASK, "time"]).select("time", "wait", "fingerprint")
    constrained = tables.fetch(joined.filter(joined.fingerprint.notnull()), "constrained")
    others = joined.filter(joined.fingerprint.isnull())
    totals = tables.fetch(
        others.aggregate(total=others.wait.sum().cast("int64"), n=others.count()), "totals"
    )
    free = fetch_refined(tables, others, others.wait, "free", _PERCENTS, width=HUNDREDTH)
    NotApplicable.unless(constrained.num_rows or len(free), "no wait lies within the trace")
    rows = [
        _row(band, found, found.mean())
        for band, found in _banded(tables, sets, constrained).items()
    ]
    (total,) = totals.to_pylist()
    return rows + ([_row(FREE, free, total["total"] / total["n"])] if len(free) else [])


def _banded(tables: Tables, sets: Sets, demands: pa.Table) -> dict[float, Counts]:
    """Return the waits (µs) of each band of eligible share, at the instant of the submission."""
    if not demands.num_rows:
        return {}
    shares = shares_of(Eligibility(tables), sets, demands)
    # A band is named by its upper end, which belongs to it.
    bands = np.searchsorted(BANDS, shares)
    waits = demands["wait"].to_numpy()
    # A share that is not known sorts behind the last band.
    found = {band: waits[bands == place] for place, band in enumerate(BANDS)}
    return {
        band: Counts(*np.unique(of_band, return_counts=True))
        for band, of_band in found.items()
        if of_band.size
    }


def _row(band: float, waits: Counts, mean: float) -> Row:
    found = waits.per(1e6)
    return {
        "share_below": band,
        "n": len(found),
        "mean": mean / 1e6,
        **found.columns("wait_p", _PERCENTS),
    }


RECIPE = Recipe.declared(compute, reads=READS, order=91)
