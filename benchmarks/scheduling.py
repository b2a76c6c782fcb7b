"""Placements a second on a real snapshot and in the order of the trace, one compaction, and the replay of all events.

One thread.  In the order of the trace tasks take a quarter of what they ask for and 6 % of them have planted
constraints, each met by half of the machines: hardly any waits, and arrivals, placements and releases are measured.

Processor time, since others may use the machine; every kernel is compiled before it is measured.  Published simulators
place tens to hundreds of jobs a second: FGD about 15 to 20 pods, MARO 43 to 95 virtual machines, CloudSim Plus 53 to
641 tasks, the PAI simulator 181 to 393 jobs (their own logs and papers, on other machines).

    python benchmarks/scheduling.py STORE [--policy best-fit --policy best-fit+preempt]
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import borgtrace
from borgtrace.question import EngineTables
from borgtrace.scheduling import parse_policy
from borgtrace.scheduling.compaction import CellWorkload, needed, order_of
from borgtrace.scheduling.machines import Demand
from borgtrace.scheduling.packing import pack
from borgtrace.scheduling.replay import ScheduleInput, calibrated, replayed
from borgtrace.scheduling.workload import KnownMachines, read_tasks


def seconds(function: Callable[[], Any]) -> tuple[float, Any]:
    function()
    start = time.process_time()
    found = function()
    return time.process_time() - start, found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("store")
    parser.add_argument("--policy", action="append")
    given = parser.parse_args()
    store = borgtrace.open(given.store)
    tables = EngineTables.of(store)
    machines = KnownMachines.at(tables, 0)
    tasks = read_tasks(tables, at=0)
    workload = CellWorkload(
        Demand(tasks.sizes, tasks.groups, tasks.sets),
        tasks.priority,
        tasks.jobs,
        tasks.is_production,
    )
    free = workload.without_constraints()
    rng = np.random.default_rng(0)
    lines = np.concatenate([rng.permutation(len(machines.ids)) for _ in range(2)])[
        : round(1.18 * len(machines.ids))
    ]
    capacity = machines.capacity[lines]
    rank = np.arange(len(lines))
    in_order = order_of(free, rng)
    shuffled = rng.permutation(len(tasks))
    for name, demand, order in (
        ("job order", free.demand, in_order),
        ("job order, anti-affinity", workload.demand, in_order),
        ("shuffled", free.demand, shuffled),
    ):
        for text in ("best-fit", "least-stranded"):
            parts = (demand, order, capacity, rank, parse_policy(text))
            spent, (_, pending) = seconds(lambda parts=parts: pack(*parts))
            placed = len(order) - pending
            print(
                f"{text}, {name}: {placed / spent:,.0f} placements/s, {pending:,} pending",
                flush=True,
            )
    spent, found = seconds(lambda: needed(free, machines.capacity, 0))
    print(f"a compaction to {found:,} machines: {spent:.1f} s", flush=True)
    trace = ScheduleInput.of(tables, store.manifest.time_range["instance_events"][1])
    tasks = trace.tasks
    size = len(trace.tasks)
    sets = np.where(rng.random(size) < 0.06, rng.integers(1, 9, size), 0)
    eased = replace(
        trace,
        tasks=replace(tasks, sets=sets, sizes=tasks.sizes // 4),
        allowed=rng.random((8, len(trace.machines.ids))) < 0.5,
    )
    spent, rows = seconds(lambda: replayed(eased, parse_policy("best-fit"), 1.0))
    starts = rows[:, 2] >= 0
    late = rows[:, 2] > rows[:, 1]
    print(
        f"trace order, releases, constraints: {starts.sum() / spent:,.0f} placements/s, {late.sum():,} late",
        flush=True,
    )
    factor = calibrated(trace)
    for text in given.policy or ("best-fit", "best-fit+preempt"):
        policy = parse_policy(text)
        for is_whole in (False, True):
            spent, rows = seconds(
                lambda a=(trace, policy, factor), b=is_whole: replayed(*a, whole_jobs=b)
            )
            what = f"replay with {text}{', whole jobs' if is_whole else ''}"
            print(f"{what}: {spent:.1f} s, {(rows[:, 2] >= 0).sum():,} starts", flush=True)


if __name__ == "__main__":
    main()
