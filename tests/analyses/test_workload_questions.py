"""Questions about a handful of events, answered by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from borgtrace.analyses.shared.power_law import discrete_exponent
from borgtrace.analyses.shared.quantiles import quantiles
from borgtrace.analyses.shared.trends import rank_correlation, slope
from borgtrace.analyses.waits import load_and_times
from borgtrace.catalog import find
from borgtrace.errors import UsageError
from borgtrace.question import NotApplicable, Result
from borgtrace.schema.time import DAY, HOUR, SECOND, TRACE_START
from tests.analyses.tiny import answer, at, tiny
from tests.rows import chosen_columns

Event = dict[str, Any]


def task(number: int, *steps: tuple[str, float], priority: int = 0, job: int = 1) -> list[Event]:
    return [
        {
            "collection_id": job,
            "instance_index": number,
            "time": at(second),
            "type": type_,
            "priority": priority,
            "scheduling_class": 0,
        }
        for type_, second in steps
    ]


def events(*tasks: list[Event]) -> list[Event]:
    return [event for task_events in tasks for event in task_events]


def run(name: str, rows: list[Event], **parameters: Any) -> list[dict[str, Any]]:
    return answer(find(name), tiny(instance_events=rows), **parameters)


SHORT = events(
    task(0, ("SUBMIT", 10), ("SCHEDULE", 20), ("FINISH", 50)),
    task(1, ("SUBMIT", 10), ("SCHEDULE", 40), ("EVICT", 60), ("SUBMIT", 61), ("SCHEDULE", 65)),
    task(2, ("SUBMIT", 70), ("EVICT", 80)),
)


def test_cumulative_counts() -> None:
    before, row = run("submissions", SHORT)
    assert before == {
        "time": 0,
        "new": 0,
        "submitted": 0,
        "scheduled": 0,
        "completed": 0,
        "pending": 0,
    }
    # Task 2 ended while it was pending: it is among the submissions for ever, and waits no more.
    assert row == {
        "time": at(300),
        "new": 3,
        "submitted": 4,
        "scheduled": 3,
        "completed": 1,
        "pending": 0,
    }


def test_the_queue_may_change_before_and_after_all_counted_events() -> None:
    """Two tasks wait before the trace; one is killed in the first step, one in the last."""
    rows = run(
        "submissions",
        events(
            task(1, ("SUBMIT", -600), ("KILL", 10)),
            task(2, ("SUBMIT", -600), ("KILL", 910)),
            task(3, ("SUBMIT", 310), ("SCHEDULE", 320)),
        ),
    )
    assert [(row["time"], row["submitted"], row["pending"]) for row in rows] == [
        (0, 2, 2),
        (at(300), 2, 1),
        (at(600), 3, 1),
        (at(900), 3, 1),
        (at(1200), 3, 0),
    ]


def test_the_weighted_curves_end_at_the_quotients_of_the_totals() -> None:
    """Of the four tasks one was there before the trace, as the totals of tasks count."""
    earlier = task(9, ("SUBMIT", -600), ("SCHEDULE", -600), ("FINISH", 20))
    rows = run("submissions", earlier + SHORT)
    assert [row["new"] for row in rows] == [1, 4]
    assert [row["submitted"] for row in rows] == [1, 5]
    assert [row["scheduled"] for row in rows] == [1, 4]
    assert [row["completed"] for row in rows] == [0, 2]


def test_distances_by_hand() -> None:
    rows = events(
        *(task(n, ("SUBMIT", 10 * n), ("SCHEDULE", 10 * n), ("FINISH", 100)) for n in range(11))
    )
    distance_by_key = {
        (row["process"], row["other"]): row["distance"] for row in run("submission_distances", rows)
    }
    # eleven steps of 1/11 along the chord: just after the first, 1/11 above it; completions all at the very end
    assert distance_by_key["new", "chord"] == pytest.approx(1 / 11)
    assert distance_by_key["completed", "chord"] == pytest.approx(1.0)
    assert distance_by_key["submitted", "scheduled"] == 0.0
    assert distance_by_key["new", "completed"] == pytest.approx(10 / 11)


def test_the_published_formula_leaves_one_behind_for_each_eviction_while_pending() -> None:
    row = run("queue_length", SHORT)[-1]
    expected = {
        "pending": 0,
        "running": 1,
        "pending_published": 1,
        "running_published": 0,
        "pending_max": 2,
        "running_max": 2,
    }
    assert chosen_columns(row, expected) == expected


def test_the_literal_reading_keeps_what_ends_after_an_update() -> None:
    rows = task(0, ("SUBMIT", 1), ("SCHEDULE", 2), ("UPDATE_RUNNING", 3), ("KILL", 4))
    row = run("queue_length", rows)[-1]
    expected = {
        "running": 0,
        "running_published": 0,
        "running_literal": 1,
    }
    assert chosen_columns(row, expected) == expected


def test_steps_without_an_event_hold_the_level() -> None:
    rows = run("queue_length", task(0, ("SUBMIT", 1), ("SCHEDULE", 700)))
    inside = [row for row in rows if row["time"] > TRACE_START]
    values = [(row["pending"], row["pending_min"], row["running"]) for row in inside]
    assert values == [
        (1, 1, 0),
        (1, 1, 0),
        (0, 0, 1),
    ]


@pytest.mark.parametrize(
    ("question", "option", "message"),
    [
        (
            "queue_length",
            {"step": 7 * SECOND},
            "step: out of range: expected 5m to 31d, got 7s",
        ),
        (
            "queue_length",
            {"step": 301 * SECOND},
            "step: not a multiple of 5m: expected 5m to 31d, got 5m1s",
        ),
        (
            "moving_averages",
            {"trailing": 0},
            "trailing: out of range: expected 1s to 31d, got 0us",
        ),
        (
            "moving_averages",
            {"step": 600 * SECOND, "trailing": 900 * SECOND},
            "trailing: not a multiple of step: expected a multiple of 10m, got 15m",
        ),
        (
            "transitions",
            {"of": "tasks"},
            "of: unknown name: expected instances or collections, got tasks",
        ),
        (
            "hazards",
            {"tier_of": "update"},
            "tier_of: unknown name: expected schedule or submit, got update",
        ),
    ],
)
def test_an_option_that_does_not_fit_is_refused(
    question: str, option: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        run(question, SHORT, **option)
    assert str(caught.value) == message


def test_trailing_means() -> None:
    rows = events(
        task(0, ("SUBMIT", 10), ("SCHEDULE", 20), ("FINISH", 120)),
        task(1, ("SUBMIT", 310), ("SCHEDULE", 340), ("FINISH", 640)),
    )
    answer_rows = run("moving_averages", rows, trailing=600 * SECOND)
    assert [(row["mean_wait"], row["n_scheduled"]) for row in answer_rows] == [
        (10.0, 1),
        (20.0, 2),
        (30.0, 1),
    ]
    assert [(row["mean_run"], row["n_ended"]) for row in answer_rows] == [
        (100.0, 1),
        (100.0, 1),
        (300.0, 1),
    ]


def test_waits_by_tier() -> None:
    rows = events(
        task(0, ("SUBMIT", 10), ("SCHEDULE", 12)),
        task(1, ("SUBMIT", 10), ("SCHEDULE", 14)),
        task(2, ("SUBMIT", 10), ("SCHEDULE", 11), priority=9),
    )
    seconds_by_key = {
        (row["group"], row["percent"]): row["seconds"] for row in run("scheduling_delay", rows)
    }
    assert seconds_by_key["all", 50.0] == 2.0
    assert seconds_by_key["free", 50.0] == 3.0
    assert seconds_by_key["production", 50.0] == 1.0


def test_runs_with_one_still_going() -> None:
    rows = events(
        task(0, ("SUBMIT", 0), ("SCHEDULE", 1), ("FINISH", 2)),
        task(1, ("SUBMIT", 0), ("SCHEDULE", 1), ("KILL", 31)),
        task(2, ("SUBMIT", 0), ("SCHEDULE", 21)),
        task(3, ("SUBMIT", 0), ("SCHEDULE", 1), ("FINISH", 11)),
    )
    row_by_key = {row["seconds"]: row for row in run("run_times", rows) if row["grouping"] == "all"}
    # of four: one ends after 1 s, one after 10 s, one is lost sight of after 10 s, the last ends after 30 s
    assert [row_by_key[s]["ended"] for s in (1, 8, 10, 20, 30)] == [0.25, 0.25, 0.5, 0.5, 1.0]
    assert [row_by_key[s]["finished"] for s in (1, 10)] == [0.5, 1.0]
    assert [row_by_key[s]["n_at_risk"] for s in (1, 2, 10, 30)] == [3, 3, 1, 0]


def test_ends_per_task_hour() -> None:
    rows = events(
        task(0, ("SUBMIT", 0), ("SCHEDULE", 0), ("EVICT", 3600)),
        task(1, ("SUBMIT", 0), ("SCHEDULE", 1800), ("KILL", 3600)),
        task(2, ("SUBMIT", 0), ("KILL", 100)),
    )
    (row,) = (row for row in run("hazards", rows) if row["grouping"] == "all")
    expected = {
        "hours": 1.5,
        "n_evict": 1,
        "n_kill": 1,
        "evict_rate": 1 / 1.5,
    }
    assert chosen_columns(row, expected) == expected


def test_repeated_attempts() -> None:
    (row,) = (row for row in run("resubmission_gaps", SHORT) if row["end_type"] == "EVICT")
    expected = {
        "n": 2,
        "n_again": 1,
        "gap_p50": 1.0,
    }
    assert chosen_columns(row, expected) == expected


def test_load_by_day_is_time_weighted() -> None:
    day = 86_400.0
    rows = events(
        task(0, ("SUBMIT", 0), ("SCHEDULE", day / 2), ("FINISH", 2 * day)),
        task(1, ("SUBMIT", 2.5 * day), ("SCHEDULE", 2.75 * day)),
    )
    answer_rows = run("load_and_times", rows)
    assert [(row["day"], row["mean_pending"], row["mean_running"]) for row in answer_rows] == [
        (0, 0.5, 0.5),
        (1, 0.0, 1.0),
        (2, pytest.approx(1 / 3), 0.0),
    ]


def test_jobs_that_crash() -> None:
    rows = events(
        *(
            task(
                n,
                ("SUBMIT", 0),
                ("SCHEDULE", 1),
                ("FAIL", 2),
                ("SUBMIT", 3),
                ("SCHEDULE", 4),
                ("FAIL", 5),
                job=7,
            )
            for n in range(2)
        ),
        task(0, ("SUBMIT", 0), ("SCHEDULE", 1), ("FAIL", 2), job=8),
    )
    first, second = run("crash_loops", rows)
    expected = {
        "collection_id": 7,
        "n_fail": 4,
        "n_tasks": 2,
        "share": 0.8,
    }
    assert chosen_columns(first, expected) == expected
    assert second["collection_id"] == 8
    assert second["share"] == 1.0


def judged(name: str, **tables: list[Event]) -> Result:
    return find(name).run(tiny(**tables))


def test_a_queue_that_grows_and_one_that_does_not() -> None:
    hours = range(72)
    growing = [event for n in hours for event in task(n, ("SUBMIT", n * 3600.0))]
    verdicts = {f.id: f.verdict for f in judged("queue_length", instance_events=growing).findings}
    expected = {
        "S4-obs7": "holds",
        "S4-obs5": "holds",
        "S4-obs8": "does not hold",
    }
    assert chosen_columns(verdicts, expected) == expected
    seconds = (
        ("SUBMIT", 0.0),
        ("SCHEDULE", 3599.0),
        ("FINISH", 3599.5),
    )
    level = [
        event
        for n in hours
        for event in task(n, *((type_, n * 3600.0 + second) for type_, second in seconds))
    ]
    verdicts = {f.id: f.verdict for f in judged("queue_length", instance_events=level).findings}
    expected = {
        "S4-obs7": "does not hold",
        "S4-obs8": "does not hold",
        "S4-method-3-2": "holds",
    }
    assert chosen_columns(verdicts, expected) == expected


def test_two_lumps_of_resubmissions() -> None:
    rows: list[Event] = []
    for day in range(14):
        n = 30 if day in (2, 3, 9) else 5
        rows += [
            event
            for k in range(n)
            for event in task(
                1000 * day + k,
                ("SUBMIT", day * 86400.0 + k),
                ("SCHEDULE", day * 86400.0 + k + 0.1),
                ("FAIL", day * 86400.0 + k + 0.2),
                ("SUBMIT", day * 86400.0 + k + 0.3),
            )
        ]
    (lumps, *_) = judged("resubmissions", instance_events=rows).findings
    assert lumps.measured == "2"
    assert lumps.verdict == "holds"


def job(number: int, *steps: tuple[str, float], **columns: Any) -> list[Event]:
    return [
        {
            "collection_id": number,
            "time": at(second),
            "type": type_,
            **columns,
        }
        for type_, second in steps
    ]


def test_jobs_per_hour_and_between_jobs() -> None:
    rows = [
        *job(1, ("SUBMIT", 0)),
        *job(2, ("SUBMIT", 1)),
        *job(3, ("SUBMIT", 4000)),
        *job(4, ("SUBMIT", 7300)),
    ]
    assert [
        row["n_jobs"] for row in answer(find("job_arrivals"), tiny(collection_events=rows))
    ] == [2, 1]
    gaps = answer(find("job_interarrivals"), tiny(collection_events=rows))
    assert gaps[-1]["seconds"] == 3999.0
    assert gaps[0]["n"] == 3
    assert gaps[0]["mean"] == pytest.approx(7300 / 3)


def test_owners() -> None:
    rows = [job(n, ("SUBMIT", n), user="a" if n < 3 else "b")[0] for n in range(4)]
    answer_rows = answer(find("jobs_per_owner"), tiny(collection_events=rows))
    assert [(row["kind"], row["rank"], row["n_jobs"], row["share"]) for row in answer_rows] == [
        ("user", 1, 3, 0.75),
        ("user", 2, 1, 1.0),
    ]


def test_quantiles_are_those_of_the_values_written_out() -> None:
    generator = np.random.Generator(np.random.PCG64(3))
    values = generator.random(50)
    n = generator.integers(1, 9, 50)
    percents = [0.0, 1.0, 33.3, 50.0, 99.9, 100.0]
    assert quantiles(values, n, percents) == pytest.approx(
        np.percentile(np.repeat(values, n), percents)
    )


def test_slope_of_noise_includes_zero_and_of_a_line_does_not() -> None:
    generator = np.random.Generator(np.random.PCG64(4))
    x = np.arange(400.0)
    noise = generator.normal(size=400)
    flat = slope(noise, x, 10)
    rising = slope(noise + 0.1 * x, x, 10)
    assert flat.low < 0 < flat.high
    assert 0 < rising.low < 0.1 < rising.high


def test_newey_west_by_hand() -> None:
    # x = −1, 0, 1; y = 0, 3, 0: slope 0, residuals −1, 2, −1, scores 1, 0, −1; lag 1: weight ½ × (0·1 + −1·0) = 0
    interval = slope(np.array([0.0, 3.0, 0.0]), np.array([-1.0, 0.0, 1.0]), 1)
    assert interval.value == 0.0
    assert interval.high == pytest.approx(1.959963984540054 * np.sqrt(2) / 2)


def test_correlation_is_reproducible() -> None:
    x = np.arange(10.0)
    y = np.array([3.0, 1, 4, 1, 5, 9, 2, 6, 5, 3])
    assert rank_correlation(x, y) == rank_correlation(x, y)
    assert rank_correlation(x, -x).value == -1.0


def test_the_interval_of_a_correlation_holds_95_percent_of_the_resamples() -> None:
    x = np.arange(10.0)
    y = np.array([3.0, 1, 4, 1, 5, 9, 2, 6, 5, 3])
    interval = rank_correlation(x, y, block=1, repetitions=4000)
    # The same draws, one by one: blocks of one value are resamples of the pairs.
    places = np.random.Generator(np.random.PCG64(0)).integers(0, 10, size=(4000, 10))
    drawn = [stats.spearmanr(x[place], y[place]).statistic for place in places]
    assert (interval.low, interval.high) == pytest.approx(
        tuple(np.nanpercentile(drawn, [2.5, 97.5]))
    )


def test_seven_days_are_enough_for_a_correlation() -> None:
    days = {"mean_wait": [1.0, 3, 2, 5, 4, 7, 6], "mean_pending": [2.0, 1, 4, 3, 6, 5, 7]}
    assert load_and_times.correlation_with_queue("mean_wait")(
        pa.table(days)
    ).value == pytest.approx(1 - 6 * 22 / 336)
    with pytest.raises(NotApplicable, match="shorter than a week"):
        load_and_times.correlation_with_queue("mean_wait")(pa.table(days).slice(0, 6))
    with pytest.raises(NotApplicable, match="constant"):
        load_and_times.correlation_with_queue("mean_wait")(
            pa.table({**days, "mean_wait": [1.0] * 7})
        )


def test_a_tail_is_not_looked_for_beyond_an_exponent_of_ten() -> None:
    # One value of 2 among a million of 1: the exponent of the zeta law would be near 19.
    assert discrete_exponent(np.array([1, 2]), np.array([10**6, 1]), 1) == pytest.approx(
        10.0, abs=1e-3
    )


@pytest.mark.parametrize(
    ("question", "reason"),
    [("hazards", "no task ever runs"), ("run_times", "no attempt starts within the trace")],
)
def test_without_a_start_there_is_no_run(question: str, reason: str) -> None:
    result = find(question).run(tiny(instance_events=task(0, ("SUBMIT", 1), ("KILL", 2))))
    assert result.not_applicable == reason


def test_times_in_the_tests_mean_what_they_say() -> None:
    assert at(0) == 600 * SECOND
    assert HOUR == 3600 * SECOND
    assert DAY == 86_400 * SECOND
