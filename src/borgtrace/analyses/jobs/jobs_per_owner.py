"""How are jobs distributed over users and programs?

Jobs per user and per logical name (runs of one program share it), in descending order. The last
rank is the number of owners. A sample of the jobs misses small owners first and has other shares, so
the question is not answered on one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses.shared.attempts import of_jobs
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    Question,
    Row,
    Tables,
    above,
    charts,
    equals,
    near,
    sql,
)
from borgtrace.question.scopes import CELL_2011, OF_2011

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="kind of owner and rank",
    key=[
        Column("kind", "string", "id", "What owns the jobs: user or logical name."),
        Column("rank", "int64", "rank", "Rank by the number of jobs, from 1."),
    ],
    columns=[
        Column("n_jobs", "int64", "count", "Jobs of the owner of this rank."),
        Column("share", "float64", "1", "Share of all jobs that the owners up to this rank have."),
    ],
)


COLUMN_OF_OWNER = {"user": "user", "logical name": "collection_logical_name"}
FIRST_RANKS = 100
"""So many ranks are all reported; later ones in steps of about 2 %."""


def compute(tables: Tables) -> list[Row]:
    """Return jobs by rank of their owner."""
    if tables.coverage.is_sample:
        raise NotApplicable("needs all jobs: a sample of them has other shares")
    rows: list[Row] = []
    for kind, column in COLUMN_OF_OWNER.items():
        # Owners come counted by size, so that no list of all names leaves the engine.
        sizes = tables.fetch(owners(tables.collection_events, column), column)
        jobs_of_owners = np.repeat(sizes["n_jobs"].to_numpy(), sizes["n_owners"].to_numpy())
        jobs_of_owners = np.sort(jobs_of_owners)[::-1]
        shares = np.cumsum(jobs_of_owners) / jobs_of_owners.sum()
        for rank in reported_ranks(len(jobs_of_owners)):
            rows.append(
                {
                    "kind": kind,
                    "rank": rank,
                    "n_jobs": int(jobs_of_owners[rank - 1]),
                    "share": float(shares[rank - 1]),
                }
            )
    if not rows:
        raise NotApplicable("no job has a user or a logical name")
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


def reported_ranks(n: int) -> list[int]:
    """Return the ranks of `n` owners that are reported, the last one included."""
    first_ranks = range(1, min(n, FIRST_RANKS) + 1)
    later_ranks = np.geomspace(FIRST_RANKS, max(n, FIRST_RANKS), 200).astype(int).tolist()
    return sorted({*first_ranks, *(rank for rank in later_ranks if rank <= n)})


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the number of jobs of each owner by its rank, on logarithmic axes."""
    import altair as alt

    rows = answer.to_pylist()
    return (
        charts.base(rows, title="Jobs by rank of their owner")
        .mark_line(point=True)
        .encode(
            x=alt.X("rank:Q", title="rank", **charts.log_scale()),
            y=alt.Y("n_jobs:Q", title="jobs", **charts.log_scale()),
            color=alt.Color("kind:N", title="owner", legend=charts.legend("kind")),
            tooltip=charts.tooltips(rows),
        )
    )


NUMBER_OF_USERS = sql(
    "select max(rank) from answer where kind = 'user'",
    otherwise="no job has a user",
)

CLAIMS = [
    # With hardly more owners than are counted, their share would always be large.
    Claim(
        "JE-top-user",
        statement="one user submits a seventh of all jobs",
        source="count over the job events of 2011",
        kind="criterion",
        scope=OF_2011,
        measure=sql(
            """
            select any_value(share) filter (rank = 1)
            from answer
            where kind = 'user'
            having count(*) >= 2
            """,
            otherwise="fewer than 2 owners of the kind user",
        ),
        criterion=near(0.146, within=0.05),
    ),
    Claim(
        "JE-top-ten",
        statement="ten users submit more than half of all jobs",
        source="count over the job events of 2011",
        kind="criterion",
        scope=OF_2011,
        measure=sql(
            """
            select any_value(share) filter (rank = 10)
            from answer
            where kind = 'user'
            having count(*) >= 20
            """,
            otherwise="fewer than 20 owners of the kind user",
        ),
        criterion=above(0.5, published=0.554),
    ),
    Claim(
        "JE-users",
        statement="users",
        source="count over the job events of 2011",
        kind="criterion",
        scope=CELL_2011,
        with_more_data="rises",
        measure=NUMBER_OF_USERS,
        criterion=equals(933),
    ),
    Claim(
        "S0-users",
        statement="more than 900 users submit jobs",
        source="data pipeline description (section on data)",
        kind="criterion",
        scope=CELL_2011,
        with_more_data="rises",
        measure=NUMBER_OF_USERS,
        criterion=above(900),
    ),
]

QUESTION = Question(
    name="jobs_per_owner",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["collection_events"],
    reference="Reiss et al., SoCC'12, section 3",
)
