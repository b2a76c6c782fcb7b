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
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "extend"))
from compiled_n_sigma import CompiledNSigma
from recent_peak import RecentPeak

import borgtrace
from borgtrace import Scheduler
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.overcommit.policies import parse_policy
from borgtrace.question import EngineTables
from borgtrace.rl import PlacementEnv, Scenario
from borgtrace.scheduling.policies import as_policy
from borgtrace.scheduling.replay import ScheduleInput, calibrated, replayed
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
    rates = {}
    for name, policy in (("ours: best-fit", as_policy("best-fit")), ("a user's", scheduler)):
        rows = replayed(trace, policy, factor)
        n_starts = int((rows[:, 2] >= 0).sum())
        rates[name] = n_starts / seconds(lambda policy=policy: replayed(trace, policy, factor))
        print(f"{name}: {n_starts:,} starts, {rates[name]:,.0f} a second", flush=True)
    ours, theirs = rates.values()
    print(f"a user's ÷ ours: {theirs / ours:.2f}")


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
