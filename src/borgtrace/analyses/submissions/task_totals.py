"""How many tasks are there, and what happened to them in all?

One row per tier and one for all: tasks that were submitted, their jobs and their events. What was there before
the trace counts too (time 0), as in the published totals. A task counts in the tier of its last SCHEDULE. *Alive*
is submissions minus all ends: what is pending or running at the end of the trace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import pyarrow as pa

from borgtrace.analyses.shared.attempts import of_jobs
from borgtrace.analyses.shared.windows import tier
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    Question,
    Tables,
    charts,
    equals,
    near,
    query_answer,
    sql,
)
from borgtrace.question.scopes import AZURE_2019, OF_2011, PODS, TOTALS_2011
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
        Column("n_alive", "int64", "count", "Submissions minus all ends."),
    ],
)


_ENDS = tuple(f"n_{name.lower()}" for name in TERMINAL_EVENTS)
_EVENTS = ("n_submit", "n_schedule", *_ENDS)
_COUNTS = ANSWER.names[:-1]
"""All columns but the last, which is their difference."""


def compute(tables: Tables) -> ibis.Table:
    """Return tasks and their events, in all and per tier."""
    tasks = of_jobs(tables.tasks)
    tasks = tasks.mutate(tier=tier(tables, tasks.priority))
    is_new = tasks.n_submit > 0  # the index also holds instances that are seen in usage alone
    numbers = {
        "n_jobs": is_new.ifelse(tasks.collection_id, ibis.null("int64")).nunique(),
        "n_tasks": tasks.count(where=is_new),
        **{name: tasks[name].cast("int64").sum().fill_null(0).cast("int64") for name in _EVENTS},
    }
    # Not the sum of the tiers: a job may have tasks in two.
    total = tasks.aggregate(**numbers).mutate(tier=ibis.literal("all"))
    rows = tasks.group_by("tier").aggregate(**numbers).select(_COUNTS)
    rows = rows.union(total.select(_COUNTS))
    return rows.mutate(
        n_alive=rows.n_submit - sum((rows[name] for name in _ENDS[1:]), rows[_ENDS[0]])
    )


def chart(answer: pa.Table) -> alt.Chart:
    """Draw: tasks by tier."""
    import altair as alt

    rows = query_answer(answer, "select * from answer where tier <> 'all'")
    return (
        charts.base(rows, title="Tasks by tier", height=130)
        .mark_bar()
        .encode(
            x=alt.X("n_tasks:Q", title="tasks"),
            y=alt.Y("tier:N", title=None),
            tooltip=charts.tooltips(
                rows,
                "n_tasks",
                "tier",
                "n_submit",
                "n_schedule",
                "n_evict",
                "n_fail",
                "n_finish",
                "n_kill",
                "n_lost",
            ),
        )
    )


CLAIMS = [
    Claim(
        "S4-total-new",
        statement="new tasks",
        source="Zhu et al., Method 3",
        scope=TOTALS_2011,
        measure=sql(
            "select sum(n_tasks) from answer where tier = 'all'",
            otherwise="no such task was submitted",
        ),
        criterion=equals(25_424_731),
    ),
    Claim(
        "S4-total-completed",
        statement="completions",
        source="Zhu et al., Method 3",
        scope=TOTALS_2011,
        measure=sql(
            "select sum(n_finish) from answer where tier = 'all'",
            otherwise="no such task was submitted",
        ),
        criterion=equals(18_217_975),
    ),
    Claim(
        "S4-total-submitted",
        statement="submissions",
        source="Zhu et al., Method 3",
        scope=TOTALS_2011,
        measure=sql(
            "select sum(n_submit) from answer where tier = 'all'",
            otherwise="no such task was submitted",
        ),
        criterion=equals(48_375_166),
    ),
    Claim(
        "S4-total-scheduled",
        statement="schedulings",
        source="Zhu et al., Method 3",
        scope=TOTALS_2011,
        measure=sql(
            "select sum(n_schedule) from answer where tier = 'all'",
            otherwise="no such task was submitted",
        ),
        criterion=equals(47_331_507),
    ),
    Claim(
        "S4-total-tasks",
        statement="tasks, by the paper's text",
        source="Zhu et al., Method 3",
        scope=TOTALS_2011,
        measure=sql(
            "select sum(n_tasks) from answer where tier = 'all'",
            otherwise="no such task was submitted",
        ),
        criterion=equals(25_444_397),
    ),
    Claim(
        "S4-total-finished",
        statement="of these completed, by the paper's text",
        source="Zhu et al., Method 3",
        scope=TOTALS_2011,
        measure=sql(
            "select sum(n_finish) from answer where tier = 'all'",
            otherwise="no such task was submitted",
        ),
        criterion=equals(18_217_749),
    ),
    Claim(
        "S4-production-tasks",
        statement="tasks of production",
        source="Zhu et al., Fig. 9",
        scope=TOTALS_2011,
        measure=sql(
            "select sum(n_tasks) from answer where tier = 'production'",
            otherwise="no such task was submitted",
        ),
        criterion=equals(1_558_255),
    ),
    Claim(
        "S4-production-share",
        statement="tasks of production, as a share of all",
        source="Zhu et al., Fig. 9",
        scope=TOTALS_2011,
        measure=sql(
            """
            select
                sum(if(tier = 'production', n_tasks, 0))
                    / nullif(sum(if(tier = 'all', n_tasks, 0)), 0)
            from answer
            """,
            otherwise="no such task was submitted",
        ),
        criterion=near(0.06, within=0.005),
    ),
    Claim(
        "S4-weight-completed",
        statement="completions per new task",
        source="Zhu et al., Fig. 3: quotients of its totals",
        kind="derived",
        scope=OF_2011,
        measure=sql(
            """
            select sum(n_finish) / nullif(sum(n_tasks), 0)
            from answer
            where tier = 'all'
            """,
            otherwise="no such task was submitted",
        ),
        criterion=near(0.7165, within=0.01),
    ),
    Claim(
        "S4-weight-submitted",
        statement="submissions per new task",
        source="Zhu et al., Fig. 3: quotients of its totals",
        kind="derived",
        scope=OF_2011,
        measure=sql(
            """
            select sum(n_submit) / nullif(sum(n_tasks), 0)
            from answer
            where tier = 'all'
            """,
            otherwise="no such task was submitted",
        ),
        criterion=near(1.9027, within=0.01),
    ),
    Claim(
        "S4-weight-scheduled",
        statement="schedulings per new task",
        source="Zhu et al., Fig. 3: quotients of its totals",
        kind="derived",
        scope=OF_2011,
        measure=sql(
            """
            select sum(n_schedule) / nullif(sum(n_tasks), 0)
            from answer
            where tier = 'all'
            """,
            otherwise="no such task was submitted",
        ),
        criterion=near(1.8616, within=0.01),
    ),
    Claim(
        "KOR-total-scheduled",
        statement="SCHEDULE events",
        source="full-trace Spark run over 2011",
        kind="criterion",
        scope=TOTALS_2011,
        measure=sql(
            "select sum(n_schedule) from answer where tier = 'all'",
            otherwise="no such task was submitted",
        ),
        criterion=equals(47_351_173),
    ),
    # Some tasks have rows of two priorities: there they count in both.
    Claim(
        "KOR-production-tasks",
        statement="tasks of production",
        source="full-trace Spark run over 2011",
        kind="criterion",
        scope=TOTALS_2011,
        measure=sql(
            "select sum(n_tasks) from answer where tier = 'production'",
            otherwise="no such task was submitted",
        ),
        criterion=near(295_210, relative=0.001),
    ),
    Claim(
        "KOR-alive",
        statement="tasks alive at the end: submissions minus all ends",
        source="full-trace Spark run over 2011",
        kind="criterion",
        scope=TOTALS_2011,
        measure=sql(
            "select sum(n_alive) from answer where tier = 'all'",
            otherwise="no such task was submitted",
        ),
        criterion=equals(104_635),
    ),
    Claim(
        "EDA-jobs",
        statement="jobs that have task events",
        source="full-trace Spark run over 2011",
        kind="criterion",
        scope=TOTALS_2011,
        measure=sql(
            "select sum(n_jobs) from answer where tier = 'all'",
            otherwise="no such task was submitted",
        ),
        criterion=equals(672_004),
    ),
    Claim(
        "OPENB-pods",
        statement="pods",
        source="README of cluster-trace-gpu-v2023",
        scope=PODS,
        measure=sql(
            "select sum(n_tasks) from answer where tier = 'all'",
            otherwise="no such task was submitted",
        ),
        criterion=equals(8152),
    ),
    Claim(
        "AZ19-vms",
        statement="2.70 million VMs",
        source="AzurePublicDatasetV2.md",
        scope=AZURE_2019,
        measure=sql(
            "select sum(n_tasks) from answer where tier = 'all'",
            otherwise="no such task was submitted",
        ),
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
    reference="Zhu et al., Methods 3 and 3-1; Fig. 3",
)
