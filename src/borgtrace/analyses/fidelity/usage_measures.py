"""Fidelity of usage: long tasks, peaks, series (2011) and rows (2019)."""

from collections.abc import Mapping

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses.fidelity.weighted_measures import (
    Measures,
    Units,
    fetch_sorted,
    moment,
    quantile,
    ratio,
    renamed,
    share,
    words,
)
from borgtrace.analyses.shared.attempts import TASK, of_jobs
from borgtrace.analyses.shared.window_blocks import column
from borgtrace.analyses.shared.windows import peaks_of_request, task_tiers
from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.kernels.hashing import task_keys
from borgtrace.kernels.kolmogorov import ks_p_value, window_pairs
from borgtrace.kernels.runs import run_starts
from borgtrace.question import Tables
from borgtrace.schema.time import WINDOW

LONG = 24
"""Windows of a long task (Janus & Rzadca, SoCC'17): two hours."""
MOST_ROWS = 4_000_000
"""Windows of long tasks that are looked at one by one; beyond, a part of the jobs stands for all."""
MOST_SAMPLED = 300_000
"""The same of rows of 2019."""
_ORDER = (*TASK, "start_time")


def usage_measures(tables: Tables, units: Units) -> Measures:
    """Fetch what the measures of 2011's usage need, and return them."""
    tasks = tables.tasks
    jobs = of_jobs(tasks).filter(tasks.n_windows >= LONG)
    failures = jobs.n_evict + jobs.n_fail + jobs.n_kill + jobs.n_lost  # such tasks the paper drops
    # As in Janus & Rzadca: tasks without any use are dropped (209,940 of them). Averages above 1 (13 records) they
    # replace by samples; here such tasks are left out.
    long = jobs.filter((jobs.mean_sampled_cpu > 0) & (jobs.max_average_cpu <= 1) & (failures == 0))
    read = [f"{kind}_{name}_cpu" for name in ("sampled", "average") for kind in ("mean", "std")]
    moments = fetch_sorted(tables, long.select(*TASK, *read), "long_tasks", TASK)
    measures = _peaks(tables, units)
    measures |= _series(tables, long, units)
    if moments.num_rows:
        measures |= _long(moments, units)
    return measures


def _long(tasks: pa.Table, units: Units) -> Measures:
    """Moments of long tasks, and their regression."""
    job = units.job(tasks["collection_id"].to_numpy())
    sampled = column(tasks, "mean_sampled_cpu"), column(tasks, "std_sampled_cpu")
    average = column(tasks, "mean_average_cpu"), column(tasks, "std_average_cpu")
    which = {
        "mean_cpu": "mean",
        "mean_deviation_sampled": "deviation",
        "rms_deviation_sampled": "rms",
        "deviation_of_means": "spread",
        "slope_sampled": "slope",
        "intercept_sampled": "intercept",
    }
    found = {(name, "long tasks"): moment(*sampled, job, what) for name, what in which.items()}
    for what in ("slope", "intercept"):
        found[f"{what}_average", "long tasks"] = moment(*average, job, what)
    return found


def _peaks(tables: Tables, units: Units) -> Measures:
    """Largest CPU and memory of a task ÷ its request, where both stay within it."""
    rows = peaks_of_request(tables)
    # The published histogram holds only tasks that stay within both requests.
    rows = rows.filter((rows.cpu <= 1.0) & (rows.memory <= 1.0))
    found = fetch_sorted(tables, rows, "peaks", TASK)
    job = units.job(found["collection_id"].to_numpy())
    measures: Measures = {}
    for resource in ("cpu", "memory"):
        peak = column(found, resource)
        measures[f"peak_{resource}_of_request", "all"] = ratio(peak, np.ones(len(peak)), job)
        measures[f"peak_{resource}_below_5_percent", "all"] = share(peak < 0.05, job)
    return measures


def _series(tables: Tables, long: ir.Table, units: Units) -> Measures:
    """Long tasks over time: stationarity, autocorrelation, variation, CPU with memory."""
    parts = max(1, -(-tables.n_rows("instance_usage") // MOST_ROWS))
    # Whole jobs, because the bootstrap draws jobs.
    chosen = long.filter(long.collection_id % parts == 0).select(*TASK)
    usage = tables.instance_usage.semi_join(chosen, list(TASK))
    read = usage.select(*_ORDER, "average_cpu", "sampled_cpu", "average_memory")
    rows = fetch_sorted(tables, read, "series", _ORDER)
    if not rows.num_rows:
        return {}
    ids, index = (
        rows["collection_id"].to_numpy(),
        rows["instance_index"].to_numpy().astype(np.int64),
    )
    offsets = run_starts(ids, index)
    first = offsets[:-1]
    job = units.job(ids[first])
    rejected = differs(column(rows, "sampled_cpu"), offsets, ids[first], index[first])
    cpu, memory = column(rows, "average_cpu"), column(rows, "average_memory")
    spread, mean = _mean(cpu**2, offsets), _mean(cpu, offsets)
    # The difference of two nearly equal numbers may fall below 0 by rounding.
    variation = np.sqrt(np.maximum(spread - mean**2, 0.0)) / np.where(mean > 0.0, mean, np.nan)
    found = {
        "autocorrelation_5min": _correlation(cpu[:-1], cpu[1:], offsets, 1),
        "autocorrelation_1h": _correlation(cpu[:-12], cpu[12:], offsets, 12),
        "variation_p50": variation,
        "cpu_memory_correlation_p50": _correlation(cpu, memory, offsets, 0),
    }
    measures: Measures = {("stationarity_rejected", "long tasks"): share(rejected, job)}
    for name, values in found.items():
        measures[name, "long tasks"] = quantile(values, job, 0.5)
    return measures


def differs(values: Numbers, offsets: Index, ids: Index, index: Index) -> Flags:
    """Whether two random windows of 12 samples of each task differ at 5 % (Kolmogorov–Smirnov).

    Parameters
    ----------
    values
        Samples of all tasks.
    offsets
        Where each task begins, and the end, shape (tasks + 1,); none has fewer than :data:`LONG`.
    ids, index
        Its job and its number, which seed the draw: int64, shape (tasks,).
    """
    steps = np.empty(len(ids), np.int64)
    # Windows of 12 samples are those of the paper (§3.4); the keys of the tasks seed the draw, so that it does not
    # depend on the order of rows.
    window_pairs(
        np.nan_to_num(values).astype(np.float32), offsets, task_keys(0, ids, index), 12, 12, steps
    )
    p_values = np.array([ks_p_value(12, k) for k in range(13)])
    # A long task has 24 rows, hence two windows at least: no step is −1, which would mean that it has fewer.
    return p_values[steps] < 0.05


def _mean(values: Numbers, offsets: Index) -> Numbers:
    return np.add.reduceat(values, offsets[:-1]) / np.diff(offsets)


def _correlation(a: Numbers, b: Numbers, offsets: Index, lag: int) -> Numbers:
    """Correlation of `a` with `b` (which lies `lag` rows later) within each task; NaN where one is constant."""
    inside = np.ones(len(a), dtype=bool)
    for back in range(1, lag + 1):
        # A pair that begins in the last `lag` rows of a task ends in the next task. The last task needs no mark: its
        # pairs are cut off with `a`. A long task has 24 rows, so that each keeps some pair at a lag of 12.
        inside[np.minimum(offsets[1:-1] - back, len(a) - 1)] = False
    weight = inside.astype(float)
    starts = np.minimum(offsets[:-1], len(a) - 1)
    count = np.maximum(np.add.reduceat(weight, starts), 1.0)

    def mean(values: Numbers) -> Numbers:
        return np.asarray(np.add.reduceat(values * weight, starts) / count)

    covariance = mean(a * b) - mean(a) * mean(b)
    scale = np.sqrt(
        np.maximum(mean(a * a) - mean(a) ** 2, 0.0) * np.maximum(mean(b * b) - mean(b) ** 2, 0.0)
    )
    # Below 1e-12 the deviation is rounding, and the series constant.
    return np.divide(covariance, scale, out=np.full(len(scale), np.nan), where=scale > 1e-12)


def row_measures(tables: Tables, units: Units, names: Mapping[str, str] | None = None) -> Measures:
    """Measure usage rows beside the requests of their tasks, as for 2019; a fixed part of them where there are many.

    Parameters
    ----------
    tables
        The store's tables.
    units
        What a resample draws.
    names
        What tiers are called, where not by their names.
    """
    parts = max(1, -(-tables.n_rows("instance_usage") // MOST_SAMPLED))
    usage = of_jobs(tables.instance_usage)
    # A sum of ids and slot picks rows all over jobs, tasks and time, and the same on every engine; a random sample
    # would not.
    number = usage.collection_id + usage.instance_index + usage.start_time // WINDOW
    requests = ("cpu_request", "memory_request")
    measured = ("average_cpu", "maximum_cpu", "sampled_cpu", "average_memory")
    rows = usage.filter(number % parts == 0).inner_join(task_tiers(tables, *requests), list(TASK))
    rows = rows.select(*_ORDER, *measured, *requests, "tier")
    found = renamed(fetch_sorted(tables, rows, "rows", _ORDER), names or {})
    if not found.num_rows:
        return {}
    job = units.job(found["collection_id"].to_numpy())
    cpu, memory = column(found, "average_cpu"), column(found, "average_memory")
    return {**_of_request(found, job), **_within_window(found, job), **_logs(cpu, memory, job)}


def _of_request(rows: pa.Table, job: Index) -> Measures:
    tiers = words(rows, "tier")
    measures: Measures = {}
    for resource in ("cpu", "memory"):
        request = column(rows, f"{resource}_request")
        of_request = column(rows, f"average_{resource}") / np.where(request > 0.0, request, np.nan)
        for name in np.unique(tiers):
            mine = tiers == name
            measures[f"{resource}_of_request_p50", str(name)] = quantile(
                of_request[mine], job[mine], 0.5
            )
    return measures


def _within_window(rows: pa.Table, job: Index) -> Measures:
    """Maximum and random second of a window ÷ its average."""
    average = column(rows, "average_cpu")
    measures: Measures = {}
    for name, source, percents in (
        ("maximum_of_average", "maximum_cpu", (10, 50, 90)),
        ("sample_of_average", "sampled_cpu", (5, 25, 50, 75, 95)),
    ):
        of_average = column(rows, source) / np.where(average > 0.0, average, np.nan)
        for q in percents:
            measures[f"{name}_p{q}", "rows"] = quantile(of_average, job, q / 100.0)
    return measures


def _logs(cpu: Numbers, memory: Numbers, job: Index) -> Measures:
    """Logarithms of average CPU: mean, deviation, correlation with those of memory."""
    used = (cpu > 0.0) & (memory > 0.0)
    x, y, unit = np.log(cpu[used]), np.log(memory[used]), job[used]

    def moments(weights: Numbers) -> Numbers:
        w = weights[unit] / max(float(weights[unit].sum()), 1e-300)
        dx, dy = x - w @ x, y - w @ y
        return np.array([w @ x, w @ dx**2, w @ dy**2, w @ (dx * dy)])

    def correlation(weights: Numbers) -> float:
        _, xx, yy, xy = moments(weights)
        return float(xy / np.sqrt(xx * yy)) if xx > 0.0 and yy > 0.0 else float("nan")

    return {
        ("zero_cpu", "rows"): share(cpu == 0.0, job),
        ("log_cpu_mean", "rows"): lambda weights: (
            float(moments(weights)[0]) if len(x) else float("nan")
        ),
        ("log_cpu_deviation", "rows"): lambda weights: float(np.sqrt(moments(weights)[1])),
        ("log_cpu_memory_correlation", "rows"): correlation,
    }
