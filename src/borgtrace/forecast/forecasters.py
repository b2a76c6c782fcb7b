"""Forecasters: from an hour of a task's usage to the mean and the deviation of each slot of the next.

A forecaster learns changes from the newest value.  Deviations are proportional to how much the task varied in its last
hour; the factor is measured on the last fifth of the training hours, which the mean is not fitted to.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from borgtrace.errors import EngineError
from borgtrace.forecast.series import HORIZONS, Examples
from borgtrace.kernels.arrays import Index, Numbers

FORECASTERS: dict[str, type[Forecaster]] = {}
"""Forecasters by name."""
_UNITS = 32
_EPOCHS = 5
_BATCH = 512
"""Of the network."""


class Forecaster(ABC):
    """Base of the forecasters; one is trained once.

    Attributes
    ----------
    name, about
        What users call it, and what it says.
    extra
        The optional part of the package that it needs.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    extra: ClassVar[str] = ""
    factor: Numbers
    floor: float

    def __init_subclass__(cls) -> None:
        """List every forecaster."""
        FORECASTERS[cls.name] = cls

    def train(self, known: Examples, seed: int) -> None:
        """Learn from examples.

        Parameters
        ----------
        known
            All of them before the split.
        seed
            Of whatever is random.
        """
        by_time = np.argsort(known.slot, kind="stable")
        learned, held = (known.take(part) for part in np.split(by_time, [len(by_time) * 4 // 5]))
        self.fit(learned, seed)
        self.floor = float(learned.past.std(axis=1).mean())
        errors = (held.target - self.mean(held)) / self._scale(held)
        self.factor = np.sqrt(
            np.nansum(errors**2, axis=0) / np.maximum((~np.isnan(errors)).sum(axis=0), 1)
        )

    def _scale(self, seen: Examples) -> Numbers:
        return np.sqrt(seen.past.var(axis=1) + self.floor**2 + 1e-12)[:, None]

    def deviation(self, seen: Examples) -> Numbers:
        """Return the standard deviation of each forecast: (n, HORIZONS)."""
        return self._scale(seen) * self.factor

    def fit(self, known: Examples, seed: int) -> None:  # noqa: B027 (two have nothing to learn)
        """Fit the mean; see :meth:`train`."""

    @abstractmethod
    def mean(self, seen: Examples) -> Numbers:
        """Return the forecasts: (n, HORIZONS)."""


class Persistence(Forecaster):
    """The newest value stays."""

    name = "persistence"
    about = "the newest value stays"

    def mean(self, seen: Examples) -> Numbers:
        """Repeat it."""
        return np.repeat(seen.past[:, -1:], HORIZONS, axis=1)


class Seasonal(Forecaster):
    """The same slot a day before; the newest value where there was none."""

    name = "seasonal"
    about = "the same slot a day before, else the newest value"

    def mean(self, seen: Examples) -> Numbers:
        """Repeat the day before."""
        return seen.before


class Autoregression(Forecaster):
    """Least squares from the values of the last hour, for each horizon."""

    name = "autoregression"
    about = "least squares from the last hour, for each horizon"

    def fit(self, known: Examples, seed: int) -> None:
        """Solve one problem per horizon: not all have the same targets."""
        seen = _with_one(known.past)
        there = ~np.isnan(known.target)
        # One thread: their number would tell in the last digits.
        with threadpool_limits(1):
            self.weights = np.stack(
                [
                    np.linalg.lstsq(seen[use], known.target[use, h])[0]
                    for h, use in enumerate(there.T)
                ],
                axis=1,
            )

    def mean(self, seen: Examples) -> Numbers:
        """Weigh the last hour."""
        # Column by column: in a product of matrices, how many examples there are tells in the last digits.
        pairs = zip(_with_one(seen.past).T, self.weights, strict=True)
        return np.maximum(sum(values[:, None] * weights for values, weights in pairs), 0.0)


class Boosting(Forecaster):
    """Gradient boosting (scikit-learn's by histograms) from the last hour, the day before and the horizon.

    One model: each example teaches the change to one slot, drawn at random.
    """

    name = "boosting"
    about = "gradient boosting from the last hour and the day before"

    def fit(self, known: Examples, seed: int) -> None:
        """Fit the change from the newest value."""
        from sklearn.ensemble import HistGradientBoostingRegressor

        horizon = np.random.default_rng(seed).integers(0, HORIZONS, len(known))
        target = known.target[np.arange(len(known)), horizon]
        use = ~np.isnan(target)
        # One thread: those of OpenMP spin while others use the machine, for minutes instead of a second.
        with threadpool_limits(1):
            self.model = HistGradientBoostingRegressor(early_stopping=False, random_state=seed)
            self.model.fit(_with_day(known, horizon)[use], (target - known.past[:, -1])[use])

    def mean(self, seen: Examples) -> Numbers:
        """Add the changes that the model tells."""
        with threadpool_limits(1):
            changes = [
                self.model.predict(_with_day(seen, np.full(len(seen), h))) for h in range(HORIZONS)
            ]
        return np.maximum(seen.past[:, -1:] + np.stack(changes, axis=1), 0.0)


def _with_day(seen: Examples, horizon: Index) -> Numbers:
    return np.column_stack([seen.past, seen.before[np.arange(len(seen)), horizon], horizon])


def _with_one(past: Numbers) -> Numbers:
    return np.column_stack([past, np.ones(len(past))])


class Recurrent(Forecaster):
    """An LSTM of 32 units over the last hour, which tells changes from the newest value in units of the deviation."""

    name = "lstm"
    about = "an LSTM of 32 units over the last hour"
    extra = "forecast"

    def fit(self, known: Examples, seed: int) -> None:
        """Minimize the squared error of what is known, with Adam."""
        torch = _torch()
        past, scale = _scaled(known)
        there = ~np.isnan(known.target)
        change = np.where(there, known.target - known.past[:, -1:], 0.0) / scale
        tensors = [torch.as_tensor(values, dtype=torch.float32) for values in (past, change, there)]
        # The program's own generator stays as it was.
        with threadpool_limits(1), torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.layers = torch.nn.ModuleList(
                [torch.nn.LSTM(1, _UNITS, batch_first=True), torch.nn.Linear(_UNITS, HORIZONS)]
            )
            optimizer = torch.optim.Adam(self.layers.parameters(), 3e-3)
            for _ in range(_EPOCHS):
                for rows in torch.randperm(len(known)).split(_BATCH):
                    x, y, use = (values[rows] for values in tensors)
                    loss = ((self._changes(x) - y) ** 2 * use).sum() / use.sum().clamp(min=1)
                    optimizer.zero_grad()
                    loss.backward()
                    torch.nn.utils.clip_grad_norm_(self.layers.parameters(), 1.0)
                    optimizer.step()

    def mean(self, seen: Examples) -> Numbers:
        """Add the change that the network tells."""
        torch = _torch()
        past, scale = _scaled(seen)
        with threadpool_limits(1), torch.no_grad():
            parts = [
                self._changes(x)
                for x in torch.as_tensor(past, dtype=torch.float32).split(_BATCH * 64)
            ]
        changes = torch.cat(parts).numpy().astype(np.float64)
        return np.maximum(seen.past[:, -1:] + changes * scale, 0.0)

    def _changes(self, past: Any) -> Any:
        recurrent, head = self.layers
        return head(recurrent(past[:, :, None])[0][:, -1])


def _scaled(seen: Examples) -> tuple[Numbers, Numbers]:
    """Return the last hour, relative to the newest value and the deviation, and that deviation: (n, 1)."""
    scale = seen.past.std(axis=1, keepdims=True) + 1e-4
    return (seen.past - seen.past[:, -1:]) / scale, scale


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise EngineError(
            "forecaster lstm", "needs torch", way_out="pip install 'borgtrace[forecast]'"
        ) from None
    return torch
