"""What does a better forecast buy: how many machines does GPA need with it, and how often are they overloaded?

At each cut the tasks that run then are packed by GPA, as though all moved at once, by the mean and deviation that a
forecaster tells for the next hour: over the slots of it, the mean of the means, and the variance within and between
them. ``history`` takes the last hour's own mean and deviation, ``future`` those that came. Overload counts machines and
slots of that hour whose tasks used more than the capacity of the largest machine. Compare machines at equal overload:
ρ is what GPA was told, not what came out.

Reference: Janus & Rzadca, SoCC'17 (Gaussian Percentile Approximation)
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from borgtrace.forecast.backtest import Backtest, BacktestQuestion, Setting, backtests
from borgtrace.forecast.series import HORIZONS
from borgtrace.kernels.arrays import Numbers
from borgtrace.placement import CAPACITY_RTOL, Fitted, Gpa, pack_fitted
from borgtrace.question import EngineTables, NotApplicable, Row
from borgtrace.store import Store

RHOS = (0.1, 0.01, 0.001)


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed(BacktestQuestion):
    """Packings by forecasts as a question: ``PACKED.run(store)``."""

    def answer(self, store: Store, tables: EngineTables, asked: Setting) -> list[Row]:
        """Pack the tasks that run at each cut; see the base."""
        rows = []
        for resource in asked.resources:
            sums: dict[tuple[str, float], Any] = {}
            for backtest in backtests(store, resource, asked, self.report):
                for name, (mean, variance, used) in _moments(backtest).items():
                    for rho in RHOS:
                        counts = packed(mean, variance, used, rho)
                        sums[name, rho] = sums.get((name, rho), 0) + counts
            for (name, rho), (tasks, machines, overloaded) in sums.items():
                row = {
                    "resource": resource,
                    "forecaster": name,
                    "rho": rho,
                    "tasks": tasks,
                    "machines": machines,
                }
                rows.append({**row, "overload": overloaded / (machines * HORIZONS)})
        NotApplicable.unless(rows, "no task with an hour of usage before a cut runs at it")
        return rows


def _moments(backtest: Backtest) -> dict[str, tuple[Numbers, Numbers, Numbers]]:
    """Return mean, variance and what came, of the tasks at the cut, by forecaster."""
    now = np.flatnonzero(backtest.later.slot == backtest.cut - 1)
    if not len(now):
        return {}
    seen = backtest.later.take(now)
    # A task that ended uses nothing any more.
    used = np.nan_to_num(seen.target)
    found = {"history": (seen.past.mean(axis=1), seen.past.var(axis=1), used)}
    found["future"] = used.mean(axis=1), used.var(axis=1), used
    for name, forecaster in backtest.trained.items():
        mean = forecaster.mean(seen)
        variance = (forecaster.deviation(seen) ** 2).mean(axis=1) + mean.var(axis=1)
        found[name] = mean.mean(axis=1), variance, used
    return found


def packed(mean: Numbers, variance: Numbers, used: Numbers, rho: float) -> Numbers:
    """Return tasks that were placed, machines, and machines and slots whose use exceeded the capacity of 1.

    Parameters
    ----------
    mean, variance
        Of each task: float64 (n,).
    used
        What came: float64 (n, slots).
    rho
        Probability of an overflow.
    """
    packing = pack_fitted(Fitted(Gpa(rho), np.column_stack([mean, variance]), 1.0))
    there = packing.bins >= 0
    sums = np.zeros((packing.n_bins, used.shape[1]))
    np.add.at(sums, packing.bins[there], used[there])
    return np.array([there.sum(), packing.n_bins, (sums > CAPACITY_RTOL).sum()])


PACKED = Packed.declared(packed, name="packed_by_forecast")
