"""How good a packing is: m machines against the lower bound, and q, how often machines overflow (§5.1).

All packings of an instance are judged in one pass over its realizations.
"""

import math
from collections.abc import Sequence

import numpy as np

from borgtrace.colocation.packing.distinct_bins import DistinctBins
from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Index, Numbers, Values
from borgtrace.placement import Packing


def least_machines(means: Numbers, capacity: float = 1.0, placed: Packing | None = None) -> int:
    """⌈Σ x̄ᵢ ÷ c⌉ from mean usages; at least 1.

    Parameters
    ----------
    means
        float64 (n,): mean usage of each task.
    capacity
        Of a machine.
    placed
        Leave out the tasks that this packing could not place: they are on none of the machines that the bound is
        compared with.

    Examples
    --------
    >>> alone = Packing(np.array([0, -1]), np.ones((1, 1)), np.zeros(1, np.int64))
    >>> least_machines(np.array([0.75, 1.5])), least_machines(np.array([0.75, 1.5]), placed=alone)
    (3, 1)
    """
    if placed is not None:
        means = means[placed.bins >= 0]
    return max(1, math.ceil(float(means.sum()) / capacity))


def overflow_counts(
    values: Values,
    packings: Sequence[Packing],
    first: Sequence[int] | None = None,
    resource: int = 0,
    rows: Index | None = None,
) -> Index:
    """Count the pairs of bin and realization in which the bin's tasks exceed its capacity.

    This is :func:`machine_overflows`, added up over the bins of each packing.

    Parameters
    ----------
    values, packings, first, resource, rows
        As there.

    Returns
    -------
    int64 (P,)
    """
    return np.asarray(machine_overflows(values, packings, first, resource, rows).sum(axis=1))


def machine_overflows(
    values: Values,
    packings: Sequence[Packing],
    first: Sequence[int] | None = None,
    resource: int = 0,
    rows: Index | None = None,
) -> Index:
    """Count the realizations in which the tasks of each bin exceed its capacity.

    One pass over the usage serves all packings.

    Parameters
    ----------
    values
        float32 (n, R): instantaneous usage, one row per task.
    packings
        P packings of n tasks.
    first
        Per packing, the first column that counts (those before were for the estimator); default 0.
    resource
        Which of the machines' capacities: 0 is the CPU.
    rows
        int64 (n,): the row of each task; None where row i is task i.

    Returns
    -------
    int64 (P, B): 0 for bins that a packing does not have or does not use

    Raises
    ------
    UsageError
        A packing has no column left to be judged on.
    """
    n_realizations = values.shape[1]
    # With none left, q would be 0 ÷ 0.
    if first and max(first) >= n_realizations:
        raise UsageError(
            "evaluation",
            "no realizations left for evaluation",
            expected=f"a first column below {n_realizations}",
            got=str(max(first)),
        )
    bins = DistinctBins.of(packings, first, resource)
    return bins.overflows(values, np.array([0, n_realizations]), rows)[:, :, 0]


def quality(
    values: Values,
    packing: Packing,
    first: int = 0,
    resource: int = 0,
) -> float:
    """Return q, the share of pairs (machine, realization) in which the machine overflows; 0 without machines.

    Parameters
    ----------
    values
        float32 (n, R): usage, one row per task.
    packing
        Where the tasks are.
    first, resource
        As for :func:`overflow_counts`.

    Examples
    --------
    >>> from borgtrace.placement import Packing
    >>> together = Packing(np.array([0, 0]), np.ones((1, 1)), np.zeros(1, np.int64))
    >>> quality(np.float32([[0.5, 0.75], [0.5, 0.5]]), together)
    0.5
    """
    return qualities(values, [packing], first, resource)[0]


def qualities(
    values: Values,
    packings: Sequence[Packing],
    first: int = 0,
    resource: int = 0,
) -> list[float]:
    """Return :func:`quality` of each packing of the same tasks, in one pass over their usage.

    Parameters
    ----------
    values
        float32 (n, R): usage, one row per task.
    packings
        Where the tasks are.
    first, resource
        As for :func:`overflow_counts`.
    """
    counts = overflow_counts(values, packings, [first] * len(packings), resource)
    n_realizations = values.shape[1] - first
    shares = []
    for packing, n_overflows in zip(packings, counts.tolist(), strict=True):
        n_trials = packing.n_bins * n_realizations
        shares.append(n_overflows / n_trials if n_trials else 0.0)
    return shares
