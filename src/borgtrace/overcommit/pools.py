"""Hourly usage of each job, and of each user and name, over the whole cell: for policies that pool it.

A policy sees one machine.  Of the others it may know only what had ended when an hour began.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from borgtrace.engine.identifiers import quoted
from borgtrace.kernels.arrays import Flags, Index
from borgtrace.lifecycle.by_machine import Metric
from borgtrace.overcommit.moments import SampleMoments, accumulate_moments
from borgtrace.schema.time import HOUR, TRACE_START, WINDOW
from borgtrace.store import Store

HOURS_PER_OWNER = 1 << 20
"""Of a key: hours for a century."""


@dataclass(frozen=True, eq=False)
class HourlyUsage:
    """Samples of owners (jobs, or users and names) by hour.

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
    moments: SampleMoments

    def earlier(self, task: Index, hour: Index) -> SampleMoments:
        """Return the moments of the last entry before some hours: of shape (n,), n 0 where there is none.

        Parameters
        ----------
        task, hour
            Positions of tasks in the store, and hours; int64 (n,).
        """
        owner = self.owner[task]
        place = np.searchsorted(self.key, owner * HOURS_PER_OWNER + hour) - 1
        has_entry = (place >= 0) & (owner >= 0)
        owner_of_entry = self.key[place[has_entry]] // HOURS_PER_OWNER
        has_entry[has_entry] = owner_of_entry == owner[has_entry]
        return self._moments_at(place, has_entry)

    def last_hours(
        self,
        task: Index,
        hour: Index,
        length: int,
    ) -> SampleMoments:
        """Return the moments of each of the hours before some, the oldest first: of shape (n, length).

        Parameters
        ----------
        task, hour
            As for :meth:`earlier`.
        length
            How many hours.
        """
        owner = self.owner[task]
        hours_before = np.arange(-length, 0)
        wanted = (owner * HOURS_PER_OWNER + hour)[:, None] + hours_before
        last_entry = max(len(self.key) - 1, 0)
        place = np.minimum(np.searchsorted(self.key, wanted), last_entry)
        # An hour before the trace would be one of the owner before.
        is_own = wanted // HOURS_PER_OWNER == owner[:, None]
        has_entry = is_own & (np.append(self.key, -1)[place] == wanted)
        return self._moments_at(place, has_entry)

    def _moments_at(self, place: Index, has_entry: Flags) -> SampleMoments:
        """Return the moments at some places, 0 where there is no entry."""
        columns = []
        for values in self.moments:
            # The 0 at the end is for places outside, of which −1 is one.
            columns.append(
                np.where(
                    has_entry,
                    np.append(values, 0.0)[place],
                    0.0,
                )
            )
        return SampleMoments(*columns)


class Owners(NamedTuple):
    """Who owns the samples of each job, and each task.

    Attributes
    ----------
    jobs
        Ids of the jobs, ascending.
    of_job
        Owner of each job, −1 without one.
    of_task
        Owner of each task of the store, −1 without one.
    """

    jobs: Index
    of_job: Index
    of_task: Index


def read_usage_of_jobs(store: Store, metric: Metric) -> HourlyUsage:
    """Return the highest usage of a task of each job in each slot, by hour.

    Parameters
    ----------
    store
        An open store.
    metric
        What is taken as usage.
    """
    collection = store.task_columns(["collection_id"])["collection_id"].to_numpy()
    jobs, job = np.unique(collection, return_inverse=True)
    owners = Owners(jobs, np.arange(len(jobs)), job)
    highest = f"""
        SELECT collection_id, hour, slot, max(usage) AS usage
        FROM ({_samples_sql(metric)})
        GROUP BY ALL
    """
    return _read_hourly_usage(store, highest, owners)


def read_usage_of_names(store: Store, metric: Metric) -> HourlyUsage:
    """Return the usage of the tasks of each user and logical name, up to each hour.

    Parameters
    ----------
    store
        An open store.
    metric
        What is taken as usage.
    """
    # Both are known when a task is submitted, unlike most columns of the table of tasks.
    tasks = store.task_columns(["collection_id", "user", "collection_logical_name"])
    collection = tasks["collection_id"].to_numpy()
    user = tasks["user"].to_numpy()
    name = tasks["collection_logical_name"].to_numpy()
    number_of_user = np.unique(user.astype(str), return_inverse=True)[1]
    number_of_name = np.unique(name.astype(str), return_inverse=True)[1]
    pairs = np.stack([number_of_user, number_of_name])
    owner = np.unique(pairs, axis=1, return_inverse=True)[1].astype(np.int64)
    owner[[value is None for value in name]] = -1
    jobs, first_task = np.unique(collection, return_index=True)
    usage = _read_hourly_usage(
        store,
        _samples_sql(metric),
        Owners(jobs, owner[first_task], owner),
    )
    accumulated = accumulate_moments(usage.key // HOURS_PER_OWNER, *usage.moments)
    return replace(usage, moments=SampleMoments(*accumulated))


def _samples_sql(metric: Metric) -> str:
    """Return the query of all windows: collection, the hour and the slot that each ended in, and its usage."""
    usage = quoted(metric.column)
    if metric.element is not None:
        # Elements count from 1 in DuckDB.
        usage = f"{usage}[{metric.element + 1}]"
    return f"""
        SELECT
            collection_id,
            (end_time - {TRACE_START + 1}) // {HOUR} AS hour,
            (end_time - {TRACE_START + 1}) // {WINDOW} AS slot,
            {usage}::DOUBLE AS usage
        FROM instance_usage
        WHERE alloc_collection_id IS NULL AND start_time >= {TRACE_START} AND {usage} IS NOT NULL
    """


def _read_hourly_usage(
    store: Store,
    samples: str,
    owners: Owners,
) -> HourlyUsage:
    # In the order of the values: several threads would add them in any order, which changes a sum of floats.
    rows = store.stream(
        f"""
        SELECT
            collection_id,
            hour,
            count(usage)::DOUBLE AS n,
            avg(usage ORDER BY usage) AS mean,
            var_pop(usage ORDER BY usage) * count(usage) AS squares
        FROM ({samples})
        GROUP BY ALL
        ORDER BY ALL
        """
    ).read_all()
    job = np.searchsorted(owners.jobs, rows["collection_id"].to_numpy())
    owner = owners.of_job[job]
    key = owner * HOURS_PER_OWNER + rows["hour"].to_numpy()
    has_owner = np.flatnonzero(owner >= 0)
    order = has_owner[np.argsort(key[has_owner], kind="stable")]
    moments = SampleMoments(
        n=rows["n"].to_numpy()[order],
        mean=rows["mean"].to_numpy()[order],
        squares=rows["squares"].to_numpy()[order],
    )
    return HourlyUsage(owners.of_task, key[order], moments)


POOLS = {"jobs": read_usage_of_jobs, "names": read_usage_of_names}
"""How usage of the whole cell is read, by the name that policies know it by."""
