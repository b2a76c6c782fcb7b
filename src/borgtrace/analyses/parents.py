"""Do jobs end when their parent ends?

A collection may name a parent whose end also ends it. Jobs are counted by how their last attempt
ended, with and without a parent; of those with one, *after parent* counts the ends within `delay`
seconds after an end of the parent.

Reference: Tirmazi et al., EuroSys'20 (job dependencies).
"""

import ibis.expr.types as ir

from borgtrace.analyses._attempts import ENDS, collection_ends, is_known, of_jobs
from borgtrace.analyses._joins import lookup
from borgtrace.question import Recipe, Tables
from borgtrace.schema.time import SECOND, Seconds


def compute(tables: Tables, *, delay: Seconds = 60) -> ir.Table:
    """Return how jobs ended, with and without a parent."""
    tables.require_published("parents", column="parent_collection_id")
    events = of_jobs(tables.collection_events)
    # Every event repeats the parent, unless info is missing: max() passes NULLs over.
    jobs = events.group_by("collection_id").aggregate(parent_id=events.parent_collection_id.max())
    ends = collection_ends(tables.collection_attempts)
    parents = ends.select(parent_id="collection_id", parent_end="end_time")
    both = lookup(lookup(jobs, ends, ["collection_id"]), parents, ["parent_id"])
    # Negative where the parent ended later: not after it. Sentinels are no times that could be compared.
    after = both.end_time - both.parent_end
    is_after = (
        after.between(0, delay * SECOND) & is_known(both.end_time) & is_known(both.parent_end)
    )
    how = both.end_type.fill_null(ENDS[-1])
    rows = both.select(
        has_parent=both.parent_id.notnull(), end_type=how, after_parent=is_after.fill_null(False)
    )
    both_ways = rows.group_by(["has_parent", "end_type"])
    return both_ways.aggregate(
        n_jobs=rows.count(), n_after_parent=rows.count(where=rows.after_parent)
    )


RECIPE = Recipe.declared(compute, reads=("collection_events",), order=120)
