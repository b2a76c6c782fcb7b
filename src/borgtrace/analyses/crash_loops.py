"""Which jobs fail again and again?

The twenty jobs whose tasks have the most FAIL events, and their share of all FAIL events.

Reference: 2011 format document, job and task life cycles.
"""

import ibis
import numpy as np
import pyarrow as pa

from borgtrace.analyses._attempts import of_jobs
from borgtrace.analyses._windows import tier
from borgtrace.question import NotApplicable, Recipe, Tables


def compute(tables: Tables, *, n: int = 20) -> pa.Table:
    """Return the `n` jobs whose tasks fail most."""
    tasks = of_jobs(tables.instance_attempts)
    failed = tasks.filter(tasks.end_type == "FAIL")
    tasks, of_tier = failed.instance_index.nunique(), tier(tables, failed.priority.max())
    jobs = failed.group_by("collection_id").aggregate(
        n_fail=failed.count(), n_tasks=tasks, tier=of_tier
    )
    # Ties are broken by the id: every engine picks the same jobs.
    top = tables.fetch(jobs.order_by([ibis.desc("n_fail"), "collection_id"]).limit(n), "jobs")
    # Asked before the test for emptiness, so that a plan shows both stages.
    total = tables.fetch(failed.aggregate(n=failed.count()), "total")
    NotApplicable.unless(top.num_rows, "no task fails")
    # Chosen in order by the engine, which may still hand over the rows in another.
    top = top.sort_by([("n_fail", "descending"), ("collection_id", "ascending")])
    share = np.cumsum(top["n_fail"].to_numpy()) / total["n"][0].as_py()
    rank = np.arange(1, top.num_rows + 1)
    return top.append_column("share", pa.array(share)).append_column("rank", pa.array(rank))


RECIPE = Recipe.declared(compute, reads=("instance_events",), order=58)
