"""The tiers of 2011, as the first hours of the real trace show them.

Run times, outcomes, waits and residual lives are those of the first 12.6 and 19.65 hours.
:mod:`borgtrace.synth.model.profile` says what each field means.
"""

from borgtrace.synth.model.consumption import OVERUSE
from borgtrace.synth.model.draws import QuantileCurve
from borgtrace.synth.model.lives import Lives
from borgtrace.synth.model.profile import Tier

SMALL_JOBS = QuantileCurve.through(
    {
        0.0: 8.5,
        0.1: 22.0,
        0.25: 50.0,
        0.5: 88.0,
        0.75: 290.0,
        0.9: 1058.0,
        0.95: 1800.0,
        0.993: 4500.0,
        1.0: 60_000.0,
    }
)
"""Durations of jobs that finish (p50 108.6, p90 1,058, p99 10,337 s, mean 650.7 s): job events of the month.

The medians are somewhat lower, because the last of several tasks decides how long a job lasts."""
KILLED_JOBS = QuantileCurve.through(
    {
        0.0: 5.0,
        0.1: 45.0,
        0.25: 110.0,
        0.5: 215.0,
        0.75: 650.0,
        0.9: 2300.0,
        0.983: 6000.0,
        0.994: 30_000.0,
        1.0: 800_000.0,
    }
)
"""The same of jobs that are killed (p50 262.9, p90 2,644, p99 86,363 s, mean 5,792 s)."""
LASTING = QuantileCurve.through(
    {
        0.0: 300.0,
        0.15: 3600.0,
        0.5: 20_000.0,
        0.9: 200_000.0,
        1.0: 700_000.0,
    }
)
"""Run times of the class that is most sensitive to latency: usually long (Zhu et al., Observation 10)."""
SMALL_ENDS = {
    "EVICT": (0.002, 0.004, 0.01, 0.03, 0.1, 0.2),
    "FAIL": (0.01,) * 6,
    "FINISH": (0.988, 0.986, 0.98, 0.96, 0.89, 0.79),
}
"""How runs of small jobs end: the jobs that are killed make up for the rest."""
PRODUCTION_ENDS = {
    "EVICT": (0.0005,) * 6,
    "FAIL": (0.01,) * 6,
    "FINISH": (0.9895,) * 6,
}
"""The same for production, of which hardly any job sees an eviction (Tirmazi et al.)."""

FREE = Tier(
    name="free",
    memory_use=0.3,
    failing_use_little=True,
    overuse=OVERUSE,
    steady=0.4,
    priorities={0: 3897, 1: 3028},
    snapshot_priorities={0: 38040, 1: 16571},
    classes={
        0: 0.5,
        1: 0.31,
        2: 0.189,
        3: 0.001,
    },
    snapshot_classes={
        0: 0.6153,
        1: 0.1497,
        2: 0.2004,
        3: 0.0346,
    },
    # 6,925 of the 15,165 new jobs of the first 19.65 hours.
    jobs=0.457,
    # 54,611 tasks running at the start on 12,477 machines; likewise for the other tiers.
    running=4.377,
    pending=0.65,
    single=0.84,
    snapshot_sizes=QuantileCurve.through(
        {
            0.0: 1.0,
            0.55: 1.0,
            0.75: 2.0,
            0.9: 10.0,
            0.95: 45.0,
            0.99: 716.0,
            1.0: 20_000.0,
        }
    ),
    cpu={
        0.0006247: 0.08,
        0.006248: 0.04,
        0.0125: 0.42,
        0.01874: 0.146,
        0.03125: 0.036,
        0.04065: 0.025,
        0.05627: 0.023,
        0.0625: 0.174,
        0.06873: 0.032,
        0.125: 0.013,
        0.25: 0.0005,
        0.4375: 0.0003,
    },
    memory={
        0.001553: 0.03,
        0.003109: 0.05,
        0.003181: 0.08,
        0.003887: 0.08,
        0.007767: 0.14,
        0.0159: 0.36,
        0.02069: 0.12,
        0.03516: 0.07,
        0.03961: 0.04,
        0.06677: 0.022,
        0.1272: 0.012,
    },
    duration=QuantileCurve.through(
        {
            0.0: 1,
            0.005: 10,
            0.12: 30,
            0.19: 60,
            0.235: 120,
            0.318: 300,
            0.39: 600,
            0.512: 1800,
            0.61: 3600,
            0.755: 7200,
            0.86: 14400,
            0.885: 18000,
            0.945: 28800,
            0.965: 36000,
            0.992: 100000,
            1.0: 400_000.0,
        }
    ),
    residual=QuantileCurve.through(
        {
            0.0: 200.0,
            0.004: 1200.0,
            0.05: 2400.0,
            0.087: 4200.0,
            0.102: 7800.0,
            0.261: 15_000.0,
            0.335: 22_000.0,
            0.486: 36_000.0,
            0.671: 45_000.0,
            0.86: 86_400.0,
            0.95: 172_800.0,
            1.0: 2_500_000.0,
        }
    ),
    delay=QuantileCurve.through(
        {
            0.0: 0.3,
            0.25: 1.5,
            0.47: 3.4,
            0.6: 15,
            0.7: 60,
            0.84: 720,
            0.9: 1400,
            0.95: 2500,
            0.99: 6500,
            1.0: 20_000.0,
        }
    ),
    residual_outcomes={
        "EVICT": 0.79,
        "FAIL": 0.004,
        "FINISH": 0.123,
        "KILL": 0.083,
    },
    different_machines=0.01,
    snapshot_different=0.053,
    outcomes={
        "EVICT": (0.07, 0.25, 0.4, 0.5, 0.65, 0.938),
        "FAIL": (0.03, 0.06, 0.01, 0.01, 0.005, 0.001),
        "FINISH": (0.45, 0.52, 0.31, 0.29, 0.185, 0.032),
        "KILL": (0.45, 0.17, 0.28, 0.2, 0.16, 0.029),
    },
    lives=Lives(
        small=SMALL_JOBS,
        killed=KILLED_JOBS,
        lasting=LASTING,
        small_ends=SMALL_ENDS,
        doomed=0.37,
        killed_waiting=0.028,
        updated=26_357 / 28_386_005,
        back_after_kill=0.55,
        large=QuantileCurve.through(
            {
                0.0: 8.5,
                0.12: 30,
                0.19: 60,
                0.235: 120,
                0.318: 300,
                0.39: 600,
                0.485: 1800,
                0.595: 3600,
                0.755: 7200,
                0.87: 14400,
                0.95: 28800,
                0.973: 36000,
                0.991: 100000,
                1.0: 400_000.0,
            }
        ),
        large_ends={
            "EVICT": (0.07, 0.2, 0.33, 0.43, 0.52, 0.68),
            "FAIL": (0.01,) * 6,
            "FINISH": (0.36, 0.47, 0.48, 0.31, 0.09, 0.02),
            "KILL": (0.56, 0.32, 0.18, 0.25, 0.38, 0.29),
        },
    ),
)

OTHER = Tier(
    name="other",
    memory_use=0.3,
    failing_use_little=True,
    overuse=OVERUSE,
    steady=0.4,
    priorities={
        2: 3909,
        3: 5,
        4: 513,
        6: 214,
        8: 2386,
    },
    snapshot_priorities={2: 19210, 8: 3108},
    classes={
        0: 0.31,
        1: 0.35,
        2: 0.339,
        3: 0.001,
    },
    snapshot_classes={
        0: 0.3691,
        1: 0.1795,
        2: 0.4062,
        3: 0.0452,
    },
    jobs=0.463,
    running=1.7887,
    pending=0.2,
    single=0.72,
    snapshot_sizes=QuantileCurve.through(
        {
            0.0: 1.0,
            0.5: 1.0,
            0.75: 30.0,
            0.9: 100.0,
            0.95: 263.0,
            0.99: 792.0,
            1.0: 4408.0,
        }
    ),
    cpu={
        0.006248: 0.025,
        0.0125: 0.06,
        0.02499: 0.15,
        0.03064: 0.2,
        0.03748: 0.04,
        0.05109: 0.012,
        0.0625: 0.36,
        0.07812: 0.027,
        0.09998: 0.045,
        0.125: 0.06,
        0.1868: 0.01,
        0.25: 0.008,
        0.4375: 0.003,
    },
    memory={
        0.00544: 0.09,
        0.009796: 0.06,
        0.01317: 0.17,
        0.02545: 0.14,
        0.03339: 0.12,
        0.04773: 0.11,
        0.06061: 0.1,
        0.09412: 0.08,
        0.1184: 0.12,
        0.2544: 0.019,
    },
    duration=QuantileCurve.through(
        {
            0.0: 1,
            0.0005: 10,
            0.026: 30,
            0.07: 60,
            0.15: 120,
            0.372: 300,
            0.54: 600,
            0.754: 1800,
            0.86: 3600,
            0.918: 7200,
            0.945: 14400,
            0.953: 18000,
            0.968: 28800,
            0.975: 36000,
            0.99: 100000,
            1.0: 600_000.0,
        }
    ),
    residual=QuantileCurve.through(
        {
            0.0: 60.0,
            0.098: 1200.0,
            0.165: 2400.0,
            0.183: 4200.0,
            0.197: 7800.0,
            0.236: 15_000.0,
            0.248: 22_000.0,
            0.426: 36_000.0,
            0.458: 45_000.0,
            0.6: 86_400.0,
            0.75: 172_800.0,
            1.0: 2_500_000.0,
        }
    ),
    delay=QuantileCurve.through(
        {
            0.0: 0.3,
            0.25: 1.4,
            0.5: 2.7,
            0.75: 12.0,
            0.9: 58.9,
            0.95: 200.0,
            0.99: 1500.0,
            1.0: 10_000.0,
        }
    ),
    residual_outcomes={
        "EVICT": 0.031,
        "FAIL": 0.013,
        "FINISH": 0.53,
        "KILL": 0.426,
    },
    different_machines=0.25,
    snapshot_different=0.253,
    outcomes={
        "EVICT": (0.002, 0.001, 0.003, 0.01, 0.06, 0.13),
        "FAIL": (0.066, 0.009, 0.02, 0.014, 0.01, 0.02),
        "FINISH": (0.622, 0.76, 0.787, 0.716, 0.58, 0.09),
        "KILL": (0.31, 0.23, 0.19, 0.26, 0.35, 0.76),
    },
    lives=Lives(
        small=SMALL_JOBS,
        killed=KILLED_JOBS,
        lasting=LASTING,
        small_ends=SMALL_ENDS,
        doomed=0.37,
        killed_waiting=0.028,
        updated=601_047 / 17_266_872,
        back_after_kill=0.04,
        large=QuantileCurve.through(
            {
                0.0: 8.5,
                0.0005: 10,
                0.026: 30,
                0.07: 60,
                0.15: 120,
                0.372: 300,
                0.54: 600,
                0.754: 1800,
                0.86: 3600,
                0.918: 7200,
                0.965: 14400,
                0.985: 28800,
                0.995: 100000,
                1.0: 400_000.0,
            }
        ),
        large_ends={
            "EVICT": (0.002, 0.001, 0.003, 0.01, 0.03, 0.05),
            "FAIL": (0.05, 0.04, 0.04, 0.04, 0.04, 0.04),
            "FINISH": (0.63, 0.76, 0.89, 0.8, 0.3, 0.1),
            "KILL": (0.318, 0.199, 0.067, 0.15, 0.63, 0.81),
        },
    ),
)

PRODUCTION = Tier(
    name="production",
    memory_use=0.65,
    need=2.0,
    overuse=OVERUSE,
    steady=0.4,
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
    lives=Lives(
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
