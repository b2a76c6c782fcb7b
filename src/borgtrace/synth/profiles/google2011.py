"""A cell of 2011, after the first hours of the real trace.

Task and job events; machine events over the month.  Distributions of the lengths of executions, of outcomes, waits and
residual lives are those of its first 12.6 and 19.65 hours.
"""

from typing import Final

from borgtrace.synth.draws import QuantileCurve
from borgtrace.synth.profiles.profile import Profile, Tier

_SECONDS: Final = (1, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 18000, 28800, 36000, 100_000)
"""Where the lengths of executions were counted; each tier has a longest of its own."""
_RESIDUAL_SECONDS: Final = (4200.0, 7800.0, 15000.0, 22000.0, 36000.0, 45000.0, 86400.0, 172800.0)


def _shares(values: tuple[float, ...], weights: tuple[float, ...]) -> dict[float, float]:
    return dict(zip(values, weights, strict=True))


FREE: Final = Tier(
    "free",
    priorities={0: 3897, 1: 3028},
    snapshot_priorities={0: 38040, 1: 16571},
    classes={0: 0.50, 1: 0.31, 2: 0.185, 3: 0.005},
    snapshot_classes={0: 0.6153, 1: 0.1497, 2: 0.2004, 3: 0.0346},
    # 6,925 of the 15,165 new jobs of the first 19.65 hours.
    jobs=0.457,
    # 54,611 tasks running at the start on 12,477 machines; the other tiers alike.
    running=4.3770,
    pending=0.65,
    single=0.84,
    snapshot_sizes=QuantileCurve((0.0, 0.55, 0.75, 0.9, 0.95, 0.99, 1.0), (1.0, 1.0, 2.0, 10.0, 45.0, 716.0, 2e4)),
    cpu=_shares(
        (0.0006247, 0.006248, 0.0125, 0.01874, 0.03125, 0.04065, 0.05627, 0.0625, 0.06873, 0.125, 0.25, 0.4375),
        (0.080, 0.040, 0.420, 0.146, 0.036, 0.025, 0.023, 0.174, 0.032, 0.013, 0.0005, 0.0003),
    ),
    memory=_shares(
        (0.001553, 0.003109, 0.003181, 0.003887, 0.007767, 0.0159, 0.02069, 0.03516, 0.03961, 0.06677, 0.1272),
        (0.03, 0.05, 0.08, 0.08, 0.14, 0.36, 0.12, 0.07, 0.04, 0.022, 0.012),
    ),
    duration=QuantileCurve(
        (0.0, 0.005, 0.12, 0.19, 0.235, 0.318, 0.39, 0.512, 0.61, 0.755, 0.86, 0.885, 0.945, 0.965, 0.992, 1.0),
        (*_SECONDS, 4e5),
    ),
    outcomes={
        "EVICT": (0.07, 0.25, 0.40, 0.50, 0.65, 0.938),
        "FAIL": (0.030, 0.060, 0.010, 0.010, 0.005, 0.001),
        "FINISH": (0.450, 0.520, 0.310, 0.290, 0.185, 0.032),
        "KILL": (0.450, 0.170, 0.280, 0.200, 0.160, 0.029),
    },
    residual=QuantileCurve(
        (0.0, 0.004, 0.05, 0.087, 0.102, 0.261, 0.335, 0.486, 0.671, 0.86, 0.95, 1.0),
        (200.0, 1200.0, 2400.0, *_RESIDUAL_SECONDS, 2.5e6),
    ),
    residual_outcomes={"EVICT": 0.79, "FAIL": 0.004, "FINISH": 0.123, "KILL": 0.083},
    delay=QuantileCurve(
        (0.0, 0.25, 0.5, 0.65, 0.75, 0.9, 0.95, 0.99, 1.0), (0.3, 1.5, 3.4, 15, 60, 720, 1700, 5600, 2e4)
    ),
    different_machines=0.01,
    snapshot_different=0.053,
)
OTHER: Final = Tier(
    "other",
    priorities={2: 3909, 3: 5, 4: 513, 6: 214, 8: 2386},
    snapshot_priorities={2: 19210, 8: 3108},
    classes={0: 0.31, 1: 0.35, 2: 0.335, 3: 0.005},
    snapshot_classes={0: 0.3691, 1: 0.1795, 2: 0.4062, 3: 0.0452},
    jobs=0.463,
    running=1.7887,
    pending=0.20,
    single=0.72,
    snapshot_sizes=QuantileCurve((0.0, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0), (1.0, 1.0, 30.0, 100.0, 263.0, 792.0, 4408.0)),
    cpu=_shares(
        (0.006248, 0.0125, 0.02499, 0.03064, 0.03748, 0.05109, 0.0625, 0.07812, 0.09998, 0.125, 0.1868, 0.25, 0.4375),
        (0.025, 0.060, 0.150, 0.200, 0.040, 0.012, 0.360, 0.027, 0.045, 0.060, 0.010, 0.008, 0.003),
    ),
    memory=_shares(
        (0.00544, 0.009796, 0.01317, 0.02545, 0.03339, 0.04773, 0.06061, 0.09412, 0.1184, 0.2544),
        (0.09, 0.06, 0.17, 0.14, 0.12, 0.11, 0.10, 0.08, 0.12, 0.019),
    ),
    duration=QuantileCurve(
        (0.0, 0.0005, 0.026, 0.07, 0.15, 0.372, 0.54, 0.754, 0.86, 0.918, 0.945, 0.953, 0.968, 0.975, 0.99, 1.0),
        (*_SECONDS, 6e5),
    ),
    outcomes={
        "EVICT": (0.002, 0.001, 0.003, 0.010, 0.060, 0.130),
        "FAIL": (0.066, 0.009, 0.020, 0.014, 0.010, 0.020),
        "FINISH": (0.622, 0.760, 0.787, 0.716, 0.580, 0.090),
        "KILL": (0.310, 0.230, 0.190, 0.260, 0.350, 0.760),
    },
    residual=QuantileCurve(
        (0.0, 0.098, 0.165, 0.183, 0.197, 0.236, 0.248, 0.426, 0.458, 0.60, 0.75, 1.0),
        (60.0, 1200.0, 2400.0, *_RESIDUAL_SECONDS, 2.5e6),
    ),
    residual_outcomes={"EVICT": 0.031, "FAIL": 0.013, "FINISH": 0.53, "KILL": 0.426},
    delay=QuantileCurve((0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0), (0.3, 1.4, 2.7, 12.0, 58.9, 200.0, 1500.0, 1e4)),
    different_machines=0.25,
    snapshot_different=0.253,
)
_PRODUCTION_CPU: Final = (
    (0.004982, 0.006248, 0.01562, 0.01874, 0.03125, 0.04999, 0.0625, 0.07629,
     0.09375, 0.125, 0.1514, 0.1875, 0.2188, 0.25, 0.3125, 0.5),
    (0.03, 0.05, 0.07, 0.05, 0.11, 0.06, 0.25, 0.07, 0.07, 0.09, 0.04, 0.045, 0.020, 0.012, 0.029, 0.013),
)  # fmt: skip
_PRODUCTION_MEMORY: Final = (
    (0.003109, 0.006218, 0.01605, 0.0256, 0.0318, 0.03821, 0.0636, 0.07642,
     0.08569, 0.1272, 0.1528, 0.2004, 0.2327, 0.3179),
    (0.07, 0.11, 0.12, 0.10, 0.09, 0.11, 0.12, 0.08, 0.08, 0.07, 0.07, 0.03, 0.02, 0.006),
)  # fmt: skip
"""Requests and their weights, read off the stock of production tasks at the start."""
PRODUCTION: Final = Tier(
    "production",
    priorities={9: 1217, 10: 1, 11: 1},
    snapshot_priorities={9: 48702, 10: 811, 11: 6540},
    classes={0: 0.08, 1: 0.18, 2: 0.68, 3: 0.06},
    snapshot_classes={0: 0.0079, 1: 0.2329, 2: 0.3130, 3: 0.4462},
    jobs=0.080,
    running=4.4925,
    pending=0.06,
    single=0.92,
    snapshot_sizes=QuantileCurve((0.0, 0.6, 0.75, 0.9, 0.95, 0.99, 1.0), (1.0, 1.0, 5.0, 30.0, 100.0, 340.0, 3879.0)),
    cpu=_shares(*_PRODUCTION_CPU),
    memory=_shares(*_PRODUCTION_MEMORY),
    duration=QuantileCurve(
        (0.0, 0.0005, 0.195, 0.263, 0.313, 0.427, 0.545, 0.587, 0.61, 0.69, 0.735, 0.741, 0.75, 0.754, 0.80, 1.0),
        (*_SECONDS, 2.5e6),
    ),
    outcomes={
        "EVICT": (0.0005, 0.0005, 0.001, 0.009, 0.003, 0.01),
        "FAIL": (0.56, 0.391, 0.569, 0.121, 0.101, 0.55),
        "FINISH": (0.4395, 0.4885, 0.31, 0.320, 0.346, 0.19),
        "KILL": (0.0, 0.12, 0.12, 0.55, 0.55, 0.25),
    },
    residual=QuantileCurve(
        (0.0, 0.001, 0.002, 0.009, 0.013, 0.017, 0.026, 0.036, 0.07, 0.13, 0.35, 1.0),
        (300.0, 1200.0, *_RESIDUAL_SECONDS, 6e5, 1e7),
    ),
    residual_outcomes={"EVICT": 0.011, "FAIL": 0.20, "FINISH": 0.439, "KILL": 0.35},
    delay=QuantileCurve((0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0), (0.3, 1.2, 1.73, 5.0, 30.0, 45.0, 150.0, 2e3)),
    different_machines=0.10,
    snapshot_different=0.466,
    largest=100,
)

# Shares of ends that are followed by a SUBMIT in the first 19.65 hours.
RESUBMITTED: Final = {"EVICT": 0.9998, "FAIL": 0.948, "KILL": 0.351, "FINISH": 0.0296, "LOST": 0.0}
GOOGLE_2011: Final = Profile(
    (FREE, OTHER, PRODUCTION),
    # Mean over the month, for a cell of about 12,500 machines.
    jobs_per_hour=959.9 / 12500.0,
    # By each machine's last capacity: only so counted, the published table comes out exactly.
    shapes=(
        ("B", 0.5, 0.4995, 6732),
        ("B", 0.5, 0.2493, 3863),
        ("B", 0.5, 0.749, 1001),
        ("C", 1.0, 1.0, 795),
        ("A", 0.25, 0.2498, 126),
        ("B", 0.5, 0.1241, 52),
        ("B", 0.5, 0.03085, 5),
        ("B", 0.5, 0.9678, 5),
        ("C", 1.0, 0.5, 3),
        ("B", 0.5, 0.06158, 1),
    ),
    resubmitted=RESUBMITTED,
    # Production: it loses .0004 tasks an hour to evictions, free tasks .186.
    evicting=9,
    # The smallest job id of the real trace.
    first_id=3_418_309,
)
