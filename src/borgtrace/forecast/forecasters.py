"""The forecasters of borgtrace: they learn changes from the newest value, and are saved as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from borgtrace.forecast.forecaster import Forecaster
from borgtrace.forecast.series import HORIZONS, PAST, Examples, Past
from borgtrace.forecast.trees import Trees
from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.kernels.scikit_learn import check_scikit_learn
from borgtrace.learning import lstm
from borgtrace.learning.devices import device_of, import_torch, one_thread, reproducible
from borgtrace.learning.examples import SMALLEST_SCALE, ExampleArrays

Array = NDArray[Any]
EPOCHS = 5
"""Of the network."""
PREDICTED = 32_768
"""Examples that the network predicts at a time."""
LARGEST_CHANGE = 10.0
"""That networks learn, in deviations of the last hour."""
_USER = "forecaster lstm"


class OwnForecaster(Forecaster):
    """Base of ours: what they learn is arrays, which a file can hold without code."""

    is_row_by_row = True

    def arrays(self) -> dict[str, Array]:
        """Return what was learned, as arrays by name."""
        return {}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Take over what was learned from :meth:`arrays` of another process.

        Parameters
        ----------
        arrays
            By name; a file may hold any.

        Raises
        ------
        ValueError, KeyError
            Where they cannot be what a forecaster of this kind learned.
        """


def array_of_shape(array: Array, shape: tuple[int, ...]) -> Numbers:
    """Return an array as numbers, once it is sure that it has a shape.

    Examples
    --------
    >>> array_of_shape(np.zeros(3), (2,))
    Traceback (most recent call last):
    ...
    ValueError: an array of shape (3,) in place of (2,)
    """
    if array.shape != shape:
        raise ValueError(f"an array of shape {array.shape} in place of {shape}")
    return array.astype(np.float64)


class Persistence(OwnForecaster):
    """The newest value stays."""

    name = "persistence"
    about = "the newest value stays"

    def predict(self, past: Past, horizon: int, quantiles: Sequence[float]) -> Numbers:
        """Repeat it."""
        return np.repeat(past.usage[:, -1:], horizon, axis=1)


class Seasonal(OwnForecaster):
    """The same slot a day before; the newest value where there was none."""

    name = "seasonal"
    about = "the same slot a day before, else the newest value"

    def predict(self, past: Past, horizon: int, quantiles: Sequence[float]) -> Numbers:
        """Repeat the day before."""
        return past.day_before[:, :horizon]


class Autoregression(OwnForecaster):
    """Least squares from the values of the last hour, for each horizon."""

    name = "autoregression"
    about = "least squares from the last hour, for each horizon"

    def fit(self, train: Examples) -> None:
        """Solve one problem per horizon: not all have the same targets."""
        regressors = with_one(train.usage)
        weights = []
        # One thread: the number of threads changes the last digits.
        with threadpool_limits(1):
            for target in train.target.T:
                is_known = ~np.isnan(target)
                solution = np.linalg.lstsq(regressors[is_known], target[is_known])
                weights.append(solution[0])
        self.weights = np.stack(weights, axis=1)

    def predict(self, past: Past, horizon: int, quantiles: Sequence[float]) -> Numbers:
        """Weigh the last hour."""
        # Column by column: in a product of matrices the number of examples changes the last digits.
        total: Any = 0.0
        for values, weights in zip(with_one(past.usage).T, self.weights[:, :horizon], strict=True):
            total = total + values[:, None] * weights
        return np.maximum(total, 0.0)

    def arrays(self) -> dict[str, Array]:
        """Return the weights."""
        return {"weights": self.weights}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Take over the weights."""
        self.weights = array_of_shape(arrays["weights"], (PAST + 1, HORIZONS))


class Boosting(OwnForecaster):
    """Gradient boosting (scikit-learn's by histograms) from the last hour, the day before and the horizon.

    One model: each example teaches the change to one slot, drawn at random.
    """

    name = "boosting"
    about = "gradient boosting from the last hour and the day before"
    needs = "scikit-learn"

    def fit(self, train: Examples) -> None:
        """Fit the change from the newest value."""
        check_scikit_learn("forecaster boosting")
        from sklearn.ensemble import HistGradientBoostingRegressor

        n_horizons = train.target.shape[1]
        horizon = np.random.default_rng(self.seed).integers(0, n_horizons, len(train))
        target = train.target[np.arange(len(train)), horizon]
        change = target - train.usage[:, -1]
        is_known = ~np.isnan(target)
        regressors = with_day_before(train, horizon)
        # One thread: those of OpenMP spin while others use the machine, for minutes instead of a second.
        with threadpool_limits(1):
            model = HistGradientBoostingRegressor(early_stopping=False, random_state=self.seed)
            model.fit(regressors[is_known], change[is_known])
        self.trees = Trees.of(model)

    def predict(self, past: Past, horizon: int, quantiles: Sequence[float]) -> Numbers:
        """Add the changes that the model predicts."""
        changes = []
        for ahead in range(horizon):
            regressors = with_day_before(past, np.full(len(past), ahead))
            changes.append(self.trees.predict(regressors))
        return np.maximum(past.usage[:, -1:] + np.stack(changes, axis=1), 0.0)

    def arrays(self) -> dict[str, Array]:
        """Return the trees."""
        return self.trees._asdict()

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Take over the trees."""
        self.trees = Trees.from_arrays(arrays)
        self.trees.check(PAST + 2)


def with_day_before(past: Past, horizon: Index) -> Numbers:
    """Return the last hour, the day before and the horizon: (n, PAST + 2)."""
    day_before = past.day_before[np.arange(len(past)), horizon]
    return np.column_stack([past.usage, day_before, horizon])


def with_one(usage: Numbers) -> Numbers:
    """Return the last hour and a constant: (n, PAST + 1)."""
    return np.column_stack([usage, np.ones(len(usage))])


class Recurrent(OwnForecaster):
    """An LSTM of 32 units over the last hour, which predicts changes in units of the deviation."""

    name = "lstm"
    about = "an LSTM of 32 units over the last hour"
    needs = "torch"

    def fit(self, train: Examples) -> None:
        """Minimize the squared error of known targets, with Adam."""
        import_torch(_USER)
        device = device_of(self.device)
        usage, _ = scaled_past(train)
        changes, is_known = scaled_changes(train)
        table = ExampleArrays(usage, changes, is_known, device)
        with reproducible(self.seed) as generator:
            self.layers = lstm.untrained_layers(train.target.shape[1]).to(device)
            lstm.train(
                self.layers,
                table,
                generator=generator,
                batch=lstm.batch_size(len(train)),
                epochs=EPOCHS,
            )

    def predict(self, past: Past, horizon: int, quantiles: Sequence[float]) -> Numbers:
        """Add the change that the network predicts."""
        torch = import_torch(_USER)
        device = device_of(self.device)
        usage, scale = scaled_past(past)
        inputs = torch.as_tensor(usage, dtype=torch.float32)
        if device.type != "cpu":
            # What was read from a file is on the CPU.
            self.layers.to(device)
        with one_thread(), torch.no_grad():
            parts = [
                lstm.predict(self.layers, part.to(device)).cpu() for part in inputs.split(PREDICTED)
            ]
        changes = torch.cat(parts).numpy().astype(np.float64)
        return np.maximum(past.usage[:, -1:] + changes * scale, 0.0)[:, :horizon]

    def arrays(self) -> dict[str, Array]:
        """Return the parameters of the layers."""
        parameters = self.layers.state_dict().items()
        return {name: values.cpu().numpy() for name, values in parameters}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Take over the parameters of the layers; PyTorch checks their names and shapes."""
        torch = import_torch(_USER)
        self.layers = lstm.untrained_layers(HORIZONS)
        parameters = {}
        for name in self.layers.state_dict():
            parameters[name] = torch.as_tensor(arrays[name], dtype=torch.float32)
        self.layers.load_state_dict(parameters)


def scaled_past(past: Past) -> tuple[Numbers, Numbers]:
    """Return the last hour, relative to the newest value and the deviation, and that deviation: (n, 1)."""
    scale = past.usage.std(axis=1, keepdims=True) + SMALLEST_SCALE
    return (past.usage - past.usage[:, -1:]) / scale, scale


def scaled_changes(train: Examples) -> tuple[Numbers, Flags]:
    """Return the changes to come in units of that deviation, 0 where they are unknown, and which are known.

    Those beyond `LARGEST_CHANGE` are cut: what stood still for an hour and then moves would else change by thousands,
    and a squared error would hear of nothing else.
    """
    _, scale = scaled_past(train)
    is_known = ~np.isnan(train.target)
    changes = np.where(is_known, train.target - train.usage[:, -1:], 0.0) / scale
    return changes.clip(-LARGEST_CHANGE, LARGEST_CHANGE), is_known


FORECASTERS: dict[str, type[OwnForecaster]] = {
    kind.name: kind for kind in (Persistence, Seasonal, Autoregression, Boosting, Recurrent)
}
"""Ours by name."""
