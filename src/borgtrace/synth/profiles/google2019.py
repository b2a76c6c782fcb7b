"""A cell of 2019.

Tirmazi et al. (EuroSys'20) for rates and mixes; lengths of executions are taken over from 2011, because no
per-tier curves are published.
"""

from dataclasses import replace
from itertools import starmap
from typing import Any, Final

from borgtrace.synth.draws import Shares
from borgtrace.synth.profiles.google2011 import FREE, OTHER, PRODUCTION, RESUBMITTED
from borgtrace.synth.profiles.profile import Profile, Tier

_TIERS: Final = (
    ("free", FREE, 0.33, 5.0, 0.5, 0.84, 0.145, 0.31),
    ("beb", OTHER, 0.42, 6.7, 0.8, 0.72, 0.20, 0.37),
    ("mid", OTHER, 0.10, 2.0, 0.1, 0.85, 0.87, 0.46),
    ("production", PRODUCTION, 0.14, 7.5, 0.06, 0.92, 0.38, 0.55),
    ("monitoring", PRODUCTION, 0.01, 1.0, 0.06, 0.92, 0.74, 0.57),
)
"""Name, the tier of 2011 whose lengths and requests it has, and the following of its own."""
_OWN: Final = ("jobs", "running", "pending", "single", "cpu_use", "memory_use")
_PRIORITIES: Final[dict[str, Shares[int]]] = {
    "free": {0: 3897, 25: 3028},
    "beb": {100: 5, 103: 45, 105: 18, 107: 10, 112: 12, 114: 5, 115: 5},
    "mid": {116: 50, 117: 20, 118: 15, 119: 15},
    "production": {120: 10, 200: 85, 214: 5},
    "monitoring": {360: 80, 450: 20},
}
_SNAPSHOT_PRIORITIES: Final[dict[str, Shares[int]]] = _PRIORITIES | {
    "free": {0: 38040, 25: 16571},
    "beb": {103: 60, 105: 20, 107: 10, 114: 10},
    "mid": {116: 50, 118: 25, 119: 25},
}


def _tier(name: str, like: Tier, *own: float) -> Tier:
    numbers: dict[str, Any] = dict(zip(_OWN, own, strict=True))
    priorities, snapshot = _PRIORITIES[name], _SNAPSHOT_PRIORITIES[name]
    return replace(like, name=name, priorities=priorities, snapshot_priorities=snapshot, **numbers)


GOOGLE_2019: Final = Profile(
    tuple(starmap(_tier, _TIERS)),
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
