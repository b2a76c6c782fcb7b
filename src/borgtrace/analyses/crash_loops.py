"""Which jobs fail again and again?

The twenty jobs with the most FAILs of their tasks, and what share of all FAILs they make.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import numpy as np
import pyarrow as pa

from borgtrace.analyses._processes import jobs_only
from borgtrace.analyses._windows import tier
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

_TOP = 10

RESULT = Table(
    "crash_loops",
    "job among those that fail most",
    ("rank",),
    (
        Column("rank", "int64", "rank", "Rank by the number of FAILs, from 1.", nullable=False),
        Column("collection_id", "int64", "id", "The job.", nullable=False),
        Column("tier", "string", "id", "Its tier.", nullable=False),
        Column("n_fail", "int64", "count", "FAILs of its tasks.", nullable=False),
        Column("n_tasks", "int64", "count", "Tasks of it that failed.", nullable=False),
        Column("share", "float64", "1", "Share of all FAILs that the jobs up to this rank make.", nullable=False),
    ),
)


def compute(tables: Tables, *, n: int = 20) -> pa.Table:
    """Return the `n` jobs whose tasks fail most."""
    tasks = jobs_only(tables.instance_attempts)
    failed = tasks.filter(tasks.end_type == "FAIL")
    jobs = failed.group_by("collection_id").aggregate(
        n_fail=failed.count(), n_tasks=failed.instance_index.nunique(), priority=failed.priority.max()
    )
    jobs = jobs.mutate(tier=tier(jobs.priority, tables.generation)).drop("priority")
    top = tables.fetch(jobs.order_by([ibis.desc("n_fail"), "collection_id"]).limit(n), "jobs")
    total = tables.fetch(failed.aggregate(n=failed.count()), "total")
    if not top.num_rows:
        raise NotApplicable("no task fails")
    top = top.sort_by([("n_fail", "descending"), ("collection_id", "ascending")])
    share = np.cumsum(top["n_fail"].to_numpy()) / total["n"][0].as_py()
    rank = np.arange(1, top.num_rows + 1)
    return top.append_column("share", pa.array(share)).append_column("rank", pa.array(rank))


def plot(result: pa.Table) -> alt.Chart:
    """Draw the share of all failures that the worst jobs make."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, rows

    chart: alt.Chart = (
        alt.Chart(rows(result), title="Failures by the jobs that fail most", width=WIDTH, height=HEIGHT)
        .mark_line(point=True)
        .encode(
            x=alt.X("rank:Q", title="jobs", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("share:Q", title="share of all FAILs"),
            tooltip=["rank:Q", "collection_id:N", "tier:N", "n_fail:Q", "n_tasks:Q", "share:Q"],
        )
    )
    return chart


def _top_ten(result: pa.Table) -> float:
    shares = {row["rank"]: row["share"] for row in result.to_pylist()}
    if len(shares) < _TOP + 1:
        raise NotApplicable("fewer than eleven jobs fail")
    return float(shares[_TOP])


CLAIMS = (
    Claim(
        "TE-crash-loops",
        "ten jobs make about half of all failures",
        0.498,
        _top_ten,
        lambda share: abs(share - 0.498) <= 0.15,
        "count over the first 19.65 h of 2011",
    ),
)
RECIPE = Recipe(
    "crash_loops",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_events",),
    reference="2011 format document, job and task life cycles",
    order=58,
    topic="Jobs and users",
)
