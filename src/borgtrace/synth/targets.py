"""What a synthetic trace of 2011 is calibrated to: published numbers, as data.

Numbers are those of the real trace's first 19.65 hours, of its state at the start and of its whole job
table, and those that Janus & Rzadca (SoCC'17) print or imply about long tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

FIRST_HOURS: Final = "2011 task events, first 19.65 h"
START: Final = "2011 task events, state at the start"
JOBS: Final = "2011 job events, whole trace"
GPA: Final = "Janus & Rzadca, SoCC'17"


@dataclass(frozen=True, slots=True)
class Target:
    """One published number.

    Parameters
    ----------
    measure
        What is measured.
    tier
        Group of tasks, or ``"all"``.
    published
        The number.
    grade
        A: recomputed from real bytes; C: printed in a paper; E: arithmetic on such numbers.
    source
        Where it comes from.
    is_judged
        Whether the trace has to match; otherwise it is only reported.
    """

    measure: str
    tier: str
    published: float
    grade: str
    source: str
    is_judged: bool = True


_TIERS: Final = ("free", "other", "production")


def _row(measure: str, grade: str, source: str, *values: float, is_judged: bool = True) -> tuple[Target, ...]:
    return tuple(
        Target(measure, tier, value, grade, source, is_judged)
        for tier, value in zip(_TIERS, values, strict=True)
    )


TARGETS: Final = (
    *_row("running_per_machine", "A", START, 54611 / 12477, 22318 / 12477, 56053 / 12477),
    *_row("cpu_requested_of_capacity", "A", START, 0.219, 0.184, 0.732),
    *_row("memory_requested_of_capacity", "A", START, 0.164, 0.184, 0.585),
    *_row("cpu_request_p10", "A", START, 0.0062, 0.0250, 0.0156),
    *_row("cpu_request_p50", "A", START, 0.0125, 0.0625, 0.0625),
    *_row("cpu_request_p90", "A", START, 0.0625, 0.1000, 0.1875),
    *_row("memory_request_p10", "A", START, 0.0032, 0.0098, 0.0062),
    *_row("memory_request_p50", "A", START, 0.0159, 0.0334, 0.0382),
    *_row("memory_request_p90", "A", START, 0.0352, 0.1184, 0.1528),
    *_row("run_within_300s", "A", FIRST_HOURS, 0.318, 0.372, 0.427),
    *_row("run_within_1800s", "A", FIRST_HOURS, 0.512, 0.754, 0.587),
    *_row("run_within_7200s", "A", FIRST_HOURS, 0.755, 0.918, 0.690),
    *_row("evict_per_hour", "A", FIRST_HOURS, 0.186, 0.0078, 0.0004),
    *_row("fail_per_hour", "A", FIRST_HOURS, 0.0071, 0.0127, 0.0042),
    *_row("kill_per_hour", "A", FIRST_HOURS, 0.102, 0.204, 0.0028),
    *_row("delay_p50", "A", FIRST_HOURS, 3.4, 2.7, 1.73),
    *_row("delay_p90", "A", FIRST_HOURS, 720.0, 59.0, 30.0),
    Target("resubmitted_after_EVICT", "all", 0.9998, "A", FIRST_HOURS),
    Target("resubmitted_after_FAIL", "all", 0.948, "A", FIRST_HOURS),
    Target("resubmitted_after_KILL", "all", 0.351, "A", FIRST_HOURS),
    Target("jobs_per_machine_hour", "all", 959.9 / 12500.0, "A", JOBS),
    Target("jobs_of_class_0", "all", 0.383, "A", JOBS),
    Target("jobs_of_class_1", "all", 0.320, "A", JOBS),
    Target("jobs_of_class_2", "all", 0.289, "A", JOBS),
    Target("jobs_of_class_3", "all", 0.008, "A", JOBS),
    Target("single_task_jobs", "all", 0.793, "A", FIRST_HOURS),
    Target("user_slope", "all", -1.67, "A", JOBS),
    Target("logical_name_slope", "all", -0.925, "A", JOBS),
    Target("mean_cpu", "long tasks", 0.0274, "C", GPA),
    Target("mean_deviation_sampled", "long tasks", 0.0249, "E", GPA),
    Target("rms_deviation_sampled", "long tasks", 0.0305, "E", GPA),
    Target("deviation_of_means", "long tasks", 0.038, "E", GPA),
    Target("slope_sampled", "long tasks", 0.36, "C", GPA),
    Target("intercept_sampled", "long tasks", 0.015, "C", GPA),
    Target("slope_average", "long tasks", 0.31, "C", GPA),
    Target("intercept_average", "long tasks", 0.010, "C", GPA),
    Target("job_slots_tail", "all", 0.585, "A", FIRST_HOURS, is_judged=False),
    *_row("new_tasks_share_of_month", "D", "2011, whole trace", 0.351, 0.637, 0.0116, is_judged=False),
)
"""Every number that the fidelity report compares."""
