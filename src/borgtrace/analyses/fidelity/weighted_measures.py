"""Measures of the fidelity report: each is a function of the weights of jobs (or machines).

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

WeightedMeasure = Callable[[Numbers], float]
"""From the weights of all units to a number."""
Measures = dict[tuple[str, str], WeightedMeasure]
"""Measures by name and tier (or another group)."""


FEWEST = 5
"""Owners with fewer jobs than this have no rank of their own: in a small cell they are all ties."""


@dataclass(frozen=True, slots=True)
class Units:
    """The units that a resample draws: the jobs of a store, and after them its machines."""

    jobs: Index
    machines: Index

    @classmethod
    def of(cls, tables: Tables) -> Units:
        """Number the jobs and machines of a store by their ids."""
        of_collections = tables.collection_events.select("collection_id")
        of_instances = tables.instance_events.select("collection_id")
        jobs = tables.fetch(of_collections.union(of_instances).distinct(), "jobs_of_events")
        machine_ids = tables.machine_events.select("machine_id").distinct()
        machines = tables.fetch(machine_ids, "machine_ids")
        return cls(
            jobs=np.sort(jobs["collection_id"].to_numpy()),
            machines=np.sort(machines["machine_id"].to_numpy()),
        )

    def __len__(self) -> int:
        return len(self.jobs) + len(self.machines)

    def job(self, ids: Index) -> Index:
        """Return the units of collection ids."""
        # The ids are sorted and every id of a store is among them: the position is the unit.
        return np.searchsorted(self.jobs, ids)

    def machine(self, ids: Index) -> Index:
        """Return the units of machine ids."""
        return len(self.jobs) + np.searchsorted(self.machines, ids)


def ratio(numerator: Numbers, denominator: Numbers | float, job: Index) -> WeightedMeasure:
    """Measure a weighted sum over a weighted sum (or over a constant).

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
    WeightedMeasure
        NaN where the denominator is 0.
    """
    # Summed by unit once: hundreds of resamples then weigh the units that have rows, not all of their rows.
    units, unit_of_row = np.unique(job, return_inverse=True)
    numerators = np.bincount(unit_of_row, weights=numerator, minlength=len(units))
    # A constant denominator does not change from resample to resample, such as the capacity of the cell.
    denominators: Numbers | float = (
        np.bincount(unit_of_row, weights=denominator, minlength=len(units)).astype(np.float64)
        if isinstance(denominator, np.ndarray)
        else denominator
    )

    def value(weights: Numbers) -> float:
        w = weights[units]
        divisor = float(w @ denominators) if isinstance(denominators, np.ndarray) else denominators
        return float(w @ numerators) / divisor if divisor else float("nan")

    return value


def share(which: Flags, job: Index) -> WeightedMeasure:
    """Measure the weighted share of the rows that are chosen.

    Parameters
    ----------
    which
        Whether each row is chosen, shape (n,).
    job
        Unit of each row, shape (n,).
    """
    return ratio(which.astype(float), np.ones(len(which)), job)


def quantile(values: Numbers, job: Index, q: float) -> WeightedMeasure:
    """Measure a weighted quantile: the smallest value that a share `q` does not exceed.

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
    WeightedMeasure
        NaN where no value has a weight.
    """
    # NaN sorts to the end, whatever its sign.
    n_known = int(np.count_nonzero(~np.isnan(values)))
    order = np.argsort(values, kind="stable")[:n_known]
    ordered = values[order]
    jobs = job[order]

    def value(weights: Numbers) -> float:
        weight_so_far = np.cumsum(weights[jobs])
        if not n_known or weight_so_far[-1] == 0.0:
            return float("nan")
        position = int(np.searchsorted(weight_so_far, q * weight_so_far[-1]))
        return float(ordered[min(position, n_known - 1)])

    return value


def ended_within(run: Numbers, has_ended: Flags, job: Index, limit: float) -> WeightedMeasure:
    """Measure the Kaplan–Meier share of runs that end within `limit`; runs still going are censored.

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
    # At a tie, what ended comes first: a run last seen then is still at risk, as in `quantiles.kaplan_meier`.
    # Sorted once here, because the weights of many resamples follow.
    order = np.lexsort((~has_ended, run))
    jobs = job[order]
    ended = has_ended[order].astype(float)
    # The product needs only the runs up to the limit; those after it count as at risk.
    n_within = int(np.searchsorted(run[order], limit, side="right"))

    def value(weights: Numbers) -> float:
        w = weights[jobs]
        at_risk = np.cumsum(w[::-1])[::-1][:n_within]
        hazard = np.divide(
            w[:n_within] * ended[:n_within],
            at_risk,
            out=np.zeros(n_within),
            where=at_risk > 0.0,
        )
        return float(1.0 - np.prod(1.0 - np.minimum(hazard, 1.0)))

    return value


def moment(mean: Numbers, deviation: Numbers, job: Index, which: str) -> WeightedMeasure:
    """Measure a weighted moment of per-task means and deviations, or of their regression.

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
        if w.sum():
            w = w / w.sum()
        mean_of_means = float(w @ mean)
        mean_deviation = float(w @ deviation)
        variance = float(w @ (mean - mean_of_means) ** 2)
        match which:
            case "mean":
                return mean_of_means
            case "deviation":
                return mean_deviation
            case "rms":
                return float(np.sqrt(w @ deviation**2))
            case "spread":
                return float(np.sqrt(variance))
        if not variance:
            return float("nan")
        products = (mean - mean_of_means) * (deviation - mean_deviation)
        slope = float(w @ products) / variance
        return slope if which == "slope" else mean_deviation - slope * mean_of_means

    return value


def rank_slope(owner: Index, job: Index, ranks: int) -> WeightedMeasure:
    """Measure the slope of log(jobs of an owner) over log(rank), up to `ranks`, of owners with :data:`FEWEST` jobs.

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
        sizes = jobs_of_owners(owner, weights[job])[:ranks]
        sizes = sizes[sizes >= FEWEST]
        # A line fits any two points.
        if len(sizes) < 3:
            return float("nan")
        rank = np.arange(1, len(sizes) + 1)
        return float(np.polyfit(np.log(rank), np.log(sizes), 1)[0])

    return value


def top_share(owner: Index, job: Index, ranks: int) -> WeightedMeasure:
    """Measure the share of jobs that the `ranks` busiest owners have.

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
        sizes = jobs_of_owners(owner, weights[job])
        return float(sizes[:ranks].sum() / sizes.sum()) if sizes.sum() else float("nan")

    return value


def jobs_of_owners(owner: Index, weights: Numbers) -> Numbers:
    """Return the weight of the jobs of each owner, descending."""
    return np.asarray(np.sort(np.bincount(owner, weights=weights))[::-1], dtype=np.float64)


def hill(values: Numbers, job: Index, least: float) -> WeightedMeasure:
    """Measure the exponent of a Pareto tail that begins at `least`, by Hill's estimator.

    Parameters
    ----------
    values
        Values in any order, shape (n,); those below `least` are left out.
    job
        Unit of each value, shape (n,).
    least
        Where the tail begins.
    """
    is_tail = values >= least
    logs = np.log(values[is_tail] / least)
    return ratio(np.ones(len(logs)), logs, job[is_tail])


def fetch_sorted(tables: Tables, rows: ir.Table, stage: str, key: Sequence[str]) -> pa.Table:
    """Fetch rows in the order of a key.

    Engines return rows in any order, and sums of floats depend on it: sorted rows give one answer for a seed.

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
    """Return a column of times as float64, NaN where it is NULL or "after the trace"."""
    values = column(table, name)
    return np.where(values < AFTER_TRACE, values, np.nan)


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
