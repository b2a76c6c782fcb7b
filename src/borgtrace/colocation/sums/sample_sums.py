"""Sums of many random samples of tasks: how normal they are, and where their percentiles lie.

They are the data of Table 1 and Fig. 6 of Janus & Rzadca (SoCC'17): per size N, random samples of N tasks (without
replacement within a sample, samples independent of each other), each judged once for both over R realizations.
"""

from dataclasses import dataclass

import numpy as np

from borgtrace.colocation.sums.row_sums import sample_statistics
from borgtrace.colocation.tasks.moments import row_moments
from borgtrace.colocation.tasks.pool import TaskPool
from borgtrace.colocation.tasks.subsets import draw_subsets
from borgtrace.kernels.arrays import Numbers, Values
from borgtrace.question import NotApplicable

SIZES = (10, 20, 30, 50, 100, 250, 500)
"""Sizes N of Table 1."""
LEVELS = np.array([0.95, 0.99, 0.999])
"""Percentiles of Fig. 6."""


@dataclass(frozen=True, slots=True, eq=False)
class SampleSums:
    """What is known of S sums of N tasks each.

    Attributes
    ----------
    size
        N.
    mean, std
        float64 (S,): sum of the tasks' means, and root of the sum of their variances (ddof 0).
    normality
        float64 (S,): Anderson–Darling A² of the R realized sums.
    percentiles
        float64 (S, 3): realized sums at :data:`LEVELS`.
    """

    size: int
    mean: Numbers
    std: Numbers
    normality: Numbers
    percentiles: Numbers


def judge_samples(
    realizations: Values,
    sizes: tuple[int, ...],
    samples: int,
    seed: int,
) -> list[SampleSums]:
    """Judge `samples` random samples of each size N; sizes above the number of tasks are left out.

    Parameters
    ----------
    realizations
        float32 (n, R).
    sizes
        Numbers of tasks per sample.
    samples
        Samples per size.
    seed
        Seed of the samples.

    Notes
    -----
    Reads 4·R·ΣN·samples bytes of realizations (384 GB at the paper's scale); memory beyond them is the sums of
    one block of samples (20 MB at R = 10,000) and the indices of one size.
    """
    # Moments of the sums follow from those of the tasks: whether draws are independent is what is tested.
    means, stds = row_moments(realizations)
    variances = stds**2
    judged = []
    for size in sizes:
        # A subset without replacement cannot be larger than the whole.
        if size > len(realizations):
            continue
        members = draw_subsets(len(realizations), size, samples, seed)
        normality, percentiles = sample_statistics(realizations, members, LEVELS)
        judged.append(
            SampleSums(
                size,
                mean=means[members].sum(axis=1),
                std=np.sqrt(variances[members].sum(axis=1)),
                normality=normality,
                percentiles=percentiles,
            )
        )
    return judged


def sample_sums(
    pool: TaskPool,
    realizations: int,
    samples: int,
    seed: int,
) -> list[SampleSums]:
    """Draw realizations of a pool and judge samples of every size of Table 1.

    Parameters
    ----------
    pool
        Tasks to sample from.
    realizations
        R, draws per task.
    samples
        Samples of each size.
    seed
        Seed of draws and samples.

    Raises
    ------
    NotApplicable
        The pool has fewer tasks than the smallest size.
    """
    NotApplicable.unless(
        len(pool) >= SIZES[0],
        f"the pool has {len(pool)} long tasks, the smallest sample needs {SIZES[0]}",
    )
    # Drawn once: samples of every size are rows of the same 4 GB (100,000 tasks × 10,000 realizations).
    every_task = np.arange(len(pool))
    draws = pool.draw(every_task, realizations, seed)
    return judge_samples(draws, SIZES, samples, seed)
