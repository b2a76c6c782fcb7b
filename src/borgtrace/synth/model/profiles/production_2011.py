"""Production of 2011, as the first hours of the real trace show them.

Run times, outcomes, waits and residual lives are those of the first 12.6 and 19.65 hours.
:mod:`borgtrace.synth.model.profile` says what each field means.
"""

from borgtrace.synth.model.consumption import OVERUSE
from borgtrace.synth.model.draws import QuantileCurve
from borgtrace.synth.model.lives import TierLives
from borgtrace.synth.model.profile import Tier
from borgtrace.synth.model.profiles.lives_2011 import (
    KILLED_JOBS,
    LASTING,
    PRODUCTION_ENDS,
    SMALL_JOBS,
)

PRODUCTION = Tier(
    name="production",
    memory_use=0.65,
    need=2.0,
    gain=1.07,
    overuse=OVERUSE,
    steady=0.2,
    priorities={9: 1217, 10: 1, 11: 1},
    snapshot_priorities={9: 48702, 10: 811, 11: 6540},
    classes={
        0: 0.08,
        1: 0.18,
        2: 0.665,
        3: 0.075,
    },
    snapshot_classes={
        0: 0.0079,
        1: 0.2329,
        2: 0.313,
        3: 0.4462,
    },
    jobs=0.08,
    running=4.4925,
    pending=0.06,
    single=0.92,
    snapshot_sizes=QuantileCurve.through(
        {
            0.0: 1.0,
            0.6: 1.0,
            0.75: 5.0,
            0.9: 30.0,
            0.95: 100.0,
            0.99: 340.0,
            1.0: 3879.0,
        }
    ),
    # Requests and their weights, read off the stock of production tasks at the start.
    cpu={
        0.004982: 0.03,
        0.006248: 0.05,
        0.01562: 0.07,
        0.01874: 0.05,
        0.03125: 0.11,
        0.04999: 0.06,
        0.0625: 0.25,
        0.07629: 0.07,
        0.09375: 0.07,
        0.125: 0.09,
        0.1514: 0.04,
        0.1875: 0.045,
        0.2188: 0.02,
        0.25: 0.012,
        0.3125: 0.029,
        0.5: 0.013,
    },
    memory={
        0.003109: 0.07,
        0.006218: 0.11,
        0.01605: 0.12,
        0.0256: 0.1,
        0.0318: 0.09,
        0.03821: 0.11,
        0.0636: 0.12,
        0.07642: 0.08,
        0.08569: 0.08,
        0.1272: 0.07,
        0.1528: 0.07,
        0.2004: 0.03,
        0.2327: 0.02,
        0.3179: 0.006,
    },
    duration=QuantileCurve.through(
        {
            0.0: 1,
            0.0005: 10,
            0.195: 30,
            0.263: 60,
            0.313: 120,
            0.427: 300,
            0.545: 600,
            0.587: 1800,
            0.61: 3600,
            0.69: 7200,
            0.735: 14400,
            0.741: 18000,
            0.75: 28800,
            0.754: 36000,
            0.8: 100000,
            1.0: 2_500_000.0,
        }
    ),
    residual=QuantileCurve.through(
        {
            0.0: 300.0,
            0.001: 1200.0,
            0.002: 4200.0,
            0.009: 7800.0,
            0.013: 15_000.0,
            0.017: 22_000.0,
            0.026: 36_000.0,
            0.036: 45_000.0,
            0.07: 86_400.0,
            0.13: 172_800.0,
            0.35: 600_000.0,
            1.0: 10_000_000.0,
        }
    ),
    delay=QuantileCurve.through(
        {
            0.0: 0.3,
            0.25: 1.2,
            0.5: 1.73,
            0.75: 5.0,
            0.83: 30.0,
            0.9: 38.0,
            0.95: 45.0,
            0.99: 150.0,
            1.0: 2000.0,
        }
    ),
    # Of the month (task events by priority): in the first hours 44 % of the few that end finish, over the month 3 %.
    residual_outcomes={
        "EVICT": 0.005,
        "FAIL": 0.565,
        "FINISH": 0.06,
        "KILL": 0.37,
    },
    different_machines=0.1,
    snapshot_different=0.466,
    largest=100,
    outcomes={
        "EVICT": (0.0005, 0.0005, 0.001, 0.009, 0.003, 0.01),
        "FAIL": (0.56, 0.391, 0.569, 0.121, 0.101, 0.55),
        "FINISH": (0.4395, 0.4885, 0.31, 0.32, 0.346, 0.19),
        "KILL": (0.0, 0.12, 0.12, 0.55, 0.55, 0.25),
    },
    is_steady=True,
    lives=TierLives(
        small=SMALL_JOBS,
        killed=KILLED_JOBS,
        lasting=LASTING,
        small_ends=PRODUCTION_ENDS,
        doomed=0.8,
        killed_waiting=0.0,
        updated=15_326 / 1_698_296,
        back_after_kill=0.5,
        large=SMALL_JOBS,
        large_ends=PRODUCTION_ENDS,
    ),
)
