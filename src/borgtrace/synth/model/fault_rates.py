"""How often the documented faults of the published traces are injected.

Faults of usage records are decided by hashing, so that they fall on the same rows whatever thread measures them.
Faults of events have random streams of their own, in the order of parts.  All are counted for the ground truth.
Sources: ClusterData2011_2.md (known anomalies), Janus & Rzadca (averages above 1), and the shares found in the real
event files.
"""

from typing import NamedTuple

_NEVER = 2**62
"""A time after every trace, s."""


class FaultRates(NamedTuple):
    """Rates of injected faults; all zero means none is injected.  Compiled functions take them as one argument.

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
        Share of snapshot tasks with missing info EXISTS_BUT_NO_CREATION and no requests.
    made_up
        Share of instance events with missing info SNAPSHOT_BUT_NO_TRANSITION (2019: .013 %).
    made_up_updates
        Share of UPDATE_RUNNING events with it (2011; no other events have it).
    no_schedule
        Share of scheduling records that are absent (2011: < .05 %).
    lost_tasks
        Share of LOST events of tasks with missing info NO_SNAPSHOT_OR_TRANSITION (2011: those of jobs all have it).
    lost_jobs
        Share of jobs that end as LOST, with missing info NO_SNAPSHOT_OR_TRANSITION.
    made_up_collections
        Share of job events with SNAPSHOT_BUT_NO_TRANSITION.
    no_tasks
        Share of jobs without task events.
    reuses_id
        Whether one job id is used twice (2011: 6253771429).
    no_capacity
        Share of machine ADD rows without capacity (2019: 1.6 % of the events of all cells).
    no_assigned
        Share of usage records with an assigned memory of 0 (2019: 25 % of a sample of rows).
    disk_io_until
        After this time (s) the disk I/O fields are empty.
    divided_windows
        Share of windows that are several short ones and a long one (2019: 66 % of a sample of rows last for 300 s).
    no_percentiles
        Share of windows of a second without percentiles (2019: 22.7 % of those in the sample, no others).
    no_disk_io
        Share of usage records before it without disk I/O.
    """

    missing_usage: float = 0.0
    no_counters: float = 0.0
    bad_counters: float = 0.0
    above_one: float = 0.0
    no_requests: float = 0.0
    made_up: float = 0.0
    made_up_updates: float = 0.0
    no_schedule: float = 0.0
    lost_tasks: float = 0.0
    lost_jobs: float = 0.0
    made_up_collections: float = 0.0
    no_tasks: float = 0.0
    reuses_id: bool = False
    no_capacity: float = 0.0
    no_assigned: float = 0.0
    disk_io_until: int = _NEVER
    no_disk_io: float = 0.0
    divided_windows: float = 0.0
    no_percentiles: float = 0.0


NO_FAULTS = FaultRates()

# For missing usage, counters and scheduling records only bounds are published; these rates lie inside them.
RATES_2011 = FaultRates(
    missing_usage=0.004,
    no_counters=0.15,
    bad_counters=1e-4,
    # 13 records of the tasks that end well, which have about a billion.
    above_one=1.3e-8,
    no_requests=291 / 144_339,
    # .013 % of all 144.6 million task events have missing info: 291 at the start, 8,754 of tasks that are lost, and the
    # rest of the 643,130 updates; in the first hours, 55 of 160.
    made_up_updates=(0.00013 * 144_648_288 - 291 - 8_754) / 643_130,
    no_schedule=2e-4,
    lost_tasks=1.0,
    lost_jobs=16 / 672_074,
    made_up_collections=3 / 2_012_242,
    no_tasks=70 / 672_074,
    reuses_id=True,
    no_capacity=32 / 21_443,
    # Day 14 of the trace, which starts at 600 s.
    disk_io_until=1_210_200,
    # 14–53 % of the rows of 20 real parts lack a column of disk or counters; which has how many is not published.
    no_disk_io=0.15,
)
RATES_2019 = FaultRates(
    missing_usage=0.004,
    no_counters=0.29,
    bad_counters=1e-4,
    # 13 records of the tasks that end well, which have about a billion.
    above_one=1.3e-8,
    # Not published for 2019: as in 2011.
    no_requests=291 / 144_339,
    no_tasks=70 / 672_074,
    made_up=1.3e-4,
    no_capacity=0.016,
    no_assigned=0.25,
    # Of 100 windows 3 are short anyway: where this share has four parts, 66 % of the rows are whole.
    divided_windows=0.11,
    no_percentiles=0.227,
)
PUBLISHED = {"2011": RATES_2011, "2019": RATES_2019}
"""Documented rates by dialect."""
