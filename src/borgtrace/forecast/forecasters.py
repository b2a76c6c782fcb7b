"""Forecasters: they see an hour of a task's usage, and say mean and deviation for each slot of the next hour.

A forecaster learns changes from the newest value.  Deviations are proportional to how much the task varied in its last
hour; the factor is measured on the last fifth of the training hours, to which the mean is not fitted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from borgtrace.errors import UsageError
from borgtrace.forecast.series import HORIZONS, PAST, Examples
from borgtrace.forecast.trees import Trees
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.scikit_learn import check_scikit_learn
from borgtrace.learning import lstm
from borgtrace.learning.devices import device_of, import_torch, one_thread, reproducible
from borgtrace.learning.examples import ExampleArrays

Array = NDArray[Any]
EPOCHS = 5
"""Of the network."""
PREDICTED = 32_768
"""Examples that the network predicts at a time."""
_USER = "forecaster lstm"


class Forecaster(ABC):
    """Base of the forecasters, and of those that you write yourself: a class with `name`, `about` and :meth:`mean`.

    A model that learns also has :meth:`fit`.  The deviation of each forecast is measured for it.

    Attributes
    ----------
    name, about
        What users call it, and what it says.
    needs
        A package that borgtrace does not install by itself; empty for none.
    device
        Where PyTorch computes, as of ``--device``; others do not use it.

    Examples
    --------
    >>> class MeanOfTheHour(Forecaster):
    ...     name = "mean-of-the-hour"
    ...     about = "the mean of the last hour"
    ...
    ...     def mean(self, seen):
    ...         return np.repeat(seen.past.mean(axis=1, keepdims=True), HORIZONS, axis=1)
    """

    name: ClassVar[str]
    about: ClassVar[str]
    needs: ClassVar[str] = ""
    device: str = "cpu"
    factor: Numbers
    floor: float

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
        n_learned = len(by_time) * 4 // 5
        learned = known.take(by_time[:n_learned])
        held_out = known.take(by_time[n_learned:])
        self.fit(learned, seed)
        self.floor = float(learned.past.std(axis=1).mean())
        errors = (held_out.target - self.forecast(held_out)) / self.scale(held_out)
        n_errors = (~np.isnan(errors)).sum(axis=0)
        self.factor = np.sqrt(np.nansum(errors**2, axis=0) / np.maximum(n_errors, 1))

    def forecast(self, seen: Examples) -> Numbers:
        """Return what :meth:`mean` says of examples whose targets are hidden: (n, HORIZONS).

        Parameters
        ----------
        seen
            Examples, with targets or without.

        Raises
        ------
        UsageError
            Where :meth:`mean` returns another shape, or anything but numbers.
        """
        means = np.asarray(self.mean(seen.without_targets()))
        expected = f"numbers of shape ({len(seen)}, {HORIZONS})"
        if means.dtype.kind not in "fiu" or means.shape != (len(seen), HORIZONS):
            got = f"{means.dtype} of shape {means.shape}"
            raise UsageError(self.name, "its method mean", expected=expected, got=got)
        n_missing = int((~np.isfinite(means)).sum())
        if n_missing:
            got = f"{n_missing:,} that are NaN or infinite"
            raise UsageError(self.name, "its method mean", expected=expected, got=got)
        return means.astype(np.float64, copy=False)

    def scale(self, seen: Examples) -> Numbers:
        """Return how much each task varied in its last hour: (n, 1)."""
        variance = seen.past.var(axis=1) + self.floor**2
        return np.sqrt(variance + 1e-12)[:, None]

    def deviation(self, seen: Examples) -> Numbers:
        """Return the standard deviation of each forecast: (n, HORIZONS)."""
        return self.scale(seen) * self.factor

    def fit(self, known: Examples, seed: int) -> None:  # noqa: B027 (two have nothing to learn)
        """Fit the mean.

        Parameters
        ----------
        known
            The first four fifths of the examples, by time: `past` (n, PAST), `before` and `target` (n, HORIZONS).
            A target is NaN where the task had ended.
        seed
            Of whatever is random.
        """

    @abstractmethod
    def mean(self, seen: Examples) -> Numbers:
        """Return the forecasts: (n, HORIZONS).

        Parameters
        ----------
        seen
            Examples whose targets are all NaN.
        """

    def arrays(self) -> dict[str, Array]:
        """Return what was learned, as arrays by name: what a file holds of it."""
        return {"factor": self.factor, "floor": np.array(self.floor)}

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
        self.factor = array_of_shape(arrays["factor"], (HORIZONS,))
        self.floor = float(array_of_shape(arrays["floor"], ()))


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
        regressors = with_one(known.past)
        weights = []
        # One thread: the number of threads changes the last digits.
        with threadpool_limits(1):
            for target in known.target.T:
                is_known = ~np.isnan(target)
                solution = np.linalg.lstsq(regressors[is_known], target[is_known])
                weights.append(solution[0])
        self.weights = np.stack(weights, axis=1)

    def mean(self, seen: Examples) -> Numbers:
        """Weigh the last hour."""
        # Column by column: in a product of matrices the number of examples changes the last digits.
        total: Any = 0.0
        for values, weights in zip(with_one(seen.past).T, self.weights, strict=True):
            total = total + values[:, None] * weights
        return np.maximum(total, 0.0)

    def arrays(self) -> dict[str, Array]:
        """Add the weights."""
        return {**super().arrays(), "weights": self.weights}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Take over the weights."""
        super().restore(arrays)
        self.weights = array_of_shape(arrays["weights"], (PAST + 1, HORIZONS))


class Boosting(Forecaster):
    """Gradient boosting (scikit-learn's by histograms) from the last hour, the day before and the horizon.

    One model: each example teaches the change to one slot, drawn at random.
    """

    name = "boosting"
    about = "gradient boosting from the last hour and the day before"
    needs = "scikit-learn"

    def fit(self, known: Examples, seed: int) -> None:
        """Fit the change from the newest value."""
        check_scikit_learn("forecaster boosting")
        from sklearn.ensemble import HistGradientBoostingRegressor

        horizon = np.random.default_rng(seed).integers(0, HORIZONS, len(known))
        target = known.target[np.arange(len(known)), horizon]
        change = target - known.past[:, -1]
        is_known = ~np.isnan(target)
        regressors = with_day_before(known, horizon)
        # One thread: those of OpenMP spin while others use the machine, for minutes instead of a second.
        with threadpool_limits(1):
            model = HistGradientBoostingRegressor(early_stopping=False, random_state=seed)
            model.fit(regressors[is_known], change[is_known])
        self.trees = Trees.of(model)

    def mean(self, seen: Examples) -> Numbers:
        """Add the changes that the model predicts."""
        changes = []
        for horizon in range(HORIZONS):
            regressors = with_day_before(seen, np.full(len(seen), horizon))
            changes.append(self.trees.predict(regressors))
        return np.maximum(seen.past[:, -1:] + np.stack(changes, axis=1), 0.0)

    def arrays(self) -> dict[str, Array]:
        """Add the trees."""
        return {**super().arrays(), **self.trees._asdict()}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Take over the trees."""
        super().restore(arrays)
        self.trees = Trees.from_arrays(arrays)
        self.trees.check(PAST + 2)


def with_day_before(seen: Examples, horizon: Index) -> Numbers:
    """Return the last hour, the day before and the horizon: (n, PAST + 2)."""
    day_before = seen.before[np.arange(len(seen)), horizon]
    return np.column_stack([seen.past, day_before, horizon])


def with_one(past: Numbers) -> Numbers:
    """Return the last hour and a constant: (n, PAST + 1)."""
    return np.column_stack([past, np.ones(len(past))])


class Recurrent(Forecaster):
    """An LSTM of 32 units over the last hour, which predicts changes in units of the deviation."""

    name = "lstm"
    about = "an LSTM of 32 units over the last hour"
    needs = "torch"

    def fit(self, known: Examples, seed: int) -> None:
        """Minimize the squared error of known targets, with Adam."""
        import_torch(_USER)
        device = device_of(self.device)
        past, scale = scaled_past(known)
        is_known = ~np.isnan(known.target)
        changes = np.where(is_known, known.target - known.past[:, -1:], 0.0) / scale
        table = ExampleArrays(past, changes, is_known, device)
        with reproducible(seed) as generator:
            self.layers = lstm.untrained_layers(HORIZONS).to(device)
            lstm.train(
                self.layers,
                table,
                generator=generator,
                batch=lstm.batch_size(len(known)),
                epochs=EPOCHS,
            )

    def mean(self, seen: Examples) -> Numbers:
        """Add the change that the network predicts."""
        torch = import_torch(_USER)
        device = device_of(self.device)
        past, scale = scaled_past(seen)
        inputs = torch.as_tensor(past, dtype=torch.float32)
        if device.type != "cpu":
            # What was read from a file is on the CPU.
            self.layers.to(device)
        with one_thread(), torch.no_grad():
            parts = [
                lstm.predict(self.layers, part.to(device)).cpu() for part in inputs.split(PREDICTED)
            ]
        changes = torch.cat(parts).numpy().astype(np.float64)
        return np.maximum(seen.past[:, -1:] + changes * scale, 0.0)

    def arrays(self) -> dict[str, Array]:
        """Add the parameters of the layers."""
        parameters = self.layers.state_dict().items()
        return {**super().arrays(), **{name: values.cpu().numpy() for name, values in parameters}}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Take over the parameters of the layers; PyTorch checks their names and shapes."""
        super().restore(arrays)
        torch = import_torch(_USER)
        self.layers = lstm.untrained_layers(HORIZONS)
        parameters = {}
        for name in self.layers.state_dict():
            parameters[name] = torch.as_tensor(arrays[name], dtype=torch.float32)
        self.layers.load_state_dict(parameters)


def scaled_past(seen: Examples) -> tuple[Numbers, Numbers]:
    """Return the last hour, relative to the newest value and the deviation, and that deviation: (n, 1)."""
    scale = seen.past.std(axis=1, keepdims=True) + 1e-4
    return (seen.past - seen.past[:, -1:]) / scale, scale


FORECASTERS: dict[str, type[Forecaster]] = {
    kind.name: kind for kind in (Persistence, Seasonal, Autoregression, Boosting, Recurrent)
}
"""Forecasters by name."""
