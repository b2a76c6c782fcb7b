"""How long do jobs last?

Quantiles of the time from the first SCHEDULE (after the start of the trace) to the last end of a job, of
all jobs and by the way they ended.

Reference: Reiss et al., SoCC'12, section 4.
"""

from functools import reduce
from operator import add

import ibis

from borgtrace.analyses._attempts import is_known, of_jobs
from borgtrace.analyses._quantiles import PERCENTS, fetch_counts
from borgtrace.question import NotApplicable, Recipe, Row, Tables
from borgtrace.schema import TERMINAL_EVENTS
from borgtrace.schema.time import AFTER_TRACE

ALL = "all"


def compute(tables: Tables) -> list[Row]:
    """Return quantiles of job durations."""
    durations = _durations(of_jobs(tables.collection_attempts))
    groups = fetch_counts(
        tables, durations, durations.duration, "durations", ("end_type",), per=1e6
    )
    NotApplicable.unless(groups, "no job is scheduled and ends within the trace")
    rows = []
    # All jobs are the ways to end added up: counted once.
    for (name,), found in {(ALL,): reduce(add, groups.values()), **groups}.items():
        under = {"under_3min": found.share_below(180), "under_2h": found.share_below(7200)}
        rows += found.rows(
            (0.0, *PERCENTS, 100.0), end_type=name, mean=found.mean(), n=len(found), **under
        )
    return rows


def _durations(attempts: ibis.Table) -> ibis.Table:
    """One row per job: from its first SCHEDULE within the trace to its last end."""
    scheduled = is_known(attempts.schedule_time)
    # EVICT and LOST are ends too: 666,432 jobs of 2011 have a duration then, 666,396 without them.
    end, ended = attempts.end_time, attempts.end_time < AFTER_TRACE
    last = {kind: end.max(where=ended & (attempts.end_type == kind)) for kind in TERMINAL_EVENTS}
    begin = attempts.schedule_time.min(where=scheduled)
    jobs = attempts.group_by("collection_id").aggregate(
        begin=begin, end=end.max(where=ended), **last
    )
    # The way to end is that of the last end; among ends of one time the order of TERMINAL_EVENTS decides.
    kind = ibis.cases(*((jobs[kind] == jobs.end, kind) for kind in TERMINAL_EVENTS))
    done = jobs.select("begin", "end", end_type=kind)
    # An id that is used again may have its last end before its only SCHEDULE within the trace.
    done = done.filter(done.begin.notnull() & done.end.notnull() & (done.end >= done.begin))
    return done.select("end_type", duration=done.end - done.begin)


RECIPE = Recipe.declared(compute, reads=("collection_events",), order=53)
