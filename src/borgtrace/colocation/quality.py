"""How good a packing is: m machines against the lower bound, and q, how often machines overflow (§5.1)."""

import math
from collections.abc import Sequence

import numpy as np

from borgtrace.colocation._overflow import count_overflow
from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Index, Numbers, Values
from borgtrace.placement import Packing

EVALUATION_RTOL = 1 + 2**-20
"""Factor on capacities when overflows are counted: sums of some tens of float32 values round that far."""


def least_machines(means: Numbers, capacity: float = 1.0, placed: Packing | None = None) -> int:
    """⌈Σ x̄ᵢ ÷ c⌉ from mean usages; at least 1.

    Parameters
    ----------
    means
        float64 (n,): mean usage of each task.
    capacity
        Of a machine.
    placed
        Leaves out the tasks that this packing could not place: they are in none of its machines, which the bound is
        compared with.

    Examples
    --------
    >>> alone = Packing(np.array([0, -1]), np.ones((1, 1)), np.zeros(1, np.int64))
    >>> least_machines(np.array([0.75, 1.5])), least_machines(np.array([0.75, 1.5]), placed=alone)
    (3, 1)
    """
    counted = means if placed is None else means[placed.bins >= 0]
    return max(1, math.ceil(float(counted.sum()) / capacity))


def overflow_counts(
    values: Values, packings: Sequence[Packing], first: Sequence[int] | None = None, resource: int = 0
) -> Index:
    """Count the pairs of bin and realization in which the bin's tasks exceed its capacity, in one pass over the usage.

    See :func:`machine_overflows`; here they are added up over the bins of each packing.

    Parameters
    ----------
    values, packings, first, resource
        As there.

    Returns
    -------
    int64 (P,)
    """
    return np.asarray(machine_overflows(values, packings, first, resource).sum(axis=1))


def machine_overflows(
    values: Values, packings: Sequence[Packing], first: Sequence[int] | None = None, resource: int = 0
) -> Index:
    """Count the realizations in which the tasks of each bin exceed its capacity, in one pass over the usage.

    Parameters
    ----------
    values
        float32 (n, R): instantaneous usage, one row per task.
    packings
        P packings of these n tasks.
    first
        Per packing, the first column that counts (those before were for the estimator); default 0.
    resource
        Which of the machines' capacities: 0 is the CPU.

    Returns
    -------
    int64 (P, B): bins that a packing does not have, or does not use, overflow never

    Raises
    ------
    UsageError
        A packing has no column left to be judged on.
    """
    width = max((len(packing.capacities) for packing in packings), default=0)
    # Bins that a packing does not have are never exceeded.
    limits = np.full((len(packings), width), np.inf, np.float32)
    order, starts = np.empty((len(packings), len(values)), np.int64), np.empty((len(packings), width + 1), np.int64)
    for p, packing in enumerate(packings):
        limits[p, : len(packing.capacities)] = packing.rows[:, resource] * EVALUATION_RTOL
        # Stable, so that a bin's float32 sum does not depend on how its tasks came together.
        order[p] = np.argsort(packing.bins, kind="stable")
        starts[p] = np.searchsorted(packing.bins[order[p]], np.arange(width + 1))
    counts = np.empty((len(packings), width), np.int64)
    # float32 limits, because the sums they are compared with are float32 too.
    begin = np.zeros(len(packings), np.int64) if first is None else np.asarray(first, np.int64)
    # With none left, q would be 0 ÷ 0.
    if begin.size and begin.max() >= values.shape[1]:
        raise UsageError(
            "evaluation",
            "no realizations left for evaluation",
            expected=f"a first column below {values.shape[1]}",
            got=str(begin.max()),
        )
    count_overflow(np.ascontiguousarray(values), order, starts, limits, begin, counts)
    return counts


def quality(values: Values, packing: Packing, first: int = 0, resource: int = 0) -> float:
    """q: the share of (machine, realization) pairs in which the machine's tasks exceed it; 0 without machines.

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
    if not packing.n_bins:
        return 0.0
    counts = overflow_counts(values, [packing], [first], resource)
    return float(counts[0] / (packing.n_bins * (values.shape[1] - first)))
