"""What a synthetic trace is calibrated to: published numbers, as data.

2011: the real trace's first 19.65 hours, its state at the start, its whole job and machine tables, and what
Janus & Rzadca (SoCC'17) print or imply about long tasks.  2019: 354,179 real usage rows whose sampling is
unknown.
"""

from dataclasses import dataclass
from typing import Final

FIRST_HOURS: Final = "2011 task events, first 19.65 h"
START: Final = "2011 task events, state at the start"
JOBS: Final = "2011 job events, whole trace"
MACHINES: Final = "2011 machine events, whole trace"
GPA: Final = "Janus & Rzadca, SoCC'17"
PEAKS: Final = "histograms over 20 M tasks of 2011"
SERIES: Final = "1,600 job-level series of 2011, filtered: a guide"
ROWS_2019: Final = "354,179 usage rows of 2019, sampling unknown"


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
        Whether the trace has to match; otherwise it is only reported: shares of a month, tails, guides, and
        slopes of ranks, which are flatter the fewer jobs there are (the real trace thinned to 10,000 jobs has
        -1.44 and -0.87).
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
        Target(measure, tier, value, grade, source, is_judged) for tier, value in zip(_TIERS, values, strict=True)
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
    Target("user_top_10_share", "all", 0.554, "A", JOBS),
    Target("logical_name_top_3_share", "all", 0.0995, "A", JOBS),
    Target("mean_cpu", "long tasks", 0.0274, "C", GPA),
    Target("mean_deviation_sampled", "long tasks", 0.0249, "E", GPA),
    Target("rms_deviation_sampled", "long tasks", 0.0305, "E", GPA),
    Target("deviation_of_means", "long tasks", 0.038, "E", GPA),
    Target("slope_sampled", "long tasks", 0.36, "C", GPA),
    Target("intercept_sampled", "long tasks", 0.015, "C", GPA),
    Target("slope_average", "long tasks", 0.31, "C", GPA),
    Target("intercept_average", "long tasks", 0.010, "C", GPA),
    Target("stationarity_rejected", "long tasks", 0.30, "C", GPA),
    Target("machines_0.5_0.5", "machines", 6732 / 12583, "A", MACHINES),
    Target("machines_0.5_0.25", "machines", 3863 / 12583, "A", MACHINES),
    Target("machines_0.5_0.75", "machines", 1001 / 12583, "A", MACHINES),
    Target("machines_1_1", "machines", 795 / 12583, "A", MACHINES),
    Target("machines_0.25_0.25", "machines", 126 / 12583, "A", MACHINES),
    Target("removals_per_machine_hour", "machines", 8957 / 12583 / 696.2, "A", MACHINES),
    Target("downtime_p50", "machines", 998.0, "A", MACHINES),
    Target("downtime_p99", "machines", 3.3e5, "A", MACHINES, is_judged=False),
    Target("arrivals_within_10ms", "all", 0.391, "A", JOBS),
    Target("peak_cpu_below_5_percent", "all", 0.587, "E", PEAKS),
    Target("peak_cpu_of_request", "all", 0.086, "E", PEAKS),
    Target("peak_memory_below_5_percent", "all", 0.466, "E", PEAKS),
    Target("peak_memory_of_request", "all", 0.324, "E", PEAKS),
    Target("user_slope", "all", -1.67, "A", f"{JOBS}: 672,074 jobs", is_judged=False),
    Target("logical_name_slope", "all", -0.925, "A", f"{JOBS}: 672,074 jobs", is_judged=False),
    Target("job_slots_tail", "all", 0.585, "A", FIRST_HOURS, is_judged=False),
    *_row("new_tasks_share_of_month", "D", "2011, whole trace", 0.351, 0.637, 0.0116, is_judged=False),
    Target("autocorrelation_5min", "long tasks", 0.75, "A", SERIES, is_judged=False),
    Target("autocorrelation_1h", "long tasks", 0.49, "A", SERIES, is_judged=False),
    Target("variation_p50", "long tasks", 0.126, "A", SERIES, is_judged=False),
    Target("cpu_memory_correlation_p50", "long tasks", 0.54, "A", SERIES, is_judged=False),
)
"""Every number of 2011 that the fidelity report compares."""


def _quantiles(measure: str, **values: float) -> tuple[Target, ...]:
    return tuple(Target(f"{measure}_{q}", "rows", value, "A", ROWS_2019) for q, value in values.items())


def _tiers(measure: str, **values: float) -> tuple[Target, ...]:
    return tuple(Target(measure, tier, value, "A", ROWS_2019) for tier, value in values.items())


TARGETS_2019: Final = (
    *_tiers("cpu_of_request_p50", free=0.11, beb=0.15, mid=0.66, production=0.29, monitoring=0.56),
    *_tiers("memory_of_request_p50", free=0.28, beb=0.36, mid=0.46, production=0.57),
    *_quantiles("maximum_of_average", p10=2.05, p50=3.77, p90=10.5),
    *_quantiles("sample_of_average", p5=0.125, p25=0.66, p50=0.93, p75=1.16, p95=2.74),
    Target("log_cpu_mean", "rows", -6.41, "A", ROWS_2019),
    Target("log_cpu_deviation", "rows", 2.00, "A", ROWS_2019),
    Target("zero_cpu", "rows", 0.105, "A", ROWS_2019),
    Target("log_cpu_memory_correlation", "rows", 0.64, "A", ROWS_2019),
)
"""Every number of 2019 that the fidelity report compares."""
