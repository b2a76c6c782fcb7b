"""Measures of usage at the start, in the middle and at the end of a trace: a cell stays what it is."""

from collections.abc import Sequence
from typing import NamedTuple

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses.fidelity.usage_measures import task_correlations, task_variations
from borgtrace.analyses.fidelity.weighted_measures import (
    Measures,
    Units,
    fetch_sorted,
    quantile,
    ratio,
    words,
)
from borgtrace.analyses.shared.attempts import TASK, of_jobs
from borgtrace.analyses.shared.window_blocks import column
from borgtrace.analyses.shared.windows import (
    SLOT_SECONDS,
    amount,
    int_sum,
    level,
    regular,
    task_means,
    task_tiers,
)
from borgtrace.kernels.arrays import Numbers
from borgtrace.question import Tables
from borgtrace.schema.time import DAY, HOUR, TRACE_START, WINDOW

SLOTS = DAY // WINDOW
"""Slots of a period that is a whole day."""
LEAST_LEVEL = 0.05
MOST_LEVEL = 0.90
"""CPU and memory of the jobs whose series are published, as shares of the largest machine."""
HOURLY_CHANGE = 0.15
"""Change from hour to hour that 60 % of the tasks, by duration, stay below (Reiss et al., SoCC'12)."""
HOURLY_LAG = HOUR // WINDOW
"""Slots of an hour."""


class Period(NamedTuple):
    """A period of a trace, µs: at most a day."""

    name: str
    since: int
    until: int


def periods_of(last: int) -> list[Period]:
    """Return a day at the start, in the middle and at the end of a trace; of a shorter one, its thirds.

    Parameters
    ----------
    last
        Where usage ends, µs.

    Examples
    --------
    >>> [(period.name, period.since, period.until) for period in periods_of(TRACE_START + 9 * DAY)][1]
    ('middle', 346200000000, 432600000000)
    """
    whole_slots = max((last - TRACE_START) // WINDOW, 3)
    slots = min(SLOTS, whole_slots // 3)
    # Periods of hours begin with one, so that every hour is in one of them as a whole.
    step = HOURLY_LAG if slots >= HOURLY_LAG else 1
    firsts = {
        "start": 0,
        "middle": (whole_slots - slots) // 2,
        "end": whole_slots - slots,
    }
    periods = []
    for name, first in firsts.items():
        since = TRACE_START + first // step * step * WINDOW
        periods.append(Period(name, since, since + slots * WINDOW))
    return periods


def period_measures(tables: Tables, units: Units) -> Measures:
    """Fetch the windows of the periods, summed, and return the measures.

    Parameters
    ----------
    tables
        The store's tables.
    units
        The units that a resample draws.
    """
    usage = regular(of_jobs(tables.instance_usage))
    end = tables.fetch(usage.aggregate(last=usage.start_time.max()), "last_usage")
    (last,) = end["last"].to_pylist()
    if last is None:
        return {}
    periods = periods_of(last + WINDOW)
    usage = usage.mutate(period=name_of_period(usage.start_time, periods))
    usage = usage.filter(usage.period.notnull())
    sums = fetch_sorted(tables, sums_of_jobs(tables, usage), "period_sums", SUMS_KEY)
    changes = hourly_changes(usage, periods)
    changes_of_jobs = fetch_sorted(tables, changes, "period_changes", CHANGES_KEY)
    measures = measures_of_sums(sums, periods, units)
    measures |= measures_of_changes(changes_of_jobs, periods, units)
    if periods[0].until - periods[0].since == DAY:
        series = fetch_sorted(tables, series_of_jobs(usage), "period_series", SERIES_KEY)
        measures |= measures_of_series(series, periods, units)
    return measures


def name_of_period(time: ir.IntegerColumn, periods: Sequence[Period]) -> ir.StringColumn:
    """Return the name of the period that a time is in, NULL outside."""
    branches = [
        ((time >= period.since) & (time < period.until), ibis.literal(period.name))
        for period in periods
    ]
    return ibis.cases(*branches)


SUMS_KEY = ("period", "collection_id", "tier")


def sums_of_jobs(tables: Tables, usage: ir.Table) -> ir.Table:
    """Return windows of each job in each period, and the amounts that they use and request.

    Parameters
    ----------
    tables
        The store's tables.
    usage
        Windows with their ``period``.
    """
    windows = usage.inner_join(task_tiers(tables, "cpu_request", "memory_request"), list(TASK))
    return windows.group_by(SUMS_KEY).aggregate(
        n_windows=windows.count(),
        used_cpu=int_sum(amount(windows.average_cpu, windows.seconds)),
        used_memory=int_sum(amount(windows.average_memory, windows.seconds)),
        requested_cpu=int_sum(amount(windows.cpu_request, windows.seconds)),
        no_disk_io=int_sum(windows.mean_disk_io_time.isnull()),
    )


def measures_of_sums(sums: pa.Table, periods: Sequence[Period], units: Units) -> Measures:
    """Measure windows, and what is used of what is requested.

    Parameters
    ----------
    sums
        Rows of :func:`sums_of_jobs`.
    periods
        The periods.
    units
        The units that a resample draws.
    """
    period_of_row = words(sums, "period")
    is_production = words(sums, "tier") == "production"
    job = units.job(sums["collection_id"].to_numpy())
    measures: Measures = {}
    for period in periods:
        rows = np.flatnonzero(period_of_row == period.name)
        production = rows[is_production[rows]]
        machine_hours = len(units.machines) * (period.until - period.since) / HOUR
        windows = numbers(sums, "n_windows")
        measures["windows_per_machine_hour", period.name] = ratio(
            windows[rows], machine_hours, job[rows]
        )
        measures["disk_io_missing", period.name] = ratio(
            numbers(sums, "no_disk_io")[rows], windows[rows], job[rows]
        )
        measures["production_cpu_used_of_requested", period.name] = ratio(
            numbers(sums, "used_cpu")[production],
            numbers(sums, "requested_cpu")[production],
            job[production],
        )
        for resource in ("cpu", "memory"):
            used = numbers(sums, f"used_{resource}")
            measures[f"production_share_of_used_{resource}", period.name] = ratio(
                (used * is_production)[rows], used[rows], job[rows]
            )
    return measures


def numbers(rows: pa.Table, name: str) -> Numbers:
    """Return a column of sums, 0 where it is NULL."""
    return np.nan_to_num(column(rows, name))


CHANGES_KEY = ("period", "collection_id")


def hourly_changes(usage: ir.Table, periods: Sequence[Period]) -> ir.Table:
    """Return the time that each job is measured in two hours, and that in which CPU changes little.

    Parameters
    ----------
    usage
        Windows of the periods.
    periods
        The periods.
    """
    hours = task_means(usage, "hour")
    in_order = ibis.window(group_by=list(TASK), order_by=hours.hour)
    pairs = hours.mutate(
        period=name_of_period(hours.hour * HOUR + TRACE_START, periods),
        gap=hours.hour - hours.hour.lag().over(in_order),
        seconds_of_both=hours.seconds + hours.seconds.lag().over(in_order),
        previous=hours.cpu.lag().over(in_order),
    )
    pairs = pairs.filter((pairs.gap == 1) & pairs.period.notnull())
    change = (pairs.cpu - pairs.previous).abs().cast("float64")
    is_small = change <= HOURLY_CHANGE * pairs.previous.cast("float64")
    return pairs.group_by(CHANGES_KEY).aggregate(
        seconds=int_sum(pairs.seconds_of_both),
        seconds_within=int_sum(pairs.seconds_of_both, is_small).fill_null(0),
    )


def measures_of_changes(changes: pa.Table, periods: Sequence[Period], units: Units) -> Measures:
    """Measure the share of tasks, by duration, whose CPU changes little from hour to hour.

    Parameters
    ----------
    changes
        Rows of :func:`hourly_changes`.
    periods
        The periods.
    units
        The units that a resample draws.
    """
    period_of_row = words(changes, "period")
    job = units.job(changes["collection_id"].to_numpy())
    measures: Measures = {}
    for period in periods:
        own = period_of_row == period.name
        measures["hourly_change_within_15_percent", period.name] = ratio(
            numbers(changes, "seconds_within")[own], numbers(changes, "seconds")[own], job[own]
        )
    return measures


SERIES_KEY = ("period", "collection_id", "slot")


def series_of_jobs(usage: ir.Table) -> ir.Table:
    """Return what a job uses per slot, of jobs of a suitable size that run for a whole period.

    The population of the published series: jobs, with the sums of their tasks, whose CPU and memory lie between 5 and
    90 % of the largest machine over a whole day.  The source says "filtering the utilization"; here every slot has to.

    Parameters
    ----------
    usage
        Windows of the periods.
    """
    sums = usage.group_by(SERIES_KEY).aggregate(
        cpu=int_sum(amount(usage.average_cpu, usage.seconds)),
        memory=int_sum(amount(usage.average_memory, usage.seconds)),
    )
    slots = sums.mutate(
        cpu=level(sums.cpu, SLOT_SECONDS),
        memory=level(sums.memory, SLOT_SECONDS),
    )
    of_job = ibis.window(group_by=["period", "collection_id"])
    slots = slots.mutate(
        n_slots=slots.slot.count().over(of_job),
        lowest=ibis.least(slots.cpu.min().over(of_job), slots.memory.min().over(of_job)),
        highest=ibis.greatest(slots.cpu.max().over(of_job), slots.memory.max().over(of_job)),
    )
    has_suitable_size = (slots.lowest >= LEAST_LEVEL) & (slots.highest <= MOST_LEVEL)
    return slots.filter((slots.n_slots == SLOTS) & has_suitable_size).select(
        *SERIES_KEY, "cpu", "memory"
    )


def measures_of_series(series: pa.Table, periods: Sequence[Period], units: Units) -> Measures:
    """Measure medians over jobs: variation, autocorrelation, CPU with memory.

    Parameters
    ----------
    series
        Rows of :func:`series_of_jobs`.
    periods
        The periods.
    units
        The units that a resample draws.
    """
    if not series.num_rows:
        return {}
    offsets = np.arange(0, series.num_rows + 1, SLOTS)
    first = offsets[:-1]
    period_of_job = words(series, "period")[first]
    job = units.job(series["collection_id"].to_numpy()[first])
    cpu = column(series, "cpu")
    memory = column(series, "memory")
    statistics = {
        "variation_p50": task_variations(cpu, offsets),
        "autocorrelation_5min": task_correlations(cpu[:-1], cpu[1:], offsets, 1),
        "autocorrelation_1h": task_correlations(
            cpu[:-HOURLY_LAG], cpu[HOURLY_LAG:], offsets, HOURLY_LAG
        ),
        "cpu_memory_correlation_p50": task_correlations(cpu, memory, offsets, 0),
    }
    measures: Measures = {}
    for period in periods:
        own = period_of_job == period.name
        for name, values in statistics.items():
            measures[f"job_{name}", period.name] = quantile(values[own], job[own], 0.5)
    return measures
