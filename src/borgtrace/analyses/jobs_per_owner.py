"""How are jobs distributed over users and programs?

Jobs per user and per logical name (runs of one program share it), in descending order. The last
rank is the number of owners. A sample of the jobs misses small owners first and has other shares, so
the question is not answered on one.

Reference: Reiss et al., SoCC'12, section 3.
"""

import ibis.expr.types as ir
import numpy as np

from borgtrace.analyses._attempts import of_jobs
from borgtrace.question import NotApplicable, Recipe, Row, Tables

_OWNERS = {"user": "user", "logical name": "collection_logical_name"}
_WHOLE = 100
"""Ranks that are all reported; later ones in steps of about 2 %."""


def compute(tables: Tables) -> list[Row]:
    """Return jobs by rank of their owner."""
    NotApplicable.unless(
        not tables.coverage.is_sample, "needs all jobs: a sample of them has other shares"
    )
    rows: list[Row] = []
    for kind, column in _OWNERS.items():
        found = tables.fetch(owners(tables.collection_events, column), column)
        # Owners come counted by size, so that no list of all names leaves the engine.
        n = np.repeat(found["n_jobs"].to_numpy(), found["n_owners"].to_numpy())
        n = np.sort(n)[::-1]
        share = np.cumsum(n) / n.sum()
        for at in _ranks(len(n)):
            rows.append(
                {"kind": kind, "rank": at, "n_jobs": int(n[at - 1]), "share": float(share[at - 1])}
            )
    NotApplicable.unless(rows, "no job has a user or a logical name")
    return rows


def owners(events: ir.Table, column: str) -> ir.Table:
    """Return owners by their number of jobs (``n_jobs``, ``n_owners``).

    Parameters
    ----------
    events
        ``collection_events``.
    column
        Column that names the owner; jobs without one are left out.
    """
    # The 2019 trace came without users until August 2020, and missing info costs some names.
    known = of_jobs(events).filter(events[column].notnull())
    jobs = known.group_by(column).aggregate(n_jobs=known.collection_id.nunique())
    return jobs.group_by("n_jobs").aggregate(n_owners=jobs.count())


def _ranks(n: int) -> list[int]:
    later = np.unique(np.geomspace(_WHOLE, max(n, _WHOLE), 200).astype(int))
    return sorted({*range(1, min(n, _WHOLE) + 1), *(int(rank) for rank in later if rank <= n)})


RECIPE = Recipe.declared(compute, reads=("collection_events",), order=55)
