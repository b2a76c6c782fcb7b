"""How long do jobs wait until the first of their tasks runs?

From the moment a job is ready (2019: its first ENABLE, that is when no queue and no other job holds it back; 2011: its
first SUBMIT) to the first SCHEDULE of one of its tasks. Jobs that were ready before the trace, or ran before they were
ready, are left out. The tier is that of the highest priority of its tasks.

Reference: Tirmazi et al., Borg: the Next Generation, EuroSys'20 (scheduling delay).
"""

from borgtrace.analyses._attempts import is_inside, of_jobs
from borgtrace.analyses._quantiles import NOTHING, PERCENTS, fetch_counts
from borgtrace.analyses._windows import tier
from borgtrace.question import NotApplicable, Recipe, Row, Tables

_SHOWN = (*PERCENTS, 100.0)


def compute(tables: Tables) -> list[Row]:
    """Return quantiles of the delays, for all jobs and per tier."""
    event = "ENABLE" if "ENABLE" in tables.dialect.codes["event_type"].values() else "SUBMIT"
    readied = of_jobs(tables.collection_events)
    readied = readied.filter(readied.type == event)
    ready = readied.group_by("collection_id").aggregate(ready=readied.time.min())
    ran = of_jobs(tables.instance_attempts)
    ran = ran.filter(ran.schedule_time.notnull())
    first = ran.group_by("collection_id").aggregate(
        first=ran.schedule_time.min(), priority=ran.priority.max()
    )
    jobs = first.inner_join(ready, "collection_id")
    # After the minimum: a job that was enabled before the trace is not ready at its second ENABLE within it.
    jobs = jobs.filter(is_inside(jobs.ready) & (jobs["first"] >= jobs.ready))
    jobs = jobs.select(delay=jobs["first"] - jobs.ready, tier=tier(tables, jobs.priority))
    groups = fetch_counts(tables, jobs, jobs.delay, "delays", ["tier"], per=1e6)
    NotApplicable.unless(groups, "no job gets ready and runs within the trace")
    every = {("all",): sum(groups.values(), NOTHING), **groups}
    return [
        row
        for (name,), found in every.items()
        for row in found.rows(_SHOWN, tier=name, mean=found.mean(), n=len(found))
    ]


RECIPE = Recipe.declared(compute, reads=("collection_events", "instance_events"), order=57)
