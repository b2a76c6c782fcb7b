"""Learn where to place tasks, and compare what was learned with chance and with best fit, by the same seeds.

    pip install "borgtrace[rl]" sb3-contrib
    python examples/rl/placement.py             # makes its own cell
    python examples/rl/placement.py STORE

MaskablePPO trains for a while, then every policy plays the same episodes of other seeds.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sb3_contrib import MaskablePPO

from borgtrace.ingest import ingest
from borgtrace.rl import PlacementEnv, Scenario
from borgtrace.synth import generate

CANDIDATES = 8
Choice = Callable[[np.ndarray, np.ndarray], int]
"""Chooses a place by the observation and the mask."""


def made_cell(folder: Path) -> Path:
    """Return a store of a made cell."""
    generate(folder / "raw", machines=40, hours=6, seed=1)
    ingest([folder / "raw"], folder / "store")
    return folder / "store"


def free_shares(observation: np.ndarray) -> np.ndarray:
    """Return what would be free of CPU and memory on each candidate: (candidates, 2)."""
    return observation[: 6 * CANDIDATES].reshape(CANDIDATES, 6)[:, :2]


def best_fit(observation: np.ndarray, mask: np.ndarray) -> int:
    """Choose the machine of which least is left."""
    left = free_shares(observation).sum(axis=1)
    return int(np.argmin(np.where(mask, left, np.inf)))


def most_balanced(observation: np.ndarray, mask: np.ndarray) -> int:
    """Choose the machine whose CPU and memory are left in equal shares: greedy by what is left stranded."""
    left = free_shares(observation)
    return int(np.argmin(np.where(mask, np.abs(left[:, 0] - left[:, 1]), np.inf)))


def at_random(seed: int) -> Choice:
    """Return the policy of chance."""
    rng = np.random.default_rng(seed)

    def choose(observation: np.ndarray, mask: np.ndarray) -> int:
        return int(rng.choice(np.flatnonzero(mask)))

    return choose


def played(env: PlacementEnv, choose: Choice, seeds: range) -> tuple[float, float, float]:
    """Return means over episodes: all rewards, stranded share of CPU, hours that tasks waited."""
    results = []
    for seed in seeds:
        observation, info = env.reset(seed=seed)
        total = 0.0
        is_over = False
        while not is_over:
            action = choose(observation, env.action_masks())
            observation, reward, is_over, _, info = env.step(action)
            total += reward
        results.append((total, info["stranded_cpu"], info["waiting_hours"]))
    return tuple(np.mean(results, axis=0))


def main() -> None:
    """Train, play, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", nargs="?")
    parser.add_argument("--steps", type=int, default=40_000, help="decisions to learn from")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario.of(given.store or made_cell(Path(folder)))
    env = PlacementEnv(scenario, candidates=CANDIDATES)
    # The reward judges one placement, so that later ones say nothing about it: gamma is 0.
    model = MaskablePPO(
        "MlpPolicy",
        env,
        gamma=0.0,
        n_steps=512,
        batch_size=128,
        learning_rate=1e-3,
        seed=given.seed,
        device="cpu",
    )
    model.learn(given.steps)

    def learned(observation: np.ndarray, mask: np.ndarray) -> int:
        return int(model.predict(observation, action_masks=mask, deterministic=True)[0])

    policies = {
        "random": at_random(given.seed),
        "best fit": best_fit,
        "most balanced": most_balanced,
        "learned": learned,
    }
    print(f"{'policy':14}  {'reward':>8}  {'stranded CPU':>12}  {'waited':>9}")
    for name, choose in policies.items():
        reward, stranded, hours = played(env, choose, range(1000, 1005))
        print(f"{name:14}  {reward:8.2f}  {stranded:12.2%}  {hours:7.1f} h")


if __name__ == "__main__":
    main()
