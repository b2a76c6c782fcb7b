"""Do tasks run on machines that meet their constraints?

Every start (SCHEDULE) of an attempt with constraints on a known machine, by tier: it breaks them where
the machine does not meet all of them at that time, or is not present. The constraints in force are those of
the attempt's last event, up to the start, that carries any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses.shared.attempts import TASK, is_known, of_jobs
from borgtrace.analyses.shared.windows import tier
from borgtrace.kernels.arrays import Flags
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
from borgtrace.question.constraints import Sets, fingerprints
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
    starts = tables.fetch(starts_with_demands(tables, events), "starts")
    if not starts.num_rows:
        raise NotApplicable("no task with constraints starts on a known machine")
    cell = Eligibility(tables)
    # A machine that the cell does not know breaks nothing: its attributes are unknown.
    starts = starts.filter(cell.knows(starts["machine_id"].to_numpy()))
    is_broken = breaks_constraints(cell, sets, starts)
    tier_of_start = np.array(starts["tier"].to_pylist(), dtype=object)
    rows = []
    for tier_name in sorted(set(tier_of_start)):
        is_broken_in_tier = is_broken[tier_of_start == tier_name]
        rows.append(
            {
                "tier": tier_name,
                "n_starts": len(is_broken_in_tier),
                "n_broken": int(is_broken_in_tier.sum()),
            }
        )
    return rows


def starts_with_demands(tables: Tables, events: ir.Table) -> ir.Table:
    """Return starts with what they demand: ``tier``, ``machine_id``, ``schedule_time``, ``fingerprint``."""
    attempts = of_jobs(tables.instance_attempts)
    # A start before the trace has no time at which its machine could be looked up.
    has_machine = is_known(attempts.schedule_time) & attempts.machine_id.notnull()
    placed = attempts.filter(has_machine).semi_join(tables.instance_constraints, list(TASK))
    starts = placed.select(
        *TASK,
        "machine_id",
        "begin_time",
        time=placed.schedule_time,
        tier=tier(tables, placed.priority),
        demand_time=ibis.null("int64"),
        fingerprint=ibis.null("int64"),
        is_start=ibis.literal(1, "int8"),
    )
    demands = events.mutate(
        machine_id=ibis.null(starts.machine_id.type()),
        begin_time=ibis.null(starts.begin_time.type()),
        tier=ibis.null(starts.tier.type()),
        demand_time=events.time,
        is_start=ibis.literal(0, "int8"),
    )
    # One pass in order of time: a join would pair each start of a task with every demand of the task.
    rows = starts.union(demands.select(starts.columns))
    # A demand in the microsecond of a start is in force.
    so_far = ibis.cumulative_window(group_by=list(TASK), order_by=["time", "is_start"])
    rows = rows.mutate(demand_number=rows.demand_time.count().over(so_far))
    since_demand = ibis.window(group_by=[*TASK, "demand_number"])
    rows = rows.mutate(
        demand_time=rows.demand_time.max().over(since_demand),
        fingerprint=rows.fingerprint.max().over(since_demand),
    )
    rows = rows.filter((rows.is_start == 1) & (rows.demand_time >= rows.begin_time))
    return rows.select("tier", "machine_id", "fingerprint", schedule_time=rows.time)


def breaks_constraints(cell: Eligibility, sets: Sets, starts: pa.Table) -> Flags:
    """Return which starts are on a machine that does not meet their constraints, shape (n,)."""
    fingerprint = starts["fingerprint"].to_numpy()
    machines = starts["machine_id"].to_numpy()
    times = starts["schedule_time"].to_numpy()
    is_broken = np.zeros(starts.num_rows, bool)
    # Sets are few and starts are many: each set is looked up once, for all of its starts.
    for code in np.unique(fingerprint):
        chosen = np.flatnonzero(fingerprint == code)
        is_allowed = cell.allows(sets[int(code)], machines[chosen], times[chosen])
        is_broken[chosen] = ~is_allowed
    return is_broken


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the number of starts under constraints, by tier."""
    import altair as alt

    rows = answer.to_pylist()
    return (
        charts.base(rows, title="Starts under placement constraints", height=130)
        .mark_bar()
        .encode(
            x=alt.X("n_starts:Q", title="starts under constraints"),
            y=alt.Y("tier:N", title=None, sort=list(charts.TIER_COLORS)),
            color=charts.tier_color(rows, has_legend=False),
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
