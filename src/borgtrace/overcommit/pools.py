"""What a job, and what the tasks of a user and name, used hour by hour on the whole cell: for policies that pool.

A policy sees one machine.  What it may know of the others is only what had ended when an hour began.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.lifecycle.by_machine import Metric
from borgtrace.schema.time import HOUR, TRACE_START, WINDOW
from borgtrace.store import Store

_HOURS = 1 << 20
"""Of a key: hours for a century."""


class Moments(NamedTuple):
    """Number of samples, their mean and the sum of their squared deviations; float64 of one shape."""

    n: Numbers
    mean: Numbers
    squares: Numbers


@dataclass(frozen=True, eq=False)
class Pool:
    """Samples of owners by hour.

    Attributes
    ----------
    owner
        int64 (tasks,): the owner of each task of the store, −1 without one.
    key
        int64 (n,): ``owner · 2²⁰ + hour``, ascending.
    moments
        Of the samples that ended in the hour, of names in it or before: shape (n,).
    """

    owner: Index
    key: Index
    moments: Moments

    def earlier(self, task: Index, hour: Index) -> Moments:
        """Return the moments of the last entry before some hours: of shape (n,), n 0 where there is none.

        Parameters
        ----------
        task, hour
            Positions of tasks in the store, and hours; int64 (n,).
        """
        at = np.searchsorted(self.key, self.owner[task] * _HOURS + hour) - 1
        there = (at >= 0) & (self.owner[task] >= 0)
        there[there] = self.key[at[there]] // _HOURS == self.owner[task][there]
        return Moments(
            *(np.where(there, np.append(values, 0.0)[at], 0.0) for values in self.moments)
        )

    def last_hours(self, task: Index, hour: Index, length: int) -> Moments:
        """Return the moments of each of the hours before some, the oldest first: of shape (n, length).

        Parameters
        ----------
        task, hour
            As for :meth:`earlier`.
        length
            How many hours.
        """
        wanted = (self.owner[task] * _HOURS + hour)[:, None] + np.arange(-length, 0)
        at = np.minimum(np.searchsorted(self.key, wanted), max(len(self.key) - 1, 0))
        # An hour before the trace would be one of the owner before.
        there = (wanted // _HOURS == self.owner[task][:, None]) & (
            np.append(self.key, -1)[at] == wanted
        )
        return Moments(
            *(np.where(there, np.append(values, 0.0)[at], 0.0) for values in self.moments)
        )


@compiled()
def _accumulated(
    owner: Index, count: Numbers, mean: Numbers, squares: Numbers
) -> tuple[Numbers, Numbers, Numbers]:
    """Return the moments of all entries of an owner up to each (Chan et al.: no difference of sums)."""
    count, mean, squares = count.copy(), mean.copy(), squares.copy()
    for i in range(1, owner.size):
        if owner[i] == owner[i - 1]:
            n, step = count[i] + count[i - 1], mean[i] - mean[i - 1]
            squares[i] += squares[i - 1] + step * step * count[i] * count[i - 1] / n
            mean[i] = mean[i - 1] + step * count[i] / n
            count[i] = n
    return count, mean, squares


def job_pool(store: Store, metric: Metric) -> Pool:
    """Return the highest usage of a task of each job in each slot, by hour.

    Parameters
    ----------
    store
        An open store.
    metric
        What is taken as usage.
    """
    highest = (
        f"SELECT collection_id, hour, slot, max(x) AS x FROM ({_samples(metric)}) GROUP BY ALL"
    )
    job = np.unique(_tasks(store, "collection_id")[0], return_inverse=True)
    return _pool(store, highest, job[0], np.arange(len(job[0])), job[1])


def name_pool(store: Store, metric: Metric) -> Pool:
    """Return the usage of the tasks of each user and logical name, up to each hour.

    Parameters
    ----------
    store
        An open store.
    metric
        What is taken as usage.
    """
    # Both are known when a task is submitted, unlike most that the table of tasks says.
    collection, user, name = _tasks(store, "collection_id", "user", "collection_logical_name")
    texts = np.stack(
        [np.unique(values.astype(str), return_inverse=True)[1] for values in (user, name)]
    )
    owner = np.unique(texts, axis=1, return_inverse=True)[1].astype(np.int64)
    owner[[value is None for value in name]] = -1
    jobs, first = np.unique(collection, return_index=True)
    found = _pool(store, _samples(metric), jobs, owner[first], owner)
    return replace(found, moments=Moments(*_accumulated(found.key // _HOURS, *found.moments)))


def _tasks(store: Store, *columns: str) -> list[np.ndarray]:
    table = store.layout.tasks(columns)
    return [table[name].to_numpy() for name in columns]


def _samples(metric: Metric) -> str:
    """Return the query of all windows: collection, the hour and the slot that each ended in, and its usage."""
    end = f"(end_time - {TRACE_START + 1})"
    x = metric.column + (f"[{metric.element + 1}]" if metric.element is not None else "")
    return (
        f"SELECT collection_id, {end} // {HOUR} AS hour, {end} // {WINDOW} AS slot, {x}::DOUBLE AS x "
        f"FROM instance_usage WHERE alloc_collection_id IS NULL AND start_time >= {TRACE_START} AND {x} IS NOT NULL"
    )


def _pool(store: Store, samples: str, jobs: Index, owner_of_job: Index, owner: Index) -> Pool:
    # In the order of the values: several threads would add them in any order, and a sum of floats tells.
    rows = store.stream(
        "SELECT collection_id, hour, count(x)::DOUBLE, avg(x ORDER BY x), var_pop(x ORDER BY x) * count(x) "
        f"FROM ({samples}) GROUP BY ALL ORDER BY ALL"
    ).read_all()
    collection, hour, *moments = (column.to_numpy() for column in rows.columns)
    of = owner_of_job[np.searchsorted(jobs, collection)]
    key = of * _HOURS + hour
    order = np.flatnonzero(of >= 0)
    order = order[np.argsort(key[order], kind="stable")]
    return Pool(owner, key[order], Moments(*(values[order] for values in moments)))


POOLS = {"jobs": job_pool, "names": name_pool}
"""How what policies know of the whole cell is read, by name."""
