"""How well can the usage of a task be told an hour ahead, by whom, and how sure is that?

Forecasters see the last hour of a task, and the same hour a day before, at the end of a slot of 300 s. They are trained
on the hours before a cut and judged on those after it, for several cuts; no example before a cut has a target after it.
Deviations come from the last fifth of the training hours, and intervals of 90 % from them, as though errors were
Gaussian. A task needs an hour of known slots: short ones are not judged. Skill is 1 − rmse ÷ that of persistence: below
0 the forecaster is beaten by saying that nothing changes.

Reference: Cortez et al., SOSP'17 (Resource Central); Janus & Rzadca, SoCC'17
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from borgtrace.forecast.backtest import BacktestQuestion, Setting, backtests
from borgtrace.kernels.arrays import Numbers
from borgtrace.question import EngineTables, NotApplicable, Row
from borgtrace.schema.time import HOUR, WINDOW
from borgtrace.store import Store

_REPORTED = (1, 3, 6, 12)
"""Slots ahead that have a row."""
_Z = 1.6448536269514722
"""Of an interval of 90 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecasting(BacktestQuestion):
    """The errors of forecasters as a question: ``FORECAST.run(store, forecasters=("seasonal",))``."""

    def answer(self, store: Store, tables: EngineTables, asked: Setting) -> list[Row]:
        """Back-test forecasters; see the base."""
        rows = []
        for resource in asked.resources:
            sums: dict[str, Any] = {}
            for later, _, trained in backtests(store, resource, asked, self.report):
                for name, forecaster in trained.items():
                    error = np.abs(later.target - forecaster.mean(later))
                    half = _Z * forecaster.deviation(later)
                    still = later.target - later.past[:, -1:]
                    parts = (~np.isnan(error), error, error**2, error <= half, 2 * half, still**2)
                    sums[name] = sums.get(name, 0.0) + np.stack(
                        [np.where(np.isnan(error), 0.0, part).sum(axis=0) for part in parts]
                    )
            rows += [row for name, found in sums.items() for row in _rows(found, name, resource)]
        NotApplicable.unless(
            rows, "too short: no hour of a task's usage before a cut, and an hour after it"
        )
        return rows


def _rows(found: Numbers, name: str, resource: str) -> list[Row]:
    rows = []
    for h in (h - 1 for h in _REPORTED if found[0, h - 1] > 0):
        n, error, square, inside, width, still = found[:, h]
        rows.append(
            {
                "resource": resource,
                "forecaster": name,
                "horizon": (h + 1) * WINDOW / HOUR,
                "forecasts": int(n),
                "mean_error": error / n,
                "rmse": np.sqrt(square / n),
                "skill": 1 - np.sqrt(square / still) if still > 0 else None,
                "coverage": inside / n,
                "width": width / n,
            }
        )
    return rows


FORECAST = Forecasting.declared(_rows, name="forecast")
