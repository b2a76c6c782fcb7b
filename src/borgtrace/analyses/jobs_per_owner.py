"""How are jobs distributed over users and programs?

Jobs per user and per logical name (runs of one program share it), in descending order.  The
last rank says how many there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

_OWNERS = {"user": "user", "logical name": "collection_logical_name"}
_WHOLE = 100
"""Ranks that are all reported; later ones in steps of about 2 %."""

RESULT = Table(
    "jobs_per_owner",
    "kind of owner and rank",
    ("kind", "rank"),
    (
        Column("kind", "string", "id", "What owns the jobs: user or logical name.", nullable=False),
        Column("rank", "int64", "rank", "Rank by the number of jobs, from 1.", nullable=False),
        Column("n_jobs", "int64", "count", "Jobs of the owner of this rank.", nullable=False),
        Column("share", "float64", "1", "Share of all jobs that the owners up to this rank have.", nullable=False),
    ),
)


def compute(tables: Tables) -> pa.Table:
    """Return jobs by rank of their owner."""
    rows: list[dict[str, object]] = []
    for kind, column in _OWNERS.items():
        found = tables.fetch(owners(tables.collection_events, column), column)
        n = np.repeat(found["n_jobs"].to_numpy(), found["n_owners"].to_numpy())
        n = np.sort(n)[::-1]
        for rank in _ranks(len(n)):
            rows.append(
                {"kind": kind, "rank": rank, "n_jobs": int(n[rank - 1]), "share": float(n[:rank].sum() / n.sum())}
            )
    if not rows:
        raise NotApplicable("no job has a user or a logical name")
    return pa.Table.from_pylist(rows)


def owners(events: ir.Table, column: str) -> ir.Table:
    """Return owners by their number of jobs (``n_jobs``, ``n_owners``)."""
    known = events.filter((events.collection_type == "JOB") & events[column].notnull())
    jobs = known.group_by(column).aggregate(n_jobs=known.collection_id.nunique())
    return jobs.group_by("n_jobs").aggregate(n_owners=jobs.count())


def _ranks(n: int) -> list[int]:
    later = np.unique(np.geomspace(_WHOLE, max(n, _WHOLE), 200).astype(int))
    return sorted({*range(1, min(n, _WHOLE) + 1), *(int(rank) for rank in later if rank <= n)})


def plot(result: pa.Table) -> alt.Chart:
    """Draw jobs against rank, both axes logarithmic."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, log_axis, rows, spoken_legend

    chart: alt.Chart = (
        alt.Chart(rows(result), title="Jobs by rank of their owner", width=WIDTH, height=HEIGHT)
        .mark_line(point=True)
        .encode(
            x=alt.X("rank:Q", title="rank", scale=alt.Scale(type="log"), axis=log_axis()),
            y=alt.Y("n_jobs:Q", title="jobs", scale=alt.Scale(type="log"), axis=log_axis()),
            color=alt.Color("kind:N", title="owner", legend=spoken_legend()),
            tooltip=["kind:N", "rank:Q", "n_jobs:Q", "share:Q"],
        )
    )
    return chart


def _top(kind: str, rank: int) -> Callable[[pa.Table], float]:
    def measure(result: pa.Table) -> float:
        shares = {row["rank"]: row["share"] for row in result.to_pylist() if row["kind"] == kind}
        if len(shares) < 2 * rank:
            raise NotApplicable(f"fewer than {2 * rank} owners of the kind {kind}")
        return float(shares[rank])

    return measure


CLAIMS = (
    Claim(
        "JE-top-user",
        "one user submits a seventh of all jobs",
        0.146,
        _top("user", 1),
        lambda share: abs(share - 0.146) <= 0.05,
        "count over the job events of 2011",
    ),
    Claim(
        "JE-top-ten",
        "ten users submit more than half of all jobs",
        0.554,
        _top("user", 10),
        lambda share: share > 0.5,
        "count over the job events of 2011",
    ),
)
RECIPE = Recipe(
    "jobs_per_owner",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("collection_events",),
    reference="Reiss et al., SoCC'12, section 3",
    order=55,
    topic="Jobs and users",
)
