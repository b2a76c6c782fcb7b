"""Schedulers that know how long tasks last, beside best fit: machines left empty, stranded room, placements a second.

Processor time of one thread, since others may use the machine; every kernel is compiled before it is measured.  The
store is one of any trace; ``--packing`` makes one of the rows of a bin-packing instance (index, start and end in
minutes, size in percent), such as those of Azure's trace for packing, with so many machines of size 100.

    python benchmarks/lifetimes.py STORE [--factor 0.25] [--policy nilas:lifetimes=oracle]
    python benchmarks/lifetimes.py STORE --packing packing_10000_24_1.txt.gz --machines 120
"""

import argparse
import gzip
import tempfile
import time
from pathlib import Path

import borgtrace
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.question import EngineTables
from borgtrace.scheduling import EMPTY_MACHINES, ScheduleInput, parse_policy
from borgtrace.scheduling.lifetimes import predictions_of, read_labels
from borgtrace.scheduling.replay import calibrated, replayed

POLICIES = (
    "best-fit",
    "nilas:lifetimes=oracle",
    "nilas:lifetimes=learned",
    "nilas:lifetimes=learned-once",
    "lava:lifetimes=oracle",
    "lava:lifetimes=learned",
    "lava:lifetimes=learned-once",
)
COLUMNS = """
name = "packing-rows"
clock = "relative"
[tasks]
task = "task"
start = { column = "start", unit = "min" }
end = { column = "end", unit = "min" }
cpu_request = { column = "size", unit = "cores" }
memory_request = { column = "size", unit = "GiB" }
[machines]
machine = "machine"
cpu = { column = "cores", unit = "cores" }
memory = { column = "gib", unit = "GiB" }
"""


def make_packing_store(rows: Path, machines: int, store: Path) -> None:
    """Make a store of a bin-packing instance: a size is as much CPU as memory."""
    with tempfile.TemporaryDirectory() as folder, gzip.open(rows, "rt") as instance:
        next(instance)
        tasks = Path(folder, "tasks.csv")
        with tasks.open("w") as file:
            print("task,start,end,size", file=file)
            for line in instance:
                print(*line.split(), sep=",", file=file)
        nodes = Path(folder, "machines.csv")
        with nodes.open("w") as file:
            print("machine,cores,gib", file=file)
            for number in range(machines):
                print(f"m{number},100,100", file=file)
        columns = Path(folder, "columns.toml")
        columns.write_text(COLUMNS)
        ingest([tasks, nodes], store, IngestOptions(dialect=str(columns)))


def placements_per_second(trace: ScheduleInput, policy: str, factor: float, labels) -> float:
    parsed = parse_policy(policy)
    predictions = predictions_of(parsed.lifetimes, trace.runs, labels) if parsed.lifetimes else None
    replayed(trace, parsed, factor, predictions=predictions)
    start = time.process_time()
    rows = replayed(trace, parsed, factor, predictions=predictions)
    return (rows[:, 2] >= 0).sum() / (time.process_time() - start)


def shown(row: dict, name: str) -> str:
    change = row[f"{name}_change"]
    return f"{row[name]:.2%} ({change:+.1%})" if change is not None else f"{row[name]:.2%}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("store", type=Path)
    parser.add_argument("--factor", type=float, default=0.0)
    parser.add_argument("--policy", action="append")
    parser.add_argument("--packing", type=Path)
    parser.add_argument("--machines", type=int, default=100)
    given = parser.parse_args()
    if given.packing:
        make_packing_store(given.packing, given.machines, given.store)
    store = borgtrace.open(given.store)
    tables = EngineTables.of(store)
    trace = ScheduleInput.of(tables, store.manifest.time_range["instance_events"][1])
    factor = given.factor or calibrated(trace)
    labels = read_labels(tables, trace.tasks)
    policies = tuple(given.policy or POLICIES)
    answer = EMPTY_MACHINES.run(store, policies=policies, factor=factor)
    print(
        f"factor {factor:.3f}, {len(trace.tasks):,} attempts, {len(trace.machines.ids):,} machines"
    )
    print("| policy | empty | points | stranded CPU | stranded memory | waiting h | placements/s |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for row in answer.table.to_pylist():
        points = ""
        if row["gain"] is not None:
            points = f"{100 * row['gain']:+.2f}"
        if row["gain_low"] is not None:
            points += f" [{100 * row['gain_low']:.2f}, {100 * row['gain_high']:.2f}]"
        speed = placements_per_second(trace, row["policy"], factor, labels)
        cells = (
            row["policy"],
            f"{row['empty']:.2%}",
            points,
            shown(row, "stranded_cpu"),
            shown(row, "stranded_memory"),
            f"{row['waiting_hours']:,.0f}",
            f"{speed:,.0f}",
        )
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
