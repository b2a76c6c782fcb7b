"""How many tasks are there, and what happened to them in all?

One row per tier and one for all: tasks that were submitted, their jobs and their events. Tasks from before the trace
count too (time 0), as in the published totals. A task counts in the tier of its last SCHEDULE. *Alive* is submissions
minus ends: the tasks that are pending or running at the end of the trace. Events that the trace marks as later than its
end are counted as events, but the tasks that they end count as alive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import pyarrow as pa

from borgtrace.analyses.shared.attempts import TASK, is_within, of_jobs
from borgtrace.analyses.shared.joins import lookup
from borgtrace.analyses.shared.windows import tier
from borgtrace.engine.identifiers import literal, quoted
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    Measure,
    Question,
    Tables,
    charts,
    equals,
    near,
    query_answer,
    sql,
)
from borgtrace.question.scopes import AZURE_2019, CELL_2011, OF_2011, PODS
from borgtrace.schema import TERMINAL_EVENTS

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="tier",
    key=[Column("tier", "string", "id", "Tier of the tasks, or all.")],
    columns=[
        Column("n_jobs", "int64", "count", "Jobs of which a task was submitted."),
        Column("n_tasks", "int64", "count", "Tasks that were submitted."),
        Column("n_submit", "int64", "count", "SUBMIT events of tasks."),
        Column("n_schedule", "int64", "count", "SCHEDULE events of tasks."),
        Column("n_evict", "int64", "count", "EVICT events of tasks."),
        Column("n_fail", "int64", "count", "FAIL events of tasks."),
        Column("n_finish", "int64", "count", "FINISH events of tasks."),
        Column("n_kill", "int64", "count", "KILL events of tasks."),
        Column("n_lost", "int64", "count", "LOST events of tasks."),
        Column("n_alive", "int64", "count", "Submissions minus ends within the trace."),
    ],
)


ENDS = tuple(f"n_{name.lower()}" for name in TERMINAL_EVENTS)
EVENTS = ("n_submit", "n_schedule", *ENDS)
COUNTS = ("tier", "n_jobs", "n_tasks", *EVENTS, "n_late")


def compute(tables: Tables) -> ibis.Table:
    """Return tasks and their events, in all and per tier."""
    tasks = of_jobs(tables.tasks)
    tasks = tasks.mutate(tier=tier(tables, tasks.priority))
    tasks = lookup(tasks, alive_by_later_events(tables), TASK)
    # The index also holds instances that appear only in usage.
    is_submitted = tasks.n_submit > 0
    numbers = {
        "n_jobs": is_submitted.ifelse(tasks.collection_id, ibis.null("int64")).nunique(),
        "n_tasks": tasks.count(where=is_submitted),
    }
    for name in (*EVENTS, "n_late"):
        numbers[name] = tasks[name].cast("int64").sum().fill_null(0).cast("int64")
    # Not the sum of the tiers: a job may have tasks in two.
    total = tasks.aggregate(**numbers).mutate(tier=ibis.literal("all"))
    rows = tasks.group_by("tier").aggregate(**numbers).select(COUNTS)
    # A format without tiers has one of the name "all"; the row of all tasks stands for it.
    rows = rows.filter(rows.tier != "all").union(total.select(COUNTS))
    n_ended = rows.n_evict + rows.n_fail + rows.n_finish + rows.n_kill + rows.n_lost
    return rows.mutate(n_alive=rows.n_submit - n_ended + rows.n_late).drop("n_late")


def alive_by_later_events(tables: Tables) -> ibis.Table:
    """Return ``n_late`` per task: its ends after the trace, which end nothing within it, minus submissions then."""
    events = of_jobs(tables.instance_events)
    late = events.filter(~is_within(events.time))
    n_ends = late.count(where=late.type.isin(TERMINAL_EVENTS))
    n_submissions = late.count(where=late.type == "SUBMIT")
    return late.group_by(list(TASK)).aggregate(n_late=n_ends - n_submissions)


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the number of tasks of each tier."""
    import altair as alt

    rows = query_answer(answer, "select * from answer where tier <> 'all'")
    return (
        charts.base(rows, title="Tasks by tier", height=130)
        .mark_bar()
        .encode(
            x=alt.X("n_tasks:Q", title="tasks"),
            y=alt.Y("tier:N", title=None, sort=list(charts.TIER_COLORS)),
            color=charts.tier_color(rows, has_legend=False),
            tooltip=charts.tooltips(rows, "n_tasks", "tier", *EVENTS),
        )
    )


NO_TASK = "no such task was submitted"


def total_of(column: str, *, tier: str = "all") -> Measure:
    """Measure one of the counts of a tier."""
    return sql(
        f"select sum({quoted(column)}) from answer where tier = {literal(tier)}",
        otherwise=NO_TASK,
    )


def per_task(column: str) -> Measure:
    """Measure how many events there are for each task."""
    return sql(
        f"select sum({quoted(column)}) / nullif(sum(n_tasks), 0) from answer where tier = 'all'",
        otherwise=NO_TASK,
    )


CLAIMS = [
    Claim(
        "S4-total-new",
        statement="new tasks",
        source="Zhu et al., Method 3",
        scope=CELL_2011,
        with_more_data="rises",
        measure=total_of("n_tasks"),
        criterion=equals(25_424_731),
    ),
    Claim(
        "S4-total-completed",
        statement="completions",
        source="Zhu et al., Method 3",
        scope=CELL_2011,
        with_more_data="rises",
        measure=total_of("n_finish"),
        criterion=equals(18_217_975),
    ),
    Claim(
        "S4-total-submitted",
        statement="submissions",
        source="Zhu et al., Method 3",
        scope=CELL_2011,
        with_more_data="rises",
        measure=total_of("n_submit"),
        criterion=equals(48_375_166),
    ),
    Claim(
        "S4-total-scheduled",
        statement="schedulings",
        source="Zhu et al., Method 3",
        scope=CELL_2011,
        with_more_data="rises",
        measure=total_of("n_schedule"),
        criterion=equals(47_331_507),
    ),
    Claim(
        "S4-total-tasks",
        statement="tasks, by the paper's text",
        source="Zhu et al., Method 3",
        scope=CELL_2011,
        with_more_data="rises",
        measure=total_of("n_tasks"),
        criterion=equals(25_444_397),
    ),
    Claim(
        "S4-total-finished",
        statement="of these completed, by the paper's text",
        source="Zhu et al., Method 3",
        scope=CELL_2011,
        with_more_data="rises",
        measure=total_of("n_finish"),
        criterion=equals(18_217_749),
    ),
    Claim(
        "S4-production-tasks",
        statement="tasks of production",
        source="Zhu et al., Fig. 9",
        scope=CELL_2011,
        with_more_data="rises",
        measure=total_of("n_tasks", tier="production"),
        criterion=equals(1_558_255),
    ),
    Claim(
        "S4-production-share",
        statement="tasks of production, as a share of all",
        source="Zhu et al., Fig. 9",
        scope=CELL_2011,
        measure=sql(
            """
            select
                sum(if(tier = 'production', n_tasks, 0))
                    / nullif(sum(if(tier = 'all', n_tasks, 0)), 0)
            from answer
            """,
            otherwise=NO_TASK,
        ),
        criterion=near(0.06, within=0.005),
    ),
    Claim(
        "S4-weight-completed",
        statement="completions per new task, with what was there before the trace",
        source="Zhu et al., Fig. 3: quotients of its totals",
        kind="derived",
        scope=OF_2011.needing(days=28),
        measure=per_task("n_finish"),
        criterion=near(0.7165, within=0.01),
    ),
    Claim(
        "S4-weight-submitted",
        statement="submissions per new task, with what was there before the trace",
        source="Zhu et al., Fig. 3: quotients of its totals",
        kind="derived",
        scope=OF_2011.needing(days=28),
        measure=per_task("n_submit"),
        criterion=near(1.9027, within=0.01),
    ),
    Claim(
        "S4-weight-scheduled",
        statement="schedulings per new task, with what was there before the trace",
        source="Zhu et al., Fig. 3: quotients of its totals",
        kind="derived",
        scope=OF_2011.needing(days=28),
        measure=per_task("n_schedule"),
        criterion=near(1.8616, within=0.01),
    ),
    Claim(
        "KOR-total-scheduled",
        statement="SCHEDULE events",
        source="full-trace Spark run over 2011",
        kind="criterion",
        scope=CELL_2011,
        with_more_data="rises",
        measure=total_of("n_schedule"),
        criterion=equals(47_351_173),
    ),
    # Some tasks have rows of two priorities: there they count in both.
    Claim(
        "KOR-production-tasks",
        statement="tasks of production",
        source="full-trace Spark run over 2011",
        kind="criterion",
        scope=CELL_2011,
        with_more_data="rises",
        measure=total_of("n_tasks", tier="production"),
        criterion=near(295_210, relative=0.001),
    ),
    Claim(
        "KOR-alive",
        statement="tasks alive at the end: submissions minus all ends",
        source="full-trace Spark run over 2011",
        kind="criterion",
        scope=CELL_2011,
        measure=total_of("n_alive"),
        criterion=equals(104_635),
    ),
    Claim(
        "EDA-jobs",
        statement="jobs that have task events",
        source="full-trace Spark run over 2011",
        kind="criterion",
        scope=CELL_2011,
        with_more_data="rises",
        measure=total_of("n_jobs"),
        criterion=equals(672_004),
    ),
    Claim(
        "OPENB-pods",
        statement="pods",
        source="README of cluster-trace-gpu-v2023",
        scope=PODS,
        with_more_data="rises",
        measure=total_of("n_tasks"),
        criterion=equals(8152),
    ),
    Claim(
        "AZ19-vms",
        statement="2.70 million VMs",
        source="AzurePublicDatasetV2.md",
        scope=AZURE_2019,
        with_more_data="rises",
        measure=total_of("n_tasks"),
        criterion=near(2_700_000, within=5000),
    ),
]

QUESTION = Question(
    name="task_totals",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["instance_events", "tasks"],
    reference="Zhu et al., Methods 3 and 3-1",
)
