"""How many tasks run in an alloc instance, and how much of what it reserves do they use?

An alloc instance is named by its alloc set and its index there; tasks inside name both. Instances are counted by how
many tasks were ever measured in them: none is a reservation that nobody used. *Reserved* is the request of the instance
× the time that it was measured, *used* its own usage, and *of tasks* the usage of the tasks inside, which the
instance's own usage contains. All are sums over the trace, in hours of the largest machine. An instance that only its
tasks name was never measured itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.shared.attempts import TASK, of_jobs
from borgtrace.analyses.shared.joins import lookup
from borgtrace.analyses.shared.windows import (
    HOUR_SECONDS,
    RESOURCES,
    amount,
    int_sum,
    level,
    regular,
)
from borgtrace.question import Answer, Column, Question, Tables, charts, query_answer

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="number of tasks in an alloc instance",
    key=[Column("n_tasks", "int64", "count", "Tasks measured in the alloc instance.")],
    columns=[
        Column("n_instances", "int64", "count", "Alloc instances with so many tasks."),
        Column("n_measured", "int64", "count", "Of these, instances with usage of their own."),
        Column("cpu_reserved", "float64", "h", "CPU that they reserve.", nullable=True),
        Column("cpu_used", "float64", "h", "CPU that they use, by their own rows.", nullable=True),
        Column("cpu_of_tasks", "float64", "h", "CPU that their tasks use.", nullable=True),
        Column("memory_reserved", "float64", "h", "Memory that they reserve.", nullable=True),
        Column(
            "memory_used", "float64", "h", "Memory that they use, by their own rows.", nullable=True
        ),
        Column("memory_of_tasks", "float64", "h", "Memory that their tasks use.", nullable=True),
    ],
)


HOST = ("alloc_collection_id", "alloc_instance_index")
"""What names an alloc instance."""
BITS = 24
"""Digits behind the point of sums: a month of 10,000 largest machines takes 59 bits."""
KINDS = ("reserved", "used", "of_tasks")


def compute(tables: Tables) -> ir.Table:
    """Return alloc instances, what they reserve and what is used in them, by their number of tasks."""
    tables.require_published("alloc instances", column="alloc_instance_index")
    usage = regular(tables.instance_usage)
    tasks_inside = sum_tasks_inside(usage)
    requests = requests_of_instances(tables)
    # The events of an instance may lie outside the store: its tasks name it all the same.
    instances = requests.select(*HOST).union(tasks_inside.select(*HOST), distinct=True)
    instances = lookup(instances, requests, HOST)
    instances = lookup(instances, sum_own_usage(usage), HOST)
    instances = lookup(instances, tasks_inside, HOST)
    reserved = {
        f"{name}_reserved": amount(instances[f"{name}_request"], instances.seconds, BITS)
        for name in RESOURCES
    }
    instances = instances.mutate(n_tasks=instances.n_tasks.fill_null(0), **reserved)
    sums = {}
    for name in RESOURCES:
        for kind in KINDS:
            column = f"{name}_{kind}"
            sums[column] = level(int_sum(instances[column]), HOUR_SECONDS, BITS)
    return instances.group_by("n_tasks").aggregate(
        n_instances=instances.count(), n_measured=instances.seconds.count(), **sums
    )


def requests_of_instances(tables: Tables) -> ir.Table:
    """Return each alloc instance of the store with its requests."""
    instances = tables.tasks.filter(tables.tasks.collection_type == "ALLOC_SET")
    return instances.select(
        alloc_collection_id="collection_id",
        alloc_instance_index=instances.instance_index.cast("int64"),
        cpu_request="cpu_request",
        memory_request="memory_request",
    )


def sum_own_usage(usage: ir.Table) -> ir.Table:
    """Return what the rows of each alloc instance itself add up to, and over how many seconds."""
    windows = usage.filter(usage.collection_type == "ALLOC_SET")
    sums = {
        f"{name}_used": int_sum(amount(windows[f"average_{name}"], windows.seconds, BITS))
        for name in RESOURCES
    }
    own = windows.group_by(
        alloc_collection_id=windows.collection_id,
        alloc_instance_index=windows.instance_index.cast("int64"),
    )
    return own.aggregate(seconds=int_sum(windows.seconds), **sums)


def sum_tasks_inside(usage: ir.Table) -> ir.Table:
    """Return how many tasks each alloc instance held, and what they used there."""
    jobs = of_jobs(usage)
    windows = jobs.filter(jobs.alloc_instance_index.notnull())
    sums = {
        f"{name}_of_tasks": int_sum(amount(windows[f"average_{name}"], windows.seconds, BITS))
        for name in RESOURCES
    }
    # A task that moves between instances counts in each of them.
    tasks = windows.group_by([*HOST, *TASK]).aggregate(**sums)
    totals = {column: int_sum(tasks[column]) for column in sums}
    return tasks.group_by(list(HOST)).aggregate(n_tasks=tasks.count(), **totals)


def chart(answer: pa.Table) -> alt.HConcatChart:
    """Draw how many instances hold so many tasks, and how much of their reservation is used."""
    import altair as alt

    return alt.hconcat(instances_by_tasks(answer), used_of_reservation(answer))


def instances_by_tasks(answer: pa.Table) -> alt.Chart:
    """Draw a bar for each number of tasks, as long as there are instances that hold so many."""
    import altair as alt

    rows = answer.to_pylist()
    return (
        charts.base(rows, title="Alloc instances by their number of tasks", width=260)
        .mark_bar()
        .encode(
            x=alt.X("n_tasks:O", title="tasks in the instance"),
            y=alt.Y("n_instances:Q", title="alloc instances"),
            tooltip=charts.tooltips(rows, "n_tasks", "n_instances", "n_measured"),
        )
    )


def used_of_reservation(answer: pa.Table) -> alt.Chart:
    """Draw which share of what is reserved the instances use, and their tasks."""
    import altair as alt

    shares = query_answer(
        answer,
        """
        select
            sum(cpu_used) / nullif(sum(cpu_reserved), 0) as cpu_used,
            sum(cpu_of_tasks) / nullif(sum(cpu_reserved), 0) as cpu_of_tasks,
            sum(memory_used) / nullif(sum(memory_reserved), 0) as memory_used,
            sum(memory_of_tasks) / nullif(sum(memory_reserved), 0) as memory_of_tasks
        from answer
        where n_measured > 0
        """,
    )
    labels = {
        "cpu_used": "CPU of the instances",
        "cpu_of_tasks": "CPU of their tasks",
        "memory_used": "memory of the instances",
        "memory_of_tasks": "memory of their tasks",
    }
    rows = charts.melted(shares, labels, "share")
    names = alt.Y("series:N", title=None, sort=list(labels.values()), axis=alt.Axis(labelLimit=300))
    return (
        charts.base(rows, title="Used of the reservation", width=260)
        .mark_bar()
        .encode(
            x=alt.X("share:Q", title="share of what is reserved"),
            y=names,
            tooltip=charts.tooltips(rows, "series", "share"),
        )
    )


QUESTION = Question(
    name="alloc_instances",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    reads=["instance_usage", "tasks"],
    reference="2019 format document (alloc sets)",
)
