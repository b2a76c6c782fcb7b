"""Anchors that lean, for each series, to what was right about it in past windows.

Anchors come in eight *groups*: the newest value, quantiles of the last hour, four hours, day and eight days, two groups
of analogs, and the same time of earlier days.  Each series has a *leaning* for each group, a logit that is added to
those of the networks.  Before a window is forecast, leanings are chosen that would have made the CRPS of the past
windows least, in the unit of the series' own changes, and that stay near 0: one window alone moves little.

The networks stay as they were before the first window.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from borgtrace.forecast.anchors import GROUP_SIZES, Anchors
from borgtrace.forecast.panel import Panel, weights_of_series
from borgtrace.kernels.arrays import Index, Numbers, Values
from borgtrace.kernels.compiled import compiled
from borgtrace.learning.mixture import quantiles_of

GROUPS = np.repeat(np.arange(len(GROUP_SIZES)), GROUP_SIZES)
"""Of each anchor."""
PULL = 0.3
"""What a squared leaning costs, in windows' losses."""
REMEMBERED = 12
"""Windows, two days."""
STEPS, RATE = 25, 0.1
"""Of Adam, before each window, from the leanings of the one before."""


class PastWindow(NamedTuple):
    """What was said of a window, at some of its bins.

    Attributes
    ----------
    bins
        int64 (steps,): their numbers.
    anchors, probability, group
        (series, steps, number): values in ascending order, what the networks gave them, and their groups.
    """

    bins: Index
    anchors: Values
    probability: Values
    group: NDArray[np.int8]


class AdaptiveAnchors(Anchors):
    """Anchors with leanings; on a board only: in a back-test no series is seen twice, and they are `anchors`."""

    name = "adaptive-anchors"
    about = "anchors that lean to what was right in past windows of a board"
    adapts = True

    def fit_panel(self, panel: Panel, horizon: int, quantiles: Sequence[float]) -> None:
        """Train the networks; nothing leans."""
        super().fit_panel(panel, horizon, quantiles)
        self.leaning = np.zeros((panel.n_series, len(GROUP_SIZES)))
        self.past: list[PastWindow] = []

    def predict_panel(self, panel: Panel, horizon: int, quantiles: Sequence[float]) -> Numbers:
        """Learn from the windows that are past, then forecast."""
        # Series of a back-test are none that it has seen.
        self.remembers = panel.first_origin == 0
        if not self.remembers:
            return super().predict_panel(panel, horizon, quantiles)
        self.past = [window for window in self.past if window.bins[0] < panel.n_bins][-REMEMBERED:]
        if self.past:
            weight = weights_of_series(panel.values, horizon)
            self.leaning = adapted(self.leaning, self.past, panel.values, weight)
        self.said: list[tuple[Values, Values]] = []
        forecast = super().predict_panel(panel, horizon, quantiles)
        steps = np.arange(2, horizon, max(1, horizon // 8))
        self.past.append(past_window(panel.n_bins, steps, self.said))
        return forecast

    def mix(self, rows: slice, anchors: Values, learned: Values, levels: Sequence[float]) -> Values:
        """Let the probabilities lean, and remember what they were."""
        if not self.remembers:
            return super().mix(rows, anchors, learned, levels)
        factor = np.exp(self.leaning[rows]).astype(np.float32)
        self.said.append((anchors, learned))
        leaning = learned * factor[:, None, GROUPS]
        return quantiles_of(anchors, leaning / leaning.sum(axis=2, keepdims=True), levels)


def past_window(origin: int, steps: Index, said: Sequence[tuple[Values, Values]]) -> PastWindow:
    """Return what is remembered of a window.

    Parameters
    ----------
    origin
        Its first bin.
    steps
        Which of its bins, from 0 on.
    said
        Anchors and the probabilities of the networks, block by block of series.
    """
    anchors: list[Values] = []
    probability: list[Values] = []
    group: list[NDArray[np.int8]] = []
    for values, learned in said:
        order = np.argsort(values[:, steps], axis=2)
        anchors.append(np.take_along_axis(values[:, steps], order, axis=2))
        probability.append(np.take_along_axis(learned[:, steps], order, axis=2))
        group.append(GROUPS.astype(np.int8)[order])
    return PastWindow(
        origin + steps,
        np.concatenate(anchors),
        np.concatenate(probability),
        np.concatenate(group),
    )


def adapted(
    leaning: Numbers, past: Sequence[PastWindow], values: Values, weight: Values
) -> Numbers:
    """Return leanings that make the losses of past windows less, found by Adam.

    Parameters
    ----------
    leaning
        float64 (series, groups), to begin with.
    past
        Windows; bins that are not known yet do not count.
    values
        float32 (series, bins), NaN where nothing was measured.
    weight
        float32 (series,): what an error counts; a series of weight 0 is left at 0.
    """
    came = []
    for window in past:
        is_known = window.bins < values.shape[1]
        at = np.where(is_known, window.bins, 0)
        came.append(np.where(is_known, values[:, at], np.float32("nan")))
    mean, square = np.zeros_like(leaning), np.zeros_like(leaning)
    leaning = np.where(weight[:, None] > 0, leaning, 0.0)
    for step in range(1, STEPS + 1):
        gradient = 2 * PULL * leaning
        for window, labels in zip(past, came, strict=True):
            parts = window.anchors, window.probability, window.group
            add_gradient(*parts, labels, weight, leaning, gradient)
        mean += 0.1 * (gradient - mean)
        square += 0.001 * (gradient**2 - square)
        size = np.sqrt(square / (1 - 0.999**step)) + 1e-8
        leaning = leaning - RATE * mean / (1 - 0.9**step) / size
    return leaning


@compiled()
def add_gradient(
    anchors: Values,
    probability: Values,
    group: NDArray[np.int8],
    came: Values,
    weight: Values,
    leaning: Numbers,
    gradient: Numbers,
) -> None:
    """Add the gradient of the weighted CRPS, the integral of (F − step)², with respect to the leanings."""
    n_series, n_steps, number = anchors.shape
    share, slope = np.empty(number), np.zeros(number)
    for row in range(n_series):
        n_known = (~np.isnan(came[row])).sum()
        if weight[row] == 0 or n_known == 0:
            continue
        factor = np.exp(leaning[row])
        for step in range(n_steps):
            if np.isnan(came[row, step]):
                continue
            values, groups = anchors[row, step], group[row, step]
            for place in range(number):
                share[place] = probability[row, step, place] * factor[groups[place]]
            share /= share.sum()
            below = 0.0
            for place in range(number - 1):
                below += share[place]
                width = values[place + 1] - values[place]
                left = min(max(came[row, step] - values[place], 0.0), width)
                slope[place] = 2 * (left * below - (width - left) * (1 - below))
            # What a share costs is the sum of the slopes from its place on.
            for place in range(number - 2, -1, -1):
                slope[place] += slope[place + 1]
            on_average = (share * slope).sum()
            for place in range(number):
                excess = share[place] * (slope[place] - on_average)
                gradient[row, groups[place]] += weight[row] / n_known * excess
