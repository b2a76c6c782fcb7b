"""The anomalies that are counted, and whether their number is as documented.

How often each occurs in a trace, and where that is documented, is part of its format (`Dialect.anomalies`).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from borgtrace.schema.dialects import PUBLISHED, AnomalyRate

TOLERANCE = 0.25
"""How far a share may lie from the documented one, relative to the rarer side."""
NOT_ZERO = 1e-300
"""A documented lower end below this, but above 0, stands for "not none"."""
LONG_TRACE_DAYS = 14
"""With fewer days, none can stand out."""
UNDER_SAMPLED = 0.9
"""Samples per second below which a window counts as under-sampled: a tenth of its seconds is missing."""
NO_ROWS = "the store has no rows that it could affect"


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Something unusual in the rows of a trace, which is counted.

    Parameters
    ----------
    code
        Its name.
    table
        Table it is in.
    statement
        What is counted.
    also
        Another table that is needed to count it.
    why
        Why nothing could be examined, where that is so.
    days
        Least length of a trace on which its rate can be judged.
    """

    code: str
    table: str
    statement: str
    also: str = ""
    why: str = NO_ROWS
    days: int = 1

    @property
    def tables(self) -> tuple[str, ...]:
        """All tables that are needed to count it."""
        return (self.table, self.also) if self.also else (self.table,)

    @property
    def rates(self) -> Mapping[AnomalyRate, tuple[str, ...]]:
        """The documented rates, each with the traces for which it is documented."""
        traces_by_rate: dict[AnomalyRate, tuple[str, ...]] = {}
        for dialect in PUBLISHED:
            rate = dialect.anomalies.get(self.code)
            if rate and rate.documented:
                traces_by_rate[rate] = (*traces_by_rate.get(rate, ()), dialect.trace)
        return traces_by_rate


def tolerance(rate: AnomalyRate) -> str:
    """Say in words which numbers are as documented.

    Parameters
    ----------
    rate
        The documented rate.

    Examples
    --------
    >>> tolerance(AnomalyRate("66 %", "", (0.66, 0.66))), tolerance(AnomalyRate("none", "", (0.0, 0.0)))
    ('0.66 ± 0.085, or two standard deviations', '0')
    """
    low, high = rate.documented or (0.0, 1.0)
    if low < high:
        lower_end = "> 0" if 0.0 < low < NOT_ZERO else f"{low:g}"
        return f"{lower_end} … {high:g}"
    if is_exact(rate):
        return f"{low:g}"
    largest_distance = TOLERANCE * min(low, 1.0 - low)
    return f"{low:g} ± {largest_distance:.2g}, or two standard deviations"


def is_as_documented(rate: AnomalyRate, n: int, of: int) -> bool:
    """Return whether a share is as documented.

    It is within a quarter of it (of what is left to 1, where that is less) or within two standard deviations of a
    Poisson count, so that a small trace is not accused.

    Parameters
    ----------
    rate
        The documented rate.
    n
        Rows (or seconds) with the anomaly.
    of
        Rows (or seconds) examined.
    """
    scale = 1.0 if rate.is_count else float(of)
    documented = rate.documented or (0.0, math.inf)
    low = documented[0] * scale
    high = documented[1] * scale
    if low == high and not is_exact(rate):
        two_standard_deviations = 2.0 * math.sqrt(high)
        slack = max(TOLERANCE * min(high, of - high), two_standard_deviations + 1.0)
        low -= slack
        high += slack
    return low <= n <= high


def is_exact(rate: AnomalyRate) -> bool:
    """Return whether a rate is met exactly or not at all."""
    # A documented 0 or 1 is a rule ("never", "always") and not a rate; so is a count.
    return rate.is_count or rate.documented in ((0.0, 0.0), (1.0, 1.0))


LISTED_ANOMALIES = (
    Anomaly(
        "missing_info_instances",
        table="instance_events",
        statement="instance events with missing info",
    ),
    Anomaly(
        "missing_info_is_update",
        table="instance_events",
        statement="events of kind SNAPSHOT_BUT_NO_TRANSITION that are UPDATE_RUNNING",
    ),
    Anomaly(
        "missing_creation_no_request",
        table="instance_events",
        statement="events of kind EXISTS_BUT_NO_CREATION without any request",
    ),
    Anomaly(
        "machine_missing",
        table="instance_events",
        statement="SCHEDULE, EVICT, FAIL and FINISH events without a machine",
    ),
    Anomaly(
        "machine_on_kill",
        table="instance_events",
        statement="KILL events that name a machine",
        days=7,
    ),
    Anomaly(
        "machine_on_submit",
        table="instance_events",
        statement="SUBMIT events after t = 0 that name a machine",
    ),
    Anomaly(
        "machine_on_first_submit",
        table="instance_events",
        statement="SUBMIT events at t = 0 that name a machine",
    ),
    Anomaly(
        "cpu_request_zero",
        table="instance_events",
        statement="events with a CPU request of exactly 0",
    ),
    Anomaly(
        "after_trace",
        table="instance_events",
        statement="instance events after the end of the trace",
    ),
    Anomaly(
        "schedule_missing",
        table="instance_events",
        statement="finished attempts without a SCHEDULE",
        days=7,
    ),
    Anomaly(
        "fail_days",
        table="instance_events",
        statement="days with more than twice the median number of FAIL events",
        why=f"the trace has events on fewer than {LONG_TRACE_DAYS} days",
    ),
    Anomaly(
        "missing_info_collections",
        table="collection_events",
        statement="collection events with missing info",
    ),
    Anomaly(
        "jobs_without_tasks",
        table="collection_events",
        statement="jobs without any task event",
        also="instance_events",
    ),
    Anomaly(
        "job_id_reused",
        table="collection_events",
        statement="jobs whose id was used again after their end",
    ),
    Anomaly(
        "capacity_missing",
        table="machine_events",
        statement="ADD events without a capacity",
    ),
    Anomaly(
        "machine_events_doubled",
        table="machine_events",
        statement="machine events at the same time as another event of the machine",
    ),
    Anomaly(
        "missing_data_reason",
        table="machine_events",
        statement="machine events that say why data is missing",
    ),
    Anomaly(
        "mixed_requests_at_start",
        table="instance_events",
        statement="jobs of several tasks at t = 0 that run there with different requests",
        why="no job runs several tasks at t = 0",
    ),
    Anomaly(
        "mixed_requests",
        table="instance_events",
        statement="new jobs of several tasks with different requests",
    ),
    Anomaly(
        "pending_updates",
        table="instance_events",
        statement="updates of pending tasks that demand constraints",
        also="instance_constraints",
    ),
    Anomaly(
        "usage_after_end",
        table="instance_usage",
        statement="windows that reach beyond the end of their task, of tasks that ended",
        also="instance_events",
    ),
    Anomaly(
        "zero_usage",
        table="instance_usage",
        statement="windows that use neither CPU nor memory (a container without processes)",
    ),
    Anomaly(
        "sample_portion_high",
        table="instance_usage",
        statement="windows with fewer samples than expected (sample_portion above 1)",
    ),
    Anomaly(
        "sample_rate_low",
        table="instance_usage",
        statement=f"windows with fewer than {UNDER_SAMPLED} samples per second",
    ),
    Anomaly(
        "late_windows",
        table="instance_usage",
        statement="windows that end after the end of the trace",
    ),
    Anomaly(
        "usage_missing",
        table="instance_usage",
        statement="time that instances ran without a usage record",
        also="instance_events",
    ),
    Anomaly(
        "window_over_300s",
        table="instance_usage",
        statement="windows longer than 300 s",
    ),
    Anomaly(
        "window_off_grid",
        table="instance_usage",
        statement="windows that cross the 300 s grid",
    ),
    Anomaly(
        "window_full",
        table="instance_usage",
        statement="windows of exactly 300 s",
    ),
    Anomaly(
        "cpu_over_1",
        table="instance_usage",
        statement="windows with a mean CPU above the largest machine",
    ),
    Anomaly(
        "sampled_cpu_over_1",
        table="instance_usage",
        statement="windows with a sampled CPU above the largest machine",
    ),
    Anomaly(
        "mean_over_maximum",
        table="instance_usage",
        statement="windows whose mean CPU exceeds their maximum",
    ),
    Anomaly(
        "sample_over_maximum",
        table="instance_usage",
        statement="windows whose sampled CPU exceeds their maximum",
    ),
    Anomaly(
        "disk_io_late",
        table="instance_usage",
        statement="windows after day 14 with a disk I/O time",
    ),
    Anomaly(
        "disk_io_null",
        table="instance_usage",
        statement="windows in the first 14 days without a disk I/O time",
    ),
    Anomaly(
        "cpi_null",
        table="instance_usage",
        statement="windows without cycles per instruction",
    ),
    Anomaly(
        "cpi_impossible",
        table="instance_usage",
        statement="windows with CPI outside 0.1 … 50",
    ),
    Anomaly(
        "mai_impossible",
        table="instance_usage",
        statement="windows with MAI outside 0 … 1",
    ),
    Anomaly(
        "assigned_memory_zero",
        table="instance_usage",
        statement="windows with an assigned memory of 0",
    ),
    Anomaly(
        "dedicated_usage",
        table="instance_usage",
        statement="windows on a dedicated machine",
    ),
    Anomaly(
        "percentiles_empty",
        table="instance_usage",
        statement="windows without CPU percentiles",
    ),
    Anomaly(
        "alloc_holds_tasks",
        table="instance_usage",
        statement="CPU of tasks in alloc sets, as a share of the CPU of these sets",
    ),
)

ANOMALIES = {anomaly.code: anomaly for anomaly in LISTED_ANOMALIES}
"""All anomalies by code, in the order of the answer."""
