"""How few machines would hold the workload of one moment?

Cell compaction: machines are removed at random, and the workload is packed again from nothing until it no longer fits.
A task goes where a + b + 2·|a − b| is smallest, a and b being the shares of CPU and memory that remain (our reading of
Borg's score); ties go to the lowest machine id. The result is the 90th percentile over seeds. Each what-if is such a
result, beside what was published of Google's cells of 2014, which are not in any public trace.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from borgtrace.engine.processes import map_processes
from borgtrace.errors import UsageError, check_names
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    EngineTables,
    NotApplicable,
    Row,
    Scope,
    between,
    charts,
    sql,
)
from borgtrace.question.store_question import Report, StoreQuestion
from borgtrace.scheduling.compaction import Workload, bound, needed
from borgtrace.scheduling.machines import Demand
from borgtrace.scheduling.plan import parse_plan, plan_of
from borgtrace.scheduling.policies import Policy, parse_policy
from borgtrace.scheduling.whatifs import LIMITS, WHAT_IFS, Moment, WhatIf
from borgtrace.scheduling.workload import Machines, Tasks, eligible, read_tasks, values_of
from borgtrace.schema.time import write_time
from borgtrace.store import Store

ANSWER = Answer(
    grain="what-if",
    key=[
        Column("place", "int64", "count", "Place in the table."),
    ],
    columns=[
        Column("what_if", "string", "id", "What is different from the cell at its limits."),
        Column("tasks", "int64", "count", "Tasks that run at that time."),
        Column(
            "cells",
            "float64",
            "count",
            "Cells that hold them, the median of the seeds; NULL where not applicable.",
            nullable=True,
        ),
        Column(
            "machines",
            "float64",
            "count",
            "Machines needed, the 90th percentile of the seeds; NULL likewise.",
            nullable=True,
        ),
        Column(
            "least",
            "float64",
            "count",
            "Machines needed with the luckiest seed; NULL likewise.",
            nullable=True,
        ),
        Column(
            "most",
            "float64",
            "count",
            "Machines needed with the unluckiest seed; NULL likewise.",
            nullable=True,
        ),
        Column(
            "bound",
            "float64",
            "count",
            "Mean machines with as much CPU and memory as is taken; NULL likewise.",
            nullable=True,
        ),
        Column(
            "change",
            "float64",
            "fraction",
            "Machines against those of the row named beside; NULL likewise.",
            nullable=True,
        ),
        Column("beside", "string", "id", "The row that it is compared with."),
        Column(
            "published",
            "string",
            "id",
            "The change in Google's cells of 2014, as published; empty where there is none.",
        ),
        Column(
            "note",
            "string",
            "id",
            "What must be known to read the row, or why it is not applicable.",
        ),
    ],
)


ALL = tuple(each.name for each in WHAT_IFS)
_COVERED = 0.9
"""Share of the tasks that must have usage."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a compaction may be told.

    Attributes
    ----------
    at
        The moment, µs on the trace's clock.
    what_ifs
        Rows of the table; `ALL` by default.
    policy
        Which machine a task goes to.
    margin
        Reservations are usage and this share more.
    plan
        Estimator of what tasks take, such as ``gpa:0.01``, for the row `planned`; none where empty.  An overcommit
        policy, such as ``overcommit:average``, is what the rest reserves in the rows `reclaimed`, too.
    cores, gib
        Cores and GiB of the largest machine; 0 where not known.
    seeds
        How many orders of machines and jobs.
    seed
        The first of them.
    jobs
        Processes.
    """

    at: int = 0
    what_ifs: Sequence[str] = ALL
    policy: str = "least-stranded"
    margin: float = 0.25
    plan: str = ""
    cores: float = 0.0
    gib: float = 0.0
    seeds: int = 11
    seed: int = 0
    jobs: int = 1

    def __post_init__(self) -> None:
        check_names("--what-if", self.what_ifs, ALL)
        if self.plan and parse_plan(self.plan).is_decaying:
            way_out = "try --what-if reclaimed with --margin"
            raise UsageError(
                "--plan", "nothing decays in one moment", got=self.plan, way_out=way_out
            )
        if self.margin < 0:
            raise UsageError("--margin", "negative", expected="0 or more", got=f"{self.margin:g}")
        parse_policy(self.policy)


def compute(store: Store, tables: EngineTables, options: Setting, report: Report) -> list[Row]:
    """Compact the cell under each what-if.

    Parameters
    ----------
    store, tables
        An open store, and its tables.
    options
        The moment, what-ifs, and how is packed.
    report
        Told how far it is.

    Raises
    ------
    NotApplicable
        Where no task with a known start runs at the moment.
    """
    check_inside(store, options.at)
    machines, tasks = Machines.at(tables, options.at), read_tasks(tables, at=options.at)
    NotApplicable.unless(len(tasks), f"no task with a known start runs at {write_time(options.at)}")
    usage, others = _usage(tables, tasks, options.at)
    allowed = eligible(tables, tasks, machines, options.at)[0]
    demand = Demand(tasks.sizes, tasks.groups, tasks.sets, allowed, extended=tasks.extended)
    workload = Workload(demand, tasks.priority, tasks.jobs, tasks.is_production)
    moment = Moment(workload, usage, tasks.user, options.cores, options.gib, options.margin)
    if options.plan:
        moment = replace(
            moment, plan=plan_of(parse_plan(options.plan), tables, tasks, store, options.at)
        )
    # What others are compared with comes first, asked for or not.
    chosen = [each for each in WHAT_IFS if each.name in options.what_ifs]
    names = {LIMITS, *(each.name for each in chosen), *(each.beside for each in chosen)}
    made: dict[str, Row] = {}
    for each in WHAT_IFS:
        if each.name in names:
            report(each.name, len(made), len(names))
            made[each.name] = _row(each, moment, machines, options, str(store.path))
    rows = [_compared(made[each.name], made[each.beside], each) for each in chosen]
    return [{**row, **_said(tasks, machines, others, row)} for row in rows]


def check_inside(store: Store, at: int) -> None:
    """Refuse a time at which the trace says nothing.

    Raises
    ------
    UsageError
        For a time after the last event of a task.
    """
    last = store.manifest.time_range["instance_events"][1]
    if not 0 <= at <= last:
        way_out = "choose a time inside; 0 is what runs when the trace begins"
        raise UsageError(
            "--at",
            "outside the trace",
            expected=f"0 to {write_time(last)}",
            got=write_time(at),
            way_out=way_out,
        )


def _usage(tables: EngineTables, tasks: Tasks, at: int) -> tuple[Any, int]:
    """Return the mean usage of the windows that cover a time, (n, 2), and how many are of tasks that do not run.

    None for the first where too few tasks have one.
    """
    usage = tables.instance_usage
    covering = usage.filter((usage.start_time <= at) & (usage.end_time > at))
    by_task = covering.group_by("collection_id", "instance_index").aggregate(
        cpu=covering.average_cpu.max(), memory=covering.average_memory.max()
    )
    rows = tables.fetch(by_task.filter(by_task.cpu.notnull() & by_task.memory.notnull()))
    found = values_of(rows, tasks)
    is_known = ~np.isnan(found[:, 0])
    return found if is_known.mean() >= _COVERED else None, rows.num_rows - int(is_known.sum())


def _row(what_if: WhatIf, moment: Moment, machines: Machines, setting: Setting, place: str) -> Row:
    row: Row = {
        "place": WHAT_IFS.index(what_if) + 1,
        "what_if": what_if.name,
        "tasks": len(moment.user),
        **dict.fromkeys(("cells", "machines", "least", "most", "bound")),
        "beside": what_if.beside,
        "published": what_if.published,
        "note": what_if.note,
    }
    try:
        parts = what_if.make(moment, np.random.default_rng(setting.seed))
    except NotApplicable as reason:
        return {**row, "note": f"not applicable: {reason}"}
    seeds = range(setting.seed, setting.seed + setting.seeds)
    # The functions that make cells are no module's: cells are made here, and handed over.
    made = (what_if.make(moment, np.random.default_rng(seed)) for seed in seeds)
    work = partial(_machines, capacity=machines.capacity, policy=parse_policy(setting.policy))
    # Where tasks take room of others their sizes do not add up to what is needed.
    is_shared = any(part.reserved is not None for part in parts)
    totals = list(map_processes(work, zip(seeds, made, strict=True), setting.jobs, place=place))
    return row | {
        "cells": float(sum(len(part.jobs) > 0 for part in parts)),
        "machines": float(np.percentile(totals, 90)),
        "least": float(min(totals)),
        "most": float(max(totals)),
        "bound": None
        if is_shared
        else float(sum(bound(part, machines.capacity) for part in parts)),
    }


def _machines(item: tuple[int, Sequence[Workload]], capacity: Any, policy: Policy) -> int:
    seed, cells = item
    return sum(needed(cell, capacity, seed, policy) for cell in cells)


def _compared(row: Mapping[str, Any], beside: Mapping[str, Any], what_if: WhatIf) -> Row:
    is_known = row["machines"] is not None and beside["machines"]
    return {**row, "change": row["machines"] / beside["machines"] - 1 if is_known else None}


def _said(tasks: Tasks, machines: Machines, others: int, row: Mapping[str, Any]) -> dict[str, str]:
    """Return the note of a row; that of the first says what of the trace could not be used."""
    if row["what_if"] != LIMITS:
        return {}
    said = [
        f"{int((tasks.is_apart).sum()):,} tasks with anti-affinity, {int((tasks.sets > 0).sum()):,} with constraints"
    ]
    if tasks.without_request:
        said.append(f"{tasks.without_request:,} tasks without a request take nothing")
    if machines.without_capacity:
        said.append(f"{machines.without_capacity:,} machines without a capacity left out")
    if others:
        said.append(
            f"{others:,} tasks with usage then have no start in the events and are left out"
        )
    return {"note": "; ".join(said)}


def chart(answer: pa.Table) -> charts.Chart:
    """Draw the machines of each what-if."""
    import altair as alt

    rows = [row for row in answer.to_pylist() if row["machines"] is not None]
    names = ("machines", "what_if", "least", "most", "bound", "change", "published", "note")
    return (
        charts.base(rows, title="Machines that hold the workload", height=24 * len(rows))
        .mark_bar()
        .encode(
            x=alt.X("machines:Q", title="machines"),
            y=alt.Y("what_if:N", title=None),
            tooltip=charts.tooltips(rows, *names),
        )
    )


LIKE_2014 = Scope(
    traces=("2014",),
    is_general=True,
    free=(
        "seed",
        "jobs",
        "at",
        "what_ifs",
        "cores",
        "gib",
    ),
    tables=("tasks",),
)

CLAIMS = [
    Claim(
        "BORG-segregated",
        statement=(
            "production and the rest in cells of their own need 20 to 30 % more machines "
            "(median of 15 cells)"
        ),
        source="Verma et al., EuroSys'15, section 5.2",
        scope=LIKE_2014,
        measure=sql(
            """
        select change
        from answer
        where what_if = 'reclaimed-segregated' and machines is not null
        """,
            otherwise="needs usage: with limits alone no room is reclaimed that could be lost",
        ),
        criterion=between(0.2, 0.3, "20 to 30 %"),
    ),
]

COMPACT = StoreQuestion(
    name="compaction",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    options=Setting,
    chart=chart,
    claims=CLAIMS,
    reads=["machine_events", "instance_events"],
    reference=(
        "Verma et al., EuroSys'15 (Large-scale cluster management at Google with Borg), section 5.1"
    ),
)
"""How many machines would hold what runs at one time: ``COMPACT.run(store, at=0, what_ifs=("limits",))``."""
