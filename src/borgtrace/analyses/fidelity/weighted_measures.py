"""Measures of the fidelity report: each a function of the weights that jobs (or machines) have.

With all weights one it is the measure; with weights drawn at random (a Poisson bootstrap over jobs) it is
one resample: jobs, not tasks, are independent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.analyses.shared.window_blocks import column
from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.question import Tables
from borgtrace.schema.time import AFTER_TRACE

Measure = Callable[[Numbers], float]
Measures = dict[tuple[str, str], Measure]


@dataclass(frozen=True, slots=True)
class Units:
    """What is drawn again in a resample: the jobs of a store, and after them its machines."""

    jobs: Index
    machines: Index

    @classmethod
    def of(cls, tables: Tables) -> Units:
        """Number the jobs and machines of a store by their ids."""
        events = tables.collection_events.select("collection_id").union(
            tables.instance_events.select("collection_id")
        )
        jobs = tables.fetch(events.distinct(), "jobs_of_events")["collection_id"].to_numpy()
        machines = tables.fetch(
            tables.machine_events.select("machine_id").distinct(), "machine_ids"
        )
        return cls(np.sort(jobs), np.sort(machines["machine_id"].to_numpy()))

    def __len__(self) -> int:
        return len(self.jobs) + len(self.machines)

    def job(self, ids: Index) -> Index:
        """Return the units of collection ids."""
        # The ids are sorted and every id of a store is among them: the place is the unit.
        return np.searchsorted(self.jobs, ids)

    def machine(self, ids: Index) -> Index:
        """Return the units of machine ids."""
        return len(self.jobs) + np.searchsorted(self.machines, ids)


def ratio(numerator: Numbers, denominator: Numbers | float, job: Index) -> Measure:
    """Weighted sum over weighted sum (or over a constant).

    Parameters
    ----------
    numerator
        One number per row, shape (n,).
    denominator
        The same, or one number for the whole.
    job
        Unit of each row, shape (n,).

    Returns
    -------
    Measure
        NaN where the denominator is 0.
    """

    def value(weights: Numbers) -> float:
        w = weights[job]
        # A constant denominator is what does not change from resample to resample, such as the capacity of the cell.
        below = float(w @ denominator) if isinstance(denominator, np.ndarray) else denominator
        return float(w @ numerator) / below if below else float("nan")

    return value


def share(which: Flags, job: Index) -> Measure:
    """Weighted share of the rows that are chosen.

    Parameters
    ----------
    which
        Whether each row is chosen, shape (n,).
    job
        Unit of each row, shape (n,).
    """
    return ratio(which.astype(float), np.ones(len(which)), job)


def quantile(values: Numbers, job: Index, q: float) -> Measure:
    """Weighted quantile: the smallest value that a share `q` does not exceed.

    Parameters
    ----------
    values
        Values in any order, shape (n,); those that are NaN are left out.
    job
        Unit of each value, shape (n,).
    q
        Wanted share, 0 to 1.

    Returns
    -------
    Measure
        NaN where no value has a weight.
    """
    # NaN sorts to the end, whatever its sign.
    order = np.argsort(values, kind="stable")[: np.count_nonzero(~np.isnan(values))]
    ordered, jobs = values[order], job[order]

    def value(weights: Numbers) -> float:
        total = np.cumsum(weights[jobs])
        if not len(total) or total[-1] == 0.0:
            return float("nan")
        return float(ordered[min(int(np.searchsorted(total, q * total[-1])), len(ordered) - 1)])

    return value


def ended_within(run: Numbers, has_ended: Flags, job: Index, limit: float) -> Measure:
    """Kaplan–Meier share of runs that end within `limit`; runs still going are censored.

    Parameters
    ----------
    run
        Durations in any unit, shape (n,).
    has_ended
        Whether the run ended, else it was last seen then; shape (n,).
    job
        Unit of each run, shape (n,).
    limit
        Time in the unit of `run`.
    """
    # At a tie, what ended comes first: a run last seen then is still at risk, as in `_quantiles.kaplan_meier`.
    # Sorted once here, for it is asked with the weights of many resamples.
    order = np.lexsort((~has_ended, run))
    times, ended, jobs = run[order], has_ended[order].astype(float), job[order]
    # The product needs the runs up to the limit alone; those after it only count as at risk.
    upto = int(np.searchsorted(times, limit, side="right"))

    def value(weights: Numbers) -> float:
        w = weights[jobs]
        at_risk = np.cumsum(w[::-1])[::-1][:upto]
        hazard = np.divide(
            w[:upto] * ended[:upto], at_risk, out=np.zeros(upto), where=at_risk > 0.0
        )
        return float(1.0 - np.prod(1.0 - np.minimum(hazard, 1.0)))

    return value


def moment(mean: Numbers, deviation: Numbers, job: Index, which: str) -> Measure:
    """Weighted moments of per-task means and deviations, and their regression.

    Parameters
    ----------
    mean, deviation
        Mean and standard deviation of each task, shape (n,).
    job
        Unit of each task, shape (n,).
    which
        ``"mean"``, ``"deviation"`` (mean of the deviations), ``"rms"`` (their root mean square), ``"spread"``
        (deviation of the means), ``"slope"`` or ``"intercept"`` of the deviation on the mean.
    """

    def value(weights: Numbers) -> float:
        w = weights[job]
        w = w / w.sum() if w.sum() else w
        average, spread = float(w @ mean), float(w @ deviation)
        variance = float(w @ (mean - average) ** 2)
        slope = (
            float(w @ ((mean - average) * (deviation - spread))) / variance
            if variance
            else float("nan")
        )
        return {
            "mean": average,
            "deviation": spread,
            "rms": float(np.sqrt(w @ deviation**2)),
            "spread": float(np.sqrt(variance)),
            "slope": slope,
            "intercept": spread - slope * average,
        }[which]

    return value


FEWEST = 5
"""Owners with fewer jobs than this have no rank of their own: in a small cell they are all ties."""


def rank_slope(owner: Index, job: Index, ranks: int) -> Measure:
    """Slope of log(jobs of an owner) over log(rank), up to `ranks`, of owners with :data:`FEWEST` jobs.

    Parameters
    ----------
    owner
        Number of the owner of each job, from 0; shape (n,).
    job
        Unit of each job, shape (n,).
    ranks
        Largest rank that is fitted.
    """

    def value(weights: Numbers) -> float:
        sizes = np.sort(np.bincount(owner, weights=weights[job]))[::-1][:ranks]
        sizes = sizes[sizes >= FEWEST]
        # A line through two points fits them whatever they are.
        if len(sizes) < 3:
            return float("nan")
        return float(np.polyfit(np.log(np.arange(1, len(sizes) + 1)), np.log(sizes), 1)[0])

    return value


def top_share(owner: Index, job: Index, ranks: int) -> Measure:
    """Share of jobs that the `ranks` busiest owners have.

    Parameters
    ----------
    owner
        Number of the owner of each job, from 0; shape (n,).
    job
        Unit of each job, shape (n,).
    ranks
        How many owners are the busiest.
    """

    def value(weights: Numbers) -> float:
        sizes = np.sort(np.bincount(owner, weights=weights[job]))[::-1]
        return float(sizes[:ranks].sum() / sizes.sum()) if sizes.sum() else float("nan")

    return value


def hill(values: Numbers, job: Index, least: float) -> Measure:
    """Hill's estimate of the exponent of a Pareto tail that begins at `least`.

    Parameters
    ----------
    values
        Values in any order, shape (n,); those below `least` are left out.
    job
        Unit of each value, shape (n,).
    least
        Where the tail begins.
    """
    inside = values >= least
    logs = np.log(values[inside] / least)
    return ratio(np.ones(len(logs)), logs, job[inside])


def fetch_sorted(tables: Tables, rows: ir.Table, stage: str, key: Sequence[str]) -> pa.Table:
    """Fetch rows in the order of a key.

    Engines return rows in any order, and sums of floats depend on it: sorted, so that a seed gives one answer.

    Parameters
    ----------
    tables
        The store's tables.
    rows
        A relational expression over them.
    stage
        Name of the stage.
    key
        Columns that identify a row.
    """
    return tables.fetch(rows, stage).sort_by([(name, "ascending") for name in key])


def times(table: pa.Table, name: str) -> Numbers:
    """Return a column of times as float64, NaN where it is NULL or "after the trace", which is no time."""
    found = column(table, name)
    return np.where(found < AFTER_TRACE, found, np.nan)


def words(table: pa.Table, name: str) -> NDArray[np.str_]:
    """Return a column as strings, empty where it is NULL."""
    return np.array([value or "" for value in table[name].to_pylist()], dtype=str)


def renamed(rows: pa.Table, names: Mapping[str, str]) -> pa.Table:
    """Return rows whose ``tier`` has other names.

    Parameters
    ----------
    rows
        Rows with a tier.
    names
        The new names, where they have one.
    """
    tiers = pa.array([names.get(name, name) for name in rows["tier"].to_pylist()], pa.string())
    return rows.drop(["tier"]).append_column("tier", tiers)
