"""The order of traces: that of paths, as in 2017, and a shuffle that a seed fixes for good."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from borgtrace.datasets._md5 import job_prefixes, task_prefixes
from borgtrace.errors import UsageError

Index = NDArray[np.int64]

_DIGITS = 19
"""Decimal digits of the largest int64."""


def path_order(jobs: Index, tasks: Index, granularity: int = 2, *, is_by_task: bool = False) -> Index:
    """Order tasks by the path of their file as text, then by the number of the task.

    Parameters
    ----------
    jobs, tasks
        Identity of each task, shape (n,).
    granularity
        Hex digits of the folder, 0 to 8.
    is_by_task
        Whether files are ``hh/job-task`` in place of ``hh/job``.

    Examples
    --------
    >>> path_order(np.array([12, 9, 12]), np.array([10, 0, 2])).tolist()  # c2/12 comes after 45/9
    [1, 2, 0]
    """
    prefix = np.empty(len(jobs), np.uint32)
    keys: list[NDArray[Any]] = list(reversed(_text_keys(jobs)))
    if is_by_task:
        task_prefixes(jobs, tasks, prefix)
        keys = [*reversed(_text_keys(tasks)), *keys]
    else:
        job_prefixes(jobs, prefix)
        keys = [tasks, *keys]
    folder = prefix.astype(np.uint64) >> np.uint64(32 - 4 * granularity)
    order: Index = np.lexsort((*keys, folder))
    return order


def _text_keys(numbers: Index) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Keys that sort numbers as decimal text: the digits, left-aligned, then how many there are."""
    powers = 10 ** np.arange(_DIGITS, dtype=np.uint64)
    unsigned = numbers.astype(np.uint64)
    digits = np.maximum(np.searchsorted(powers, unsigned, side="right"), 1)
    return unsigned * powers[_DIGITS - digits], digits


def shuffled(index: Index, seed: int) -> Index:
    """Shuffle a copy of `index` with NumPy's legacy generator, whose stream is frozen for ever.

    Raises
    ------
    UsageError
        The seed is not from 0 to 2³²−1.

    Examples
    --------
    >>> shuffled(np.arange(5), 0).tolist()
    [2, 0, 1, 3, 4]
    """
    if not 0 <= seed < 2**32:
        raise UsageError("--seed", "not a seed", expected="0 to 4294967295", got=str(seed))
    copy = index.copy()
    np.random.RandomState(seed).shuffle(copy)
    return copy
