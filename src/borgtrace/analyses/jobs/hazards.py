"""How often are running tasks evicted or killed, and how often do they fail?

Ends of running attempts per hour that attempts ran within the trace, per tier and per scheduling class.
Time before the start of the trace and after its end does not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.shared.attempts import (
    is_inside,
    is_within,
    last_time,
    of_jobs,
    time_running,
)
from borgtrace.analyses.shared.breakdown import TierEvent, sum_by_group, with_deciding_priority
from borgtrace.analyses.shared.columns import GROUPING
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    Question,
    Row,
    Tables,
    below,
    charts,
    near,
    query_answer,
    sql,
)
from borgtrace.question.scopes import LIKE_2019, MONTH_2019
from borgtrace.schema import TERMINAL_EVENTS
from borgtrace.schema.time import HOUR

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="group of tasks",
    key=[*GROUPING],
    columns=[
        Column("hours", "float64", "h", "Hours that attempts of the group ran within the trace."),
        Column("n_evict", "int64", "count", "Running attempts that ended by EVICT."),
        Column("n_fail", "int64", "count", "Running attempts that ended by FAIL."),
        Column("n_finish", "int64", "count", "Running attempts that ended by FINISH."),
        Column("n_kill", "int64", "count", "Running attempts that ended by KILL."),
        Column("n_lost", "int64", "count", "Running attempts that ended by LOST."),
        Column("n_jobs", "int64", "count", "Jobs, each in the highest of its tasks' groups."),
        Column(
            "n_evicted_jobs",
            "int64",
            "count",
            "Of these, jobs of which a task was evicted, running or pending.",
        ),
        Column("n_evicted_once", "int64", "count", "Of these, jobs with one eviction."),
        Column("evict_rate", "float64", "1/h", "EVICT per task-hour.", nullable=True),
        Column("fail_rate", "float64", "1/h", "FAIL per task-hour.", nullable=True),
        Column("finish_rate", "float64", "1/h", "FINISH per task-hour.", nullable=True),
        Column("kill_rate", "float64", "1/h", "KILL per task-hour.", nullable=True),
        Column("lost_rate", "float64", "1/h", "LOST per task-hour.", nullable=True),
    ],
)


NAME_OF_END = {end_type: end_type.lower() for end_type in TERMINAL_EVENTS}


def compute(tables: Tables, *, tier_of: TierEvent = "schedule") -> list[Row]:
    """Return ends per task-hour.

    Parameters
    ----------
    tables
        The store's tables.
    tier_of
        Event whose priority decides the tier: ``"schedule"`` (else the attempt's other events) or ``"submit"``.
    """
    tasks = with_deciding_priority(of_jobs(tables.instance_attempts), tier_of)
    # What already ran at time 0 counts, with its hours inside the trace: without it long runs would be missing.
    started = tasks.filter(is_within(tasks.schedule_time))
    attempts = started.cross_join(last_time(tables.instance_events))
    # An end after the trace has no hours that belong to it.
    ends_inside = is_inside(attempts.end_time)
    ends = {
        f"n_{name}": ends_inside & (attempts.end_type == end_type)
        for end_type, name in NAME_OF_END.items()
    }
    # Rates do not add up; their numerators and denominators do, exactly, as whole numbers.
    totals = sum_by_group(tables, attempts, "sums", microseconds=time_running(attempts), **ends)
    if not totals:
        raise NotApplicable("no task ever runs")
    for group, numbers_of_jobs in count_jobs(tables, tasks).items():
        totals[group].update(numbers_of_jobs)
    return [rates_of_group(group, total) for group, total in totals.items()]


def count_jobs(tables: Tables, tasks: ir.Table) -> Mapping[tuple[str, ...], Counter[str]]:
    """Count jobs, not evictions: a few jobs of many tasks have most of these."""
    is_evicted = is_inside(tasks.end_time) & (tasks.end_type == "EVICT")
    jobs = tasks.group_by("collection_id").aggregate(
        # A condition of NULL, as of an attempt without an end, counts as none.
        evictions=tasks.count(where=is_evicted),
        # One tier a job, the highest, so that the tiers add up.
        priority=tasks.priority.max(),
        scheduling_class=tasks.scheduling_class.max(),
    )
    return sum_by_group(
        tables,
        jobs,
        "jobs",
        n_jobs=ibis.literal(1, "int64"),
        n_evicted_jobs=jobs.evictions > 0,
        n_evicted_once=jobs.evictions == 1,
    )


def rates_of_group(group: tuple[str, ...], total: Counter[str]) -> Row:
    """Return the row of a group."""
    hours = total["microseconds"] / HOUR
    row: Row = {
        "grouping": group[0],
        "group": group[1],
        "hours": hours,
        "n_jobs": total["n_jobs"],
        "n_evicted_jobs": total["n_evicted_jobs"],
        "n_evicted_once": total["n_evicted_once"],
    }
    for name in NAME_OF_END.values():
        n_ends = total[f"n_{name}"]
        row[f"n_{name}"] = n_ends
        row[f"{name}_rate"] = n_ends / hours if hours else None
    return row


def chart(answer: pa.Table) -> alt.Chart:
    """Draw how often running tasks of each tier are evicted, fail or are killed per hour."""
    import altair as alt

    rows = query_answer(answer, """select *, "group" as tier from answer where grouping = 'tier'""")
    rows = charts.melted(rows, {"evict_rate": "EVICT", "fail_rate": "FAIL", "kill_rate": "KILL"})
    return (
        charts.base(rows, title="Ends per task-hour (Verma et al., Fig. 3)")
        .mark_bar()
        .encode(
            x=alt.X("series:N", title=None),
            y=alt.Y(
                "value:Q",
                title="per hour of running",
                **charts.log_scale(least=0.001, type="symlog", constant=0.001),
            ),
            color=charts.tier_color(rows),
            xOffset="tier:N",
            tooltip=charts.tooltips(rows, "series", "value", "tier"),
        )
    )


CLAIMS = [
    Claim(
        "TIR-evictions",
        statement="of the collections that see evictions about 97 % are not of production",
        source="Tirmazi et al., EuroSys'20, section 6",
        scope=LIKE_2019.needing(days=7, tasks=5_000),
        measure=sql(
            """
            select
                1 - sum(if("group" in ('production', 'monitoring'), n_evicted_jobs, 0))
                    / nullif(sum(n_evicted_jobs), 0)
            from answer
            where grouping = 'tier'
            """,
            otherwise="no task is evicted",
        ),
        criterion=near(0.966, within=0.02),
    ),
    # The longer the trace, the likelier an eviction of a job: these need the month.
    Claim(
        "TIR-evicted",
        statement="about 3 % of the collections see evictions",
        source="Tirmazi et al., EuroSys'20, section 6",
        scope=MONTH_2019,
        measure=sql(
            """
            select sum(n_evicted_jobs) / nullif(sum(n_jobs), 0)
            from answer
            where grouping = 'all'
            """,
            otherwise="the store has no job",
        ),
        criterion=near(0.032, within=0.01),
    ),
    Claim(
        "TIR-evicted-production",
        statement="hardly a collection of production sees an eviction",
        source="Tirmazi et al., EuroSys'20, section 6",
        scope=MONTH_2019,
        measure=sql(
            """
            select sum(n_evicted_jobs) / nullif(sum(n_jobs), 0)
            from answer
            where grouping = 'tier' and "group" in ('production', 'monitoring')
            """,
            otherwise="no job is of production",
        ),
        criterion=below(0.002),
    ),
    Claim(
        "TIR-evicted-once",
        statement="half of the collections of production that see evictions see one",
        source="Tirmazi et al., EuroSys'20, section 6",
        scope=MONTH_2019,
        measure=sql(
            """
            select sum(n_evicted_once) / nullif(sum(n_evicted_jobs), 0)
            from answer
            where grouping = 'tier' and "group" in ('production', 'monitoring')
            """,
            otherwise="no task is evicted",
        ),
        criterion=near(0.52, within=0.1),
    ),
]

QUESTION = Question(
    name="hazards",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["instance_events"],
    reference="Verma et al., EuroSys'15, Fig. 3",
)
