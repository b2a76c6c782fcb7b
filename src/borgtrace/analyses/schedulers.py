"""What does each scheduler handle?

Collections by scheduler, tier and type; how many were held in the batch queue, and how many
finished on their own (FINISH). Scheduler and priority are the last ones known.

Reference: Tirmazi et al., EuroSys'20.
"""

import ibis.expr.types as ir

from borgtrace.analyses._joins import last_known, lookup
from borgtrace.analyses._windows import tier
from borgtrace.question import Recipe, Tables


def compute(tables: Tables) -> ir.Table:
    """Return the number of collections per scheduler, tier and type."""
    tables.require_published("schedulers", column="scheduler")
    events = tables.collection_events
    collections = events.group_by("collection_id").aggregate(
        collection_type=events.collection_type.max(),
        # An event of the type at any time: a queued collection is enabled later.
        is_queued=(events.type == "QUEUE").cast("int64").max(),
        is_finished=(events.type == "FINISH").cast("int64").max(),
    )
    # Events may change both, and some leave them out.
    for column in ("scheduler", "priority"):
        collections = lookup(collections, last_known(events, column), ["collection_id"])
    scheduler = collections.scheduler.fill_null("unknown")
    collections = collections.mutate(scheduler=scheduler, tier=tier(tables, collections.priority))
    return collections.group_by(["scheduler", "tier", "collection_type"]).aggregate(
        n_collections=collections.count(),
        n_queued=collections.is_queued.sum().cast("int64"),
        n_finished=collections.is_finished.sum().cast("int64"),
    )


RECIPE = Recipe.declared(compute, reads=("collection_events",), order=123)
