"""Forecasters made of a function, a regressor of scikit-learn, a module of PyTorch or a model of statsforecast.

Each function returns an object that stands wherever the name of a forecaster would: in Python, or in a file for
``--from``.  A library is imported when its forecaster is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from borgtrace.forecast.forecaster import Forecaster
from borgtrace.forecast.forecasters import scaled_changes, scaled_past
from borgtrace.forecast.series import Examples, Past
from borgtrace.kernels.arrays import Flags, Numbers
from borgtrace.kernels.scikit_learn import check_scikit_learn
from borgtrace.learning.devices import device_of, import_torch, one_thread, reproducible

__all__ = ["from_function", "from_scikit_learn", "from_statsforecast", "from_torch"]

_EPOCHS = 5
_BATCH = 1024
_MEDIAN = 0.5


def from_function(
    name: str, function: Callable[[Past, int, Sequence[float]], Numbers], about: str = ""
) -> Forecaster:
    """Make a forecaster of a function, which learns nothing.

    Parameters
    ----------
    name
        What it is called in tables.
    function
        Like :meth:`~borgtrace.forecast.Forecaster.predict`: from the past, the horizon and probabilities to means
        (n, horizon) or quantiles (n, horizon, levels).
    about
        A few words for lists; its name by default.

    Examples
    --------
    >>> newest = from_function("newest", lambda past, horizon, _: past.usage[:, -1:].repeat(horizon, axis=1))
    >>> newest.name
    'newest'
    """
    return _FunctionForecaster(name, function, about)


def from_scikit_learn(name: str, model: Any, about: str = "") -> Forecaster:
    """Make a forecaster of a regressor of scikit-learn, or of any with its methods `fit` and `predict`.

    It learns the next twelve slots from the last twelve.  A regressor of one output is fitted once for each slot.

    Parameters
    ----------
    name
        What it is called in tables.
    model
        A regressor or a pipeline; it is cloned, and stays as it is.  Where it has `random_state` and none is set, it
        gets the seed of the back-test.
    about
        A few words for lists; the name of its class by default.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from_scikit_learn("ridge", Ridge()).about
    'Ridge of scikit-learn, from the last hour'
    """
    return _ScikitLearnForecaster(name, model, about)


def from_torch(
    name: str, module: Any, about: str = "", *, epochs: int = _EPOCHS, learning_rate: float = 1e-3
) -> Forecaster:
    """Make a forecaster of a module of PyTorch, which maps (n, 12) to (n, 12), float32.

    It gets the last hour less its newest value, in units of its deviation, and learns the changes to come in the same
    units, ten at most, by the squared error, with Adam.  The seed decides the order of the examples, and ``--device``
    where it is computed.  What `module` holds when it is passed is where each cut begins.

    Parameters
    ----------
    name
        What it is called in tables.
    module
        A ``torch.nn.Module``; it is copied, and stays as it is.
    about
        A few words for lists; the name of its class by default.
    epochs
        How often it sees each example.
    learning_rate
        Of Adam.
    """
    return _TorchForecaster(name, module, about, epochs, learning_rate)


def from_statsforecast(name: str, model: Any, about: str = "") -> Forecaster:
    """Make a forecaster of a model of statsforecast, which is fitted to the last hour of each row.

    Its intervals become quantiles, as if its errors were Gaussian.  The cost is a fit for each row, so name few:
    ``--examples 500``.

    Parameters
    ----------
    name
        What it is called in tables.
    model
        Such as ``AutoETS(season_length=1)``, one that gives intervals (`level`).
    about
        A few words for lists; the name of its class by default.
    """
    return _StatsforecastForecaster(name, model, about)


class _FunctionForecaster(Forecaster):
    """A function."""

    def __init__(self, name: str, function: Callable[..., Numbers], about: str) -> None:
        self.name = name
        self.about = about or name
        self.function = function

    def predict(self, past: Past, horizon: int, quantiles: Sequence[float]) -> Numbers:
        """Call it."""
        return self.function(past, horizon, quantiles)


class _ScikitLearnForecaster(Forecaster):
    """One regressor for all slots, or one for each."""

    needs = "scikit-learn"
    is_row_by_row = True

    def __init__(self, name: str, model: Any, about: str) -> None:
        self.name = name
        self.about = about or f"{type(model).__name__} of scikit-learn, from the last hour"
        self.model = model

    def fit(self, train: Examples) -> None:
        """Fit a copy where the targets are known."""
        check_scikit_learn(f"forecaster {self.name}")
        is_known = ~np.isnan(train.target)
        # Threads of OpenMP spin while others use the machine; their number changes the last digits.
        with threadpool_limits(1):
            if _has_many_outputs(self.model):
                is_whole = is_known.all(axis=1)
                self.fitted = [self._copy().fit(train.usage[is_whole], train.target[is_whole])]
                return
            self.fitted = []
            for ahead in range(train.target.shape[1]):
                known: Flags = is_known[:, ahead]
                self.fitted.append(self._copy().fit(train.usage[known], train.target[known, ahead]))

    def _copy(self) -> Any:
        from sklearn.base import clone

        model = clone(self.model)
        if model.get_params().get("random_state", 0) is None:
            model.set_params(random_state=self.seed)
        return model

    def predict(self, past: Past, horizon: int, quantiles: Sequence[float]) -> Numbers:
        """Ask each."""
        predicted = [np.asarray(model.predict(past.usage)) for model in self.fitted]
        return np.column_stack(predicted)[:, :horizon]


def _has_many_outputs(model: Any) -> bool:
    """Whether one regressor learns several targets at once."""
    from sklearn.utils import get_tags

    return bool(get_tags(model).target_tags.multi_output)


class _TorchForecaster(Forecaster):
    """A module that learns changes in units of the deviation."""

    needs = "torch"
    is_row_by_row = True

    def __init__(self, name: str, module: Any, about: str, epochs: int, rate: float) -> None:
        self.name = name
        self.about = about or f"{type(module).__name__} of PyTorch, from the last hour"
        self.module = module
        self.epochs = epochs
        self.rate = rate

    def fit(self, train: Examples) -> None:
        """Minimize the squared error of the known targets."""
        torch = import_torch(f"forecaster {self.name}")
        device = device_of(self.device)
        self.module.to(device).train()
        inputs, _ = scaled_past(train)
        changes, is_known = scaled_changes(train)
        columns = [
            torch.as_tensor(each, dtype=torch.float32) for each in (inputs, changes, is_known)
        ]
        optimizer = torch.optim.Adam(self.module.parameters(), lr=self.rate)
        with reproducible(self.seed) as generator:
            for _ in range(self.epochs):
                for rows in torch.randperm(len(train), generator=generator).split(_BATCH):
                    seen, wanted, known = (column[rows].to(device) for column in columns)
                    errors = (self.module(seen) - wanted) ** 2 * known
                    optimizer.zero_grad()
                    (errors.sum() / known.sum().clamp(min=1)).backward()
                    optimizer.step()
        self.module.eval()

    def predict(self, past: Past, horizon: int, quantiles: Sequence[float]) -> Numbers:
        """Add the changes to the newest value."""
        torch = import_torch(f"forecaster {self.name}")
        usage, scale = scaled_past(past)
        inputs = torch.as_tensor(usage, dtype=torch.float32).to(device_of(self.device))
        with one_thread(), torch.no_grad():
            changes = self.module(inputs).cpu().numpy().astype(np.float64)
        return (past.usage[:, -1:] + changes * scale)[:, :horizon]


class _StatsforecastForecaster(Forecaster):
    """A model that is fitted to each row."""

    needs = "statsforecast"
    is_row_by_row = True

    def __init__(self, name: str, model: Any, about: str) -> None:
        self.name = name
        self.about = about or f"{type(model).__name__} of statsforecast, of the last hour"
        self.model = model

    def predict(self, past: Past, horizon: int, quantiles: Sequence[float]) -> Numbers:
        """Fit it to each row, and turn its intervals into quantiles."""
        # An interval of so many percent lies between the quantiles (100 − level) / 2 and (100 + level) / 2.
        levels = [round(abs(200 * quantile - 100)) for quantile in quantiles]
        intervals = sorted(set(levels) - {0})
        forecasts = np.empty((len(past), horizon, len(quantiles)))
        for row, usage in enumerate(past.usage):
            answer = self.model.forecast(y=usage, h=horizon, level=intervals)
            for number, (quantile, level) in enumerate(zip(quantiles, levels, strict=True)):
                side = "lo" if quantile < _MEDIAN else "hi"
                forecasts[row, :, number] = answer[f"{side}-{level}" if level else "mean"]
        return forecasts
