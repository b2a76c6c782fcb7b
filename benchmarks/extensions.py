"""Ideas of users beside ours: a peak policy, a scheduler, and steps of the environment for learners.

Processor time of one thread, since others may use the machine; every kernel is compiled before it is measured.  The
policies replay the made machines of `overcommit.py`; the scheduler and the environment play the trace of a store.

    python benchmarks/extensions.py [STORE]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "extend"))
from compiled_n_sigma import CompiledNSigma
from keeps_no_longer import SCHEDULER as KEEPS_NO_LONGER
from recent_peak import RecentPeak

import borgtrace
from borgtrace import Scheduler
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.overcommit.policies import parse_policy
from borgtrace.question import EngineTables
from borgtrace.rl import PlacementEnv, Scenario
from borgtrace.scheduling.lifetimes import predictions_of
from borgtrace.scheduling.policies import PlacementPolicy, as_policy
from borgtrace.scheduling.replay import ScheduleInput, calibrated, replayed
from borgtrace.scheduling.state import ATTEMPT, RAN_ON, STARTED
from borgtrace.synth import generate
from overcommit import machine

MACHINES = 60
SLOTS = 2016
STEPS = 300_000


def left_over(task: Any, machine: Any) -> float:
    """Score what is left of a machine, as our best fit does."""
    cpu_left = (machine.cpu_free - task.cpu) / machine.cpu_capacity
    memory_left = (machine.memory_free - task.memory) / machine.memory_capacity
    return cpu_left + memory_left


def seconds(function: Callable[[], Any]) -> float:
    """Return processor seconds of the fastest of three runs."""
    durations = []
    for _ in range(3):
        begin = time.process_time()
        function()
        durations.append(time.process_time() - begin)
    return min(durations)


def policies() -> None:
    """Print samples a second of our N-sigma, of one in compiled loops and of a policy in plain NumPy."""
    blocks = [machine(seed, SLOTS, is_short=False) for seed in range(MACHINES)]
    n = sum(len(block.all) for block in blocks)
    for name, policy in (
        ("ours: nsigma", parse_policy("nsigma:warmup=2h")),
        ("a user's N-sigma, compiled loops", CompiledNSigma()),
        ("a user's recent peak, plain NumPy", RecentPeak()),
    ):
        policy.predict(blocks[0])
        spent = seconds(lambda policy=policy: [policy.predict(block) for block in blocks])
        print(f"{name}: {n / spent / 1e6:.1f} M samples/s", flush=True)


def schedulers(store: borgtrace.Store) -> None:
    """Print starts a second with our best fit, and with the same score written by a user."""
    tables = EngineTables.of(store)
    trace = ScheduleInput.of(tables, store.manifest.time_range["instance_events"][1])
    factor = calibrated(trace)
    scheduler = as_policy(Scheduler(name="left-over", about="what is left", score=left_over))
    best_fit = as_policy("best-fit")
    rates = []
    # In turn: what else the machine does slows both.
    for _ in range(3):
        ours, _ = starts_per_second("ours: best-fit", trace, best_fit, factor)
        theirs, _ = starts_per_second("a user's", trace, scheduler, factor)
        rates.append((ours, theirs))
    ours, theirs = (max(of_policy) for of_policy in zip(*rates, strict=True))
    print(f"a user's ÷ ours: {theirs / ours:.2f}")
    _, our_rows = starts_per_second("ours: nilas", trace, as_policy("nilas"), factor)
    user_nilas = as_policy(KEEPS_NO_LONGER)
    _, their_rows = starts_per_second("a user's NILAS", trace, user_nilas, factor)
    print(f"a user's NILAS chooses as ours for {alike(our_rows, their_rows):.2%} of the attempts")


def starts_per_second(
    name: str, trace: ScheduleInput, policy: PlacementPolicy, factor: float
) -> tuple[float, Any]:
    """Print and return starts a second, and return the rows of the schedule."""
    predictions = predictions_of(policy.lifetimes, trace.runs) if policy.lifetimes else None
    replay = partial(replayed, trace, policy, factor, predictions=predictions)
    rows = replay()
    n_starts = int((rows[:, STARTED] >= 0).sum())
    rate = n_starts / seconds(replay)
    print(f"{name}: {n_starts:,} starts, {rate:,.0f} a second", flush=True)
    return rate, rows


def alike(rows: Any, others: Any) -> float:
    """Return the share of attempts of either schedule whose first start is on the same machine in both."""
    attempts = []
    machines = []
    for schedule in (rows, others):
        names, first = np.unique(schedule[:, ATTEMPT], return_index=True)
        attempts.append(names)
        machines.append(schedule[first, RAN_ON])
    _, left, right = np.intersect1d(*attempts, assume_unique=True, return_indices=True)
    n_either = len(attempts[0]) + len(attempts[1]) - len(left)
    return float((machines[0][left] == machines[1][right]).sum() / n_either)


def steps(store: borgtrace.Store) -> None:
    """Print steps a second of the environment, with a random policy that keeps to the mask."""
    env = PlacementEnv(Scenario.of(store))
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    # Compiled.
    env.step(int(rng.integers(env.action_masks().sum())))
    n_steps = 0
    is_over = False
    begin = time.process_time()
    while n_steps < STEPS and not is_over:
        # Places that hold a machine come first.
        action = int(rng.random() * env.action_masks().sum())
        _, _, is_over, _, _ = env.step(action)
        n_steps += 1
    spent = time.process_time() - begin
    print(f"environment: {n_steps:,} steps, {n_steps / spent:,.0f} a second")


def made_store(folder: Path) -> Path:
    """Return a store of a made cell."""
    generate(folder / "raw", "2011", 200, 24.0, 1)
    ingest([folder / "raw"], folder / "store", IngestOptions(jobs=1))
    return folder / "store"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("store", nargs="?", help="A made cell of 200 machines by default.")
    given = parser.parse_args()
    policies()
    with tempfile.TemporaryDirectory() as folder:
        store = borgtrace.open(given.store or made_store(Path(folder)))
        schedulers(store)
        steps(store)


if __name__ == "__main__":
    main()
