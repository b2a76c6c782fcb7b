"""Questions on real logs of jobs: RICC-2010 (SWF), Philly (CSV) and Azure's packing trace (intervals).

Expected values are arithmetic over the raw rows, written out here.  The suite takes the first rows of RICC; whole logs,
with the totals that others counted, are tests of scale.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from borgtrace.catalog import find
from borgtrace.question import EngineTables, Tables
from tests.analyses import real_rows
from tests.analyses.real_rows import Array, Jobs
from tests.conftest import real_folder
from tests.rows import chosen_columns

STEP = 300
HOUR = 3600
DAY = 86_400
OFFSET = 600
"""Seconds on the trace's clock at which a log begins."""

Read = Callable[[Path, Path, int | None], tuple[Jobs, Path]]
LOGS: dict[str, Read] = {
    "ricc": real_rows.ricc,
    "philly": real_rows.philly,
    "packing": real_rows.packing,
}
"""How each log is read."""
SAMPLE = 1_000
"""Rows of the first log that the suite takes, for some of the questions: what one costs there is its plan."""


@dataclass(frozen=True)
class Log:
    """The jobs of a log, and the store that was made of them."""

    name: str
    jobs: Jobs
    tables: Tables

    def rows(self, question: str, **parameters: Any) -> list[dict[str, Any]]:
        """Answer a question."""
        answer: list[dict[str, Any]] = (
            find(question).run(self.tables, **parameters).table.to_pylist()
        )
        return answer


@pytest.fixture(
    scope="module",
    params=["ricc", *(pytest.param(f"whole {name}", marks=pytest.mark.scale) for name in LOGS)],
)
def log(
    request: pytest.FixtureRequest, trace: Path, tmp_path_factory: pytest.TempPathFactory
) -> Log:
    """A log, and a store of it."""
    name = request.param.removeprefix("whole ")
    real_folder(trace, {"ricc": "swf", "packing": "azure"}.get(name, name))
    rows = None if request.param.startswith("whole") else SAMPLE
    jobs, store = LOGS[name](trace, tmp_path_factory.mktemp(name), rows)
    return Log(request.param, jobs, EngineTables.of(store))


def counts_by(period: int, seconds: Array) -> Array:
    """Count times by period of the log."""
    return np.bincount(seconds // period)


def percentile(rows: list[dict[str, Any]], column: str, **group: Any) -> dict[float, float]:
    """Return the quantiles of a group by percent."""
    return {
        row["percent"]: row[column]
        for row in rows
        if all(row[name] == value for name, value in group.items())
    }


def test_events_of_jobs(log: Log) -> None:
    n = len(log.jobs)
    n_finished = int(log.jobs.is_finished.sum())
    expected = {"SUBMIT": n, "SCHEDULE": n, "FINISH": n_finished, "KILL": n - n_finished, "any": 0}
    expected["any"] = sum(expected.values())
    n_events = {row["type"]: row["n_events"] for row in log.rows("job_events")}
    assert n_events == {name: count for name, count in expected.items() if count}


def test_transitions(log: Log) -> None:
    n = len(log.jobs)
    n_finished = int(log.jobs.is_finished.sum())
    expected = {
        (None, "SUBMIT"): n,
        ("SUBMIT", "SCHEDULE"): n,
        ("SCHEDULE", "FINISH"): n_finished,
        ("SCHEDULE", "KILL"): n - n_finished,
    }
    rows = log.rows("transitions")
    assert {(row["from_type"], row["to_type"]): row["n"] for row in rows} == {
        pair: count for pair, count in expected.items() if count
    }


@pytest.mark.scale
def test_totals_and_sizes(log: Log) -> None:
    n = len(log.jobs)
    totals = log.rows("task_totals")[0]
    assert (totals["n_jobs"], totals["n_tasks"], totals["n_finish"], totals["n_alive"]) == (
        n,
        n,
        int(log.jobs.is_finished.sum()),
        0,
    )
    assert log.rows("tasks_per_job") == [{"n_tasks": 1, "n_jobs": n, "n_jobs_at_least": n}]
    assert {(row["n_tasks"], row["mean"], row["n"]) for row in log.rows("job_sizes")} == {(1, 1, n)}


def test_jobs_per_owner(log: Log) -> None:
    """Ranks of the owners by their jobs, and the share of all that those up to a rank have."""
    result = find("jobs_per_owner").run(log.tables)
    n_jobs = sorted(Counter(log.jobs.owner).values(), reverse=True)
    if not n_jobs:
        assert result.not_applicable == "no job has a user or a logical name"
        return
    rows = result.table.to_pylist()
    assert [row["n_jobs"] for row in rows] == n_jobs
    assert [row["share"] for row in rows] == pytest.approx(np.cumsum(n_jobs) / sum(n_jobs))


def test_arrivals_per_hour(log: Log) -> None:
    per_hour = counts_by(HOUR, log.jobs.submit)
    rows = log.rows("job_arrivals")
    # The last hour is not there where the log ends within it.
    assert len(per_hour) - 1 <= len(rows)
    per_hour = np.pad(per_hour, (0, max(0, len(rows) - len(per_hour))))
    assert [row["n_jobs"] for row in rows] == per_hour[: len(rows)].tolist()


@pytest.mark.scale
def test_gaps_between_arrivals(log: Log) -> None:
    """The mean is (last − first) ÷ (n − 1); C² is the variance over its square."""
    submit = np.sort(log.jobs.submit)
    gaps = np.diff(submit)
    mean = (submit[-1] - submit[0]) / (len(submit) - 1)
    rows = log.rows("job_interarrivals")
    assert rows[0]["n"] == len(gaps)
    expected = {
        "mean": mean,
        "squared_cv": np.mean((gaps - mean) ** 2) / mean**2,
    }
    assert chosen_columns(rows[0], expected) == pytest.approx(expected)
    for percent, seconds in percentile(rows, "seconds").items():
        assert seconds == pytest.approx(np.percentile(gaps, percent))


def test_durations_of_jobs(log: Log) -> None:
    """From SCHEDULE to the end: the run time of the log."""
    rows = log.rows("job_durations")
    groups = {"all": log.jobs.run, "FINISH": log.jobs.run[log.jobs.is_finished]}
    groups["KILL"] = log.jobs.run[~log.jobs.is_finished]
    assert {row["end_type"] for row in rows} == {name for name, runs in groups.items() if len(runs)}
    for row in rows:
        runs = groups[row["end_type"]]
        assert row["n"] == len(runs)
        expected = {
            "mean": runs.sum() / len(runs),
            "under_3min": (runs < 180).sum() / len(runs),
            "under_2h": (runs < 7200).sum() / len(runs),
            "seconds": np.percentile(runs, row["percent"]),
        }
        assert chosen_columns(row, expected) == pytest.approx(expected)


@pytest.mark.parametrize("question", ["scheduling_delay", "job_delay"])
def test_waits(log: Log, question: str) -> None:
    rows = log.rows(question)
    group = {"grouping": "all"} if question == "scheduling_delay" else {"tier": "all"}
    first = next(row for row in rows if all(row[name] == value for name, value in group.items()))
    assert first["n"] == len(log.jobs)
    assert first["mean"] == pytest.approx(log.jobs.wait.sum() / len(log.jobs))
    for percent, seconds in percentile(rows, "seconds", **group).items():
        assert seconds == pytest.approx(np.percentile(log.jobs.wait, percent))


def test_run_times(log: Log) -> None:
    """Every attempt has an end, so the estimate of Kaplan and Meier is the share that ended."""
    runs = log.jobs.run
    finished = runs[log.jobs.is_finished]
    rows = [row for row in log.rows("run_times") if row["grouping"] == "all"]
    assert len(rows) > 10
    for row in rows:
        expected = {
            "ended": (runs <= row["seconds"]).mean(),
            "finished": (finished <= row["seconds"]).mean(),
        }
        assert chosen_columns(row, expected) == pytest.approx(expected)
        assert row["n_at_risk"] == (runs > row["seconds"]).sum()
    assert rows[0]["n"] == len(runs)
    assert (rows[0]["shortest"], rows[0]["longest"]) == (finished.min(), finished.max())


@pytest.mark.scale
def test_hazards(log: Log) -> None:
    """Ends of a kind ÷ hours that jobs ran."""
    hours = log.jobs.run.sum() / HOUR
    row = next(row for row in log.rows("hazards") if row["grouping"] == "all")
    expected = {
        "hours": hours,
        "finish_rate": log.jobs.is_finished.sum() / hours,
        "kill_rate": (~log.jobs.is_finished).sum() / hours,
    }
    assert chosen_columns(row, expected) == pytest.approx(expected)


@pytest.mark.scale
def test_tails(log: Log) -> None:
    """Hill's estimator above an hour: n ÷ Σ ln(x ÷ 3600), and α ÷ √n is its error."""
    longer = log.jobs.run[log.jobs.run > HOUR]
    alpha = len(longer) / np.log(longer / HOUR).sum()
    row = next(row for row in log.rows("tails") if row["quantity"] == "run time of a task")
    assert row["n"] == len(longer)
    expected = {
        "alpha": alpha,
        "error": alpha / len(longer) ** 0.5,
    }
    assert chosen_columns(row, expected) == pytest.approx(expected)


@pytest.mark.scale
def test_nothing_is_submitted_twice(log: Log) -> None:
    rows = log.rows("resubmissions")
    assert sum(row["n_new"] for row in rows) == len(log.jobs)
    assert sum(row["n_again"] for row in rows) == 0
    gaps = log.rows("resubmission_gaps")
    assert sum(row["n"] for row in gaps) == len(log.jobs)
    assert sum(row["n_again"] for row in gaps) == 0


@pytest.mark.scale
def test_submissions_so_far(log: Log) -> None:
    rows = log.rows("submissions")
    ends = np.array([row["time"] for row in rows]) // 1_000_000 - OFFSET
    times = {
        "new": log.jobs.submit,
        "submitted": log.jobs.submit,
        "scheduled": log.jobs.start,
        "completed": log.jobs.end[log.jobs.is_finished],
    }
    for name, seconds in times.items():
        # What happened at the end of a step belongs to the next one.
        so_far = np.searchsorted(np.sort(seconds), ends, side="left")
        assert [row[name] for row in rows] == so_far.tolist()


@pytest.mark.scale
def test_distances_of_the_curves(log: Log) -> None:
    """The largest distance of two step functions lies at a jump of either."""
    jobs = log.jobs
    times = {
        "new": np.sort(jobs.submit),
        "submitted": np.sort(jobs.submit),
        "scheduled": np.sort(jobs.start),
        "completed": np.sort(jobs.end[jobs.is_finished]),
    }
    jumps = np.unique(np.concatenate(list(times.values())))
    length = jumps[-1] - jumps[0]
    for row in log.rows("submission_distances"):
        seconds = times[row["process"]]
        after = np.searchsorted(seconds, jumps, side="right") / len(seconds)
        if row["other"] == "chord":
            before = np.searchsorted(seconds, jumps, side="left") / len(seconds)
            chord = (jumps - jumps[0]) / length
            expected = max(abs(after - chord).max(), abs(before - chord).max())
        else:
            other = times[row["other"]]
            expected = abs(after - np.searchsorted(other, jumps, side="right") / len(other)).max()
        assert row["distance"] == pytest.approx(expected)


def test_pending_and_running(log: Log) -> None:
    """Submitted − started, and started − ended, before the end of each step."""
    jobs = log.jobs
    rows = log.rows("queue_length")
    ends = np.array([row["time"] for row in rows]) // 1_000_000 - OFFSET
    n_submitted, n_started, n_ended = (
        np.searchsorted(np.sort(seconds), ends, side="left")
        for seconds in (jobs.submit, jobs.start, jobs.end)
    )
    assert [row["pending"] for row in rows] == (n_submitted - n_started).tolist()
    assert [row["running"] for row in rows] == (n_started - n_ended).tolist()
    # Nobody is evicted or killed while pending: the published formula counts the same.
    assert [row["pending_published"] for row in rows] == (n_submitted - n_started).tolist()


@pytest.mark.scale
def test_trailing_averages(log: Log) -> None:
    """Of the waits that end, and the runs that end, within the hour before the end of a step."""
    jobs = log.jobs
    rows = log.rows("moving_averages")
    for row in rows[:: max(1, len(rows) // 50)]:
        end = row["time"] // 1_000_000 - OFFSET
        waits = jobs.wait[(jobs.start >= end - HOUR) & (jobs.start < end)]
        runs = jobs.run[(jobs.end >= end - HOUR) & (jobs.end < end)]
        assert (row["n_scheduled"], row["n_ended"]) == (len(waits), len(runs))
        assert row["mean_wait"] == (pytest.approx(waits.mean()) if len(waits) else None)
        assert row["mean_run"] == (pytest.approx(runs.mean()) if len(runs) else None)


@pytest.mark.scale
def test_load_and_times_by_day(log: Log) -> None:
    """Time-weighted means: the seconds of all intervals within a day ÷ the seconds of the day that the log covers."""
    jobs = log.jobs
    rows = log.rows("load_and_times")
    last = max(int(jobs.end.max()), int(jobs.start.max()))
    for row in rows:
        begin = row["day"] * DAY
        end = min(begin + DAY, last)
        waits = jobs.wait[jobs.start // DAY == row["day"]]
        runs = jobs.run[jobs.end // DAY == row["day"]]
        assert (row["n_scheduled"], row["n_ended"]) == (len(waits), len(runs))
        assert row["mean_wait"] == (pytest.approx(waits.mean()) if len(waits) else None)
        assert row["mean_run"] == (pytest.approx(runs.mean()) if len(runs) else None)
        if end > begin + HOUR:
            running = (np.minimum(jobs.end, end) - np.maximum(jobs.start, begin)).clip(0).sum()
            pending = (np.minimum(jobs.start, end) - np.maximum(jobs.submit, begin)).clip(0).sum()
            assert row["mean_running"] == pytest.approx(running / (end - begin), rel=1e-3)
            assert row["mean_pending"] == pytest.approx(pending / (end - begin), rel=1e-3, abs=1e-9)


TOTALS = {
    # The archive's header: 447,794 jobs; the log ends on 30 September, 23:58:08 JST, 13,218,793 s after its start.
    "whole ricc": (447_794, 431_549, 13_218_793),
    # 82,247 rows; from 2017-09-04 10:30:41, and Σ duration × GPUs is 3,521,082,502.
    "whole philly": (82_247, 82_247, None),
    # 14 days of 1,440 minutes.
    "whole packing": (10_000, 10_000, 20_160 * 60),
}


@pytest.mark.scale
@pytest.mark.parametrize("log", list(TOTALS), indirect=True)
def test_totals_that_others_counted(log: Log) -> None:
    n, n_finished, last = TOTALS[log.name]
    totals = log.rows("task_totals")[0]
    assert (totals["n_jobs"], totals["n_finish"]) == (n, n_finished)
    if last is not None:
        events = log.tables.instance_events
        assert (
            log.tables.fetch(events.aggregate(last=events.time.max()))["last"][0].as_py()
            == (last + OFFSET) * 1_000_000
        )
