"""The anomalies that are counted: what each is, and whether what was found is as documented.

How often each occurs in a trace, and where that is written, is the dialect's (`Dialect.anomalies`).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from borgtrace.schema.dialects import PUBLISHED, Rate

_RELATIVE = 0.25
"""How far a share may lie from the documented one, relative to the rarer side."""
LONG_TRACE_DAYS = 14
"""Days from which on one can stand out."""
UNDER_SAMPLED = 0.9
"""Samples per second below which a window counts as under-sampled: a tenth of its seconds was not seen."""
_E, _C, _M, _U = "instance_events", "collection_events", "machine_events", "instance_usage"


_NO_ROWS = "the store has no rows that it could affect"


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One anomaly.

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
        Reason where nothing could be examined.
    """

    code: str
    table: str
    statement: str
    also: str = ""
    why: str = _NO_ROWS

    @property
    def tables(self) -> tuple[str, ...]:
        """All tables that are needed to count it."""
        return (self.table, self.also) if self.also else (self.table,)

    @property
    def rates(self) -> Mapping[Rate, tuple[str, ...]]:
        """How often it occurs where that is documented, with the traces that it is documented of."""
        found: dict[Rate, tuple[str, ...]] = {}
        for one in PUBLISHED:
            rate = one.anomalies.get(self.code)
            if rate and rate.documented:
                found[rate] = (*found.get(rate, ()), one.trace)
        return found


def tolerance(rate: Rate) -> str:
    """Say in words what is found where a trace is as documented.

    Parameters
    ----------
    rate
        What is documented.

    Examples
    --------
    >>> tolerance(Rate("66 %", "", (0.66, 0.66))), tolerance(Rate("none", "", (0.0, 0.0)))
    ('0.66 ± 0.085, or two standard deviations', '0')
    """
    low, high = rate.documented or (0.0, 1.0)
    if low < high:
        # The smallest number above 0 stands for "not none".
        return f"{'> 0' if 0.0 < low < 1e-300 else f'{low:g}'} … {high:g}"
    if _is_exact(rate):
        return f"{low:g}"
    return f"{low:g} ± {_RELATIVE * min(low, 1.0 - low):.2g}, or two standard deviations"


def verdict(rate: Rate, n: int, of: int) -> str:
    """Return "as documented", "differs", "reported" (nothing to compare) or "nothing to measure".

    A share is met within a quarter of it (of what is left to 1, where that is less) or within two standard
    deviations of a Poisson count, so that a small trace is not accused.

    Parameters
    ----------
    rate
        What is documented.
    n
        Rows (or seconds) found.
    of
        Rows (or seconds) examined; 0 where the store has none.
    """
    if not of:
        return "nothing to measure"
    # Some documents say that a thing occurs, but not how often.
    if rate.documented is None:
        return "reported"
    scale = 1.0 if rate.is_count else float(of)
    low, high = (bound * scale for bound in rate.documented)
    if low == high and not _is_exact(rate):
        slack = max(_RELATIVE * min(high, of - high), 2.0 * math.sqrt(high) + 1.0)
        low, high = low - slack, high + slack
    return "as documented" if low <= n <= high else "differs"


def _is_exact(rate: Rate) -> bool:
    # A documented 0 or 1 is a rule ("never", "always") and not a rate; like a count it is met exactly.
    return rate.is_count or rate.documented in ((0.0, 0.0), (1.0, 1.0))


ANOMALIES: Mapping[str, Anomaly] = {
    anomaly.code: anomaly
    for anomaly in (
        Anomaly("missing_info_instances", _E, "instance events with missing info"),
        Anomaly("missing_info_is_update", _E, "events of kind SNAPSHOT_BUT_NO_TRANSITION that are UPDATE_RUNNING"),
        Anomaly("missing_creation_no_request", _E, "events of kind EXISTS_BUT_NO_CREATION without any request"),
        Anomaly("machine_missing", _E, "SCHEDULE, EVICT, FAIL and FINISH events without a machine"),
        Anomaly("machine_on_kill", _E, "KILL events that name a machine"),
        Anomaly("machine_on_submit", _E, "SUBMIT events after t = 0 that name a machine"),
        Anomaly("machine_on_first_submit", _E, "SUBMIT events at t = 0 that name a machine"),
        Anomaly("cpu_request_zero", _E, "events with a CPU request of exactly 0"),
        Anomaly("after_trace", _E, "instance events after the end of the trace"),
        Anomaly("schedule_missing", _E, "finished attempts without a SCHEDULE"),
        Anomaly(
            "fail_days",
            _E,
            "days with more than twice the median number of FAIL events",
            why=f"the trace has events on fewer than {LONG_TRACE_DAYS} days",
        ),
        Anomaly("missing_info_collections", _C, "collection events with missing info"),
        Anomaly("jobs_without_tasks", _C, "jobs without any task event", _E),
        Anomaly("job_id_reused", _C, "jobs whose id was used again after their end"),
        Anomaly("capacity_missing", _M, "ADD events without a capacity"),
        Anomaly("machine_events_doubled", _M, "machine events at the same time as another event of the machine"),
        Anomaly("missing_data_reason", _M, "machine events that say why data is missing"),
        Anomaly("mixed_requests", _E, "jobs of several tasks whose submissions carry different requests"),
        Anomaly("pending_updates", _E, "updates of pending tasks that demand constraints", "instance_constraints"),
        Anomaly("usage_after_end", _U, "windows that reach beyond the end of their task, of tasks that ended", _E),
        Anomaly("zero_usage", _U, "windows that use neither CPU nor memory (a container without processes)"),
        Anomaly("sample_portion_high", _U, "windows with fewer samples than expected (sample_portion above 1)"),
        Anomaly("sample_rate_low", _U, f"windows with fewer than {UNDER_SAMPLED} samples per second"),
        Anomaly("late_windows", _U, "windows that end after the end of the trace"),
        Anomaly("usage_missing", _U, "time that instances ran without a usage record", _E),
        Anomaly("window_over_300s", _U, "windows longer than 300 s"),
        Anomaly("window_off_grid", _U, "windows that cross the 300 s grid"),
        Anomaly("window_full", _U, "windows of exactly 300 s"),
        Anomaly("cpu_over_1", _U, "windows with a mean CPU above the largest machine"),
        Anomaly("sampled_cpu_over_1", _U, "windows with a sampled CPU above the largest machine"),
        Anomaly("mean_over_maximum", _U, "windows whose mean CPU exceeds their maximum"),
        Anomaly("sample_over_maximum", _U, "windows whose sampled CPU exceeds their maximum"),
        Anomaly("disk_io_late", _U, "windows after day 14 with a disk I/O time"),
        Anomaly("disk_io_null", _U, "windows in the first 14 days without a disk I/O time"),
        Anomaly("cpi_null", _U, "windows without cycles per instruction"),
        Anomaly("cpi_impossible", _U, "windows with CPI outside 0.1 … 50"),
        Anomaly("mai_impossible", _U, "windows with MAI outside 0 … 1"),
        Anomaly("assigned_memory_zero", _U, "windows with an assigned memory of 0"),
        Anomaly("dedicated_usage", _U, "windows on a dedicated machine"),
        Anomaly("percentiles_empty", _U, "windows without CPU percentiles"),
        Anomaly("alloc_holds_tasks", _U, "CPU of tasks in alloc sets, as a share of the CPU of these sets"),
    )
}
"""All anomalies by code."""
