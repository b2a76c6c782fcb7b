"""A cell of 2011, as the first hours of the real trace show it.

Rates and shares come from the task and job events, machine churn from the machine events of the whole month.
:mod:`borgtrace.synth.model.profile` says what each field means.
"""

from collections.abc import Sequence

from borgtrace.synth.model.classes import CLASSES
from borgtrace.synth.model.consumption import OVER_MEMORY
from borgtrace.synth.model.draws import QuantileCurve, RankShares
from borgtrace.synth.model.profile import MachineShape, Profile, Resubmitting
from borgtrace.synth.model.profiles.production_2011 import PRODUCTION
from borgtrace.synth.model.profiles.tiers_2011 import FREE, OTHER

# Tasks of 2011 by their peak ÷ request, in steps of 5 %: about 20 million that stay within both requests.
_CPU_PEAKS = (
    *(11_828_731, 3_196_895, 1_439_782, 1_691_237, 685_753),
    *(321_222, 225_548, 168_018, 123_777, 106_177),
    *(69_096, 142_918, 36_677, 17_153, 17_901),
    *(19_113, 15_198, 15_081, 22_789, 18_680),
)
_MEMORY_PEAKS = (
    *(9_403_495, 162_321, 212_388, 488_168, 528_610),
    *(594_301, 829_299, 598_128, 485_174, 514_702),
    *(602_390, 509_211, 521_277, 507_115, 512_200),
    *(559_509, 624_598, 661_028, 796_245, 1_051_587),
)
_PEAK_OF_CPU = 2.0
"""The peak of a short task is so many times its mean (calibrated: the histogram of peaks then comes out)."""
_PEAK_OF_MEMORY = 1.03
_ABOVE_CPU = 0.04
"""Share of short tasks whose CPU peaks above the request (not published)."""
_LEAST_CPU = 0.006
_LEAST_MEMORY = 0.01
"""Smallest peak of a task ÷ its request; the histogram shows only that nearly half lie below .05."""


def _curve_of_peaks(
    counts: Sequence[int],
    above: float,
    least: float,
    peak: float,
) -> QuantileCurve:
    """Return the distribution of mean ÷ request of tasks with a histogram of peaks.

    Parameters
    ----------
    counts
        Tasks by peak ÷ request, in steps of 5 %.
    above
        Share of tasks whose peak is above the request, by up to a quarter of it.
    least
        The smallest peak.
    peak
        Peak ÷ mean of a task.
    """
    points = {0.0: least / peak}
    within = (1.0 - above) / sum(counts)
    tasks_so_far = 0
    for number, count in enumerate(counts, start=1):
        tasks_so_far += count
        points[tasks_so_far * within] = 0.05 * number / peak
    # A step: no task ends just below the request because others exceed it.
    share_within = 1.0 - above
    return QuantileCurve(
        (*points, share_within, 1.0),
        (*points.values(), 1.02, 1.25),
    )


GOOGLE_2011 = Profile(
    tiers=(FREE, OTHER, PRODUCTION),
    classes=CLASSES,
    # The mean over the month, for a cell of about 12,500 machines.
    jobs_per_hour=959.9 / 12500.0,
    burst=0.4,
    # The five busiest users; the others follow a power law.
    users=RankShares(
        head=(0.1463, 0.1044, 0.0783, 0.0502, 0.0381),
        exponent=2.1,
        n_ranks=933,
        shift=13.0,
    ),
    # The three most common logical names.
    names=RankShares(
        head=(0.0465, 0.0310, 0.0219),
        exponent=0.95,
        n_ranks=39730,
        shift=3.5,
    ),
    looping=0.0,
    tasks_per_job=37.83,
    # The ratio of the medians of hours (Tirmazi et al.), and the quotient of the totals less one (Zhu et al.).
    resubmitting=Resubmitting(usual=0.66, overall=48_375_166 / 25_424_731 - 1.0),
    # 29,306 of about 800,000 submissions (40,649 an hour) in the first 19.65 hours.
    killed_pending=0.0367,
    # 12,583 machines lose one every 279.7 s.
    removals=3600.0 / 279.7 / 12583.0,
    downtime=QuantileCurve.through(
        {
            0.0: 2.0,
            0.01: 13.3,
            0.05: 42.0,
            0.1: 98.0,
            0.25: 398.0,
            0.5: 998.0,
            0.75: 7138.0,
            0.9: 31_161.0,
            0.95: 94_522.0,
            0.99: 328_656.0,
            1.0: 1_044_366.0,
        }
    ),
    # Log-normal fit to the new jobs of the first 19.65 hours.
    request=(-4.03, 1.01),
    memory_request=(-5.14, 1.6),
    likeness=0.94,
    short_use=(
        _curve_of_peaks(_CPU_PEAKS, _ABOVE_CPU, _LEAST_CPU, _PEAK_OF_CPU),
        _curve_of_peaks(_MEMORY_PEAKS, OVER_MEMORY, _LEAST_MEMORY, _PEAK_OF_MEMORY),
    ),
    cpu_spread=1.45,
    memory_spread=0.45,
    # Production: it loses .0004 tasks an hour to evictions, free tasks .186.
    evicting=9,
    # The smallest job id of the real trace.
    first_id=3_418_309,
    # Shares of ends that are followed by a SUBMIT in the first 19.65 hours.
    resubmitted={
        "EVICT": 0.9998,
        "FAIL": 0.948,
        "KILL": 0.351,
        "FINISH": 0.0296,
        "LOST": 0.0,
    },
    # Counted by the last capacity of each machine: only then does the published table come out exactly.
    shapes=(
        MachineShape("B", 0.5, 0.4995, 6732),
        MachineShape("B", 0.5, 0.2493, 3863),
        MachineShape("B", 0.5, 0.749, 1001),
        MachineShape("C", 1.0, 1.0, 795),
        MachineShape("A", 0.25, 0.2498, 126),
        MachineShape("B", 0.5, 0.1241, 52),
        MachineShape("B", 0.5, 0.03085, 5),
        MachineShape("B", 0.5, 0.9678, 5),
        MachineShape("C", 1.0, 0.5, 3),
        MachineShape("B", 0.5, 0.06158, 1),
    ),
)
