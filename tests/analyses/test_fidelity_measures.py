"""What the fidelity report measures, by hand: runs, waits, machines and jobs of a small cell, moments, correlations."""

from __future__ import annotations

from functools import partial
from math import e
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import borgtrace.analyses.fidelity.usage_measures as usage_measures_module
from borgtrace.analyses.fidelity.event_measures import event_measures, read_events
from borgtrace.analyses.fidelity.period_measures import period_measures, periods_of
from borgtrace.analyses.fidelity.usage_measures import (
    measures_of_logarithms,
    measures_of_requests,
    measures_of_tasks,
    measures_within_windows,
    row_measures,
    task_correlations,
    task_means,
    usage_measures,
)
from borgtrace.analyses.fidelity.weighted_measures import (
    Measures,
    Units,
    ended_within,
    hill,
    moment,
    rank_slope,
    words,
)
from borgtrace.schema.time import BEFORE_TRACE, HOUR, TRACE_START
from tests.analyses.tiny import at, tiny, window

FREE = 0
OTHER = 4
PRODUCTION = 9


def events(job: int, index: int, priority: int, *steps: tuple[float, str]) -> list[dict[str, Any]]:
    task = {
        "collection_id": job,
        "instance_index": index,
        "priority": priority,
        "machine_id": 1,
    }
    requests = {"cpu_request": 0.25, "memory_request": 0.125}
    return [
        {
            **task,
            **requests,
            "time": BEFORE_TRACE if time < 0 else at(time),
            "type": type_,
        }
        for time, type_ in steps
    ]


def machine(
    id_: int, time: float, type_: str, cpu: float | None = None, memory: float | None = None
) -> dict[str, Any]:
    when = BEFORE_TRACE if time < 0 else at(time)
    return {
        "machine_id": id_,
        "time": when,
        "type": type_,
        "cpu_capacity": cpu,
        "memory_capacity": memory,
    }


def arrival(job: int, time: float, class_: int, user: str) -> dict[str, Any]:
    return {
        "collection_id": job,
        "time": at(time),
        "type": "SUBMIT",
        "scheduling_class": class_,
        "user": user,
    }


CELL = {
    "machine_events": [
        machine(1, -1, "ADD", 0.5, 0.4995),
        machine(2, -1, "ADD", 0.5, 0.25),
        machine(3, -1, "ADD", 1.0, 1.0),
        machine(4, -1, "ADD", 0.25, 0.25),
        # Away for 100 s, for ever, and for 300 s; a fifth comes later.
        machine(1, 3600, "REMOVE"),
        machine(1, 3700, "ADD", 0.5, 0.4995),
        machine(2, 7200, "REMOVE"),
        machine(3, 10_800, "REMOVE"),
        machine(3, 11_100, "ADD", 1.0, 1.0),
        machine(5, 3600, "ADD", 0.5, 0.5),
    ],
    "collection_events": [
        arrival(1, 3600, 0, "a"),
        arrival(2, 3600.005, 1, "a"),
        arrival(3, 7200, 2, "b"),
        arrival(5, 7200.01, 3, "b"),
        arrival(4, 36_000, 2, "b"),
    ],
    "instance_events": [
        # One runs from before the trace for its first two hours.
        *events(10, 0, PRODUCTION, (-1, "SUBMIT"), (-1, "SCHEDULE"), (7200, "FINISH")),
        *events(1, 0, PRODUCTION, (3600, "SUBMIT"), (3610, "SCHEDULE"), (3910, "FINISH")),
        *events(1, 1, PRODUCTION, (3600, "SUBMIT"), (3630, "SCHEDULE"), (5430, "EVICT")),
        # It comes back, and runs on.
        *events(1, 1, PRODUCTION, (5430, "SUBMIT"), (5440, "SCHEDULE")),
        *events(2, 0, FREE, (3600, "SUBMIT"), (3700, "SCHEDULE"), (10_900, "FAIL")),
        *events(3, 0, FREE, (7200, "SUBMIT"), (7300, "KILL")),
        *events(4, 0, OTHER, (36_000, "SUBMIT")),
    ],
}


@pytest.fixture(scope="module")
def measured() -> Measures:
    tables = tiny(**CELL)
    units = Units.of(tables)
    return {
        key: partial(measure, np.ones(len(units)))
        for key, measure in event_measures(read_events(tables), units).items()
    }


@pytest.mark.parametrize(
    ("measure", "tier", "expected"),
    [
        # Four machines of 2.25 CPUs and 1.9995 of memory when the trace begins.
        ("running_per_machine", "production", 1 / 4),
        ("cpu_requested_of_capacity", "production", 0.25 / 2.25),
        ("memory_requested_of_capacity", "production", 0.125 / 1.9995),
        ("cpu_request_p10", "production", 0.25),
        ("memory_request_p50", "production", 0.125),
        ("cpu_request_p90", "production", 0.25),
        # Runs of 300 s and 1800 s end; one of 5460 s goes on at the last instant, 10,900 s.
        ("run_within_300s", "production", 1 / 3),
        ("run_within_1800s", "production", 2 / 3),
        ("run_within_7200s", "production", 2 / 3),
        ("run_within_1800s", "free", 0.0),
        # The only run of the free tier fails, and does not count.
        ("run_within_7200s", "free", 0.0),
        # Waits of 10, 30 and 10 s; that of the first hours is not known.
        ("delay_p50", "production", 10.0),
        ("delay_p90", "production", 30.0),
        ("delay_p50", "free", 100.0),
        ("resubmitted_after_EVICT", "all", 1.0),
        ("resubmitted_after_FAIL", "all", 0.0),
        ("resubmitted_after_KILL", "all", 0.0),
        ("machines_0.5_0.5", "machines", 0.25),
        ("machines_0.5_0.25", "machines", 0.25),
        ("machines_0.5_0.75", "machines", 0.0),
        ("machines_1_1", "machines", 0.25),
        ("machines_0.25_0.25", "machines", 0.25),
        # Three removals of four machines in ten hours, up to the last submission.
        ("removals_per_machine_hour", "machines", 3 / 40),
        # 100 s, 300 s and for ever; of those that are known the longest is 300 s.
        ("downtime_p50", "machines", 300.0),
        ("downtime_p99", "machines", 300.0),
        # Five jobs on five machines in ten hours.
        ("jobs_per_machine_hour", "all", 0.1),
        ("jobs_of_class_0", "all", 0.2),
        ("jobs_of_class_1", "all", 0.2),
        ("jobs_of_class_2", "all", 0.4),
        ("jobs_of_class_3", "all", 0.2),
        # Gaps of 5 ms, an hour, 10 ms and eight hours.
        ("arrivals_within_10ms", "all", 0.25),
        # Job 1 has two tasks, job 5 none that is known.
        ("single_task_jobs", "all", 0.75),
        ("user_top_10_share", "all", 1.0),
        ("new_tasks_share_of_month", "production", 3 / 6),
        ("new_tasks_share_of_month", "free", 2 / 6),
        ("new_tasks_share_of_month", "other", 1 / 6),
    ],
)
def test_events_of_a_small_cell(measured: Any, measure: str, tier: str, expected: float) -> None:
    assert measured[measure, tier]() == pytest.approx(expected)


def test_units_are_jobs_and_after_them_machines() -> None:
    units = Units(np.array([5, 9]), np.array([3, 7, 8]))
    assert len(units) == 5
    assert units.job(np.array([9, 5, 9])).tolist() == [1, 0, 1]
    assert units.machine(np.array([8, 3])).tolist() == [4, 2]


def test_a_missing_word_is_empty() -> None:
    assert words(pa.table({"name": ["a", None]}), "name").tolist() == ["a", ""]


@pytest.mark.parametrize(
    ("limit", "weights", "expected"),
    [
        # Four at risk at 1, two at 3; those of 2 and 4 were last seen then.
        (2.9, [1, 1, 1, 1], 1 / 4),
        (3.0, [1, 1, 1, 1], 1 - 3 / 4 * 1 / 2),
        (9.0, [1, 1, 1, 1], 1 - 3 / 4 * 1 / 2),
        (3.0, [2, 1, 1, 1], 1 - 3 / 5 * 1 / 2),
        (3.0, [0, 0, 0, 0], 0.0),
        (0.5, [1, 1, 1, 1], 0.0),
    ],
)
def test_runs_that_end_within_a_time(limit: float, weights: list[float], expected: float) -> None:
    run = np.array([4.0, 1.0, 3.0, 2.0])
    has_ended = np.array([False, True, True, False])
    # In the order of the runs: 1, 2, 3, 4.
    job = np.array([3, 0, 2, 1])
    assert ended_within(run, has_ended, job, limit)(np.array(weights, float)) == pytest.approx(
        expected
    )


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        (
            [1, 1],
            {
                "mean": 2,
                "deviation": 5,
                "rms": 29**0.5,
                "spread": 1,
                "slope": 2,
                "intercept": 1,
            },
        ),
        (
            [3, 1],
            {
                "mean": 1.5,
                "deviation": 4,
                "rms": 19**0.5,
                "spread": 0.75**0.5,
                "slope": 2,
                "intercept": 1,
            },
        ),
    ],
)
def test_moments_and_their_line(weights: list[float], expected: dict[str, float]) -> None:
    # Deviations of 3 and 7 at means of 1 and 3: a line of slope 2 through 1.
    means = np.array([1.0, 3.0])
    deviations = np.array([3.0, 7.0])
    value_by_key = {
        what: moment(means, deviations, np.arange(2), what)(np.array(weights, float))
        for what in expected
    }
    assert value_by_key == pytest.approx(expected)


def test_without_weights_or_spread_there_is_no_line() -> None:
    assert np.isnan(moment(np.ones(2), np.ones(2), np.arange(2), "slope")(np.ones(2)))
    assert moment(np.ones(2), np.ones(2), np.arange(2), "mean")(np.zeros(2)) == 0.0


@pytest.mark.parametrize(("fewest", "has_rank"), [(5, True), (4, False)])
def test_an_owner_of_five_jobs_has_a_rank(fewest: int, has_rank: bool) -> None:
    owner = np.repeat([0, 1, 2], [20, 10, fewest])
    slope = rank_slope(owner, np.arange(len(owner)), 200)(np.ones(len(owner)))
    # 20, 10, 5: logarithms 2, 1 and 0 doublings above the last, on log 1, log 2 and log 3.
    x = np.log([1, 2, 3])
    y = np.log(2) * np.array([2, 1, 0])
    expected = ((x - x.mean()) @ y) / ((x - x.mean()) @ (x - x.mean()))
    assert slope == pytest.approx(expected) if has_rank else np.isnan(slope)


def test_the_least_value_of_a_tail_belongs_to_it() -> None:
    assert hill(np.array([1.0, e, 0.5]), np.arange(3), 1.0)(np.ones(3)) == pytest.approx(2.0)


OFFSETS = np.array([0, 6, 10])
SERIES = np.array([1.0, 5, 2, 5, 3, 5, 1, 3, 1, 4])


@pytest.mark.parametrize("lag", [1, 2])
def test_a_correlation_stays_within_a_task(lag: int) -> None:
    correlations = task_correlations(SERIES[:-lag], SERIES[lag:], OFFSETS, lag)
    tasks = np.split(SERIES, OFFSETS[1:-1])
    assert correlations == pytest.approx(
        [np.corrcoef(task[:-lag], task[lag:])[0, 1] for task in tasks]
    )


def test_means_and_correlations_by_task() -> None:
    assert task_means(SERIES, OFFSETS).tolist() == [3.5, 2.25]
    falls = np.array([*(8.0 - 2 * SERIES[:6]), *[7.0] * 4])
    # A constant series correlates with nothing.
    assert task_correlations(SERIES, falls, OFFSETS, 0) == pytest.approx(
        [-1.0, np.nan], nan_ok=True
    )


def test_logarithms_of_what_is_used() -> None:
    cpu = np.array([1.0, e**2, 0.0, 1.0])
    memory = np.array([e**2, 1.0, 1.0, 0.0])
    measures = {
        name: measure
        for (name, _), measure in measures_of_logarithms(cpu, memory, np.arange(4)).items()
    }
    measured = {name: measure(np.ones(4)) for name, measure in measures.items()}
    # Rows without CPU or without memory have no logarithm: 0 and 2 against 2 and 0 are left.
    expected = {
        "zero_cpu": 0.25,
        "log_cpu_mean": 1,
        "log_cpu_deviation": 1,
        "log_cpu_memory_correlation": -1,
    }
    assert measured == pytest.approx(expected)
    weighted = np.array([3.0, 1.0, 9.0, 9.0])
    assert measures["log_cpu_mean"](weighted) == pytest.approx(0.5)
    assert measures["log_cpu_deviation"](weighted) == pytest.approx(0.75**0.5)
    constant = dict(measures_of_logarithms(cpu[:2], np.ones(2), np.arange(2)))
    assert np.isnan(constant["log_cpu_memory_correlation", "rows"](np.ones(2)))
    assert np.isnan(
        measures_of_logarithms(cpu[2:3], memory[2:3], np.arange(1))["log_cpu_mean", "rows"](
            np.ones(1)
        )
    )


def test_maximum_and_second_of_a_window_beside_its_average() -> None:
    rows = pa.table(
        {
            "average_cpu": [0.5, 0.5, 0.0],
            "maximum_cpu": [1.0, 2.0, 1.0],
            "sampled_cpu": [0.5, 0.25, 0.5],
        }
    )
    measured = {
        name: measure(np.ones(3))
        for (name, _), measure in measures_within_windows(rows, np.arange(3)).items()
    }
    assert measured == {
        **{
            "maximum_of_average_p10": 2,
            "maximum_of_average_p50": 2,
            "maximum_of_average_p90": 4,
        },
        **{
            "sample_of_average_p5": 0.5,
            "sample_of_average_p25": 0.5,
            "sample_of_average_p50": 0.5,
        },
        **{"sample_of_average_p75": 1, "sample_of_average_p95": 1},
    }


def test_usage_beside_requests_by_tier() -> None:
    rows = pa.table(
        {
            "tier": ["free", "free", "free", None],
            "average_cpu": [0.1, 0.3, 9.0, 0.5],
            "cpu_request": [0.5, 0.5, 0.0, 1.0],
            "average_memory": [0.1] * 4,
            "memory_request": [0.1, None, None, 0.2],
        }
    )
    measured = {
        key: measure(np.ones(4))
        for key, measure in measures_of_requests(rows, np.arange(4)).items()
    }
    assert measured == pytest.approx(
        {
            ("cpu_of_request_p50", ""): 0.5,
            ("cpu_of_request_p50", "free"): 0.2,
            ("memory_of_request_p50", ""): 0.5,
            ("memory_of_request_p50", "free"): 1.0,
        }
    )


def long(job: int, windows: int, sampled: float, deviation: float, **more: Any) -> dict[str, Any]:
    """A task as the index has it; averages are twice as large and vary twice as much."""
    moments = {"mean_sampled_cpu": sampled, "std_sampled_cpu": deviation}
    averages = {
        "mean_average_cpu": 2 * sampled,
        "std_average_cpu": 2 * deviation,
        "max_average_cpu": 0.5,
    }
    counts = dict.fromkeys(("n_evict", "n_fail", "n_kill", "n_lost"), 0)
    return {
        "collection_id": job,
        "n_windows": windows,
        **moments,
        **averages,
        **counts,
        **more,
    }


TASKS = [
    long(1, 24, 0.1, 0.01),
    long(2, 25, 0.3, 0.04, max_average_cpu=1.0),
    # Too short, failed in one of four ways, idle, above the largest machine.
    long(3, 23, 0.9, 0.9),
    *(
        long(4 + k, 24, 0.9, 0.9, **{name: 1})
        for k, name in enumerate(("n_evict", "n_fail", "n_kill", "n_lost"))
    ),
    long(8, 24, 0.0, 0.9),
    long(9, 24, 0.9, 0.9, max_average_cpu=1.001),
    *(
        {
            "collection_id": id_,
            "cpu_request": 0.5,
            "memory_request": 0.25,
        }
        for id_ in (20, 21, 22)
    ),
]
PEAKS = [
    # 4 % and 100 % of the requests, exactly 5 % and 40 %; the third is above its memory.
    window(20, 0, 0.01, maximum_cpu=0.02, maximum_memory=0.25),
    window(21, 0, 0.01, maximum_cpu=0.025, maximum_memory=0.05),
    window(21, 300, 0.01, maximum_cpu=0.01, maximum_memory=0.1),
    window(22, 0, 0.01, maximum_cpu=0.01, maximum_memory=0.26),
]


def test_moments_of_long_tasks_and_peaks() -> None:
    tables = tiny(
        tasks=TASKS,
        instance_usage=PEAKS,
        instance_events=events(1, 0, FREE, (0, "SUBMIT")),
    )
    units = Units(np.arange(1, 23), np.empty(0, np.int64))
    measures = usage_measures(tables, units)
    measured = {name: measure(np.ones(len(units))) for (name, _), measure in measures.items()}
    expected = {
        "mean_cpu": 0.2,
        "mean_deviation_sampled": 0.025,
        "rms_deviation_sampled": (0.0017 / 2) ** 0.5,
        "deviation_of_means": 0.1,
        "slope_sampled": 0.15,
        "intercept_sampled": -0.005,
        "slope_average": 0.15,
        "intercept_average": -0.01,
        "peak_cpu_of_request": (0.04 + 0.05) / 2,
        "peak_memory_of_request": (1.0 + 0.4) / 2,
        "peak_cpu_below_5_percent": 0.5,
        "peak_memory_below_5_percent": 0.0,
        # One of three.
        "memory_peak_above_request": 1 / 3,
    }
    assert {name: measured[name] for name in expected} == pytest.approx(expected, rel=1e-5)


def test_series_of_long_tasks() -> None:
    # Two windows of twelve samples each, the second far above the first; a second task that never changes.
    rises = [
        window(1, 300 * k, 0.1 + 0.4 * (k >= 12) + 0.01 * (k % 2), 0.2 + 0.1 * (k >= 12))
        for k in range(24)
    ]
    steady = [window(2, 300 * k, 0.25, 0.25) for k in range(24)]
    usage = [{**row, "sampled_cpu": row["average_cpu"]} for row in (*rises, *steady)]
    tables = tiny(
        tasks=TASKS[:2],
        instance_usage=usage,
        instance_events=events(1, 0, FREE, (0, "SUBMIT")),
    )
    measures = usage_measures(tables, Units(np.array([1, 2]), np.empty(0, np.int64)))
    measured = {name: measure(np.array([1.0, 0.0])) for (name, _), measure in measures.items()}
    assert measured["stationarity_rejected"] == 1.0
    still = {name: measure(np.array([0.0, 1.0])) for (name, _), measure in measures.items()}
    assert still["stationarity_rejected"] == 0.0


def two_tasks_over_three_days() -> list[dict[str, Any]]:
    """One changes with every other hour; one never does, and lacks its disk I/O."""
    rows = []
    for k in range(3 * 288):
        is_high = k // 12 % 2 == 1
        rows.append(
            window(1, 300 * k, 0.2 + 0.1 * is_high, 0.3 - 0.1 * is_high, mean_disk_io_time=0.5)
        )
        rows.append(window(2, 300 * k, 0.1, 0.1))
    return rows


@pytest.fixture(scope="module")
def of_periods() -> Measures:
    tasks = [
        {"collection_id": 1, "priority": 9, "cpu_request": 0.5, "memory_request": 0.5},
        {"collection_id": 2, "priority": 0, "cpu_request": 0.5, "memory_request": 0.5},
    ]
    tables = tiny(tasks=tasks, instance_usage=two_tasks_over_three_days())
    return period_measures(tables, Units(np.array([1, 2]), np.array([7])))


@pytest.mark.parametrize(
    ("measure", "weights", "expected"),
    [
        # Twelve windows of two tasks on one machine; the first weighs twice in some resamples.
        ("windows_per_machine_hour", [1, 1], 24.0),
        ("windows_per_machine_hour", [2, 1], 36.0),
        ("disk_io_missing", [1, 1], 0.5),
        ("disk_io_missing", [3, 1], 0.25),
        # .25 of the .35 CPUs and of .35 in memory; .25 of .5 that are requested.
        ("production_share_of_used_cpu", [1, 1], 0.25 / 0.35),
        ("production_share_of_used_memory", [1, 1], 0.25 / 0.35),
        ("production_cpu_used_of_requested", [1, 1], 0.5),
        # Half of the time nothing changes; the other task goes up by half and down by a third.
        ("hourly_change_within_15_percent", [1, 1], 0.5),
        ("hourly_change_within_15_percent", [3, 1], 0.25),
        # .2 and .3 deviate from their mean by a fifth; an hour later they are the other way around.
        ("job_variation_p50", [1, 0], 0.2),
        ("job_variation_p50", [0, 1], 0.0),
        ("job_autocorrelation_1h", [1, 0], -1.0),
        ("job_cpu_memory_correlation_p50", [1, 0], -1.0),
    ],
)
def test_measures_of_periods(
    of_periods: Measures, measure: str, weights: list[float], expected: float
) -> None:
    for period in ("start", "middle", "end"):
        value = of_periods[measure, period](np.array(weights, float))
        assert value == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_periods_are_thirds_of_a_short_trace_and_days_of_a_long_one() -> None:
    def hours_of(trace_hours: int) -> list[tuple[float, float]]:
        periods = periods_of(TRACE_START + trace_hours * HOUR)
        return [
            ((period.since - TRACE_START) / HOUR, (period.until - TRACE_START) / HOUR)
            for period in periods
        ]

    assert hours_of(12) == [(0, 4), (4, 8), (8, 12)]
    assert hours_of(14 * 24) == [(0, 24), (156, 180), (312, 336)]
    # A middle that would begin within an hour begins with it.
    assert hours_of(73) == [(0, 24), (24, 48), (49, 73)]


def test_tasks_within_twice_their_request() -> None:
    tasks = [
        {"collection_id": 1, "max_average_cpu": 0.5, "cpu_request": 0.25},
        {"collection_id": 2, "max_average_cpu": 0.51, "cpu_request": 0.25},
        {"collection_id": 3, "max_average_cpu": 0.1, "cpu_request": None},
        {"collection_id": 4, "max_average_cpu": None, "cpu_request": 0.25},
        {"collection_id": 5, "max_average_cpu": 0.1, "cpu_request": 0.25},
    ]
    measures = measures_of_tasks(tiny(tasks=tasks), Units(np.arange(1, 6), np.empty(0, np.int64)))
    # .51 is above twice .25; one has no request, and one no usage.
    within = measures["within_twice_cpu_request", "all"]
    assert within(np.ones(5)) == pytest.approx(2 / 3)


def test_rows_of_2019_beside_the_requests_of_their_tasks() -> None:
    usage = [
        window(1, 0, 0.1, 0.05, maximum_cpu=0.2, sampled_cpu=0.05, sample_rate=0.98),
    ]
    # Instances of alloc sets are no jobs.
    usage.append(
        window(
            2,
            0,
            0.4,
            0.05,
            maximum_cpu=0.4,
            sampled_cpu=0.4,
            collection_type="ALLOC_SET",
        )
    )
    tasks = [
        {
            "collection_id": 1,
            "priority": 200,
            "cpu_request": 0.5,
            "memory_request": 0.1,
        }
    ]
    tables = tiny("2019", tasks=tasks, instance_usage=usage)
    measures = row_measures(tables, Units(np.array([1, 2]), np.empty(0, np.int64)))
    measured = {key: measure(np.ones(2)) for key, measure in measures.items()}
    assert measured["cpu_of_request_p50", "production"] == pytest.approx(0.2)
    assert measured["memory_of_request_p50", "production"] == pytest.approx(0.5)
    assert measured["maximum_of_average_p50", "rows"] == pytest.approx(2.0)
    assert measured["sample_of_average_p50", "rows"] == pytest.approx(0.5)
    # Of 300 s, without percentiles, and of fewer samples than one a second.
    assert measured["whole_windows", "rows"] == 1.0
    assert measured["empty_percentiles", "rows"] == 1.0
    assert measured["low_sample_rate", "rows"] == 1.0


def test_a_part_of_many_rows_is_taken_by_job_and_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage_measures_module, "MOST_SAMPLED", 2)
    # Four rows, of which two are looked at: the trace begins in window 2, so that those of job 1 in odd ones are even.
    usage = [
        window(1, 300 * k, cpu, 0.05, maximum_cpu=cpu) for k, cpu in enumerate((0.1, 0.2, 0.3, 0.4))
    ]
    tasks = [
        {
            "collection_id": 1,
            "priority": 200,
            "cpu_request": 0.5,
            "memory_request": 0.1,
        }
    ]
    measures = row_measures(
        tiny("2019", tasks=tasks, instance_usage=usage), Units(np.array([1]), np.empty(0, np.int64))
    )
    # Of 0.2 and 0.4 the lower is the median.
    assert measures["cpu_of_request_p50", "production"](np.ones(1)) == pytest.approx(0.4)
    assert measures["log_cpu_mean", "rows"](np.ones(1)) == pytest.approx(np.log([0.2, 0.4]).mean())


def test_a_deviation_of_rounding_is_none() -> None:
    # Deviations of 1 and 1e-12, and of 1 and 2e-12.
    a = np.array([-1.0, 1.0, -1.0, 1.0])
    offsets = np.array([0, 2, 4])
    b = np.array([-1e-12, 1e-12, -2e-12, 2e-12])
    assert task_correlations(a, b, offsets, 0) == pytest.approx([np.nan, 1.0], nan_ok=True)
