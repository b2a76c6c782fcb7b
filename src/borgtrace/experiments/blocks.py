"""Blocks of an experiment: what each machine adds on each day to the rates and savings of policies.

Slots of a machine resemble each other, and so do machines on one day. So neither slots nor machine-days are taken as
independent: the variance of an estimate is that between machines, plus that between days, less what both count twice
(two-way clustering: Cameron, Gelbach and Miller, JBES 2011), and at least the larger of the two. Fewer than five days
cannot tell how days differ; then machines alone vary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.experiments.cells import SUMMED
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.incomplete import student_quantile

LEAST_DAYS = 5
"""Days that tell how days differ: Student's t has four degrees of freedom then, and an interval 2.8 errors."""


class Covariance(NamedTuple):
    """How estimates vary together: by machines, by days, and by blocks of both.

    Attributes
    ----------
    by_machine, by_day, by_block
        float64 (k, k); zeros for days and blocks where too few days tell nothing.
    freedom
        Degrees of freedom for Student's t; 0 where a single machine cannot tell.
    """

    by_machine: Numbers
    by_day: Numbers
    by_block: Numbers
    freedom: int

    def of_contrasts(self, contrasts: Numbers) -> Covariance:
        """Return the covariance of sums of the estimates.

        Parameters
        ----------
        contrasts
            float64 (sums, k): the weights of the estimates.
        """
        return Covariance(
            by_machine=contrasts @ self.by_machine @ contrasts.T,
            by_day=contrasts @ self.by_day @ contrasts.T,
            by_block=contrasts @ self.by_block @ contrasts.T,
            freedom=self.freedom,
        )

    @property
    def matrix(self) -> Numbers:
        """The covariance, float64 (k, k).

        Where what both clusterings count twice leaves a matrix with negative variances, these are set to 0; then each
        variance is raised to the larger one of machines and of days, correlations kept.
        """
        values, vectors = np.linalg.eigh(self.by_machine + self.by_day - self.by_block)
        both = (vectors * np.maximum(values, 0)) @ vectors.T
        least = np.maximum(np.diag(self.by_machine), np.diag(self.by_day))
        own = np.maximum(np.diag(both), 0)
        is_raised = (own < least) & (own > 0)
        factor = np.ones(len(own))
        np.sqrt(least / np.where(own > 0, own, 1), out=factor, where=is_raised)
        scaled = both * np.outer(factor, factor)
        # What was cancelled to nothing keeps the larger variance, on its own.
        lacking = own <= 0
        scaled[lacking, lacking] = least[lacking]
        return np.asarray(scaled)

    @property
    def errors(self) -> Numbers:
        """Standard errors, float64 (k,)."""
        return np.sqrt(np.diag(self.matrix))


@dataclass(frozen=True, eq=False)
class StoreBlocks:
    """Policies on the machines of one store, of some tasks and one resource.

    Attributes
    ----------
    machine, day
        Of each block: (blocks,), each pair once.
    sums
        By name (``instants``, ``violations``, ``limit``, ``peak``), float64 (blocks, policies).
    """

    machine: Index
    day: Index
    sums: Mapping[str, Numbers]

    @classmethod
    def of(cls, tables: Sequence[Sequence[pa.Table]], resource: str, tasks: str) -> StoreBlocks:
        """Return the blocks of some policies.

        Parameters
        ----------
        tables
            Of each policy the sums of its cells, one for each seed: all policies have the same machines and days.
        resource, tasks
            The part of the cells that is taken.
        """
        columns: dict[str, list[Numbers]] = {name: [] for name in SUMMED}
        machine = day = np.empty(0, np.int64)
        for of_policy in tables:
            rows = pa.concat_tables(of_policy)
            rows = rows.filter((pc.field("resource") == resource) & (pc.field("tasks") == tasks))
            machines = rows["machine"].to_numpy()
            days = rows["day"].to_numpy().astype(np.int64)
            # Samples of several seeds share machines, which a replay gives the same sums each time.
            pairs = np.column_stack([machines, days])
            _, first = np.unique(pairs, axis=0, return_index=True)
            machine, day = machines[first], days[first]
            for name in SUMMED:
                columns[name].append(rows[name].to_numpy()[first])
        return cls(machine, day, {name: np.column_stack(columns[name]) for name in SUMMED})

    @property
    def rates(self) -> Numbers:
        """Violation rate of each policy: (policies,)."""
        return self.sums["violations"].sum(axis=0) / self.sums["instants"].sum(axis=0)

    @property
    def savings(self) -> Numbers:
        """Share of the limits that each policy does not promise: (policies,); NaN without limits."""
        limit = self.sums["limit"].sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(1 - self.sums["peak"].sum(axis=0) / limit)

    @property
    def rate_influences(self) -> Numbers:
        """What each block adds to the violation rates, to first order: (blocks, policies)."""
        instants = self.sums["instants"]
        return (self.sums["violations"] - self.rates * instants) / instants.sum(axis=0)

    @property
    def savings_influences(self) -> Numbers:
        """What each block adds to the savings, to first order: (blocks, policies)."""
        limit = self.sums["limit"]
        saved = limit - self.sums["peak"]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((saved - self.savings * limit) / limit.sum(axis=0))

    @property
    def n_machines(self) -> int:
        """Machines with blocks."""
        return len(np.unique(self.machine))

    @property
    def n_days(self) -> int:
        """Days with blocks."""
        return len(np.unique(self.day))


def covariance(influences: Numbers, machine: Index, day: Index) -> Covariance:
    """Return the covariance of estimates from what blocks of machines and days add to them.

    Parameters
    ----------
    influences
        float64 (blocks, k): sums over the blocks are 0.
    machine, day
        Of each block.
    """
    k = influences.shape[1]
    nothing = np.zeros((k, k))
    of_machines = _sums_by(machine, influences)
    n_machines = len(of_machines)
    if n_machines < 2:
        return Covariance(nothing, nothing, nothing, 0)
    by_machine = _scatter(of_machines)
    of_days = _sums_by(day, influences)
    n_days = len(of_days)
    if n_days < LEAST_DAYS:
        return Covariance(by_machine, nothing, nothing, n_machines - 1)
    freedom = min(n_machines, n_days) - 1
    return Covariance(by_machine, _scatter(of_days), _scatter(influences), freedom)


def _sums_by(label: Index, values: Numbers) -> Numbers:
    """Return the sums of rows by label: (labels, k)."""
    order = np.argsort(label, kind="stable")
    starts = np.flatnonzero(np.diff(label[order], prepend=label.min(initial=0) - 1))
    return np.add.reduceat(values[order], starts, axis=0)


def _scatter(values: Numbers) -> Numbers:
    """Return the covariance of the sum of independent rows with mean 0: (k, k)."""
    n = len(values)
    return np.asarray(n / (n - 1) * (values.T @ values))


def mean_covariance(of_stores: Sequence[Covariance]) -> Covariance:
    """Return the covariance of the means over stores, which are independent; the freedom is the least of any."""
    squared = len(of_stores) ** 2
    return Covariance(
        by_machine=np.sum([one.by_machine for one in of_stores], axis=0) / squared,
        by_day=np.sum([one.by_day for one in of_stores], axis=0) / squared,
        by_block=np.sum([one.by_block for one in of_stores], axis=0) / squared,
        freedom=min(one.freedom for one in of_stores),
    )


def margins(of: Covariance) -> Numbers:
    """Return half the widths of 95 % intervals, one for each estimate by itself: (k,); NaN where nothing tells."""
    if of.freedom < 1:
        return np.full(len(of.by_machine), np.nan)
    return np.asarray(student_quantile(of.freedom, 0.975) * of.errors)
