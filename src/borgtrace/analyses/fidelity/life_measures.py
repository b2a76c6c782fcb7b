"""Measures of lives for the fidelity report: volumes, ends, stocks over time, durations of jobs, crash loops."""

from typing import NamedTuple

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses.fidelity import weighted_measures as weighted
from borgtrace.analyses.fidelity.event_measures import (
    TIERS,
    Events,
    are_present_at_start,
    tasks_of_attempts,
)
from borgtrace.analyses.fidelity.weighted_measures import (
    Measures,
    Units,
    WeightedMeasure,
    times,
    words,
)
from borgtrace.analyses.shared.window_blocks import column
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.question import Tables
from borgtrace.schema import TERMINAL_EVENTS
from borgtrace.schema.time import HOUR, SECOND, TRACE_START

ENDS = ("EVICT", "FAIL", "FINISH", "KILL")
PERIODS = {"middle": (0.45, 0.55), "end": (0.9, 1.0)}
"""Parts of the trace over which stocks are averaged."""
SHORT = 24
"""Usage rows from which on a task is long (Janus & Rzadca, SoCC'17)."""


class LifeTables(NamedTuple):
    """What the measures of lives are taken from.

    Attributes
    ----------
    attempts
        Attempts of tasks with their ``tier``.
    jobs
        First SUBMIT and SCHEDULE, last event and its type, one row for each job.
    tasks
        Number of usage rows and of bad ends, one row for each task with usage.
    events
        Events of tasks by job: how many, how many of them have missing info, and how many name a machine or should.
    n_machines, cpu_capacity
        The cell at the start.
    last
        Time of the last attempt's begin, µs.
    """

    attempts: pa.Table
    jobs: pa.Table
    tasks: pa.Table
    events: pa.Table
    n_machines: int
    cpu_capacity: float
    last: float


def read_lives(tables: Tables, events: Events) -> LifeTables:
    """Fetch the rows that the measures of lives need.

    Parameters
    ----------
    tables
        The store's tables.
    events
        What the measures of events need.
    """
    is_present = are_present_at_start(events.machines)
    key = ["collection_id"]
    return LifeTables(
        attempts=events.attempts,
        jobs=weighted.fetch_sorted(tables, jobs_with_ends(tables), "ends_of_jobs", key),
        tasks=weighted.fetch_sorted(
            tables, lengths_of_tasks(tables), "lengths_of_tasks", [*key, "instance_index"]
        ),
        events=weighted.fetch_sorted(tables, events_of_jobs(tables), "events_of_jobs", key),
        n_machines=int(is_present.sum()),
        cpu_capacity=float(np.nansum(column(events.machines, "cpu_capacity")[is_present])),
        last=events.last,
    )


def jobs_with_ends(tables: Tables) -> ir.Table:
    """Return when each job is submitted, first scheduled and over, and how it ends."""
    events = tables.collection_events
    is_end = events.type.isin(TERMINAL_EVENTS)
    return events.group_by("collection_id").aggregate(
        submit_time=events.time.min(where=events.type == "SUBMIT"),
        schedule_time=events.time.min(where=events.type == "SCHEDULE"),
        end_time=events.time.max(where=is_end),
        end_type=events.type.argmax(events.time, where=is_end),
    )


def lengths_of_tasks(tables: Tables) -> ir.Table:
    """Return the number of usage rows of each task that has some, and how often it ended badly."""
    tasks = tables.tasks
    return tasks.filter(tasks.n_windows > 0).select(
        "collection_id",
        "instance_index",
        "n_windows",
        n_bad=tasks.n_evict + tasks.n_fail + tasks.n_kill + tasks.n_lost,
    )


def events_of_jobs(tables: Tables) -> ir.Table:
    """Return by job how many events its tasks have, and how many lack a machine that a real row names."""
    events = tables.instance_events
    named = ("SCHEDULE", "EVICT", "FAIL", "FINISH")
    names_machine = events.type.isin(named)
    return events.group_by("collection_id").aggregate(
        n_events=events.count(),
        n_named=names_machine.sum(),
        n_unnamed=(names_machine & events.machine_id.isnull()).sum(),
        n_missing=events.missing_type.notnull().sum(),
    )


def life_measures(lives: LifeTables, units: Units) -> Measures:
    """Return the measures of lives.

    Parameters
    ----------
    lives
        Rows from :func:`read_lives`.
    units
        The units that a resample draws.
    """
    if not lives.n_machines:
        return {}
    return (
        measures_of_volume(lives, units)
        | measures_of_ends(lives.attempts, units)
        | measures_of_stocks(lives, units)
        | measures_of_job_lives(lives.jobs, units)
        | measures_of_lengths(lives.tasks, units)
    )


def measures_of_volume(lives: LifeTables, units: Units) -> Measures:
    """Measure tasks, events and usage rows by machine and hour, and events that say less than real ones."""
    hours = lives.n_machines * (lives.last - TRACE_START) / HOUR
    _, first = np.unique(tasks_of_attempts(lives.attempts), axis=1, return_index=True)
    job_of_task = units.job(lives.attempts["collection_id"].to_numpy()[first])
    job = units.job(lives.events["collection_id"].to_numpy())
    job_of_length = units.job(lives.tasks["collection_id"].to_numpy())
    n_events = column(lives.events, "n_events")
    n_named = column(lives.events, "n_named")
    named = n_named - column(lives.events, "n_unnamed")
    missing = column(lives.events, "n_missing")
    return {
        ("tasks_per_machine_hour", "all"): weighted.ratio(
            np.ones(len(job_of_task)), hours, job_of_task
        ),
        ("events_per_machine_hour", "all"): weighted.ratio(n_events, hours, job),
        ("windows_per_machine_hour", "all"): weighted.ratio(
            column(lives.tasks, "n_windows"), hours, job_of_length
        ),
        ("events_naming_machine", "all"): weighted.ratio(named, n_named, job),
        ("events_with_missing_info", "all"): weighted.ratio(missing, n_events, job),
    }


def measures_of_ends(attempts: pa.Table, units: Units) -> Measures:
    """Measure submissions, schedulings and ends: by new task, and by submission of a tier."""
    job = units.job(attempts["collection_id"].to_numpy())
    _, first = np.unique(tasks_of_attempts(attempts), axis=1, return_index=True)
    is_first = np.zeros(len(job))
    is_first[first] = 1.0
    ends = words(attempts, "end_type")
    tiers = words(attempts, "tier")
    is_submitted = (~np.isnan(column(attempts, "submit_time"))).astype(float)
    is_scheduled = (~np.isnan(column(attempts, "schedule_time"))).astype(float)
    measures: Measures = {
        ("submissions_per_task", "all"): weighted.ratio(is_submitted, is_first, job),
        ("schedulings_per_task", "all"): weighted.ratio(is_scheduled, is_first, job),
        ("completions_per_task", "all"): weighted.ratio(
            (ends == "FINISH").astype(float), is_first, job
        ),
        ("failures_of_top_10_jobs", "all"): share_of_largest(job[ends == "FAIL"], 10),
    }
    for name in TIERS:
        is_in_tier = tiers == name
        for kind in ENDS:
            is_kind = (ends[is_in_tier] == kind).astype(float)
            measures[f"{kind.lower()}_per_submission", name] = weighted.ratio(
                is_kind, is_submitted[is_in_tier], job[is_in_tier]
            )
    return measures


def share_of_largest(job: Index, n_largest: int) -> WeightedMeasure:
    """Measure the share of rows that belong to the units with most of them."""

    def value(weights: Numbers) -> float:
        rows = np.bincount(job, minlength=len(weights)) * weights
        total = rows.sum()
        return float(np.sort(rows)[::-1][:n_largest].sum() / total) if total else float("nan")

    return value


def measures_of_stocks(lives: LifeTables, units: Units) -> Measures:
    """Measure what runs, and what it requests, in the middle of the trace and at its end."""
    attempts = lives.attempts
    job = units.job(attempts["collection_id"].to_numpy())
    tiers = words(attempts, "tier")
    schedule = times(attempts, "schedule_time")
    left = times(attempts, "left_time")
    until = np.where(np.isnan(left), np.inf, left)
    cpu = np.nan_to_num(column(attempts, "cpu_request"))
    length = lives.last - TRACE_START
    measures: Measures = {}
    for period, (low, high) in PERIODS.items():
        begin = TRACE_START + low * length
        end = TRACE_START + high * length
        overlap = np.minimum(until, end) - np.maximum(schedule, begin)
        share = np.nan_to_num(np.maximum(overlap, 0.0)) / (end - begin)
        for name in ("all", "production"):
            chosen = np.full(len(job), True) if name == "all" else tiers == name
            measures[f"running_per_machine_{period}", name] = weighted.ratio(
                share[chosen], float(lives.n_machines), job[chosen]
            )
            measures[f"cpu_requested_of_capacity_{period}", name] = weighted.ratio(
                share[chosen] * cpu[chosen], lives.cpu_capacity, job[chosen]
            )
    return measures


def measures_of_job_lives(jobs: pa.Table, units: Units) -> Measures:
    """Measure how long jobs that arrive inside the trace last, and how they end."""
    submit = times(jobs, "submit_time")
    is_new = submit > TRACE_START
    new = jobs.filter(pa.array(is_new))
    unit = units.job(new["collection_id"].to_numpy())
    end = times(new, "end_time")
    schedule = times(new, "schedule_time")
    last = float(np.nanmax(np.concatenate([end, schedule]), initial=float(TRACE_START)))
    has_ended = ~np.isnan(end)
    seconds = (np.where(has_ended, end, last) - schedule) / SECOND
    is_known = ~np.isnan(schedule)
    ends = words(new, "end_type")
    measures: Measures = {
        (f"jobs_within_{limit}s", "all"): weighted.ended_within(
            seconds[is_known], has_ended[is_known], unit[is_known], float(limit)
        )
        for limit in (180, 7200)
    }
    for kind in ("FINISH", "KILL"):
        measures[f"jobs_ending_in_{kind}", "all"] = weighted.share(
            ends[has_ended] == kind, unit[has_ended]
        )
    return measures


def measures_of_lengths(tasks: pa.Table, units: Units) -> Measures:
    """Measure how many usage rows tasks have: those that end well, and all."""
    job = units.job(tasks["collection_id"].to_numpy())
    rows = column(tasks, "n_windows")
    is_clean = column(tasks, "n_bad") == 0
    return {
        ("short_tasks", "tasks that end well"): weighted.share(
            rows[is_clean] < SHORT, job[is_clean]
        ),
        ("traces_of_5_to_50", "all"): weighted.share((rows >= 5) & (rows <= 50), job),
    }
