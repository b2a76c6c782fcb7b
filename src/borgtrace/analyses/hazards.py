"""How often are running tasks evicted or killed, and how often do they fail?

Ends of running attempts per hour that attempts ran within the trace, per tier and per scheduling class.
Time before the start of the trace and after its end does not count.

Reference: Verma et al., EuroSys'15, Fig. 3.
"""

from collections import Counter
from collections.abc import Mapping

import ibis

from borgtrace.analyses._attempts import is_inside, last_time, of_jobs, time_running
from borgtrace.analyses._breakdown import ranked, sum_by_group
from borgtrace.question import NotApplicable, Recipe, Row, Tables
from borgtrace.schema import TERMINAL_EVENTS
from borgtrace.schema.time import AFTER_TRACE

_ENDS = {kind: kind.lower() for kind in TERMINAL_EVENTS}


def compute(tables: Tables, *, tier_of: str = "schedule") -> list[Row]:
    """Return ends per task-hour.

    Parameters
    ----------
    tables
        The store's tables.
    tier_of
        Event whose priority decides the tier: ``"schedule"`` (else the attempt's other events) or ``"submit"``.
    """
    tasks = ranked(of_jobs(tables.instance_attempts), tier_of)
    # What ran already at time 0 counts, with its hours inside the trace: without it the long-running would be
    # missing.
    ran = tasks.filter(tasks.schedule_time < AFTER_TRACE).cross_join(
        last_time(tables.instance_events)
    )
    # An end after the trace has no hours that belong to it.
    inside = is_inside(ran.end_time)
    numbers = {f"n_{name}": inside & (ran.end_type == kind) for kind, name in _ENDS.items()}
    # Rates do not add up, their numerators and denominators do. Whole microseconds: integers add up to the same sum in
    # every order.
    totals = sum_by_group(tables, ran, "sums", microseconds=time_running(ran), **numbers)
    NotApplicable.unless(totals, "no task ever runs")
    for cut, found in _jobs(tables, tasks).items():
        totals[cut].update(found)
    return [_row(cut, total) for cut, total in totals.items()]


def _jobs(tables: Tables, tasks: ibis.Table) -> Mapping[tuple[str, ...], Counter[str]]:
    """Count jobs, not evictions: a few jobs of many tasks have most of these."""
    # One tier a job, the highest, so that the tiers add up.
    highest = {name: tasks[name].max() for name in ("priority", "scheduling_class")}
    evicted = is_inside(tasks.end_time) & (tasks.end_type == "EVICT")
    # A condition of NULL, as of an attempt without an end, counts as none.
    jobs = tasks.group_by("collection_id").aggregate(
        evictions=tasks.count(where=evicted), **highest
    )
    numbers = {"evicted_jobs": jobs.evictions > 0, "evicted_once": jobs.evictions == 1}
    every = ibis.literal(1, "int64")
    return sum_by_group(
        tables, jobs, "jobs", n_jobs=every, **{f"n_{name}": test for name, test in numbers.items()}
    )


def _row(cut: tuple[str, ...], total: Counter[str]) -> Row:
    hours = total["microseconds"] / 3.6e9
    numbers = {
        f"n_{name}": total[f"n_{name}"]
        for name in (*_ENDS.values(), "jobs", "evicted_jobs", "evicted_once")
    }
    rates = {
        f"{name}_rate": total[f"n_{name}"] / hours if hours else None for name in _ENDS.values()
    }
    return {"grouping": cut[0], "group": cut[1], "hours": hours, **numbers, **rates}


RECIPE = Recipe.declared(compute, reads=("instance_events",), order=57)
