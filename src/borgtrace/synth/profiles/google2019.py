"""A cell of 2019.

Tirmazi et al. (EuroSys'20) for rates and mixes; lengths of executions are taken over from 2011, because no
per-tier curves are published.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from borgtrace.synth.profiles.google2011 import FREE, OTHER, PRODUCTION, RESUBMITTED
from borgtrace.synth.profiles.profile import Profile

BEB: Final = replace(
    OTHER,
    name="beb",
    priorities={100: 5, 103: 45, 105: 18, 107: 10, 112: 12, 114: 5, 115: 5},
    snapshot_priorities={103: 60, 105: 20, 107: 10, 114: 10},
    jobs=0.42,
    running=6.7,
    pending=0.8,
    single=0.72,
    cpu_use=0.20,
    memory_use=0.37,
)
MID: Final = replace(
    OTHER,
    name="mid",
    priorities={116: 50, 117: 20, 118: 15, 119: 15},
    snapshot_priorities={116: 50, 118: 25, 119: 25},
    jobs=0.10,
    running=2.0,
    pending=0.1,
    single=0.85,
    cpu_use=0.87,
    memory_use=0.46,
)
GOOGLE_2019: Final = Profile(
    (
        replace(
            FREE,
            priorities={0: 3897, 25: 3028},
            snapshot_priorities={0: 38040, 25: 16571},
            jobs=0.33,
            running=5.0,
            pending=0.5,
            cpu_use=0.145,
            memory_use=0.31,
        ),
        BEB,
        MID,
        replace(
            PRODUCTION,
            priorities={120: 10, 200: 85, 214: 5},
            snapshot_priorities={120: 10, 200: 85, 214: 5},
            jobs=0.14,
            running=7.5,
            cpu_use=0.38,
            memory_use=0.55,
        ),
        replace(
            PRODUCTION,
            name="monitoring",
            priorities={360: 80, 450: 20},
            snapshot_priorities={360: 80, 450: 20},
            jobs=0.01,
            running=1.0,
            cpu_use=0.74,
            memory_use=0.57,
        ),
    ),
    # A mean of 3,360 an hour and cell, 3.5 times that of 2011.
    jobs_per_hour=3360.0 / 12_000.0,
    shapes=(
        ("P1", 0.591796875, 0.33349609375, 3346),
        ("P2", 1.0, 0.5, 1672),
        ("P3", 0.708984375, 0.33349609375, 1417),
        ("P4", 0.38671875, 0.33349609375, 1104),
        ("P4", 0.38671875, 0.166748046875, 670),
        ("P2", 1.0, 1.0, 643),
        ("P3", 0.708984375, 0.6669921875, 480),
        ("P1", 0.591796875, 0.166748046875, 364),
        ("P5", 0.958984375, 0.5, 179),
        ("P5", 0.958984375, 1.0, 73),
        ("P2", 1.0, 0.25, 52),
    ),
    resubmitted=RESUBMITTED,
    # The production tier; raw priorities of 2019.
    evicting=120,
    first_id=330_587_000_000,
    request_scale=(0.33, 0.33),
    has_queue=True,
    alloc_jobs=0.25,
    request_correlation=0.8,
)
"""Machine shapes: cell a.  Jobs per hour and tiers: Tirmazi et al. (EuroSys'20), §4 and §6.

Requests are a third of those of 2011, so that new jobs have the mean of a log-normal fit to cell a (.009 CPU); the
tasks per machine make up for it, because allocations exceed the capacity in both years."""
