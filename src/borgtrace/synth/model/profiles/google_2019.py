"""A cell of 2019: rates and mixes of Tirmazi et al. (EuroSys'20).

No run times or requests are published by tier, so each tier takes over those of a tier of 2011.
Whatever is not set here is as in 2011.
"""

from dataclasses import replace

from borgtrace.synth.model.classes import CLASSES_2019
from borgtrace.synth.model.profile import MachineShape
from borgtrace.synth.model.profiles import production_2011, tiers_2011
from borgtrace.synth.model.profiles.google_2011 import GOOGLE_2011

# Jobs per hour and tiers: Tirmazi et al., §4 and §6.
FREE = replace(
    tiers_2011.FREE,
    name="free",
    like="free",
    jobs=0.33,
    running=5.0,
    pending=0.5,
    single=0.84,
    cpu_use=0.145,
    memory_use=0.31,
    priorities={0: 3897, 25: 3028},
    snapshot_priorities={0: 38040, 25: 16571},
    lives=None,
)

BEST_EFFORT_BATCH = replace(
    tiers_2011.OTHER,
    name="beb",
    like="other",
    jobs=0.42,
    running=6.7,
    pending=0.8,
    single=0.72,
    cpu_use=0.2,
    memory_use=0.37,
    priorities={
        100: 5,
        103: 45,
        105: 18,
        107: 10,
        112: 12,
        114: 5,
        115: 5,
    },
    snapshot_priorities={
        103: 60,
        105: 20,
        107: 10,
        114: 10,
    },
    lives=None,
    is_steady=False,
)

MID = replace(
    tiers_2011.OTHER,
    name="mid",
    like="other",
    jobs=0.1,
    running=2.0,
    pending=0.1,
    single=0.85,
    cpu_use=0.87,
    memory_use=0.46,
    priorities={
        116: 50,
        117: 20,
        118: 15,
        119: 15,
    },
    snapshot_priorities={116: 50, 118: 25, 119: 25},
    lives=None,
    is_steady=False,
)

PRODUCTION = replace(
    production_2011.PRODUCTION,
    name="production",
    like="production",
    jobs=0.14,
    running=7.5,
    pending=0.06,
    single=0.92,
    cpu_use=0.38,
    memory_use=0.55,
    priorities={120: 10, 200: 85, 214: 5},
    snapshot_priorities={120: 10, 200: 85, 214: 5},
    lives=None,
    is_steady=False,
)

MONITORING = replace(
    production_2011.PRODUCTION,
    name="monitoring",
    like="production",
    jobs=0.01,
    running=1.0,
    pending=0.06,
    single=0.92,
    cpu_use=0.74,
    memory_use=0.57,
    priorities={360: 80, 450: 20},
    snapshot_priorities={360: 80, 450: 20},
    lives=None,
    is_steady=False,
)

GOOGLE_2019 = replace(
    GOOGLE_2011,
    tiers=(FREE, BEST_EFFORT_BATCH, MID, PRODUCTION, MONITORING),
    classes=CLASSES_2019,
    # A mean of 3,360 per hour and cell, 3.5 times that of 2011.
    jobs_per_hour=3360.0 / 12000.0,
    # The production tier, in the raw priorities of 2019.
    evicting=120,
    first_id=330_587_000_000,
    looping=0.010,
    # What 2011 counts of a month is not known of 2019.
    tasks_per_job=None,
    resubmitting=None,
    # A third of the requests of 2011 gives new jobs the mean of a log-normal fit to cell a (.009 CPU).  More tasks per
    # machine make up for it: allocations exceed the capacity in both years.
    request_scale=(0.33, 0.33),
    request_correlation=0.8,
    has_queue=True,
    alloc_jobs=0.25,
    # Cell a.
    shapes=(
        MachineShape("P1", 0.591796875, 0.33349609375, 3346),
        MachineShape("P2", 1.0, 0.5, 1672),
        MachineShape("P3", 0.708984375, 0.33349609375, 1417),
        MachineShape("P4", 0.38671875, 0.33349609375, 1104),
        MachineShape("P4", 0.38671875, 0.166748046875, 670),
        MachineShape("P2", 1.0, 1.0, 643),
        MachineShape("P3", 0.708984375, 0.6669921875, 480),
        MachineShape("P1", 0.591796875, 0.166748046875, 364),
        MachineShape("P5", 0.958984375, 0.5, 179),
        MachineShape("P5", 0.958984375, 1.0, 73),
        MachineShape("P2", 1.0, 0.25, 52),
    ),
)
