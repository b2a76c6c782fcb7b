"""What policies were short of and saved on each machine and day: the blocks that their intervals are over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.experiments.peaks.cells import SUMMED
from borgtrace.kernels.arrays import Index, Numbers


@dataclass(frozen=True, eq=False)
class MachineDays:
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
    def of(cls, tables: Sequence[Sequence[pa.Table]], resource: str, tasks: str) -> MachineDays:
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
