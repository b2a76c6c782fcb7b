"""A mixture of simple forecasts, weighted so that its CRPS is least: no network, nothing random, minutes of training.

Eleven candidates say what comes next as 16 equally likely values, all taken from the history of the series itself. With
weights w, the CRPS of their mixture is w·d − w'Gw ÷ 2: d is how far each candidate lies from what came, G how far the
candidates lie from each other, as means of |x − y|. That is convex, and adds up over labels. So the best weights of a
series, and of a part of the horizon, come from sums alone. Those of all series together are added as a prior.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from borgtrace.forecast.forecasters import OwnForecaster, array_of_shape
from borgtrace.forecast.panel import Panel, filled
from borgtrace.forecast.panel_forecaster import PanelForecaster
from borgtrace.forecast.series import DAY
from borgtrace.kernels.arrays import Flags, Index, Numbers, Values
from borgtrace.kernels.compiled import compiled

CANDIDATES = 11
POINTS = 16
"""Values of a candidate."""
PARTS = 3
"""Of the horizon: up to a sixteenth, up to a quarter, and the rest."""
N_ORIGINS, SPACING = 14, 144
"""Forecasts that are learned from: two in each of the last seven days."""
PRIOR = 100.0
"""The labels that the series together count for, beside those of each series."""
NEIGHBORS, SEARCHED = 32, 4032
"""Moments most like the newest one, of the last two weeks."""
ITERATIONS, RATE = 300, 0.3
"""Of exponentiated gradients."""


class MixtureForecaster(PanelForecaster, OwnForecaster):
    """Weights of candidates, for each series of a panel; those of all together in a back-test of tasks."""

    name = "mixture"
    about = "a mixture of values of the history, weighted by what made its CRPS least"

    def fit_panel(self, panel: Panel, horizon: int, quantiles: Sequence[float]) -> None:
        """Add up distances over the last week, and weigh the candidates."""
        history = filled(panel.values)
        steps = np.unique(np.round(np.geomspace(1, horizon, 14))).astype(np.int64)
        shape = (panel.n_series, PARTS, CANDIDATES)
        sums = np.zeros(shape), np.zeros((*shape, CANDIDATES)), np.zeros(shape[:2])
        first = max(panel.first_origin, DAY)
        for origin in range(panel.n_bins - horizon, first - 1, -SPACING)[:N_ORIGINS]:
            add_distances(history, panel.values, origin, steps, parts_of(steps, horizon), *sums)
        self.pooled, self.weights = weights_of(*sums)

    def predict_panel(self, panel: Panel, horizon: int, quantiles: Sequence[float]) -> Numbers:
        """Mix the candidates of each series, and take the quantiles of the mixture."""
        # Series of a back-test are none that it has seen.
        is_backtest = panel.first_origin > 0
        weights = np.tile(self.pooled, (panel.n_series, 1, 1)) if is_backtest else self.weights
        parts = parts_of(np.arange(1, horizon + 1), horizon)
        return quantiles_of(filled(panel.values), parts, weights, np.asarray(quantiles))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the weights of all series together."""
        return {"pooled": self.pooled}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over the weights of all series together."""
        self.pooled = array_of_shape(arrays["pooled"], (PARTS, CANDIDATES))


def parts_of(steps: Index, horizon: int) -> Index:
    """Return the part of the horizon in which each step lies.

    Examples
    --------
    >>> parts_of(np.array([1, 3, 4, 12, 13, 48]), 48).tolist()
    [0, 0, 1, 1, 2, 2]
    """
    return np.searchsorted([max(1, horizon // 16), max(1, horizon // 4)], steps)


def weights_of(distance: Numbers, apart: Numbers, n_labels: Numbers) -> tuple[Numbers, Numbers]:
    """Return the weights of all series together (parts, candidates), and of each (series, parts, candidates).

    Parameters
    ----------
    distance, apart, n_labels
        Sums of d (series, parts, candidates), of G (…, candidates) and the labels (series, parts).
    """
    scale = distance.mean(axis=2).sum(axis=1) / np.maximum(n_labels.sum(axis=1), 1)
    # What hardly ever changes has no say: its scale is next to nothing.
    has_say: Flags = scale > 1e-3 * max(float(np.median(scale)), 1e-9)
    inverse = np.where(has_say, 1 / np.maximum(scale, 1e-12), 0.0)
    distance = distance * inverse[:, None, None]
    apart = apart * inverse[:, None, None, None]
    labels = np.maximum(n_labels[has_say].sum(axis=0), 1)
    mean_distance = distance.sum(axis=0) / labels[:, None]
    mean_apart = apart.sum(axis=0) / labels[:, None, None]
    pooled = least_crps(mean_distance[None], mean_apart[None])[0]
    each = least_crps(distance + PRIOR * mean_distance, apart + PRIOR * mean_apart)
    return pooled, each


@compiled()
def least_crps(distance: Numbers, apart: Numbers) -> Numbers:
    """Return the weights that make w·d − w'Gw ÷ 2 least, by exponentiated gradients, averaged over the last half."""
    weights = np.zeros_like(distance)
    n_candidates = distance.shape[2]
    for row in range(distance.shape[0]):
        for part in range(distance.shape[1]):
            scale = distance[row, part].mean() + 1e-12
            current = np.full(n_candidates, 1.0 / n_candidates)
            for iteration in range(ITERATIONS):
                gradient = (distance[row, part] - apart[row, part] @ current) / scale
                current = current * np.exp(-RATE * (gradient - gradient.min()))
                current /= current.sum()
                if iteration >= ITERATIONS // 2:
                    weights[row, part] += current
            weights[row, part] /= weights[row, part].sum()
    return weights


@compiled()
def add_distances(
    history: Values,
    labels: Values,
    origin: int,
    steps: Index,
    parts: Index,
    distance: Numbers,
    apart: Numbers,
    n_labels: Numbers,
) -> None:
    """Add the distances of one origin to the sums of :func:`weights_of`."""
    points = np.empty((CANDIDATES, POINTS), np.float32)
    for row in range(history.shape[0]):
        series = history[row]
        neighbors = similar_moments(series, origin)
        fixed_candidates(series, origin, points)
        for step, part in zip(steps, parts):  # noqa: B905 (Numba has no strict)
            label = labels[row, origin + step - 1]
            if np.isnan(label):
                continue
            moving_candidates(series, origin, step, neighbors, points)
            n_labels[row, part] += 1
            for one in range(CANDIDATES):
                distance[row, part, one] += np.abs(points[one] - label).mean()
                for other in range(one + 1):
                    between = 0.0
                    for value in points[one]:
                        between += np.abs(points[other] - value).sum() / (POINTS * POINTS)
                    apart[row, part, one, other] += between
                    if other < one:
                        apart[row, part, other, one] += between


@compiled()
def quantiles_of(history: Values, parts: Index, weights: Numbers, levels: Numbers) -> Numbers:
    """Return quantiles of the mixtures after the newest bin: float64 (series, horizon, levels)."""
    n_series, n_bins = history.shape
    result = np.empty((n_series, len(parts), len(levels)))
    points = np.empty((CANDIDATES, POINTS), np.float32)
    for row in range(n_series):
        neighbors = similar_moments(history[row], n_bins)
        fixed_candidates(history[row], n_bins, points)
        for ahead in range(len(parts)):
            moving_candidates(history[row], n_bins, ahead + 1, neighbors, points)
            values = points.copy().reshape(-1)
            shares = np.repeat(weights[row, parts[ahead]] / POINTS, POINTS)
            result[row, ahead] = weighted_quantiles(values, shares, levels)
    return result


@compiled()
def weighted_quantiles(values: Values, weights: Numbers, levels: Numbers) -> Numbers:
    """Return the smallest values up to which so much of the weight lies."""
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    # Of sums like 0.1 + 0.2 the last digits are none.
    places = np.searchsorted(reached, levels * reached[-1] - 1e-9)
    return values[order[np.minimum(places, len(values) - 1)]].astype(np.float64)


@compiled()
def set_points(points: Values, values: Values, weights: Numbers) -> None:
    """Fill the points of a candidate with evenly spaced quantiles of values."""
    levels = (np.arange(POINTS) + 0.5) / POINTS
    points[:] = weighted_quantiles(values, weights, levels)


@compiled()
def similar_moments(series: Values, origin: int) -> Index:
    """Return the bins after moments like the newest: near in their last value, and in the mean of their last six."""
    begin = max(6, origin - SEARCHED)
    # What followed must be known for a while.
    bins = np.arange(begin, max(begin + 1, origin - 48))
    sums = np.cumsum(series[begin - 6 : origin].astype(np.float64))
    before = np.append(0.0, sums)
    means = (before[6 : 6 + len(bins)] - before[: len(bins)]) / 6
    newest = (before[-1] - before[-7]) / 6
    gaps = (series[bins - 1] - series[origin - 1]) ** 2 + (means - newest) ** 2
    age = 1 + (bins[-1] + 1 - bins) / len(bins)
    ranked = np.argsort((gaps + 1e-4 * gaps.mean() + 1e-12) * age)
    return bins[ranked[np.arange(NEIGHBORS) % len(bins)]]


@compiled()
def fixed_candidates(series: Values, origin: int, points: Values) -> None:
    """Set the candidates that are the same at each step: the newest value, the last six, and three by their age."""
    points[0] = series[origin - 1]
    set_points(points[1], series[max(0, origin - 6) : origin], np.ones(min(6, origin)))
    for number, (length, stride, half_life) in enumerate(
        ((144, 1, 24), (864, 2, 200), (5760, 8, 2016))
    ):
        ages = np.arange(0, min(origin, length), stride)
        set_points(points[2 + number], series[origin - 1 - ages], 0.5 ** (ages / half_life))


@compiled()
def moving_candidates(
    series: Values, origin: int, step: int, neighbors: Index, points: Values
) -> None:
    """Set the others: three by the time of day, steps of the last day, and how similar moments went on."""
    bin_ahead = origin + step - 1
    for number, (first, last, spacing, around) in enumerate(
        ((1, 7, 1, 3), (1, 1, 1, 3), (7, 21, 7, 4))
    ):
        days = np.repeat(np.arange(first, last + 1, spacing), 2 * around + 1)
        shifts = np.arange(len(days)) % (2 * around + 1) - around
        bins = bin_ahead - DAY * days + shifts
        is_there = (bins >= 0) & (bins < origin)
        if is_there.any():
            weights = 0.8 ** days[is_there].astype(np.float64)
            set_points(points[5 + number], series[bins[is_there]], weights)
        else:
            points[5 + number] = series[origin - 1]
    ages = np.arange(0, min(DAY, origin - step), 3)
    newest = series[origin - 1]
    if len(ages):
        changes = series[origin - 1 - ages] - series[origin - 1 - ages - step]
        moved = np.maximum(newest + changes, np.float32(0))
        set_points(points[8], moved, 0.5 ** (ages / 72))
    else:
        points[8] = newest
    after = series[np.minimum(neighbors + step - 1, origin - 1)]
    set_points(points[9], after, np.ones(NEIGHBORS))
    moved = np.maximum(newest + after - series[neighbors - 1], np.float32(0))
    set_points(points[10], moved, np.ones(NEIGHBORS))
