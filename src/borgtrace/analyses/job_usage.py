"""How much of all usage is that of the largest jobs, and what do they cost the others?

The usage of a job is Σ average × length over the windows of all its tasks, in hours of the largest machine's CPU
(NCU-hours) or memory (NMU-hours). Of jobs with usage: the share of the largest, the tail by the least-squares line of
log P(X ≥ x) on log x (jobs above 1 hour, up to the 99.99th percentile) and by Hill's estimator (all above it), and
C² = variance ÷ mean². A queue served one job at a time (M/G/1) at load ρ makes a job wait (C² + 1) ÷ 2 · ρ ÷ (1 − ρ)
mean services: the column says what is left of that once the largest jobs are kept apart.
A sample of the jobs has other shares, so the question is not answered on one.

Reference: Tirmazi et al., Borg: the Next Generation, EuroSys'20, Table 2.
"""

import numpy as np
import numpy.typing as npt

from borgtrace.analyses._attempts import of_jobs
from borgtrace.analyses._power_law import continuous_exponent, regression_exponent
from borgtrace.analyses._windows import HOUR_SECONDS, RESOURCES, amount, int_sum, regular
from borgtrace.question import NotApplicable, Recipe, Row, Tables

Usage = npt.NDArray[np.float64]
BITS = 24
"""Digits behind the point of a job's sum: a month of 10,000 largest machines takes 59 bits."""
TOPS = tuple(base * 10**power for power in range(5) for base in (1, 2, 5))
"""The largest job of every so many: 100 is the top 1 %."""
TAIL = 1.0
"""Where the tail begins, h."""
_LAST = 99.99


def usage_of_jobs(tables: Tables) -> dict[str, Usage]:
    """Return the resource-hours of each job with windows, by resource; the same job at the same place.

    Raises
    ------
    NotApplicable
        Where the store holds a sample of the jobs, or no job used anything.
    """
    NotApplicable.unless(
        not tables.coverage.is_sample, "needs all jobs: a sample of them has other shares"
    )
    usage = of_jobs(regular(tables.instance_usage))
    sums = {
        name: int_sum(amount(usage[f"average_{name}"], usage.seconds, BITS)).fill_null(0)
        for name in RESOURCES
    }
    jobs = tables.fetch(usage.group_by("collection_id").aggregate(**sums), "jobs").sort_by(
        "collection_id"
    )
    found = {name: jobs[name].to_numpy() / float(2**BITS) / HOUR_SECONDS for name in RESOURCES}
    NotApplicable.unless(any(used.any() for used in found.values()), "no job used anything")
    return found


def compute(tables: Tables) -> list[Row]:
    """Return the shares of the largest jobs, the tail and what it costs, by resource."""
    return [
        row
        for name, used in usage_of_jobs(tables).items()
        if used.any()
        for row in rows_of(name, used)
    ]


def rows_of(resource: str, used: Usage) -> list[Row]:
    """Return the rows of one resource.

    Parameters
    ----------
    resource
        Its name.
    used
        Resource-hours of each job, in any order, shape (n,).
    """
    used = np.sort(used)[::-1]
    tail = used[used > TAIL]
    body = tail[tail <= np.percentile(used, _LAST)]
    alpha, r_squared = regression_exponent(used, body)
    same = {
        "mean": float(used.mean()),
        "median": float(np.median(used)),
        "variance": float(used.var()),
        "n": len(used),
        "n_tail": len(tail),
        "alpha": alpha,
        "r_squared": r_squared,
        "alpha_hill": continuous_exponent(tail, np.ones(len(tail), np.int64), TAIL)
        if len(tail)
        else None,
    }
    sizes = {0.0: 0} | {1 / top: len(used) // top for top in TOPS if len(used) >= top}
    return [
        {"resource": resource, "top": top, **_of_top(used, n), **same} for top, n in sizes.items()
    ]


def _of_top(used: Usage, n: int) -> Row:
    rest = used[n:]
    mean = rest.mean() if len(rest) else 0.0
    squared_cv = float(rest.var() / mean**2) if mean > 0 else None
    return {
        "n_jobs": n,
        "least": float(used[n - 1]) if n else None,
        "share": float(used[:n].sum() / used.sum()),
        "squared_cv": squared_cv,
        "wait": None if squared_cv is None else (squared_cv + 1) / 2,
    }


RECIPE = Recipe.declared(compute, reads=("instance_usage",), order=64)
