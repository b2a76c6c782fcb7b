"""The documented faults of the published traces, planted at documented rates.

Each fault is decided by hashing, so that it falls on the same row whatever the number of processes,
and is counted for the ground truth.  Sources: ClusterData2011_2.md (known anomalies), Janus & Rzadca
(averages above 1), and the shares found in the real event files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from borgtrace.schema.time import DAY, TRACE_START


@dataclass(frozen=True, slots=True)
class FaultRates:
    """Rates of planted faults; all zero means none is planted.

    Parameters
    ----------
    missing_usage
        Share of usage records that are absent (published: < 1 %).
    no_counters
        Share of runs without CPI and MAI (published: 14–53 % of the rows lack them).
    bad_counters
        Share of usage records with impossible CPI and MAI.
    above_one
        Share of usage records with an average above 1.
    no_requests
        Share of snapshot tasks with missing info EXISTS_BUT_NO_CREATION and no requests (291 of 144,339).
    made_up
        2019: share of events with missing info SNAPSHOT_BUT_NO_TRANSITION (.013 %).
    made_up_updates
        2011: share of UPDATE_RUNNING events with it; no other events have it (55 of about 160 in parts 0–17).
    no_schedule
        2011: share of scheduling records that are absent (published: < .05 %).
    lost_jobs
        2011: share of jobs that end as LOST, with missing info NO_SNAPSHOT_OR_TRANSITION (16 of 672,074).
    made_up_collections
        2011: share of job events with SNAPSHOT_BUT_NO_TRANSITION (3 of 2,012,242).
    no_tasks
        Share of jobs without task events (about 70 of 672,074).
    no_capacity
        Share of machine ADD rows without capacity (32 of 21,443).
    disk_io_until
        After this time (µs) the disk I/O fields are empty.
    """

    missing_usage: float = 0.004
    no_counters: float = 0.15
    bad_counters: float = 1e-4
    above_one: float = 1e-5
    no_requests: float = 291 / 144339
    made_up: float = 1.3e-4
    made_up_updates: float = 55 / 160
    no_schedule: float = 2e-4
    lost_jobs: float = 16 / 672074
    made_up_collections: float = 3 / 2012242
    no_tasks: float = 70 / 672074
    no_capacity: float = 32 / 21443
    disk_io_until: int = TRACE_START + 14 * DAY


PUBLISHED: Final = FaultRates()
NONE: Final = FaultRates(*(0.0,) * 12, disk_io_until=2**62)
