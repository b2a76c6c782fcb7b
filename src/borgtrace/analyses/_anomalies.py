"""The documented anomalies of the traces, as data: what is expected, and where that is written."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

G11, DOC = "ClusterData2011_2.md", "2011 format document"
EDA = "published exploration of the full 2011 trace"
REAL, V3, S1 = "real 2011 parts", "2019 notes and real rows", "Janus & Rzadca, SoCC'17"


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One anomaly: `statement`, and the share that is documented.

    Parameters
    ----------
    documented
        Lowest and highest share (or count, where `is_count`); None where it is only said that the
        anomaly exists.
    """

    code: str
    table: str
    generations: tuple[str, ...]
    statement: str
    expected: str
    source: str
    documented: tuple[float, float] | None = None
    is_count: bool = False

    def verdict(self, n: int, of: int) -> str:
        """Return "as documented", "differs", "reported" (nothing to compare) or "nothing to measure".

        A range with low = high > 0 is met within half of it or within two standard deviations of
        a Poisson count, so that a small trace is not accused.
        """
        if not of:
            return "nothing to measure"
        if self.documented is None:
            return "reported"
        scale = 1.0 if self.is_count else float(of)
        low, high = (bound * scale for bound in self.documented)
        if low == high and 0.0 < self.documented[0] < 1.0:
            slack = max(0.5 * high, 2.0 * math.sqrt(high) + 1.0)
            low, high = low - slack, high + slack
        return "as documented" if low <= n <= high else "differs"


def _about(share: float) -> tuple[float, float]:
    return share, share


def _at_most(share: float) -> tuple[float, float]:
    return 0.0, share


_NONE, _ALL = (0.0, 0.0), (1.0, 1.0)
_OLD, _NEW, _BOTH = ("2011",), ("2019",), ("2011", "2019")
_E, _C, _M, _U = "instance_events", "collection_events", "machine_events", "instance_usage"

ANOMALIES: Mapping[str, Anomaly] = {
    anomaly.code: anomaly
    for anomaly in (
        Anomaly(
            "missing_info_instances", _E, _BOTH, "instance events with missing info", "0.013 %", G11, _about(0.00013)
        ),
        Anomaly(
            "missing_info_is_update",
            _E,
            _OLD,
            "events of kind SNAPSHOT_BUT_NO_TRANSITION that are UPDATE_RUNNING",
            "all",
            REAL,
            _ALL,
        ),
        Anomaly(
            "missing_creation_no_request",
            _E,
            _OLD,
            "events of kind EXISTS_BUT_NO_CREATION without any request",
            "all",
            REAL,
            _ALL,
        ),
        Anomaly(
            "machine_missing",
            _E,
            _OLD,
            "SCHEDULE, EVICT, FAIL and FINISH events without a machine",
            "none",
            REAL,
            _NONE,
        ),
        Anomaly("machine_on_kill", _E, _OLD, "KILL events that name a machine", "61.9 %", REAL, _about(0.619)),
        Anomaly("machine_on_submit", _E, _OLD, "SUBMIT events after t = 0 that name a machine", "none", REAL, _NONE),
        Anomaly(
            "machine_on_first_submit",
            _E,
            _OLD,
            "SUBMIT events at t = 0 that name a machine",
            "60.2 %",
            REAL,
            _about(0.602),
        ),
        Anomaly("cpu_request_zero", _E, _BOTH, "events with a CPU request of exactly 0", "occurs", REAL),
        Anomaly("after_trace", _E, _BOTH, "instance events after the end of the trace", "occurs", EDA),
        Anomaly(
            "schedule_missing", _E, _BOTH, "finished attempts without a SCHEDULE", "< 0.05 %", G11, _at_most(0.0005)
        ),
        Anomaly(
            "fail_days",
            _E,
            _OLD,
            "days with more than twice the median number of FAIL events",
            "2 (days 1 and 9)",
            EDA,
            (2, 2),
            is_count=True,
        ),
        Anomaly(
            "missing_info_collections",
            _C,
            _BOTH,
            "collection events with missing info",
            "0.00094 %",
            REAL,
            _about(9.4e-06),
        ),
        Anomaly(
            "jobs_without_tasks", _C, _OLD, "jobs without any task event", "≈ 70 of 672,074", G11, _about(0.000104)
        ),
        Anomaly(
            "job_id_reused",
            _C,
            _OLD,
            "jobs whose id was used again after their end",
            "1 (6253771429)",
            G11,
            (0, 1),
            is_count=True,
        ),
        Anomaly(
            "capacity_missing",
            _M,
            _BOTH,
            "ADD events without a capacity",
            "32 of 21,443 (2011); occurs (2019)",
            REAL,
            _at_most(0.06),
        ),
        Anomaly(
            "machine_events_doubled",
            _M,
            _OLD,
            "machine events at a time at which the machine has another",
            "none",
            REAL,
            _NONE,
        ),
        Anomaly(
            "usage_missing", _U, _BOTH, "time that instances ran without a usage record", "< 1 %", G11, _at_most(0.01)
        ),
        Anomaly("window_over_300s", _U, _BOTH, "windows longer than 300 s", "none", DOC, _NONE),
        Anomaly("window_off_grid", _U, _BOTH, "windows that cross the 300 s grid", "none", DOC, _NONE),
        Anomaly("window_full", _U, _NEW, "windows of exactly 300 s", "66 %", V3, _about(0.66)),
        Anomaly(
            "cpu_over_1",
            _U,
            _BOTH,
            "windows with a mean CPU above the largest machine",
            "rare (13 in 17 million tasks)",
            S1,
            _at_most(0.001),
        ),
        Anomaly(
            "sampled_cpu_over_1", _U, _OLD, "windows with a sampled CPU above the largest machine", "none", S1, _NONE
        ),
        Anomaly("mean_over_maximum", _U, _BOTH, "windows whose mean CPU exceeds their maximum", "not documented", DOC),
        Anomaly(
            "sample_over_maximum", _U, _BOTH, "windows whose sampled CPU exceeds their maximum", "not documented", DOC
        ),
        Anomaly(
            "disk_io_late", _U, _OLD, "windows after day 14 with a disk I/O time", "none valid", G11, _at_most(0.01)
        ),
        Anomaly(
            "disk_io_null",
            _U,
            _OLD,
            "windows in the first 14 days without a disk I/O time",
            "14–53 %",
            EDA,
            (0.07, 0.6),
        ),
        Anomaly(
            "cpi_null",
            _U,
            _BOTH,
            "windows without cycles per instruction",
            "14–53 % (2011), 29 % (2019)",
            EDA,
            (0.07, 0.6),
        ),
        Anomaly("cpi_impossible", _U, _BOTH, "windows with CPI outside 0.1 … 50", "some", G11, _at_most(0.01)),
        Anomaly("mai_impossible", _U, _BOTH, "windows with MAI outside 0 … 1", "some", G11, _at_most(0.01)),
        Anomaly("assigned_memory_zero", _U, _NEW, "windows with an assigned memory of 0", "25 %", V3, _about(0.25)),
        Anomaly("dedicated_usage", _U, _NEW, "windows on a dedicated machine", "none", V3, _NONE),
        Anomaly("percentiles_empty", _U, _NEW, "windows without CPU percentiles", "occurs", V3),
        Anomaly(
            "alloc_holds_tasks",
            _U,
            _NEW,
            "CPU of tasks in alloc sets, as a share of the CPU of these sets",
            "≤ 100 % (contained)",
            V3,
            _at_most(1.02),
        ),
    )
}
"""All anomalies by code."""
