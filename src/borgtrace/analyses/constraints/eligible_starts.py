"""Do tasks run on machines that meet their constraints?

Every start (SCHEDULE) of an attempt with constraints on a known machine, by tier: it breaks them where
the machine does not meet all of them at that instant, or is not there. In force are the constraints that
the last event of the attempt with any demanded, up to the start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import numpy as np
import pyarrow as pa

from borgtrace.analyses.shared.attempts import TASK, is_known, of_jobs
from borgtrace.analyses.shared.windows import tier
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    Question,
    Row,
    Tables,
    charts,
    equals,
    sql,
)
from borgtrace.question.constraints import fingerprints
from borgtrace.question.eligibility import READS, Eligibility
from borgtrace.question.scopes import OF_BOTH

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="tier",
    key=[Column("tier", "string", "id", "Tier of the tasks.")],
    columns=[
        Column("n_starts", "int64", "count", "Starts under constraints on a known machine."),
        Column("n_broken", "int64", "count", "Of these, on a machine that does not meet them."),
    ],
)


def compute(tables: Tables) -> list[Row]:
    """Return starts under constraints, and those that broke them."""
    events, sets = fingerprints(tables)
    found = tables.fetch(_starts(tables, events), "starts")
    if not found.num_rows:
        raise NotApplicable("no task with constraints starts on a known machine")
    cell = Eligibility(tables)
    # A machine that the cell does not know breaks nothing: what it is, is not known.
    found = found.filter(cell.knows(found["machine_id"].to_numpy()))
    is_broken = np.zeros(found.num_rows, bool)
    codes, machines, times = (
        found[name].to_numpy() for name in ("fingerprint", "machine_id", "schedule_time")
    )
    for code in np.unique(codes):
        places = np.flatnonzero(codes == code)
        is_broken[places] = ~cell.allows(sets[int(code)], machines[places], times[places])
    tiers = np.array(found["tier"].to_pylist(), dtype=object)
    starts = {name: is_broken[tiers == name] for name in sorted(set(tiers))}
    return [
        {"tier": name, "n_starts": len(of), "n_broken": int(of.sum())}
        for name, of in starts.items()
    ]


def _starts(tables: Tables, events: ibis.Table) -> ibis.Table:
    """Return starts with what they demand: ``tier``, ``machine_id``, ``schedule_time``, ``fingerprint``."""
    a = of_jobs(tables.instance_attempts)
    # Before the trace a start has no instant at which its machine could be looked at.
    placed = a.filter(is_known(a.schedule_time) & a.machine_id.notnull())
    placed = placed.semi_join(tables.instance_constraints, list(TASK))
    starts = placed.select(
        *TASK,
        "machine_id",
        "begin_time",
        time=placed.schedule_time,
        tier=tier(tables, placed.priority),
        demanded=ibis.null("int64"),
        fingerprint=ibis.null("int64"),
        is_start=ibis.literal(1, "int8"),
    )
    none = {name: ibis.null(starts[name].type()) for name in ("machine_id", "begin_time", "tier")}
    demands = events.mutate(**none, demanded=events.time, is_start=ibis.literal(0, "int8"))
    # One pass in order of time: a join would pair each start of a task with all that the task ever demanded.
    both = starts.union(demands.select(starts.columns))
    # What is demanded in the microsecond of a start is in force.
    so_far = ibis.cumulative_window(group_by=list(TASK), order_by=["time", "is_start"])
    numbered = both.mutate(number=both.demanded.count().over(so_far))
    of_demand = ibis.window(group_by=[*TASK, "number"])
    last = {name: numbered[name].max().over(of_demand) for name in ("demanded", "fingerprint")}
    found = numbered.mutate(**last).filter(
        ibis._.is_start == 1, ibis._.demanded >= ibis._.begin_time
    )
    return found.select("tier", "machine_id", "fingerprint", schedule_time=found.time)


def chart(answer: pa.Table) -> alt.Chart:
    """Draw: starts under placement constraints."""
    import altair as alt

    rows = answer.to_pylist()
    return (
        charts.base(rows, title="Starts under placement constraints", height=130)
        .mark_bar()
        .encode(
            x=alt.X("n_starts:Q", title="starts under constraints"),
            y=alt.Y("tier:N", title=None),
            tooltip=charts.tooltips(rows),
        )
    )


CLAIMS = [
    Claim(
        "DOC-eligible-starts",
        statement="tasks start on machines that meet their constraints",
        source="format documents: a constraint rules where a task may be placed",
        kind="criterion",
        scope=OF_BOTH,
        measure=sql(
            """
            select sum(n_broken) / nullif(sum(n_starts), 0)
            from answer
            """,
            otherwise="no task starts under constraints",
        ),
        criterion=equals(0.0, published="always"),
    ),
]

QUESTION = Question(
    name="eligible_starts",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=READS,
    reference="2011 format document, task constraints; 2019 proto",
)
