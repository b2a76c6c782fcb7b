"""FGD's experiments: CPU time of a run by each policy, and of the whole table; and the runs with departures.

Five workloads × six policies × ten runs, on the files of FGD's experiments, with the arrivals of its published runs
where the folder has them.  Processor time, since others may use the machine; every kernel is compiled before it is
measured.  The authors state about ten minutes a run on two cores.

    python benchmarks/gpu_scheduling.py [FOLDER] [--jobs 2]
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from borgtrace import Scheduler
from borgtrace.scheduling.gpus import GPU_POLICIES, GPU_QUEUE, GPU_SCHEDULING, open_folder
from borgtrace.scheduling.gpus.fgd_results import POLICIES
from borgtrace.scheduling.gpus.own_policy import policy_of
from borgtrace.scheduling.gpus.workload import columns_of_run

OPENB = Path(__file__).parents[2] / "shared" / "trace" / "openb"


def left_over(task: Any, machine: Any) -> float:
    """Score what is left of a node, as our best fit does."""
    return (machine.cpu_free - task.cpu) / 2 + (machine.gpu_free - task.gpu) / 16


OWN = policy_of(Scheduler(name="own", about="a user's best fit", score=left_over))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", default=OPENB)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    if not given.folder.is_dir():
        sys.exit(f"no files of FGD's experiments in {given.folder}")
    folder = open_folder(given.folder)
    workloads = folder.workloads()
    for name, policy in {**GPU_POLICIES, OWN.name: OWN}.items():
        start = time.process_time()
        columns_of_run(workloads[0], policy, "rank", 42)
        print(f"{name}, first run of the process: {time.process_time() - start:.2f} s", flush=True)
        for workload in workloads:
            spent = []
            for seed in range(42, 47):
                start = time.process_time()
                columns_of_run(workload, policy, "rank", seed)
                spent.append(time.process_time() - start)
            print(f"{name}, {workload.name}: {min(spent):.3f}-{max(spent):.3f} s a run", flush=True)
    start = time.process_time()
    table = GPU_SCHEDULING.run(folder, policies=POLICIES)
    n_holding = sum(finding.verdict == "holds" for finding in table.findings)
    print(
        f"whole table, one process: {time.process_time() - start:.1f} s of CPU; "
        f"{n_holding} of {len(table.findings)} published means hold",
        flush=True,
    )
    began = time.perf_counter()
    GPU_SCHEDULING.run(folder, policies=POLICIES, jobs=given.jobs)
    print(f"whole table, {given.jobs} processes: {time.perf_counter() - began:.1f} s", flush=True)
    start = time.process_time()
    days = GPU_QUEUE.run(folder, nodes=0.02)
    print(f"departures, 2 policies: {time.process_time() - start:.1f} s; {days.sentence}")


if __name__ == "__main__":
    main()
