"""Random subsets of tasks, and of a task's windows, without replacement and reproducible."""

import numba
import numpy as np

from borgtrace.colocation.tasks.draws import upper_half_below
from borgtrace.kernels.arrays import Index, Numbers, Values
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.hashing import Keys, hashed


@compiled()
def _fill(n: int, key: np.uint64, samples: Index) -> None:
    """Floyd's algorithm (CACM 30, 1987), with one stamp per element instead of a set."""
    stamps = np.full(n, -1, np.int64)
    size = samples.shape[1]
    counter = np.uint64(0)
    for s in range(samples.shape[0]):
        for k in range(size):
            highest = n - size + k
            # The counter runs on over all subsets, so that no two picks share a number of the sequence.
            counter += np.uint64(1)
            pick = upper_half_below(hashed(key, counter), np.uint64(highest + 1))
            # If the pick is taken, `highest` is not: no earlier round could reach it.
            if stamps[pick] == s:
                pick = highest
            stamps[pick] = s
            samples[s, k] = pick


def draw_subsets(
    n: int,
    size: int,
    count: int,
    seed: int,
) -> Index:
    """Draw `count` independent subsets of `size` of the numbers 0 … n − 1.

    Parameters
    ----------
    n, size
        How many there are and how many a subset has, size ≤ n < 2³².
    count
        Number of subsets.
    seed
        Another seed, or another size, gives independent subsets.

    Returns
    -------
    int64 array of shape (count, size), no number twice in a row

    Examples
    --------
    >>> sorted(draw_subsets(3, 3, 1, seed=0)[0].tolist())
    [0, 1, 2]
    """
    samples = np.empty((count, size), np.int64)
    # The size enters the key: otherwise samples of 20 tasks would follow the random numbers of samples of 10.
    key = np.uint64(hashed(np.uint64(seed % 2**64), np.uint64(size)))
    _fill(n, key, samples)
    return samples


@compiled(parallel=True)
def prefix_means(
    values: Values,
    offsets: Index,
    keys: Keys,
    sizes: Index,
    means: Numbers,
) -> None:
    """Mean of a random subset of each task's windows, for growing subsets.

    Parameters
    ----------
    values, offsets
        Windows of the tasks (CSR).
    keys
        uint64 (n,): one random sequence per task.
    sizes
        int64 (K,), ascending: sizes of the subsets; each contains the ones before.
    means
        float64 (n, K), filled; NaN where a task has fewer windows than the size.
    """
    for i in numba.prange(keys.size):
        # A copy: the shuffle (Fisher & Yates, stopped after the largest size) is in place, and the pool is shared.
        windows = values[offsets[i] : offsets[i + 1]].copy()
        taken = 0
        total = 0.0
        for k in range(sizes.size):
            if sizes[k] > windows.size:
                means[i, k] = np.nan
                continue
            while taken < sizes[k]:
                n_left = np.uint64(windows.size - taken)
                noise = hashed(keys[i], np.uint64(taken + 1))
                pick = taken + upper_half_below(noise, n_left)
                windows[taken], windows[pick] = windows[pick], windows[taken]
                total += windows[taken]
                taken += 1
            means[i, k] = total / taken
