"""Measures of the fidelity report: each a function of the weights that jobs have.

With all weights one it is the measure; with weights drawn at random (a Bayesian-like Poisson bootstrap
over jobs) it is one resample: jobs, not tasks, are independent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Measure = Callable[[Floats], float]
TIER_NAMES: Final = ("free", "other", "production")


def ratio(numerator: Floats, denominator: Floats | float, job: NDArray[np.int64]) -> Measure:
    """Weighted sum over weighted sum (or over a constant)."""

    def value(weights: Floats) -> float:
        w = weights[job]
        below = float(w @ denominator) if isinstance(denominator, np.ndarray) else denominator
        return float(w @ numerator) / below if below else float("nan")

    return value


def quantile(values: Floats, job: NDArray[np.int64], q: float) -> Measure:
    """Weighted quantile: the smallest value that a share `q` does not exceed."""
    order = np.argsort(values, kind="stable")
    ordered, jobs = values[order], job[order]

    def value(weights: Floats) -> float:
        total = np.cumsum(weights[jobs])
        if not len(total) or total[-1] == 0.0:
            return float("nan")
        return float(ordered[min(int(np.searchsorted(total, q * total[-1])), len(ordered) - 1)])

    return value


def ended_within(run: Floats, has_ended: NDArray[np.bool_], job: NDArray[np.int64], limit: float) -> Measure:
    """Kaplan–Meier share of runs that end within `limit`; runs still going are censored."""
    order = np.argsort(run, kind="stable")
    times, ended, jobs = run[order], has_ended[order].astype(float), job[order]
    upto = int(np.searchsorted(times, limit, side="right"))

    def value(weights: Floats) -> float:
        w = weights[jobs]
        at_risk = np.cumsum(w[::-1])[::-1][:upto]
        hazard = np.divide(w[:upto] * ended[:upto], at_risk, out=np.zeros(upto), where=at_risk > 0.0)
        return float(1.0 - np.prod(1.0 - np.minimum(hazard, 1.0)))

    return value


def moment(mean: Floats, deviation: Floats, job: NDArray[np.int64], which: str) -> Measure:
    """Weighted moments of per-task means and deviations, and their regression."""

    def value(weights: Floats) -> float:
        w = weights[job]
        w = w / w.sum() if w.sum() else w
        average, spread = float(w @ mean), float(w @ deviation)
        variance = float(w @ (mean - average) ** 2)
        slope = float(w @ ((mean - average) * (deviation - spread))) / variance if variance else float("nan")
        return {
            "mean": average, "deviation": spread, "rms": float(np.sqrt(w @ deviation**2)),
            "spread": float(np.sqrt(variance)), "slope": slope, "intercept": spread - slope * average,
        }[which]  # fmt: skip

    return value


def rank_slope(owner: NDArray[np.int64], job: NDArray[np.int64], ranks: int) -> Measure:
    """Slope of log(jobs of an owner) over log(rank), up to `ranks`."""

    def value(weights: Floats) -> float:
        sizes = np.sort(np.bincount(owner, weights=weights[job]))[::-1][:ranks]
        sizes = sizes[sizes > 0.0]
        if len(sizes) < 3:
            return float("nan")
        return float(np.polyfit(np.log(np.arange(1, len(sizes) + 1)), np.log(sizes), 1)[0])

    return value


def start_measures(
    start: pa.Table, machines: int, capacity: tuple[float, float]
) -> Mapping[tuple[str, str], Measure]:
    """Measures of the tasks that run when the trace begins: columns job, tier, cpu_request, memory_request."""
    found: dict[tuple[str, str], Measure] = {}
    tiers, jobs = np.array(start["tier"].to_pylist()), start["job"].to_numpy()
    for tier in TIER_NAMES:
        mine = tiers == tier
        job = jobs[mine]
        found["running_per_machine", tier] = ratio(np.ones(int(mine.sum())), float(machines), job)
        for name, total in zip(("cpu", "memory"), capacity, strict=True):
            request = start[f"{name}_request"].to_numpy(zero_copy_only=False)[mine].astype(float)
            known = ~np.isnan(request)
            found[f"{name}_requested_of_capacity", tier] = ratio(np.nan_to_num(request), total, job)
            for q in (10, 50, 90):
                found[f"{name}_request_p{q}", tier] = quantile(request[known], job[known], q / 100.0)
    return found


def run_measures(runs: pa.Table) -> Mapping[tuple[str, str], Measure]:
    """Measures of attempts: columns job, tier, run_s, has_ended, began_inside, hours, end, wait_s."""
    found: dict[tuple[str, str], Measure] = {}
    column = {name: runs[name].to_numpy(zero_copy_only=False) for name in runs.column_names}
    for tier in TIER_NAMES:
        mine = column["tier"] == tier
        job = column["job"][mine]
        fresh = mine & column["began_inside"]
        for limit in (300, 1800, 7200):
            found[f"run_within_{limit}s", tier] = ended_within(
                column["run_s"][fresh], column["has_ended"][fresh], column["job"][fresh], float(limit)
            )
        hours = column["hours"][mine]
        for kind in ("EVICT", "FAIL", "KILL"):
            ends = (column["end"][mine] == kind).astype(float)
            found[f"{kind.lower()}_per_hour", tier] = ratio(ends, hours, job)
        waited = mine & ~np.isnan(column["wait_s"])
        for q in (50, 90):
            found[f"delay_p{q}", tier] = quantile(column["wait_s"][waited], column["job"][waited], q / 100.0)
    for kind in ("EVICT", "FAIL", "KILL"):
        ended = column["end"] == kind
        back = column["came_back"][ended].astype(float)
        found[f"resubmitted_after_{kind}", "all"] = ratio(back, np.ones(len(back)), column["job"][ended])
    return found


def job_measures(jobs: pa.Table, machine_hours: float) -> Mapping[tuple[str, str], Measure]:
    """Measures of jobs that arrive inside the trace: columns job, class, user, name, n_tasks."""
    job = jobs["job"].to_numpy()
    ones = np.ones(len(job))
    found: dict[tuple[str, str], Measure] = {
        ("jobs_per_machine_hour", "all"): ratio(ones, machine_hours, job)
    }
    classes = jobs["class"].to_numpy(zero_copy_only=False)
    for number in range(4):
        found[f"jobs_of_class_{number}", "all"] = ratio((classes == number).astype(float), ones, job)
    tasks = jobs["n_tasks"].to_numpy(zero_copy_only=False)
    known = ~np.isnan(tasks)
    found["single_task_jobs", "all"] = ratio((tasks[known] == 1).astype(float), ones[known], job[known])
    for name, column, ranks in (("user_slope", "user", 200), ("logical_name_slope", "name", 1000)):
        _, owner = np.unique(np.array(jobs[column].to_pylist(), dtype=str), return_inverse=True)
        found[name, "all"] = rank_slope(owner, job, ranks)
    return found


def usage_measures(tasks: pa.Table) -> Mapping[tuple[str, str], Measure]:
    """Measures of long tasks: columns job and mean and deviation of sampled and average CPU."""
    column = {name: tasks[name].to_numpy(zero_copy_only=False).astype(float) for name in tasks.column_names}
    job = tasks["job"].to_numpy()
    mean, deviation = column["mean_sampled_cpu"], column["std_sampled_cpu"]
    which = {
        "mean_cpu": "mean", "mean_deviation_sampled": "deviation", "rms_deviation_sampled": "rms",
        "deviation_of_means": "spread", "slope_sampled": "slope", "intercept_sampled": "intercept",
    }  # fmt: skip
    found = {(name, "long tasks"): moment(mean, deviation, job, what) for name, what in which.items()}
    for what in ("slope", "intercept"):
        found[f"{what}_average", "long tasks"] = moment(
            column["mean_average_cpu"], column["std_average_cpu"], job, what
        )
    return found
