"""How are jobs distributed over users and programs?

Jobs per user and per logical name (runs of one program share it), in descending order. The last
rank is the number of owners.

Reference: Reiss et al., SoCC'12, section 3.
"""

from collections.abc import Callable

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses._answers import IN_2011, MONTH_2011
from borgtrace.analyses._attempts import of_jobs
from borgtrace.recipe import Claim, NotApplicable, Recipe, Row, Tables, above, equals, from_source, near
from borgtrace.recipe.charts import Chart, Plot, axis, line, log_axis

_OWNERS = {"user": "user", "logical name": "collection_logical_name"}
_WHOLE = 100
"""Ranks that are all reported; later ones in steps of about 2 %."""


def compute(tables: Tables) -> list[Row]:
    """Return jobs by rank of their owner."""
    rows: list[Row] = []
    for kind, column in _OWNERS.items():
        found = tables.fetch(owners(tables.collection_events, column), column)
        # Owners come counted by size, so that no list of all names leaves the engine.
        n = np.repeat(found["n_jobs"].to_numpy(), found["n_owners"].to_numpy())
        n = np.sort(n)[::-1]
        share = np.cumsum(n) / n.sum()
        for at in _ranks(len(n)):
            rows.append({"kind": kind, "rank": at, "n_jobs": int(n[at - 1]), "share": float(share[at - 1])})
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


def plot(result: pa.Table) -> Chart:
    """Draw jobs against rank, both axes logarithmic."""
    plotted = Plot(result, x=log_axis("rank", "rank"), y=log_axis("n_jobs", "jobs"))
    return plotted.add(line(point=True), color=axis("kind", "owner")).draw("Jobs by rank of their owner")


def _top(kind: str, rank: int) -> Callable[[pa.Table], float]:
    def measure(result: pa.Table) -> float:
        shares = {row["rank"]: row["share"] for row in result.to_pylist() if row["kind"] == kind}
        # Where there are hardly more owners than `rank`, their share is large whatever they do.
        NotApplicable.unless(len(shares) >= 2 * rank, f"fewer than {2 * rank} owners of the kind {kind}")
        return float(shares[rank])

    return measure


def _n_users(result: pa.Table) -> int:
    ranks = [row["rank"] for row in result.to_pylist() if row["kind"] == "user"]
    NotApplicable.unless(ranks, "no job has a user")
    return max(ranks)


_COUNT = "count over the job events of 2011"
CLAIMS = from_source(
    _COUNT,
    Claim("JE-top-user", "one user submits a seventh of all jobs", near(0.146, 0.05), _top("user", 1)),
    Claim("JE-top-ten", "ten users submit more than half of all jobs", above(0.5, published=0.554), _top("user", 10)),
    Claim("JE-users", "users", equals(933), _n_users, scope=MONTH_2011),
    Claim(
        "S0-users",
        "more than 900 users submit jobs",
        above(900),
        _n_users,
        source="data pipeline description (section on data)",
        scope=MONTH_2011,
    ),
    kind="criterion",
    scope=IN_2011,
)

RECIPE = Recipe.declared(compute, plot, CLAIMS, reads=("collection_events",), order=55)
