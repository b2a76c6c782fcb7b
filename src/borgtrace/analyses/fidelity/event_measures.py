"""Measures of events for the fidelity report: tasks at the start, runs, waits, jobs and machines of 2011."""

from typing import NamedTuple

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from borgtrace.analyses.fidelity import weighted_measures as weighted
from borgtrace.analyses.fidelity.weighted_measures import Measures, Units, times, words
from borgtrace.analyses.shared.attempts import TASK, of_jobs
from borgtrace.analyses.shared.window_blocks import column
from borgtrace.analyses.shared.windows import tier
from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.question import NotApplicable, Tables
from borgtrace.schema.time import BEFORE_TRACE, HOUR, SECOND, TRACE_START

TIERS = ("free", "other", "production")
ATTEMPT_KEY = (*TASK, "begin_time")
ATTEMPT_COLUMNS = (
    "submit_time",
    "enable_time",
    "schedule_time",
    "end_time",
    "end_type",
    "left_time",
    "next_time",
    "cpu_request",
    "memory_request",
    "priority",
    "scheduling_class",
    "machine_id",
)
ENDS = ("EVICT", "FAIL", "KILL")
SHAPES = ((0.5, 0.5), (0.5, 0.25), (0.5, 0.75), (1.0, 1.0), (0.25, 0.25))
"""CPU and memory of the machines whose share is published."""


class Events(NamedTuple):
    """Attempts of tasks with their ``tier``, jobs that arrive and changes of machines; the last known begin, µs."""

    attempts: pa.Table
    jobs: pa.Table
    machines: pa.Table
    last: float


def read_events(tables: Tables) -> Events:
    """Fetch the rows that the measures of events need.

    Raises
    ------
    NotApplicable
        Where the store holds no attempt.
    """
    attempts = of_jobs(tables.instance_attempts)
    attempts = attempts.select(*ATTEMPT_KEY, *ATTEMPT_COLUMNS, tier=tier(tables, attempts.priority))
    all_attempts = weighted.fetch_sorted(tables, attempts, "attempts", ATTEMPT_KEY)
    jobs = weighted.fetch_sorted(tables, arriving_jobs(tables), "jobs", ["collection_id"])
    changes = tables.machine_events.select(
        "machine_id", "time", "type", "cpu_capacity", "memory_capacity"
    )
    machines = weighted.fetch_sorted(tables, changes, "machines", ["machine_id", "time"])
    if not all_attempts.num_rows:
        raise NotApplicable("the store holds no attempts")
    last = float(np.nanmax(times(all_attempts, "begin_time"), initial=float(BEFORE_TRACE)))
    return Events(
        attempts=all_attempts,
        jobs=up_to(jobs, last),
        machines=up_to(machines, last),
        last=last,
    )


def arriving_jobs(tables: Tables) -> ir.Table:
    """Return the jobs that are submitted inside the trace, with class, user and name."""
    events = tables.collection_events
    submissions = events.filter((events.type == "SUBMIT") & (events.time > TRACE_START))
    return submissions.group_by("collection_id").aggregate(
        class_=submissions.scheduling_class.min(),
        user=submissions.user.min(),
        time=submissions.time.min(),
        name=submissions.collection_logical_name.min(),
    )


def up_to(rows: pa.Table, last: float) -> pa.Table:
    """Keep the rows up to a time, µs."""
    return rows.filter(pc.less_equal(rows["time"], int(last)))


def event_measures(events: Events, units: Units) -> Measures:
    """Return the measures of events.

    Parameters
    ----------
    events
        Rows from :func:`read_events`.
    units
        The units that a resample draws.
    """
    return (
        measures_of_runs(events.attempts, units)
        | measures_at_start(events.attempts, events.machines, units)
        | measures_of_machines(events.machines, units, events.last)
        | measures_of_jobs(events, units)
    )


def measures_of_runs(attempts: pa.Table, units: Units) -> Measures:
    """Measure lengths of runs, waits before them, and resubmissions after them."""
    submit = times(attempts, "submit_time")
    schedule = times(attempts, "schedule_time")
    left = times(attempts, "left_time")
    end = times(attempts, "end_time")
    last = float(np.nanmax(np.concatenate([schedule, end]), initial=float(TRACE_START)))
    # What still runs has run until the last known time, and is censored there.
    until = np.where(np.isnan(left), last, np.minimum(left, last))
    seconds = (until - schedule) / SECOND
    wait = (schedule - submit) / SECOND
    # A run that began before the trace is of unknown length.
    is_new = schedule > TRACE_START
    has_wait = is_new & (submit >= TRACE_START)
    has_ended = ~np.isnan(end)
    tiers = words(attempts, "tier")
    ends = words(attempts, "end_type")
    # How often runs fail differs twentyfold between the first hours and the month; how long the others last does not.
    is_counted = is_new & (ends != "FAIL")
    job = units.job(attempts["collection_id"].to_numpy())
    measures: Measures = {}
    for name in TIERS:
        is_in_tier = tiers == name
        new = is_in_tier & is_counted
        waiting = is_in_tier & has_wait
        for limit in (300, 1800, 7200):
            measures[f"run_within_{limit}s", name] = weighted.ended_within(
                seconds[new], has_ended[new], job[new], float(limit)
            )
        for q in (50, 90):
            measures[f"delay_p{q}", name] = weighted.quantile(
                wait[waiting], job[waiting], q / 100.0
            )
    return measures | _measures_of_resubmissions(attempts, ends, job)


def _measures_of_resubmissions(attempts: pa.Table, ends: NDArray[np.str_], job: Index) -> Measures:
    """Measure how many of the runs that end in some way are submitted again."""
    is_resubmitted = ~np.isnan(column(attempts, "next_time"))
    measures: Measures = {}
    for kind in ENDS:
        is_kind = ends == kind
        measures[f"resubmitted_after_{kind}", "all"] = weighted.share(
            is_resubmitted[is_kind], job[is_kind]
        )
    return measures


def measures_at_start(attempts: pa.Table, machines: pa.Table, units: Units) -> Measures:
    """Measure the tasks that run when the trace begins: how many there are, and what they request."""
    is_present = are_present_at_start(machines)
    n_machines = int(is_present.sum())
    measures: Measures = {}
    if not n_machines:
        return measures
    # Time 0 stands for before the trace: 132,982 running tasks in 2011; own data may begin with it.
    is_at_start = column(attempts, "schedule_time") <= TRACE_START
    tiers = words(attempts, "tier")
    job_of_attempt = units.job(attempts["collection_id"].to_numpy())
    for name in TIERS:
        running = is_at_start & (tiers == name)
        job = job_of_attempt[running]
        measures["running_per_machine", name] = weighted.ratio(
            np.ones(len(job)), float(n_machines), job
        )
        for resource in ("cpu", "memory"):
            capacity = float(np.nansum(column(machines, f"{resource}_capacity")[is_present]))
            request = column(attempts, f"{resource}_request")[running]
            measures[f"{resource}_requested_of_capacity", name] = weighted.ratio(
                np.nan_to_num(request), capacity, job
            )
            for q in (10, 50, 90):
                measures[f"{resource}_request_p{q}", name] = weighted.quantile(
                    request, job, q / 100.0
                )
    return measures


def are_present_at_start(machines: pa.Table) -> Flags:
    """Return which changes of machines are ADDs from before the trace."""
    is_add = words(machines, "type") == "ADD"
    return np.asarray((column(machines, "time") == BEFORE_TRACE) & is_add)


def measures_of_machines(machines: pa.Table, units: Units, last: float) -> Measures:
    """Measure shapes, removals and downtimes of machines."""
    is_at_start = are_present_at_start(machines)
    if not is_at_start.any():
        return {}
    unit = units.machine(machines["machine_id"].to_numpy())
    cpu = column(machines, "cpu_capacity")
    memory = column(machines, "memory_capacity")
    measures: Measures = {}
    for shape_cpu, shape_memory in SHAPES:
        # Memory is rounded to ten bits: a half is written as .4995 (1023/2048).
        has_shape = (cpu == shape_cpu) & (np.abs(memory - shape_memory) < 0.001)
        measures[f"machines_{shape_cpu:g}_{shape_memory:g}", "machines"] = weighted.share(
            has_shape[is_at_start], unit[is_at_start]
        )
    time = column(machines, "time")
    is_removal = (words(machines, "type") == "REMOVE") & (time >= TRACE_START)
    # Machines × hours of the trace, absences included: so the target divides.
    hours = np.where(is_at_start, (last - TRACE_START) / HOUR, 0.0)
    measures["removals_per_machine_hour", "machines"] = weighted.ratio(
        is_removal.astype(float), hours, unit
    )
    return measures | measures_of_downtimes(machines, np.flatnonzero(is_removal), unit)


def measures_of_downtimes(machines: pa.Table, removals: Index, unit: Index) -> Measures:
    """Measure how long machines are away, from the rows of their removals."""
    ids = machines["machine_id"].to_numpy()
    kind = words(machines, "type")
    time = column(machines, "time")
    next_change = np.minimum(removals + 1, len(ids) - 1)
    is_back = (ids[next_change] == ids[removals]) & (kind[next_change] == "ADD")
    seconds_away = (time[next_change] - time[removals]) / SECOND
    # A short trace ends before the long downtimes do: for the median, machines still away count as the longest.
    at_least = np.where(is_back, seconds_away, np.inf)
    known = np.where(is_back, seconds_away, np.nan)
    return {
        ("downtime_p50", "machines"): weighted.quantile(at_least, unit[removals], 0.5),
        ("downtime_p99", "machines"): weighted.quantile(known, unit[removals], 0.99),
    }


def measures_of_jobs(events: Events, units: Units) -> Measures:
    """Measure the jobs that arrive inside the trace: rate, bursts, classes, sizes, owners."""
    jobs = events.jobs
    unit = units.job(jobs["collection_id"].to_numpy())
    machine_hours = len(units.machines) * (events.last - TRACE_START) / HOUR
    measures: Measures = {
        ("jobs_per_machine_hour", "all"): weighted.ratio(np.ones(len(unit)), machine_hours, unit)
    }
    classes = column(jobs, "class_")
    for number in range(4):
        measures[f"jobs_of_class_{number}", "all"] = weighted.share(classes == number, unit)
    # Every gap belongs to the job that ends it, hence the units from the second on.
    arrival = column(jobs, "time")
    order = np.argsort(arrival, kind="stable")
    gaps = np.diff(arrival[order])
    measures["arrivals_within_10ms", "all"] = weighted.share(gaps < 1e4, unit[order][1:])
    size = sizes(events.attempts, jobs)
    known = ~np.isnan(size)
    measures["single_task_jobs", "all"] = weighted.share(size[known] == 1.0, unit[known])
    measures["job_slots_tail", "all"] = weighted.hill(size[known], unit[known], 10.0)
    # The published slopes are fitted up to these ranks.
    measures |= measures_of_owners("user", words(jobs, "user"), unit, top=10, ranks=200)
    measures |= measures_of_owners("logical_name", words(jobs, "name"), unit, top=3, ranks=1000)
    return measures | shares_of_new_tasks(events.attempts, units)


def measures_of_owners(
    kind: str, owners: NDArray[np.str_], unit: Index, *, top: int, ranks: int
) -> Measures:
    """Measure how unevenly jobs are divided among their owners."""
    _, owner = np.unique(owners, return_inverse=True)
    return {
        (f"{kind}_top_{top}_share", "all"): weighted.top_share(owner, unit, top),
        (f"{kind}_slope", "all"): weighted.rank_slope(owner, unit, ranks),
    }


def sizes(attempts: pa.Table, jobs: pa.Table) -> Numbers:
    """Return the number of tasks of each of `jobs`, NaN where no task is known."""
    job_of_task = np.unique(tasks_of_attempts(attempts), axis=1)[0]
    jobs_with_tasks, n_tasks = np.unique(job_of_task, return_counts=True)
    ids = jobs["collection_id"].to_numpy()
    # About 70 jobs of 2011 have no task: their size is unknown, not 0.
    position = np.searchsorted(jobs_with_tasks, ids)
    position = np.minimum(position, len(jobs_with_tasks) - 1)
    has_tasks = jobs_with_tasks[position] == ids
    return np.where(has_tasks, n_tasks[position].astype(float), np.nan)


def tasks_of_attempts(attempts: pa.Table) -> Index:
    """Return the ids of the tasks of attempts, shape (2, attempts)."""
    collection_id = attempts["collection_id"].to_numpy()
    instance_index = attempts["instance_index"].to_numpy().astype(np.int64)
    return np.stack([collection_id, instance_index])


def shares_of_new_tasks(attempts: pa.Table, units: Units) -> Measures:
    """Measure the shares of the tiers among new tasks (of a month: the first hours have others)."""
    _, first_attempts = np.unique(tasks_of_attempts(attempts), axis=1, return_index=True)
    tiers = words(attempts, "tier")[first_attempts]
    job = units.job(attempts["collection_id"].to_numpy()[first_attempts])
    return {
        ("new_tasks_share_of_month", name): weighted.share(tiers == name, job) for name in TIERS
    }
