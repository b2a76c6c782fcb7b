"""How few machines would hold the workload of one moment?

Cell compaction: machines are removed at random, and the workload is packed again from nothing until it no longer fits.
A task goes where a + b + 2·|a − b| is smallest, a and b being the shares of CPU and memory that remain (our reading of
Borg's score); ties go to the lowest machine id. The result is the 90th percentile over seeds. Each what-if is such a
result, beside what was published of Google's cells of 2014, which are not in any public trace.

Reference: Verma et al., EuroSys'15 (Large-scale cluster management at Google with Borg), section 5.1
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from borgtrace.engine.processes import map_processes
from borgtrace.errors import UsageError, check_names
from borgtrace.question import EngineTables, NotApplicable, Row
from borgtrace.question.charts import WIDTH, Chart, Plot, axis, bar
from borgtrace.question.store_question import StoreQuestion
from borgtrace.scheduling.compaction import Workload, bound, needed
from borgtrace.scheduling.machines import Demand
from borgtrace.scheduling.plan import parse_plan, plan_of
from borgtrace.scheduling.policies import Policy, parse_policy
from borgtrace.scheduling.whatifs import LIMITS, WHAT_IFS, Moment, WhatIf
from borgtrace.scheduling.workload import Machines, Tasks, eligible, read_tasks, values_of
from borgtrace.schema.time import write_time
from borgtrace.store import Store

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Compact(StoreQuestion):
    """The table as a question: ``COMPACT.run(store, at=0, what_ifs=("limits",))``."""

    setting = Setting

    def answer(self, store: Store, tables: EngineTables, setting: Setting) -> list[Row]:
        """Compact the cell under each what-if; see the base."""
        check_inside(store, setting.at)
        machines, tasks = Machines.at(tables, setting.at), read_tasks(tables, at=setting.at)
        NotApplicable.unless(
            len(tasks), f"no task with a known start runs at {write_time(setting.at)}"
        )
        usage, others = _usage(tables, tasks, setting.at)
        allowed = eligible(tables, tasks, machines, setting.at)[0]
        demand = Demand(tasks.sizes, tasks.groups, tasks.sets, allowed, extended=tasks.extended)
        workload = Workload(demand, tasks.priority, tasks.jobs, tasks.is_production)
        moment = Moment(workload, usage, tasks.user, setting.cores, setting.gib, setting.margin)
        if setting.plan:
            moment = replace(
                moment, plan=plan_of(parse_plan(setting.plan), tables, tasks, store, setting.at)
            )
        # What others are compared with comes first, asked for or not.
        chosen = [each for each in WHAT_IFS if each.name in setting.what_ifs]
        names = {LIMITS, *(each.name for each in chosen), *(each.beside for each in chosen)}
        made: dict[str, Row] = {}
        for each in WHAT_IFS:
            if each.name in names:
                self.report(each.name, len(made), len(names))
                made[each.name] = _row(each, moment, machines, setting, str(store.path))
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


def plot(result: pa.Table) -> Chart:
    """Draw the machines of each what-if."""
    rows = [row for row in result.to_pylist() if row["machines"] is not None]
    plotted = Plot(rows, result, x=axis("machines"), y="what_if")
    plotted.add(bar(), tips=("least", "most", "bound", "change", "published", "note"))
    return plotted.draw("Machines that hold the workload", width=WIDTH, height=24 * len(rows))


COMPACT = Compact.declared(
    _row, name="compaction", plot=plot, reads=("machine_events", "instance_events")
)
"""How many machines would hold what runs at one time?"""
