"""What tasks of each job waited under each scheduler, by the time of their arrival: the blocks of intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.experiments.blocks import LEAST_PERIODS
from borgtrace.experiments.schedules.cells import SUMMED
from borgtrace.experiments.schedules.plan import ALL
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.schema.time import SECOND

HOURS_PER_DAY = 24


@dataclass(frozen=True, eq=False)
class JobBlocks:
    """Schedulers on the jobs of one store, for several groups of tasks.

    A block is a job on a day of the trace; in traces below five days, a job in an hour.

    Attributes
    ----------
    job, period
        Of each block: (blocks,), each pair once.
    sums
        By name (``attempts``, ``waited`` in s, ``evictions``, ``pending``), float64 (blocks, estimates).
    n_days
        Days on which tasks arrived.
    """

    job: Index
    period: Index
    sums: Mapping[str, Numbers]
    n_days: int

    @classmethod
    def of(cls, estimates: Sequence[tuple[Sequence[pa.Table], str]]) -> JobBlocks:
        """Return the blocks of some estimates.

        Parameters
        ----------
        estimates
            Of each the sums of its cells, one for each seed, which are added up, and the tier that is taken.
        """
        parts = [rows_of(tables, tier) for tables, tier in estimates]
        estimate = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        rows = pa.concat_tables(parts)
        hour = rows["hour"].to_numpy()
        days = np.unique(hour // HOURS_PER_DAY)
        period = hour // HOURS_PER_DAY if len(days) >= LEAST_PERIODS else hour
        jobs, place = np.unique(rows["job"].to_numpy(), return_inverse=True)
        n_periods = int(period.max(initial=0)) + 1
        pairs, block = np.unique(place * n_periods + period, return_inverse=True)
        sums = {}
        for name in SUMMED:
            of_blocks = np.zeros((len(pairs), len(parts)))
            np.add.at(of_blocks, (block, estimate), rows[name].to_numpy())
            sums[name] = of_blocks
        sums["waited"] /= SECOND
        return cls(jobs[pairs // n_periods], pairs % n_periods, sums, len(days))

    def means(self, name: str) -> Numbers:
        """Return the mean of a sum over the attempts that arrived: (estimates,); NaN without any."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.sums[name].sum(axis=0) / self.sums["attempts"].sum(axis=0))

    def influences(self, name: str) -> Numbers:
        """Return what each block adds to these means, to first order: (blocks, estimates)."""
        attempts = self.sums["attempts"]
        with np.errstate(invalid="ignore", divide="ignore"):
            own = self.sums[name] - self.means(name) * attempts
            return np.asarray(own / attempts.sum(axis=0))

    @property
    def n_jobs(self) -> Index:
        """Jobs of each estimate: int64 (estimates,)."""
        has_attempts = self.sums["attempts"] > 0
        return np.array([len(np.unique(self.job[column])) for column in has_attempts.T], np.int64)

    @property
    def n_periods(self) -> int:
        """Days, or hours, with blocks."""
        return len(np.unique(self.period))


def rows_of(tables: Sequence[pa.Table], tier: str) -> pa.Table:
    """Return the rows of a tier in the cells of several seeds, or all rows."""
    rows = pa.concat_tables(tables)
    return rows if tier == ALL else rows.filter(pc.field("tier") == tier)
