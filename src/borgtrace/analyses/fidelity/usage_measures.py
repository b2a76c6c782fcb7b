"""Measures of usage for the fidelity report: long tasks, peaks, series (2011) and rows (2019)."""

from collections.abc import Mapping
from typing import NamedTuple

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
"""Most windows of long tasks that are read; of more, a part of the jobs stands for all."""
MOST_SAMPLED = 300_000
"""The same for rows of 2019."""
LOW_SAMPLE_RATE = 0.99
"""Samples a second (2019)."""
WINDOW_KEY = (*TASK, "start_time")
MOMENTS = {
    "mean_cpu": "mean",
    "mean_deviation_sampled": "deviation",
    "rms_deviation_sampled": "rms",
    "deviation_of_means": "spread",
    "slope_sampled": "slope",
    "intercept_sampled": "intercept",
}
"""Moments of sampled CPU by the name of their measure."""


def usage_measures(tables: Tables, units: Units) -> Measures:
    """Fetch the rows that the measures of 2011's usage need, and return the measures."""
    long_tasks = select_long_tasks(tables)
    columns = ("mean_sampled_cpu", "std_sampled_cpu", "mean_average_cpu", "std_average_cpu")
    moments = fetch_sorted(tables, long_tasks.select(*TASK, *columns), "long_tasks", TASK)
    measures = measures_of_peaks(tables, units)
    measures |= measures_of_tasks(tables, units)
    measures |= measures_of_series(tables, long_tasks, units)
    if moments.num_rows:
        measures |= measures_of_moments(moments, units)
    return measures


def select_long_tasks(tables: Tables) -> ir.Table:
    """Return the long tasks that did not fail, as in Janus & Rzadca."""
    tasks = of_jobs(tables.tasks).filter(tables.tasks.n_windows >= LONG)
    failures = tasks.n_evict + tasks.n_fail + tasks.n_kill + tasks.n_lost
    # Tasks without any use are dropped there (209,940 of them). Averages above 1 (13 records) are replaced by samples
    # there; here such tasks are left out.
    has_plausible_use = (tasks.mean_sampled_cpu > 0) & (tasks.max_average_cpu <= 1)
    return tasks.filter(has_plausible_use & (failures == 0))


def measures_of_moments(tasks: pa.Table, units: Units) -> Measures:
    """Measure moments of long tasks, and their regression."""
    job = units.job(tasks["collection_id"].to_numpy())
    sampled_mean = column(tasks, "mean_sampled_cpu")
    sampled_deviation = column(tasks, "std_sampled_cpu")
    measures: Measures = {}
    for name, which in MOMENTS.items():
        measures[name, "long tasks"] = moment(sampled_mean, sampled_deviation, job, which)
    average_mean = column(tasks, "mean_average_cpu")
    average_deviation = column(tasks, "std_average_cpu")
    for which in ("slope", "intercept"):
        measures[f"{which}_average", "long tasks"] = moment(
            average_mean, average_deviation, job, which
        )
    return measures


def measures_of_peaks(tables: Tables, units: Units) -> Measures:
    """Measure largest CPU and memory of a task ÷ its request, where both stay within it; and how many do not."""
    peaks = peaks_of_request(tables)
    peaks = peaks.filter(peaks.cpu.notnull() & peaks.memory.notnull())
    rows = fetch_sorted(tables, peaks, "peaks", TASK)
    job = units.job(rows["collection_id"].to_numpy())
    cpu = column(rows, "cpu")
    memory = column(rows, "memory")
    measures: Measures = {
        ("memory_peak_above_request", "all"): share(memory > 1.0, job),
    }
    # The published histogram holds only tasks that stay within both requests.
    is_within = (cpu <= 1.0) & (memory <= 1.0)
    for resource, values in (("cpu", cpu), ("memory", memory)):
        peak = values[is_within]
        measures[f"peak_{resource}_of_request", "all"] = ratio(
            peak, np.ones(len(peak)), job[is_within]
        )
        measures[f"peak_{resource}_below_5_percent", "all"] = share(peak < 0.05, job[is_within])
    return measures


def measures_of_tasks(tables: Tables, units: Units) -> Measures:
    """Measure how many tasks stay within twice their CPU request in all of their windows."""
    tasks = of_jobs(tables.tasks).filter(tables.tasks.max_average_cpu.notnull())
    columns = tasks.filter(tasks.cpu_request > 0.0).select(*TASK, "max_average_cpu", "cpu_request")
    rows = fetch_sorted(tables, columns, "usage_of_tasks", TASK)
    job = units.job(rows["collection_id"].to_numpy())
    is_within = column(rows, "max_average_cpu") <= 2.0 * column(rows, "cpu_request")
    return {("within_twice_cpu_request", "all"): share(is_within, job)}


def measures_of_series(tables: Tables, long_tasks: ir.Table, units: Units) -> Measures:
    """Measure long tasks over time: whether two hours of a task differ."""
    n_parts = max(1, -(-tables.n_rows("instance_usage") // MOST_ROWS))
    # Whole jobs, because the bootstrap draws jobs.
    chosen = long_tasks.filter(long_tasks.collection_id % n_parts == 0).select(*TASK)
    usage = tables.instance_usage.semi_join(chosen, list(TASK))
    usage = usage.select(*WINDOW_KEY, "sampled_cpu")
    rows = fetch_sorted(tables, usage, "series", WINDOW_KEY)
    if not rows.num_rows:
        return {}
    ids = rows["collection_id"].to_numpy()
    index = rows["instance_index"].to_numpy().astype(np.int64)
    offsets = run_starts(ids, index)
    first = offsets[:-1]
    job = units.job(ids[first])
    is_rejected = differs(column(rows, "sampled_cpu"), offsets, ids[first], index[first])
    return {("stationarity_rejected", "long tasks"): share(is_rejected, job)}


def differs(values: Numbers, offsets: Index, ids: Index, index: Index) -> Flags:
    """Return whether two random windows of 12 samples of each task differ at 5 % (Kolmogorov–Smirnov).

    Parameters
    ----------
    values
        Samples of all tasks.
    offsets
        Where each task begins, and the end, shape (tasks + 1,); none has fewer than :data:`LONG`.
    ids, index
        Its job and its number, which seed the draw: int64, shape (tasks,).
    """
    # The keys of the tasks seed the draw, so that it does not depend on the order of rows.
    keys = task_keys(0, ids, index)
    samples = np.nan_to_num(values).astype(np.float32)
    steps = np.empty(len(ids), np.int64)
    # Windows of 12 samples are those of the paper (§3.4).
    window_pairs(samples, offsets, keys, 12, 12, steps)
    p_values = np.array([ks_p_value(12, k) for k in range(13)])
    # A long task has 24 rows, hence two windows at least: no step is −1, which would mean that it has fewer.
    return np.asarray(p_values[steps] < 0.05)


def task_variations(values: Numbers, offsets: Index) -> Numbers:
    """Return deviation ÷ mean of each task; NaN where the mean is 0."""
    mean_square = task_means(values**2, offsets)
    mean = task_means(values, offsets)
    # The difference of two nearly equal numbers may fall below 0 by rounding.
    variance = np.maximum(mean_square - mean**2, 0.0)
    return np.sqrt(variance) / np.where(mean > 0.0, mean, np.nan)


def task_means(values: Numbers, offsets: Index) -> Numbers:
    """Return the mean of each task."""
    return np.asarray(np.add.reduceat(values, offsets[:-1]) / np.diff(offsets))


def task_correlations(a: Numbers, b: Numbers, offsets: Index, lag: int) -> Numbers:
    """Correlate `a` with `b` (which lies `lag` rows later) within each task; NaN where one is constant."""
    is_within = np.ones(len(a), dtype=bool)
    for back in range(1, lag + 1):
        # A pair that begins in the last `lag` rows of a task ends in the next task. The last task needs no mark: its
        # pairs are cut off with `a`. A long task has 24 rows, so that each keeps some pair at a lag of 12.
        is_within[np.minimum(offsets[1:-1] - back, len(a) - 1)] = False
    weight = is_within.astype(float)
    starts = np.minimum(offsets[:-1], len(a) - 1)
    n_pairs = np.maximum(np.add.reduceat(weight, starts), 1.0)

    def mean(values: Numbers) -> Numbers:
        return np.asarray(np.add.reduceat(values * weight, starts) / n_pairs)

    covariance = mean(a * b) - mean(a) * mean(b)
    variance_a = np.maximum(mean(a * a) - mean(a) ** 2, 0.0)
    variance_b = np.maximum(mean(b * b) - mean(b) ** 2, 0.0)
    scale = np.sqrt(variance_a * variance_b)
    # Below 1e-12 the deviation is rounding, and the series constant.
    return np.divide(covariance, scale, out=np.full(len(scale), np.nan), where=scale > 1e-12)


def row_measures(tables: Tables, units: Units, names: Mapping[str, str] | None = None) -> Measures:
    """Measure usage rows beside the requests of their tasks, as for 2019; a fixed part of them where there are many.

    Parameters
    ----------
    tables
        The store's tables.
    units
        The units that a resample draws.
    names
        Other names of tiers, where they have some.
    """
    n_parts = max(1, -(-tables.n_rows("instance_usage") // MOST_SAMPLED))
    usage = of_jobs(tables.instance_usage)
    # The sum of ids and slot picks rows from all jobs, tasks and times, and the same on every engine; a random sample
    # would not.
    number = usage.collection_id + usage.instance_index + usage.start_time // WINDOW
    requests = task_tiers(tables, "cpu_request", "memory_request")
    chosen = usage.filter(number % n_parts == 0).inner_join(requests, list(TASK))
    chosen = chosen.select(
        *WINDOW_KEY,
        "average_cpu",
        "maximum_cpu",
        "sampled_cpu",
        "average_memory",
        "end_time",
        "sample_rate",
        "cpu_request",
        "memory_request",
        "tier",
        # NULL where the list is.
        n_percentiles=chosen.cpu_usage_distribution.length(),
    )
    rows = renamed(fetch_sorted(tables, chosen, "rows", WINDOW_KEY), names or {})
    if not rows.num_rows:
        return {}
    job = units.job(rows["collection_id"].to_numpy())
    cpu = column(rows, "average_cpu")
    memory = column(rows, "average_memory")
    return {
        **measures_of_requests(rows, job),
        **measures_within_windows(rows, job),
        **measures_of_logarithms(cpu, memory, job),
        **measures_of_gaps(rows, job),
    }


def measures_of_requests(rows: pa.Table, job: Index) -> Measures:
    """Measure the median of average ÷ request, by tier."""
    tiers = words(rows, "tier")
    measures: Measures = {}
    for resource in ("cpu", "memory"):
        request = column(rows, f"{resource}_request")
        positive_request = np.where(request > 0.0, request, np.nan)
        share_of_request = column(rows, f"average_{resource}") / positive_request
        for name in np.unique(tiers):
            is_in_tier = tiers == name
            measures[f"{resource}_of_request_p50", str(name)] = quantile(
                share_of_request[is_in_tier], job[is_in_tier], 0.5
            )
    return measures


def measures_within_windows(rows: pa.Table, job: Index) -> Measures:
    """Measure quantiles of the maximum and of a random second of a window ÷ its average."""
    average = column(rows, "average_cpu")
    positive_average = np.where(average > 0.0, average, np.nan)
    maximum = column(rows, "maximum_cpu") / positive_average
    sample = column(rows, "sampled_cpu") / positive_average
    measures: Measures = {}
    for q in (10, 50, 90):
        measures[f"maximum_of_average_p{q}", "rows"] = quantile(maximum, job, q / 100.0)
    for q in (5, 25, 50, 75, 95):
        measures[f"sample_of_average_p{q}", "rows"] = quantile(sample, job, q / 100.0)
    return measures


def measures_of_gaps(rows: pa.Table, job: Index) -> Measures:
    """Measure what windows of 2019 lack: whole windows, windows without percentiles, and with few samples."""
    length = column(rows, "end_time") - column(rows, "start_time")
    n_percentiles = np.nan_to_num(column(rows, "n_percentiles"))
    return {
        ("whole_windows", "rows"): share(length == WINDOW, job),
        ("empty_percentiles", "rows"): share(n_percentiles == 0, job),
        ("low_sample_rate", "rows"): share(column(rows, "sample_rate") < LOW_SAMPLE_RATE, job),
    }


class LogMoments(NamedTuple):
    """Weighted moments of the logarithms of CPU (x) and memory (y)."""

    mean_x: float
    variance_x: float
    variance_y: float
    covariance: float


def measures_of_logarithms(cpu: Numbers, memory: Numbers, job: Index) -> Measures:
    """Measure logarithms of average CPU: mean, deviation, correlation with those of memory."""
    is_used = (cpu > 0.0) & (memory > 0.0)
    x = np.log(cpu[is_used])
    y = np.log(memory[is_used])
    unit = job[is_used]

    def moments(weights: Numbers) -> LogMoments:
        w = weights[unit] / max(float(weights[unit].sum()), 1e-300)
        dx = x - w @ x
        dy = y - w @ y
        return LogMoments(
            mean_x=float(w @ x),
            variance_x=float(w @ dx**2),
            variance_y=float(w @ dy**2),
            covariance=float(w @ (dx * dy)),
        )

    def mean(weights: Numbers) -> float:
        return float(moments(weights).mean_x) if len(x) else float("nan")

    def deviation(weights: Numbers) -> float:
        return float(np.sqrt(moments(weights).variance_x))

    def correlation(weights: Numbers) -> float:
        _, variance_x, variance_y, covariance = moments(weights)
        if variance_x <= 0.0 or variance_y <= 0.0:
            return float("nan")
        return float(covariance / np.sqrt(variance_x * variance_y))

    return {
        ("zero_cpu", "rows"): share(cpu == 0.0, job),
        ("log_cpu_mean", "rows"): mean,
        ("log_cpu_deviation", "rows"): deviation,
        ("log_cpu_memory_correlation", "rows"): correlation,
    }
