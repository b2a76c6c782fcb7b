"""How often the intervals of `borgtrace compare` hold what they are of, over simulated cells.

    python benchmarks/comparison.py [--cells 400] [--only TEXT]

In each case two cells are drawn many times from known distributions.  A row says how many of 100 intervals held the
true ratio of means or the true largest distance, and how many lay above or below it.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np
from scipy import stats

from borgtrace.kernels.arrays import Numbers
from borgtrace.question.block_draws import BLOCKS, JobValues, drawn_blocks
from borgtrace.question.job_distances import compare_jobs


class Jobs(NamedTuple):
    """A distribution over jobs and the number of jobs that a store has of it."""

    name: str
    distribution: stats.rv_continuous
    size: int


class Case(NamedTuple):
    """Two cells whose jobs are compared."""

    reference: Jobs
    sample: Jobs
    is_shape: bool = False


class Coverage(NamedTuple):
    """Of how many cells the interval held the true value, or lay above or below it, as shares of 1."""

    held: float
    above: float
    below: float


def lognormal(sigma: float, size: int, factor: float = 1.0) -> Jobs:
    return Jobs(f"lognormal {sigma:g} × {factor:g}", stats.lognorm(sigma, scale=factor), size)


def exponential(size: int) -> Jobs:
    return Jobs("exponential", stats.expon(), size)


def cases() -> list[Case]:
    sizes = ((300, 300), (2000, 2000), (2000, 300))
    found = []
    for one, other in sizes:
        for factor in (1.0, 1.1, 1.5, 3.0):
            found.append(Case(lognormal(1, one), lognormal(1, other, factor)))
        found.append(Case(lognormal(0.5, one), lognormal(0.5, other, 1.1)))
        found.append(Case(lognormal(1.5, one), lognormal(1.5, other, 1.5)))
        found.append(Case(lognormal(1, one), lognormal(2, other)))
        found.append(Case(lognormal(2, one), lognormal(2, other)))
        for sigma in (0.7, 1.0, 1.2, 1.5):
            found.append(Case(lognormal(1, one), lognormal(sigma, other, 20), is_shape=True))
        found.append(Case(lognormal(0.5, one), lognormal(0.6, other, 20), is_shape=True))
        found.append(Case(exponential(one), lognormal(1, other), is_shape=True))
    return found


def true_distance(case: Case) -> float:
    """Return the largest distance of the two distributions, on a grid as fine as a float32."""
    first, second = case.reference.distribution, case.sample.distribution
    points = np.geomspace(1e-6, 1e6, 400_001)
    scales = (first.mean(), second.mean()) if case.is_shape else (1.0, 1.0)
    gaps = first.cdf(points * scales[0]) - second.cdf(points * scales[1])
    return float(np.abs(gaps).max())


def drawn_jobs(jobs: Jobs, random: np.random.Generator) -> JobValues:
    values: Numbers = jobs.distribution.rvs(jobs.size, random_state=random)
    return JobValues(values, random.integers(0, BLOCKS, jobs.size))


def coverages(case: Case, cells: int, seed: int) -> dict[str, Coverage]:
    """Draw both cells many times and count the intervals that hold the truth, of the ratio and of the distance."""
    random = np.random.default_rng(seed)
    truths = {"distance": true_distance(case)}
    if not case.is_shape:
        means = [jobs.distribution.mean() for jobs in (case.reference, case.sample)]
        truths["ratio"] = means[1] / means[0]
    above, below = dict.fromkeys(truths, 0), dict.fromkeys(truths, 0)
    for cell in range(cells):
        reference = drawn_jobs(case.reference, random)
        sample = drawn_jobs(case.sample, random)
        row = compare_jobs(reference, sample, drawn_blocks(cell), is_shape=case.is_shape)
        for name, truth in truths.items():
            above[name] += row[f"{name}_low"] > truth + 1e-9
            below[name] += row[f"{name}_high"] < truth - 1e-9
    return {
        name: Coverage(
            held=1 - (above[name] + below[name]) / cells,
            above=above[name] / cells,
            below=below[name] / cells,
        )
        for name in truths
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cells", type=int, default=400)
    parser.add_argument("--only", default="", help="part of the names of the cases to run")
    chosen = parser.parse_args()
    for case in cases():
        unit = "own mean" if case.is_shape else "same unit"
        reference, sample = case.reference, case.sample
        names = f"{reference.name}, {sample.name}, {reference.size}/{sample.size} jobs"
        if chosen.only not in f"{unit}: {names}":
            continue
        for name, result in coverages(case, chosen.cells, seed=1).items():
            print(
                f"{unit:9s} {name:8s} {names}: {100 * result.held:.1f} % held, "
                f"{100 * result.above:.1f} above, {100 * result.below:.1f} below",
                flush=True,
            )


if __name__ == "__main__":
    main()
