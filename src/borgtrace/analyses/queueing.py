"""How long do jobs wait in the batch queue?

From the first QUEUE to the last ENABLE of an attempt of a job. Bins double from one second; the
first also holds what was enabled at once.

Reference: 2019 format document (QUEUE, ENABLE).
"""

import ibis.expr.types as ir

from borgtrace.analyses._attempts import is_known, of_jobs
from borgtrace.analyses._histograms import bin_up_to, cumulative_share
from borgtrace.analyses._joins import last_known, lookup
from borgtrace.analyses._windows import tier
from borgtrace.question import Recipe, Tables
from borgtrace.schema.time import SECOND

EDGES = tuple(2**k for k in range(22))
"""Upper edges of the bins, s; the last (24 days) holds all above."""


def compute(tables: Tables) -> ir.Table:
    """Return the distribution of the delay from QUEUE to ENABLE."""
    tables.require_published("QUEUE and ENABLE", event="QUEUE")
    attempts = of_jobs(tables.collection_attempts)
    # A delay that began before the trace is unknown; one whose ENABLE comes first has lost its own.
    both = is_known(attempts.queue_time) & is_known(attempts.enable_time)
    schedulers = last_known(tables.collection_events, "scheduler")
    # A left join: a collection whose events name no scheduler stays, as unknown.
    rows = lookup(
        attempts.filter(both & (attempts.enable_time >= attempts.queue_time)),
        schedulers,
        ["collection_id"],
    )
    rows = rows.select(
        scheduler=rows.scheduler.fill_null("unknown"),
        tier=tier(tables, rows.priority),
        at_most=bin_up_to(rows.enable_time - rows.queue_time, EDGES, SECOND),
    )
    counts = rows.group_by(["scheduler", "tier", "at_most"]).aggregate(n_attempts=rows.count())
    return counts.mutate(
        share=cumulative_share(counts, "n_attempts", "at_most", ["scheduler", "tier"])
    )


RECIPE = Recipe.declared(compute, reads=("collection_events",), order=122)
