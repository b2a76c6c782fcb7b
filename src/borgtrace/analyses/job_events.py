"""What happens to jobs?

One row per event type: how many such events there are, and how many jobs have one.  Alloc sets are left
out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

RESULT = Table(
    "job_events",
    "event type",
    ("type",),
    (
        Column("type", "string", "id", "Event type, or any for all of them.", nullable=False),
        Column("n_events", "int64", "count", "Events of the type.", nullable=False),
        Column("n_jobs", "int64", "count", "Jobs with such an event.", nullable=False),
    ),
)
ANY = "any"


def compute(tables: Tables) -> ir.Table:
    """Return events and jobs per event type."""
    events = tables.collection_events
    events = events.filter(events.collection_type == "JOB")
    per_type = events.group_by("type").aggregate(n_events=events.count(), n_jobs=events.collection_id.nunique())
    total = events.aggregate(n_events=events.count(), n_jobs=events.collection_id.nunique())
    return per_type.union(total.select(type=ibis.literal(ANY), n_events="n_events", n_jobs="n_jobs"))


def plot(result: pa.Table) -> alt.Chart:
    """Draw the jobs per event type."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, rows

    chart: alt.Chart = (
        alt.Chart(rows(result), title="Jobs by event", width=WIDTH, height=HEIGHT)
        .mark_bar()
        .encode(
            x=alt.X("n_jobs:Q", title="jobs"),
            y=alt.Y("type:N", sort="-x", title=None),
            tooltip=["type:N", "n_jobs:Q", "n_events:Q"],
        )
    )
    return chart


def _share(type_: str) -> Callable[[pa.Table], float]:
    def measure(result: pa.Table) -> float:
        n = {row["type"]: row["n_jobs"] for row in result.to_pylist()}
        if not n.get(ANY):
            raise NotApplicable("there is no job")
        return float(n.get(type_, 0) / n[ANY])

    return measure


CLAIMS = (
    Claim(
        "JE-finish",
        "most jobs finish",
        0.574,
        _share("FINISH"),
        lambda share: share > 0.5,
        "count over the job events of 2011",
    ),
    Claim(
        "JE-kill",
        "two jobs in five are killed",
        0.405,
        _share("KILL"),
        lambda share: abs(share - 0.405) <= 0.05,
        "count over the job events of 2011",
    ),
    Claim(
        "JE-fail",
        "few jobs fail",
        0.015,
        _share("FAIL"),
        lambda share: share <= 0.03,
        "count over the job events of 2011",
    ),
)
RECIPE = Recipe(
    "job_events",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("collection_events",),
    reference="2011 format document, job events table",
    order=50,
    topic="Jobs and users",
)
