"""The fleets that can be bought for what runs at a moment: of one node type each, and the cheapest mix found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from borgtrace.advice.fleets import Fleet, FleetPacker
from borgtrace.advice.node_types import BUILT_IN_SOURCE, NodeType, read_node_types
from borgtrace.advice.options import AdviceOptions
from borgtrace.advice.packed_moment import NOT_TODAY, PackedMoment
from borgtrace.kernels.arrays import Flags
from borgtrace.notation import percent
from borgtrace.question import EngineTables, Row
from borgtrace.question.store_question import Report
from borgtrace.scheduling.compaction import CellWorkload
from borgtrace.scheduling.machines import EXTENDED, UNIT, Demand
from borgtrace.scheduling.plan import parse_plan, plan_of
from borgtrace.scheduling.workload import TaskAttempts, eligible
from borgtrace.store import Store

MIX = "cheapest mix"
NEARLY_EVERY_MACHINE = 0.8
"""A job with a task on so many of the machines, and two on none, is one of every node (a daemonset)."""


def rows_of_types(
    store: Store,
    tables: EngineTables,
    moment: PackedMoment,
    options: AdviceOptions,
    report: Report,
) -> Iterator[Row]:
    """Yield the fleets that can be bought; nothing where the size of the largest machine is not known."""
    if not (options.cores and options.gib):
        return
    types = read_node_types(options.prices)
    packer, assumed = packer_of(store, tables, moment, options)
    source = options.prices.name if options.prices else BUILT_IN_SOURCE
    note = f"{assumed}; {source}"
    by_name = {kind.name: kind for kind in types}
    for number, kind in enumerate(types):
        report(f"packing on {kind.name}", number, len(types) + 1)
        fleet = packer.fleet_of(kind)
        yield row_of_fleet(kind.name, fleet, by_name, moment, packer, note)
    report(f"packing on the {MIX}", len(types), len(types) + 1)
    yield row_of_fleet(MIX, packer.cheapest_mix(types), by_name, moment, packer, note)


def packer_of(
    store: Store,
    tables: EngineTables,
    moment: PackedMoment,
    options: AdviceOptions,
) -> tuple[FleetPacker, str]:
    """Return what packs the promised shares on nodes, and what it assumes, in words."""
    tasks = moment.tasks
    demand = Demand(
        sizes=plan_of(parse_plan(moment.plan), tables, tasks, store, moment.at).sizes,
        groups=tasks.groups,
        sets=tasks.sets,
        allowed=eligible(tables, tasks, moment.machines, moment.at).allowed,
    )
    workload = CellWorkload(demand, tasks.priority, tasks.jobs, tasks.is_production)
    everywhere = on_nearly_every_machine(tasks, len(moment.machines.ids))
    on_each_node = np.zeros(EXTENDED, np.int64)
    jobs = np.unique(tasks.jobs[everywhere])
    for job in jobs:
        on_each_node += demand.sizes[everywhere & (tasks.jobs == job)].max(axis=0)
    packer = FleetPacker(
        workload=workload.of(~everywhere),
        cores=options.cores,
        gib=options.gib,
        headroom=options.headroom,
        on_each_node=on_each_node,
        pods_per_node=options.pods_per_node,
        n_on_each_node=len(jobs),
        seed=options.seed,
    )
    assumed = [f"{percent(options.headroom)} of each node free"]
    if len(jobs):
        cpu, memory = on_each_node / UNIT * [options.cores, options.gib]
        assumed.append(f"{len(jobs)} on each node: {cpu:.3g} cores, {memory:.3g} GiB")
    assumed.append(f"at most {options.pods_per_node} tasks a node")
    return packer, ", ".join(assumed)


def on_nearly_every_machine(tasks: TaskAttempts, n_machines: int) -> Flags:
    """Return which tasks are of jobs with one on nearly every machine, and two on none: bool (n,)."""
    is_placed = tasks.machine >= 0
    pairs = np.unique(np.column_stack([tasks.jobs, tasks.machine])[is_placed], axis=0)
    n_jobs = int(tasks.jobs.max(initial=-1)) + 1
    n_machines_of_job = np.bincount(pairs[:, 0], minlength=n_jobs)
    n_tasks_of_job = np.bincount(tasks.jobs, minlength=n_jobs)
    is_everywhere = (n_machines_of_job == n_tasks_of_job) & (
        n_machines_of_job >= max(NEARLY_EVERY_MACHINE * n_machines, 2)
    )
    return np.asarray(is_everywhere[tasks.jobs])


def row_of_fleet(
    name: str,
    fleet: Fleet | None,
    types: Mapping[str, NodeType],
    moment: PackedMoment,
    packer: FleetPacker,
    note: str,
) -> Row:
    """Return a fleet of node types as a row."""
    row: Row = {
        "fleet": name,
        "at": moment.at,
        "tasks": len(packer.workload.jobs),
        "nodes": None,
        "cores": None,
        "gib": None,
        "price_per_hour": None,
        **NOT_TODAY,
        "mix": "",
        "note": "a task fits no such node",
    }
    if fleet is None:
        return row
    nodes = fleet.nodes
    return row | {
        "nodes": fleet.n_nodes,
        "cores": sum(types[kind].cores * n for kind, n in nodes.items()),
        "gib": sum(types[kind].gib * n for kind, n in nodes.items()),
        "price_per_hour": round(fleet.price, 6),
        "mix": ", ".join(f"{n} {kind}" for kind, n in nodes.items()) if name == MIX else "",
        "note": note,
    }
