"""How often the documented faults of the published traces are injected.

Faults of usage records are decided by hashing, so that they fall on the same rows whatever thread measures them;
those of events by streams of their own, in the order of parts.  All are counted for the ground truth.
Sources: ClusterData2011_2.md (known anomalies), Janus & Rzadca (averages above 1), and the shares found in the real
event files.
"""

import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

_NEVER = 2**62
"""A time after every trace, s."""


class FaultRates(NamedTuple):
    """Rates of injected faults; all zero means none is injected. Compiled functions take them as one argument.

    Parameters
    ----------
    missing_usage
        Share of usage records that are absent (published: < 1 %).
    no_counters
        Share of executions without CPI and MAI (2011: 14–53 % of the rows lack them; 2019: 29 % of a sample).
    bad_counters
        Share of usage records with impossible CPI and MAI.
    above_one
        Share of usage records with an average above 1.
    no_requests
        Share of snapshot tasks with missing info EXISTS_BUT_NO_CREATION and no requests (291 of 144,339).
    made_up
        Share of instance events with missing info SNAPSHOT_BUT_NO_TRANSITION (2019: .013 %).
    made_up_updates
        Share of UPDATE_RUNNING events with it (2011: 55 of about 160 in parts 0–17; no other events have it).
    no_schedule
        Share of scheduling records that are absent (2011: < .05 %).
    lost_jobs
        Share of jobs that end as LOST, with missing info NO_SNAPSHOT_OR_TRANSITION (2011: 16 of 672,074).
    made_up_collections
        Share of job events with SNAPSHOT_BUT_NO_TRANSITION (2011: 3 of 2,012,242).
    no_tasks
        Share of jobs without task events (about 70 of 672,074).
    reuses_id
        Whether one job id is used twice (2011: 6253771429).
    no_capacity
        Share of machine ADD rows without capacity (2011: 32 of 21,443; 2019: 1.6 % of the events of all cells).
    no_assigned
        Share of usage records with an assigned memory of 0 (2019: 25 % of a sample of rows).
    disk_io_until
        After this time (s) the disk I/O fields are empty.
    """

    missing_usage: float = 0.0
    no_counters: float = 0.0
    bad_counters: float = 0.0
    above_one: float = 0.0
    no_requests: float = 0.0
    made_up: float = 0.0
    made_up_updates: float = 0.0
    no_schedule: float = 0.0
    lost_jobs: float = 0.0
    made_up_collections: float = 0.0
    no_tasks: float = 0.0
    reuses_id: bool = False
    no_capacity: float = 0.0
    no_assigned: float = 0.0
    disk_io_until: int = _NEVER


NO_FAULTS = FaultRates()
_RATES = tomllib.loads(Path(__file__).with_name("fault_rates.toml").read_text("utf-8"))


def _published(trace: str) -> FaultRates:
    told: dict[str, Any] = _RATES["every"] | _RATES[trace]
    # Counts stand as they were published: 291/144339 of the tasks.
    told |= {
        name: float(Fraction(counts)) for name, counts in told.items() if isinstance(counts, str)
    }
    return FaultRates(**told)


PUBLISHED = {trace: _published(trace) for trace in ("2011", "2019")}
"""Documented rates by dialect."""
