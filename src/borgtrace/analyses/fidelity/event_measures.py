"""Fidelity of events: what runs when the trace begins, runs, waits, jobs and machines of 2011."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from borgtrace.analyses.fidelity import weighted_measures as weighted
from borgtrace.analyses.fidelity.weighted_measures import Measures, Units, times, words
from borgtrace.analyses.shared.attempts import TASK, of_jobs
from borgtrace.analyses.shared.window_blocks import column
from borgtrace.analyses.shared.windows import tier
from borgtrace.kernels.arrays import Numbers
from borgtrace.question import NotApplicable, Tables
from borgtrace.schema.time import BEFORE_TRACE, HOUR, SECOND, TRACE_START

TIERS = ("free", "other", "production")
_KEY = (*TASK, "begin_time")
_READ = (
    *(
        "submit_time",
        "enable_time",
        "schedule_time",
        "end_time",
        "end_type",
        "left_time",
        "next_time",
    ),
    *("cpu_request", "memory_request", "priority", "scheduling_class", "machine_id"),
)


class Events(NamedTuple):
    """Attempts of tasks with their ``tier``, jobs that arrive and changes of machines; the last known begin, µs."""

    attempts: pa.Table
    jobs: pa.Table
    machines: pa.Table
    last: float


def read_events(tables: Tables) -> Events:
    """Fetch what the measures of events need.

    Raises
    ------
    NotApplicable
        Where the store holds no attempt.
    """
    attempts = of_jobs(tables.instance_attempts)
    rows = attempts.select(*_KEY, *_READ, tier=tier(tables, attempts.priority))
    found = weighted.fetch_sorted(tables, rows, "attempts", _KEY)
    events = tables.collection_events
    first = events.filter((events.type == "SUBMIT") & (events.time > TRACE_START))
    arrived = first.group_by("collection_id").aggregate(
        class_=first.scheduling_class.min(),
        user=first.user.min(),
        time=first.time.min(),
        name=first.collection_logical_name.min(),
    )
    jobs = weighted.fetch_sorted(tables, arrived, "jobs", ("collection_id",))
    changes = tables.machine_events.select(
        "machine_id", "time", "type", "cpu_capacity", "memory_capacity"
    )
    machines = weighted.fetch_sorted(tables, changes, "machines", ("machine_id", "time"))
    if not found.num_rows:
        raise NotApplicable("the store holds no attempts")
    last = float(np.nanmax(times(found, "begin_time"), initial=float(BEFORE_TRACE)))
    jobs, machines = (
        table.filter(pc.less_equal(table["time"], int(last))) for table in (jobs, machines)
    )
    return Events(found, jobs, machines, last)


def event_measures(events: Events, units: Units) -> Measures:
    """Return the measures of events.

    Parameters
    ----------
    events
        What was fetched.
    units
        What a resample draws.
    """
    found, jobs, machines, last = events
    measures = _runs(found, units) | _start(found, machines, units)
    return measures | _machines(machines, units, last) | _jobs(jobs, found, units, last)


def _capacity(machines: pa.Table) -> tuple[int, dict[str, float]]:
    """Number of machines at the start, and what they have."""
    present = (column(machines, "time") == BEFORE_TRACE) & (words(machines, "type") == "ADD")
    total = {
        r: float(np.nansum(column(machines, f"{r}_capacity")[present])) for r in ("cpu", "memory")
    }
    return int(present.sum()), total


def _start(found: pa.Table, machines: pa.Table, units: Units) -> Measures:
    """Tasks that run when the trace begins: how many, and what they ask for."""
    count, capacity = _capacity(machines)
    measures: Measures = {}
    if not count:
        return measures
    # Time 0 carries what was there when the trace began: 132,982 running tasks in 2011; own data may begin with it.
    at_start = column(found, "schedule_time") <= TRACE_START
    tiers, jobs = words(found, "tier"), units.job(found["collection_id"].to_numpy())
    for name in TIERS:
        mine = at_start & (tiers == name)
        job = jobs[mine]
        measures["running_per_machine", name] = weighted.ratio(np.ones(len(job)), float(count), job)
        for resource, total in capacity.items():
            request = column(found, f"{resource}_request")[mine]
            measures[f"{resource}_requested_of_capacity", name] = weighted.ratio(
                np.nan_to_num(request), total, job
            )
            for q in (10, 50, 90):
                measures[f"{resource}_request_p{q}", name] = weighted.quantile(
                    request, job, q / 100.0
                )
    return measures


def _runs(found: pa.Table, units: Units) -> Measures:
    """Lengths and ends of runs, waits before them, resubmissions after them."""
    submit, schedule, left, end = (
        times(found, f"{name}_time") for name in ("submit", "schedule", "left", "end")
    )
    last = float(np.nanmax(np.concatenate([schedule, end]), initial=float(TRACE_START)))
    # What still runs has run until the last known instant, and is censored there.
    until = np.where(np.isnan(left), last, np.minimum(left, last))
    hours = np.nan_to_num(np.maximum(until - np.maximum(schedule, TRACE_START), 0.0) / HOUR)
    seconds, wait = (until - schedule) / SECOND, (schedule - submit) / SECOND
    # A run that began before the trace is of unknown length.
    is_new = schedule > TRACE_START
    tiers, ends, jobs = (
        words(found, "tier"),
        words(found, "end_type"),
        units.job(found["collection_id"].to_numpy()),
    )
    measures: Measures = {}
    for name in TIERS:
        mine = tiers == name
        fresh, waited = mine & is_new, mine & is_new & (submit >= TRACE_START)
        for limit in (300, 1800, 7200):
            measures[f"run_within_{limit}s", name] = weighted.ended_within(
                seconds[fresh], ~np.isnan(end[fresh]), jobs[fresh], float(limit)
            )
        for kind in ("EVICT", "FAIL", "KILL"):
            # Kills of pending tasks count too, over hours of running: so do the targets (.102 and .204 per hour;
            # .0985 and .1475 with kills of running tasks alone).
            ended = (ends[mine] == kind).astype(float)
            measures[f"{kind.lower()}_per_hour", name] = weighted.ratio(
                ended, hours[mine], jobs[mine]
            )
        for q in (50, 90):
            measures[f"delay_p{q}", name] = weighted.quantile(wait[waited], jobs[waited], q / 100.0)
    came_back = ~np.isnan(column(found, "next_time"))
    for kind in ("EVICT", "FAIL", "KILL"):
        mine = ends == kind
        measures[f"resubmitted_after_{kind}", "all"] = weighted.share(came_back[mine], jobs[mine])
    return measures


def _machines(machines: pa.Table, units: Units, last: float) -> Measures:
    """Shapes, removals and downtimes."""
    time, kind, ids = (
        column(machines, "time"),
        words(machines, "type"),
        machines["machine_id"].to_numpy(),
    )
    unit = units.machine(ids)
    at_start = (time == BEFORE_TRACE) & (kind == "ADD")
    if not at_start.any():
        return {}
    cpu, memory = column(machines, "cpu_capacity"), column(machines, "memory_capacity")
    measures: Measures = {}
    for shape in ((0.5, 0.5), (0.5, 0.25), (0.5, 0.75), (1.0, 1.0), (0.25, 0.25)):
        # Memory is rounded to ten bits: a half is written as .4995 (1023/2048).
        mine = (cpu == shape[0]) & (np.abs(memory - shape[1]) < 0.001)
        measures[f"machines_{shape[0]:g}_{shape[1]:g}", "machines"] = weighted.share(
            mine[at_start], unit[at_start]
        )
    removed = ((kind == "REMOVE") & (time >= TRACE_START)).astype(float)
    # Machines × hours of the trace, absences included: so the target divides.
    hours = np.where(at_start, (last - TRACE_START) / HOUR, 0.0)
    measures["removals_per_machine_hour", "machines"] = weighted.ratio(removed, hours, unit)
    away = np.flatnonzero((kind == "REMOVE") & (time >= TRACE_START))
    after = np.minimum(away + 1, len(ids) - 1)
    is_back = (ids[after] == ids[away]) & (kind[after] == "ADD")
    down = (time[after] - time[away]) / SECOND
    # A short trace ends before the long downtimes do: for the median, machines still away count as the longest.
    measures["downtime_p50", "machines"] = weighted.quantile(
        np.where(is_back, down, np.inf), unit[away], 0.5
    )
    measures["downtime_p99", "machines"] = weighted.quantile(
        np.where(is_back, down, np.nan), unit[away], 0.99
    )
    return measures


def _jobs(jobs: pa.Table, found: pa.Table, units: Units, last: float) -> Measures:
    """Jobs that arrive inside the trace: rate, bursts, classes, sizes, owners."""
    unit = units.job(jobs["collection_id"].to_numpy())
    machine_hours = len(units.machines) * (last - TRACE_START) / HOUR
    measures: Measures = {
        ("jobs_per_machine_hour", "all"): weighted.ratio(np.ones(len(unit)), machine_hours, unit)
    }
    classes = column(jobs, "class_")
    for number in range(4):
        measures[f"jobs_of_class_{number}", "all"] = weighted.share(classes == number, unit)
    # Every gap belongs to the job that ends it, hence the units from the second on.
    order = np.argsort(column(jobs, "time"), kind="stable")
    gaps = np.diff(column(jobs, "time")[order])
    measures["arrivals_within_10ms", "all"] = weighted.share(gaps < 1e4, unit[order][1:])
    size = sizes(found, jobs)
    known = ~np.isnan(size)
    measures["single_task_jobs", "all"] = weighted.share(size[known] == 1.0, unit[known])
    measures["job_slots_tail", "all"] = weighted.hill(size[known], unit[known], 10.0)
    # The published slopes are fitted up to these ranks.
    for name, source, top, ranks in (("user", "user", 10, 200), ("logical_name", "name", 3, 1000)):
        _, owner = np.unique(words(jobs, source), return_inverse=True)
        measures[f"{name}_top_{top}_share", "all"] = weighted.top_share(owner, unit, top)
        measures[f"{name}_slope", "all"] = weighted.rank_slope(owner, unit, ranks)
    measures |= _new_tasks(found, units)
    return measures


def sizes(found: pa.Table, jobs: pa.Table) -> Numbers:
    """Tasks of each of `jobs`, NaN where no task is known."""
    owner, size = np.unique(np.unique(_tasks(found), axis=1)[0], return_counts=True)
    ids = jobs["collection_id"].to_numpy()
    # About 70 jobs of 2011 have no task: their size is unknown, not 0.
    place = np.minimum(np.searchsorted(owner, ids), len(owner) - 1)
    return np.where(owner[place] == ids, size[place].astype(float), np.nan)


def _tasks(found: pa.Table) -> NDArray[np.int64]:
    """Return the ids of the tasks of attempts, shape (2, attempts)."""
    return np.stack(
        [found["collection_id"].to_numpy(), found["instance_index"].to_numpy().astype(np.int64)]
    )


def _new_tasks(found: pa.Table, units: Units) -> Measures:
    """Shares of the tiers among new tasks (a month's shares: the first hours' differ)."""
    firsts = np.unique(_tasks(found), axis=1, return_index=True)[1]
    tiers, job = words(found, "tier")[firsts], units.job(found["collection_id"].to_numpy()[firsts])
    return {
        ("new_tasks_share_of_month", name): weighted.share(tiers == name, job) for name in TIERS
    }
