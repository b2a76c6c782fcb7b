"""Where each estimator is wrong, and by how much: the numbers on the page of estimators.

    python benchmarks/estimator_limits.py [--instances 5] [--store STORE] [--pareto]

Each of random instances of 1,000 tasks (of 20,000 synthetic ones, and of their heavier-tailed twin) is packed by Best
Fit without rebalancing, from 10,000 draws per task, and judged by 10,000 draws that no estimator has seen.  STORE adds
packing by request on a cell that has requests; ``--pareto`` measures Pareto tails alone (half a minute).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

from borgtrace.colocation import GridCell, PackingGrid, Study, synthetic_pool
from borgtrace.colocation.experiments.packing.packing_rare_events import candidates
from borgtrace.colocation.experiments.shared.outcomes import (
    OUTCOMES,
    paper_estimators,
    summaries,
    to_table,
)
from borgtrace.colocation.options import ColocationOptions
from borgtrace.colocation.packing.instances import Instance
from borgtrace.colocation.packing.quality import quality
from borgtrace.colocation.study import halves
from borgtrace.colocation.tasks import heavy_tail
from borgtrace.placement import (
    Average,
    Convolution,
    CovarianceGpa,
    Estimator,
    Gpa,
    Observation,
    Request,
    fit,
    pack,
)
from borgtrace.placement.estimators.calibrated import CalibratedGpa
from borgtrace.placement.estimators.registry import parse_estimator

RHO = 0.001
PARETO = (1.5, 2.0, 2.5, 3.0)
"""Indices of the tails; 2019's job sizes have .7, where not even a mean exists."""
PARETO_TASKS = 200


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--instances", type=int, default=5)
    parser.add_argument("--store")
    parser.add_argument("--pareto", action="store_true")
    chosen = parser.parse_args()
    pareto_tails()
    if chosen.pareto:
        return
    options = ColocationOptions(tasks=20_000, instances=chosen.instances)
    pool = synthetic_pool(options.tasks, seed=0)
    plain = halves(pool, options)
    heavy = halves(heavy_tail(pool), options)
    learned = []
    for name, (judging, learning) in (("pool", plain), ("heavier tail", heavy)):
        learned = [learning.prepared(e, GridCell(e)) for e in candidates(RHO)]
        compare(name, judging, [*learned, *paper_estimators()])
    calibrated = plain[1].prepared(CalibratedGpa(RHO), GridCell(CalibratedGpa(RHO)))
    compare("heavier tail, learned on the pool", heavy[0], [calibrated])
    for capacity in (0.5, 5.0):
        compare(f"capacity {capacity:g}", plain[0], [Average(1.25)], capacity=capacity)
    instance = plain[0].instances.make(0)
    peaking_together(instance)
    short_series(instance)
    two_tasks()
    if chosen.store:
        requests = ColocationOptions(instances=chosen.instances, size=300)
        judging, _ = halves(Study.of_store(chosen.store).pool(requests), requests)
        compare(
            chosen.store,
            judging,
            [
                Request(1.0),
                Request(1.5),
                Request(3.0),
                Convolution(RHO),
            ],
        )


def compare(
    name: str, judging: PackingGrid, tried: Sequence[Estimator], capacity: float = 1.0
) -> None:
    """Print machines (one more for every unplaceable task) and overflow of some estimators."""
    cells = [GridCell(each, is_rebalanced=False, capacity=capacity) for each in tried]
    for row in summaries(to_table(judging.outcomes(cells), OUTCOMES)):
        print(
            f"{name}: {row['label']}: {row['machines']:.1f} machines, q {row['q']:.2e}, {row['q'] / RHO:.3f} of .001"
        )


def pareto_tails() -> None:
    """Pack tasks whose usage has a Pareto tail of index α, of means .01 to .05, at most a machine each."""
    for alpha in PARETO:
        overflow: dict[str, list[float]] = {}
        machines: dict[str, list[int]] = {}
        for seed in range(3):
            rng = np.random.default_rng([seed, 22])
            scale = rng.uniform(0.01, 0.05, PARETO_TASKS)[:, None] * (alpha - 1) / alpha

            # The observed draws first, then those that judge.
            powers = rng.random((PARETO_TASKS, 50_000)) ** (-1 / alpha)
            usage = np.minimum(scale * powers, 1.0).astype(np.float32)
            seen = Observation(np.ascontiguousarray(usage[:, :10_000]))
            fresh = np.ascontiguousarray(usage[:, 10_000:])
            for rho in (0.01, RHO):
                for name in ("gpa", "saddlepoint", "convolution", "cornish-fisher", "chernoff"):
                    label = f"{name}:{rho:g}"
                    packing = pack(parse_estimator(label), seen, rebalancing=False)
                    overflow.setdefault(label, []).append(quality(fresh, packing) / rho)
                    machines.setdefault(label, []).append(packing.n_bins)
        for label, ratios in overflow.items():
            mean = np.mean(ratios)
            n_machines = np.mean(machines[label])
            print(f"Pareto tail {alpha:g}: {label}: {n_machines:.1f} machines, q {mean:.2f} ρ")


def peaking_together(instance: Instance) -> None:
    """Pack the tasks as independent; judge them where all peak at the same moments."""
    together = np.sort(instance.inst, axis=1)
    for text in ("gpa:0.001", "convolution:0.001", "cantelli:4.4", "gpa-covariance:0.001"):
        # Only gpa-covariance looks at the series.
        packing = pack(
            parse_estimator(text),
            instance.seen.with_more(series=together[:, ::50]),
            rebalancing=False,
        )
        print(
            f"peaking together: {text}: {packing.n_bins} machines, q {quality(together, packing):.2e}"
        )


def short_series(instance: Instance) -> None:
    """Covariances of independent tasks are 0; from few moments they are not."""
    least = pack(Gpa(0.01), instance.seen).n_bins
    for moments in (6, 24, 144):
        seen = instance.seen.with_more(series=instance.fresh[:, :moments])
        print(
            f"independent, {moments} moments: {pack(CovarianceGpa(0.01), seen).n_bins} machines, gpa {least}"
        )


def two_tasks() -> None:
    """Two tasks of .6 in one draw of ten, else .1: both at once in one of a hundred."""
    seen = Observation(np.tile(np.float32([0.6] + [0.1] * 9), (2, 100)))
    for text in ("gpa:0.1", "saddlepoint:0.1", "chernoff:0.1", "convolution:0.1"):
        fitted = fit(parse_estimator(text), seen)
        state = fitted.empty.copy()
        fitted.estimator.test.join(state, fitted.items[0])
        room = fitted.estimator.test.room(state, fitted.items[1], np.ones(1), fitted.parameters)
        print(f"two tasks with steps, truth .01: {text}: {fitted.parameters[0] - room:.4f}")


if __name__ == "__main__":
    main()
