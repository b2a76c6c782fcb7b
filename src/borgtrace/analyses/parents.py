"""Do jobs end when their parent ends?

A collection may name a parent whose end also ends it. Jobs are counted by how their last attempt
ended, with and without a parent; of those with one, *after parent* counts the ends within `delay`
seconds after an end of the parent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses._dependencies import ENDS, last_ends, require_2019
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table
from borgtrace.schema.time import SECOND, Seconds

if TYPE_CHECKING:
    import altair as alt

RESULT = Table(
    "parents",
    "parent and way of ending",
    ("has_parent", "end_type"),
    (
        Column("has_parent", "bool", "1", "Whether the job names a parent.", nullable=False),
        Column("end_type", "string", "enum", "How the job ended, NONE where it was alive at the end.", nullable=False),
        Column("n_jobs", "int64", "count", "Jobs.", nullable=False),
        Column("n_after_parent", "int64", "count", "Jobs that ended just after their parent.", nullable=False),
    ),
)


def compute(tables: Tables, *, delay: Seconds = 60) -> ir.Table:
    """Return how jobs ended, with and without a parent."""
    require_2019(tables, "parents")
    events = tables.collection_events
    jobs = (
        events.filter(events.collection_type == "JOB")
        .group_by("collection_id")
        .aggregate(parent_id=lambda t: t.parent_collection_id.max())
    )
    ends = last_ends(tables.collection_attempts)
    own = jobs.left_join(ends, "collection_id").drop("collection_id_right")
    theirs = ends.select(host_id="collection_id", parent_end="end_time")
    both = own.left_join(theirs, own.parent_id == theirs.host_id)
    after = both.end_time - both.parent_end
    rows = both.select(
        has_parent=both.parent_id.notnull(),
        end_type=both.end_type.fill_null(ENDS[-1]),
        after_parent=after.between(0, delay * SECOND).fill_null(False).cast("int64"),
    )
    return rows.group_by(["has_parent", "end_type"]).aggregate(
        n_jobs=rows.count(), n_after_parent=rows.after_parent.sum().cast("int64")
    )


def plot(result: pa.Table) -> alt.Chart:
    """Draw the ways of ending as shares, with and without a parent."""
    import altair as alt

    from borgtrace.analyses._charts import WIDTH, rows

    chart: alt.Chart = (
        alt.Chart(rows(result), title="How jobs end")
        .transform_calculate(who="datum.has_parent ? 'with a parent' : 'without a parent'")
        .mark_bar()
        .encode(
            x=alt.X("n_jobs:Q", stack="normalize", title="share of jobs"),
            y=alt.Y("who:N", title=None),
            color=alt.Color("end_type:N", title="end"),
            tooltip=["who:N", "end_type:N", "n_jobs:Q", "n_after_parent:Q"],
        )
        .properties(width=WIDTH, height=90)
    )
    return chart


def _killed(result: pa.Table, has_parent: bool) -> float:
    rows = [row for row in result.to_pylist() if row["has_parent"] == has_parent and row["end_type"] != ENDS[-1]]
    total = sum(row["n_jobs"] for row in rows)
    if not total:
        raise NotApplicable(f"no job {'with' if has_parent else 'without'} a parent has ended")
    return float(sum(row["n_jobs"] for row in rows if row["end_type"] == "KILL") / total)


CLAIMS = (
    Claim(
        "TIR-killed-with-parent",
        "most jobs with a parent end by KILL",
        0.87,
        lambda r: _killed(r, True),
        lambda v: 0.77 <= v <= 0.97,
        "Tirmazi et al., EuroSys'20",
    ),
    Claim(
        "TIR-killed-without-parent",
        "fewer jobs without a parent do",
        0.41,
        lambda r: _killed(r, False),
        lambda v: 0.31 <= v <= 0.51,
        "Tirmazi et al., EuroSys'20",
    ),
)

RECIPE = Recipe(
    "parents",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("collection_events",),
    reference="Tirmazi et al., EuroSys'20 (job dependencies)",
    order=120,
    topic="Dependencies and limits",
)
