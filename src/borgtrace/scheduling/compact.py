"""How few machines would hold the workload of one moment?

Cell compaction: machines are removed at random, and the workload is packed again from nothing until it no longer fits.
A task goes where a + b + 2·|a − b| is smallest, a and b being the shares of CPU and memory that remain (our reading of
Borg's score); ties go to the lowest machine id. The result is the 90th percentile over seeds. Each what-if is such a
result, beside what was published of Google's cells of 2014, which are not in any public trace.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np
import pyarrow as pa

from borgtrace.engine import SparkTasks, tasks_on
from borgtrace.engine.workers import map_workers
from borgtrace.errors import UsageError, check_names
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.notation import WallClock, moment_option, percent, with_stored_sizes
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
from borgtrace.scheduling.compaction import CellWorkload, bound, needed
from borgtrace.scheduling.machine_attributes import read_attributes
from borgtrace.scheduling.machines import Demand
from borgtrace.scheduling.plan import parse_plan, plan_of
from borgtrace.scheduling.policies import (
    PlacementPolicy,
    as_policy,
    attributes_of,
    label_of,
    scores_of,
)
from borgtrace.scheduling.scheduler import Scheduler
from borgtrace.scheduling.whatifs import LIMITS, WHAT_IFS, Moment, WhatIf
from borgtrace.scheduling.workload import (
    KnownMachines,
    TaskAttempts,
    eligible,
    read_tasks,
    values_of,
)
from borgtrace.schema.bounds import (
    MARGIN,
    PROCESSES,
    SEED,
    SEEDS,
    TIME,
    UNIT_OPTIONS,
    UNIT_SIZE,
    check_fields,
)
from borgtrace.schema.time import Microseconds
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
    most_important=[
        "what_if",
        "machines",
        "change",
        "beside",
        "published",
        "tasks",
        "least",
        "most",
        "bound",
    ],
)


ALL = tuple(what_if.name for what_if in WHAT_IFS)
OF_TASKS = ("instance_events", "instance_usage")
COVERED = 0.9
"""Share of the tasks that must have usage."""


@dataclass(frozen=True, slots=True)
class CompactOptions:
    """Options of a compaction.

    Attributes
    ----------
    at
        The moment, µs on the trace's clock.
    what_ifs
        Rows of the table; `ALL` by default.
    policy
        Which machine a task goes to: its name, or an object of :class:`borgtrace.Scheduler`.
    margin
        Share by which reservations exceed the usage.
    plan
        Estimator of what tasks take, such as ``gpa:0.01``, for the row `planned`; none where empty.  An overcommit
        policy, such as ``overcommit:average``, is what the rest reserves in the rows `reclaimed`, too.
    cores, gib
        Cores and GiB of the largest machine; 0 for what the store knows.
    seeds
        How many orders of machines and jobs.
    seed
        The first of them.
    jobs
        Processes.
    """

    at: Annotated[Microseconds, TIME] = 0
    what_ifs: Sequence[str] = ALL
    policy: str | Scheduler | PlacementPolicy = "least-stranded"
    margin: Annotated[float, MARGIN] = 0.25
    plan: str = ""
    cores: Annotated[float, UNIT_SIZE] = 0.0
    gib: Annotated[float, UNIT_SIZE] = 0.0
    seeds: Annotated[int, SEEDS] = 11
    seed: Annotated[int, SEED] = 0
    jobs: Annotated[int, PROCESSES] = 1

    def __post_init__(self) -> None:
        check_names("--what-if", self.what_ifs, ALL)
        if self.plan and parse_plan(self.plan).is_decaying:
            raise UsageError(
                "--plan",
                "nothing decays in one moment",
                got=self.plan,
                way_out="try --what-if reclaimed with --margin",
            )
        check_fields(self, UNIT_OPTIONS)
        policy = as_policy(self.policy)
        if policy.lifetimes:
            raise UsageError(
                "--policy",
                "a moment has no lifetimes",
                expected="a policy that does not ask for them, such as best-fit",
                got=policy.label,
            )


def compute(
    store: Store,
    tables: EngineTables,
    options: CompactOptions,
    report: Report,
) -> list[Row]:
    """Compact the cell under each what-if.

    Parameters
    ----------
    store, tables
        An open store, and its tables.
    options
        The moment, what-ifs, and how to pack.
    report
        Called with the progress.

    Raises
    ------
    NotApplicable
        Where no task with a known start runs at the moment.
    """
    check_inside(store, options.at)
    clock = WallClock.of(store.manifest)
    options = with_stored_sizes(options, store.manifest)
    machines = KnownMachines.at(tables, options.at)
    tasks = read_tasks(tables, at=options.at)
    NotApplicable.unless(
        len(tasks), f"no task with a known start runs at {clock.moment(options.at)}"
    )
    usage = usage_at(tables, tasks, options.at)
    moment = moment_of(store, tables, options, machines, tasks, usage)

    chosen = [what_if for what_if in WHAT_IFS if what_if.name in options.what_ifs]
    # The rows that others are compared with come first, asked for or not.
    names = {LIMITS}
    for what_if in chosen:
        names |= {what_if.name, what_if.beside}
    row_of: dict[str, Row] = {}
    for what_if in WHAT_IFS:
        if what_if.name in names:
            report(what_if.name, len(row_of), len(names))
            row_of[what_if.name] = row_of_what_if(
                what_if,
                moment,
                machines,
                options,
                place=str(store.path),
                workers=tasks_on(tables.engine, store.memory) or options.jobs,
            )
    rows = []
    for what_if in chosen:
        row = row_of[what_if.name]
        row = {**row, "change": change_of(row, row_of[what_if.beside])}
        if what_if.name == LIMITS:
            row["note"] = describe_moment(tasks, machines, usage)
        rows.append(row)
    return rows


def check_inside(store: Store, at: int) -> None:
    """Refuse a time at which the trace says nothing.

    Raises
    ------
    UsageError
        For a time after the last event of a task, and after its last usage.
    """
    time_range = store.manifest.time_range
    # Own usage without events: tasks begin with it, and have no end.
    last = max(time_range[table][1] for table in OF_TASKS if table in time_range)
    clock = WallClock.of(store.manifest)
    if not 0 <= at <= last:
        raise UsageError(
            "--at",
            "outside the trace",
            expected=f"0 to {moment_option(last)} ({clock.moment(last)})",
            got=moment_option(at),
            way_out="choose a time inside; 0 is what runs when the trace begins",
        )


class UsageAtMoment(NamedTuple):
    """Mean usage of the windows that cover a moment.

    Attributes
    ----------
    values
        float64 (n, 2), NaN where none was measured; None where too few tasks have one.
    n_others
        How many tasks with usage do not run by the events.
    """

    values: Numbers | None
    n_others: int


def usage_at(
    tables: EngineTables,
    tasks: TaskAttempts,
    at: int,
) -> UsageAtMoment:
    """Read the mean usage of tasks at a moment."""
    usage = tables.instance_usage
    covering = usage.filter((usage.start_time <= at) & (usage.end_time > at))
    by_task = covering.group_by("collection_id", "instance_index").aggregate(
        cpu=covering.average_cpu.max(),
        memory=covering.average_memory.max(),
    )
    rows = tables.fetch(by_task.filter(by_task.cpu.notnull() & by_task.memory.notnull()))
    values = values_of(rows, tasks)
    is_known = ~np.isnan(values[:, 0])
    is_enough = is_known.mean() >= COVERED
    return UsageAtMoment(values if is_enough else None, rows.num_rows - int(is_known.sum()))


def moment_of(
    store: Store,
    tables: EngineTables,
    options: CompactOptions,
    machines: KnownMachines,
    tasks: TaskAttempts,
    usage: UsageAtMoment,
) -> Moment:
    """Return what the what-ifs are made from."""
    demand = Demand(
        sizes=tasks.sizes,
        groups=tasks.groups,
        sets=tasks.sets,
        allowed=eligible(tables, tasks, machines, options.at).allowed,
        extended=tasks.extended,
        priority=tasks.priority,
        attributes=read_attributes(
            tables, attributes_of([as_policy(options.policy)]), machines.ids, options.at
        ).first,
    )
    plan = None
    if options.plan:
        plan = plan_of(parse_plan(options.plan), tables, tasks, store, options.at)
    return Moment(
        workload=CellWorkload(demand, tasks.priority, tasks.jobs, tasks.is_production),
        usage=usage.values,
        user=tasks.user,
        cores=options.cores,
        gib=options.gib,
        margin=options.margin,
        plan=plan,
    )


def row_of_what_if(
    what_if: WhatIf,
    moment: Moment,
    machines: KnownMachines,
    options: CompactOptions,
    *,
    place: str,
    workers: int | SparkTasks = 1,
) -> Row:
    """Compact the cells of one what-if with all seeds; `place` is what errors of worker processes name."""
    row: Row = {
        "place": WHAT_IFS.index(what_if) + 1,
        "what_if": what_if.name,
        "tasks": len(moment.user),
        "cells": None,
        "machines": None,
        "least": None,
        "most": None,
        "bound": None,
        "beside": what_if.beside,
        "published": what_if.published,
        "note": what_if.note,
    }
    try:
        cells = what_if.make(moment, np.random.default_rng(options.seed))
    except NotApplicable as reason:
        return {**row, "note": f"not applicable: {reason}"}
    totals = machines_of_seeds(what_if, moment, machines, options, place=place, workers=workers)
    row |= {
        "cells": float(sum(len(cell.jobs) > 0 for cell in cells)),
        "machines": float(np.percentile(totals, 90)),
        "least": float(min(totals)),
        "most": float(max(totals)),
    }
    # Where tasks take room of others their sizes do not add up to what is needed.
    if not any(cell.reserved is not None for cell in cells):
        row["bound"] = float(sum(bound(cell, machines.capacity) for cell in cells))
    return row


def machines_of_seeds(
    what_if: WhatIf,
    moment: Moment,
    machines: KnownMachines,
    options: CompactOptions,
    *,
    place: str,
    workers: int | SparkTasks,
) -> list[int]:
    """Return how many machines are needed with each seed."""
    seeds = range(options.seed, options.seed + options.seeds)
    # Closures cannot be pickled: cells are made here, and handed to the processes.
    cells_of_seeds = (what_if.make(moment, np.random.default_rng(seed)) for seed in seeds)
    count = partial(
        count_machines,
        capacity=machines.capacity,
        policy=as_policy(options.policy),
        store=place,
    )
    seeded_cells = zip(seeds, cells_of_seeds, strict=True)
    return list(map_workers(count, seeded_cells, workers, place=place))


def count_machines(
    seeded_cells: tuple[int, Sequence[CellWorkload]],
    *,
    capacity: Index,
    policy: PlacementPolicy,
    store: str,
) -> int:
    """Return how many machines hold some cells, each on its own."""
    seed, cells = seeded_cells
    return sum(needed(cell, capacity, seed, policy, store=store) for cell in cells)


def change_of(row: Row, beside: Row) -> float | None:
    """Return the machines of a row against those of another."""
    if row["machines"] is None or not beside["machines"]:
        return None
    return row["machines"] / beside["machines"] - 1


def describe_moment(
    tasks: TaskAttempts,
    machines: KnownMachines,
    usage: UsageAtMoment,
) -> str:
    """Say how many tasks have constraints, and what of the trace could not be used."""
    n_apart = int(tasks.is_apart.sum())
    n_constrained = int((tasks.sets > 0).sum())
    notes = []
    if n_apart or n_constrained:
        notes.append(f"{n_apart:,} tasks with anti-affinity, {n_constrained:,} with constraints")
    if tasks.without_request:
        notes.append(f"{tasks.without_request:,} tasks without a request take nothing")
    if machines.without_capacity:
        notes.append(f"{machines.without_capacity:,} machines without a capacity left out")
    if usage.n_others:
        notes.append(
            f"{usage.n_others:,} tasks with usage then have no start in the events and are left out"
        )
    return "; ".join(notes)


def machines_in_words(answer: pa.Table) -> str:
    """Return how many machines hold the tasks by their limits, and by what saves most of them; and what does not apply.

    Parameters
    ----------
    answer
        Rows of this question.
    """
    all_rows = answer.to_pylist()
    rows = [row for row in all_rows if row["machines"] is not None]
    refusals = refusals_in_words([row for row in all_rows if row["machines"] is None])
    if not rows:
        return "\n".join(["No what-if of those asked for is applicable.", *refusals])
    first = rows[0]
    tasks = "1 task needs" if first["tasks"] == 1 else f"{first['tasks']:,} tasks need"
    noun = "machine" if first["machines"] == 1 else "machines"
    way = first["what_if"]
    if first["least"] != first["most"]:
        # Without it, one task on two machines looks like a mistake: the first that is tried may be too small.
        way += f", {first['least']:,.0f} to {first['most']:,.0f} by the order of the machines"
    text = f"{tasks} {first['machines']:,.0f} {noun} ({way})"
    saving = [row for row in rows[1:] if row["change"] is not None and row["change"] < 0]
    for row in sorted(saving, key=lambda row: row["change"])[:2]:
        text += f"; {row['machines']:,.0f} with {row['what_if']} ({percent(row['change'])})"
    # The answer comes last: that is what a terminal still shows.
    return "\n".join([*refusals, f"{text}."])


def refusals_in_words(rows: Sequence[Row]) -> list[str]:
    """Return a line for each reason why what-ifs do not apply, with their names.

    Parameters
    ----------
    rows
        Of the what-ifs that do not apply.
    """
    names_by_reason: dict[str, list[str]] = {}
    for row in rows:
        names_by_reason.setdefault(row["note"], []).append(row["what_if"])
    return [f"{', '.join(names)}: {reason}." for reason, names in names_by_reason.items()]


def chart(answer: pa.Table) -> charts.Chart:
    """Draw the machines of each what-if."""
    import altair as alt

    rows = [row for row in answer.to_pylist() if row["machines"] is not None]
    names = ("machines", "what_if", "least", "most", "bound", "change", "published", "note")
    return (
        charts.base(
            rows,
            title="Machines that hold the workload",
            height=24 * len(rows),
        )
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
            "select change from answer where what_if = 'reclaimed-segregated' and machines is not null",
            otherwise="needs usage: with limits alone no room is reclaimed that could be lost",
        ),
        criterion=between(0.2, 0.3, "20 to 30 %"),
    ),
]


def named_scheduler(options: CompactOptions) -> dict[str, Callable[..., Any]]:
    """Return the score of a scheduler that is not ours, by its name.

    Parameters
    ----------
    options
        Of the compaction.
    """
    return scores_of([as_policy(options.policy)])


class CompactQuestion(StoreQuestion):
    """The question of cell compaction, whose policy may be an object."""

    def recorded_parameters(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Name a scheduler that was given as an object by its label."""
        return {**parameters, "policy": label_of(parameters["policy"])}


COMPACT = CompactQuestion(
    name="compaction",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    options=CompactOptions,
    code=named_scheduler,
    chart=chart,
    claims=CLAIMS,
    sentence=machines_in_words,
    reads=["machine_events", "instance_events"],
    reference=(
        "Verma et al., EuroSys'15 (Large-scale cluster management at Google with Borg), section 5.1"
    ),
)
"""How many machines would hold what runs at one time: ``COMPACT.run(store, at=0, what_ifs=("limits",))``."""
